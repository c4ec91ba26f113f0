"""What a name in `expected` leads to: the same thing for every command."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from contextpull.cli.main import cli
from contextpull.config import CutSettings
from contextpull.errors import EvaluationError
from contextpull.eval.golden.answer_sources import SourceTexts
from contextpull.eval.golden.checking import check_golden
from contextpull.eval.golden.chunking.corpus import SourceCorpus, labels_of, read_corpus
from contextpull.eval.golden.chunking.handing import wants_of
from contextpull.eval.golden.grains import Grain, asked_of
from contextpull.eval.golden.places import Places
from contextpull.eval.golden.questions import GoldenQuestion, load_golden
from contextpull.store import Snapshot
from contextpull.store.ingest import ingest
from tests.conftest import Files, write_corpus
from tests.documents.pdf_files import lines as printed
from tests.documents.pdf_files import pdf
from tests.embedders import snapshot_of
from tests.eval.golden.stores import lines
from tests.properties import same_every_time

pytest.importorskip("pypdfium2")

LONG = " ".join(f"The anchor has part {n} for task {n}." for n in range(90))
FILES: Files = {
    "guide/cache.md": f"# Cache\n\n## Clear\n\nRun clear to remove all entries.\n\n{LONG}\n",
    "deep.md": "### Deep\n\nDeep words stand here.\n\n"
    "# Title\n\n## Deep\n\nOther words stand here.\n",
    "c#.md": "# Sharp\n\nA language with a sharp name.\n",
    "my notes.md": "# Notes\n\nSome notes of a keeper.\n",
    "caf\u00e9.md": "# Caf\u00e9\n\nThe coffee is served at nine.\n",
    "anchors.html": '<h1 id="page=3">Third</h1><p>Some words of the third heading stand here.</p>',
    "ship.pdf": pdf(
        printed(*[f"All about the anchor number {n} of it." for n in range(60)]),
        printed(),
        printed("All about the bollard."),
    ),
}
HELD = {
    "guide/cache.md": "document",
    "c#.md": "document",
    "my notes.md": "document",
    "caf\u00e9.md": "document",
    "guide/cache.md#clear": "section",
    "guide/cache.md#cache": "section",  # a heading that was merged into the next
    "guide/cache.md#clear~2": "section",
    "c#.md#sharp": "section",
    "caf\u00e9.md#caf\u00e9": "section",
    "deep.md#deep-1": "section",
    "anchors.html#page=3": "section",
    "ship.pdf#page=1": "page",
    "ship.pdf#page=1~2": "section",
    "ship.pdf#page=1~9": "page",  # no cutting made that many parts
    "ship.pdf#page=2": "page",  # empty, and a section reaches over it
    "ship.pdf#page=3": "page",
    "anchors.html#page=99": "document",  # its pages are not known
    "guide/cache.md#page=1~2": "document",
}
ABSENT = (
    *("./guide/cache.md", "/guide/cache.md", "guide\\cache.md", "guide//cache.md", "guide"),
    *("Guide/Cache.md", "guide/cache.md#Clear", "guide/cache.md#clear-1", "guide/cache.md#"),
    *("my%20notes.md", "cafe\u0301.md", "c#", "c%23.md", "cache.md", "<c#.md>", "#clear"),
    *("ship.pdf#page=4", "ship.pdf#page=4~2", "ship.pdf#page"),
)


class Read(NamedTuple):
    """The documents as a store and as a sweep have them."""

    store: Snapshot
    corpus: SourceCorpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the documents, and a store of them."""
    folder = tmp_path_factory.mktemp("places")
    ingest(write_corpus(folder / "docs", FILES), folder / "store")
    return folder


@pytest.fixture(scope="module")
def read(folder: Path) -> Read:
    return Read(snapshot_of(folder / "store"), read_corpus(folder / "docs"))


def asks_for(*expected: str) -> GoldenQuestion:
    return GoldenQuestion("q", "what is all this about", expected)


COMMANDS = {
    "check": ("--store", "{0}/store"),
    "report": ("--store", "{0}/store", "--rounds", "100"),
    "cutoff": ("--store", "{0}/store", "--measure", "score", "--rounds", "100"),
    "sweep": ("{0}/docs", "--rounds", "100", "--max-chars", "500"),
    "chunking": ("{0}/docs", "--techniques", "fixed", "--sizes", "500", "--headings", "in"),
}


def run(folder: Path, command: str, *expected: str) -> Result:
    """A command over a question for each of these, and one about something that is there."""
    asked = [("q", each) for each in expected] + [("other", "c#.md")]
    rows: list[dict[str, object]] = [
        {"id": f"{name}{at}", "question": f"what is about {at}", "expected": [entry]}
        for at, (name, entry) in enumerate(asked)
    ]
    (folder / "golden.jsonl").write_text(lines(rows))
    arguments = [each.format(folder) for each in COMMANDS[command]]
    return CliRunner().invoke(cli, ["golden", command, str(folder / "golden.jsonl"), *arguments])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_each_form_that_leads_somewhere(folder: Path, command: str) -> None:
    result = run(folder, command, *HELD)
    assert result.exit_code == (1 if command == "cutoff" else 0), result.stderr  # too few misses
    assert command != "check" or "faults: 0" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_each_form_that_leads_nowhere(folder: Path, command: str) -> None:
    result = run(folder, command, *ABSENT)
    if command == "check":
        assert result.exit_code == 1
        assert f"faults: {len(ABSENT)}" in result.stdout
        return
    assert result.exit_code == 2
    assert f"does not hold {ABSENT[0]!r} (question q0)" in result.stderr
    assert f" and {len(ABSENT) - 10} more: nothing could find it" in result.stderr


@pytest.mark.parametrize(("entry", "kind"), HELD.items())
def test_a_store_and_a_sweep_find_the_same_place(read: Read, entry: str, kind: str) -> None:
    place = Places(read.store)(entry)
    assert place.kind == kind
    [label] = labels_of(read.corpus, [asks_for(entry)])["q"]
    assert label.path == place.path
    assert label.page == (0 if entry == "ship.pdf#page=2" else place.page * (kind != "document"))
    [wanted] = asked_of(read.store, [asks_for(entry)], "doc").wanted
    assert wanted.document == place.path


@pytest.mark.parametrize("entry", [*ABSENT, "c#.md#\ud800", "\ud800"])
def test_what_leads_nowhere_does_so_from_python_too(read: Read, entry: str) -> None:
    assert Places(read.store).fault(entry)
    with pytest.raises(EvaluationError, match="The store does not hold"):
        asked_of(read.store, [asks_for(entry)], "doc")
    with pytest.raises(EvaluationError, match="does not hold"):
        labels_of(read.corpus, [asks_for(entry)])


def test_a_source_of_an_answer_is_the_text_of_the_same_place(read: Read) -> None:
    text_of = SourceTexts(read.store)
    page = text_of("ship.pdf#page=1")
    assert page.startswith("Page 1") or "number 0 of it" in page
    assert "number 59 of it" in page  # in the second part of the page
    assert "number 0 of it" not in text_of("ship.pdf#page=1~2")
    assert "Run clear" in text_of("guide/cache.md#cache")


@pytest.mark.parametrize(
    ("entry", "by", "met"),
    [
        ("ship.pdf#page=1", "doc", "12"),
        ("ship.pdf#page=1", "page", "12"),
        ("ship.pdf#page=1", "evidence", "12"),
        ("ship.pdf#page=1", "section", "1"),  # the id of its first part
        ("ship.pdf#page=1~2", "page", "12"),
        ("ship.pdf#page=1~2", "evidence", "2"),
        ("ship.pdf#page=1~2", "section", "2"),
        ("ship.pdf#page=1~9", "page", "12"),
        ("ship.pdf#page=1~9", "evidence", "12"),
        ("ship.pdf#page=3", "page", "2"),
    ],
)
def test_what_meets_a_page_or_a_part_of_it(read: Read, entry: str, by: Grain, met: str) -> None:
    sections = read.store.database.sections_of(read.store.documents["ship.pdf"])
    assert [each.slug for each in sections] == ["page=1", "page=1~2"]
    [wanted] = asked_of(read.store, [asks_for(entry)], by).wanted
    found = [any(target(each) for target in wanted.targets) for each in sections]
    assert [at for at, is_met in zip("12", found, strict=True) if is_met] == list(met)


def test_evidence_may_stand_in_any_part_of_a_page(folder: Path, read: Read) -> None:
    row = {"question": "about", "expected": ["ship.pdf#page=1"], "evidence": ["number 59 of it"]}
    (folder / "golden.jsonl").write_text(lines([row]))
    assert check_golden(folder / "golden.jsonl", read.store).ok


def test_two_names_of_a_section_are_one_thing_to_find(read: Read) -> None:
    [wanted] = asked_of(
        read.store, [asks_for("guide/cache.md#clear", "guide/cache.md#cache")], "section"
    ).wanted
    assert len(wanted.targets) == 1


def test_a_quote_that_a_border_cuts_must_go_on_behind_it(folder: Path, read: Read) -> None:
    made_up = "Run clear to remove all entries. Nobody ever did that"
    across = "Run clear to remove all entries. The anchor has part 0"
    for evidence, is_fine in ((across, True), (made_up, False)):
        row = {"question": "about", "expected": ["guide/cache.md#clear"], "evidence": [evidence]}
        (folder / "golden.jsonl").write_text(lines([row]))
        assert check_golden(folder / "golden.jsonl", read.store).ok == is_fine


CUTTINGS = (
    CutSettings(),
    CutSettings(max_chars=200, min_chars=0),
    CutSettings(heading_depth=1, max_chars=8_000, min_chars=1_000),
    CutSettings(heading_depth=2, max_chars=300, min_chars=100),
)
CHANGES = st.sampled_from(
    ["", "", "", "", "~1", "~2", "~9", "#top", "#page=2", "#page=5", "#x", " "]
)
FINEST: dict[Grain, GoldenQuestion] = {
    "doc": asks_for("c#.md"),
    "section": asks_for("c#.md#sharp"),
    "page": asks_for("ship.pdf#page=1"),
    "evidence": asks_for("c#.md"),
}
"""A question that each grain can score: with it none is without any."""


@pytest.fixture(scope="module")
def stores(folder: Path) -> list[Snapshot]:
    """The same documents in other cuttings."""
    found = []
    for at, settings in enumerate(CUTTINGS):
        ingest(folder / "docs", folder / f"store-{at}", settings)
        found.append(snapshot_of(folder / f"store-{at}"))
    return found


def names_in(snapshot: Snapshot) -> list[str]:
    """Every id of a store, its documents and its pages."""
    names = [f"ship.pdf#page={page}" for page in (1, 2, 3)]
    for path, document in snapshot.documents.items():
        names += [path, *(f"{path}#{slug}" for slug in snapshot.database.slugs_of(document))]
    return names


def a_quote(data: st.DataObject, text: str) -> str:
    """Some words that follow each other in a text, perhaps with others at their end."""
    words = text.split()
    start = data.draw(st.integers(0, len(words) - 1))
    count = data.draw(st.integers(1, 20))
    strange = data.draw(st.sampled_from(["", "", " nobody ever said"]))
    return " ".join(words[start : start + count]) + strange


@given(st.data())
@same_every_time(400)
def test_what_the_check_accepts_every_other_command_can_score(
    folder: Path, stores: list[Snapshot], read: Read, data: st.DataObject
) -> None:
    snapshot = data.draw(st.sampled_from(stores))
    names = st.builds(str.__add__, st.sampled_from(names_in(snapshot)), CHANGES)
    expected = data.draw(st.lists(names, min_size=1, max_size=2, unique=True))
    path = Places(snapshot)(expected[0]).path
    evidence = (
        [a_quote(data, Places(snapshot).text(path))] if path and data.draw(st.booleans()) else []
    )
    (folder / "golden.jsonl").write_text(
        lines([{"question": "about", "expected": expected, "evidence": evidence}])
    )
    checked = check_golden(folder / "golden.jsonl", snapshot)
    if not checked.ok:
        return
    questions = load_golden(folder / "golden.jsonl")
    has_unknown_page = any("does not know the pages" in each.message for each in checked.notes)
    for by in FINEST:
        if by == "page" and has_unknown_page:
            continue  # it is noted, and an error at that grain
        asked = asked_of(snapshot, [*questions, replace(FINEST[by], id="finest")], by)
        assert len(asked.wanted) + len(asked.too_coarse) == 2
    [wants], _ = wants_of(read.corpus, questions)
    assert wants.labels
