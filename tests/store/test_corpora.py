"""Several corpora in one store: each is what it would be by itself, under its name."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.errors import InvalidInput, StoreConflict, StoreError, StoreNotFound
from contextpull.retrieval.search import search
from contextpull.store.checking import store_state
from contextpull.store.corpora import corpora_facts
from contextpull.store.database import FILE, Database
from contextpull.store.ingest import IngestReport, ingest
from contextpull.store.removing import remove_corpus
from contextpull.tools import ToolSession
from tests.conftest import Files, write_corpus
from tests.store.test_damage import spoil
from tests.strategies import PARAGRAPHS, TITLES

LEAVE = "# Leave\n\nWhat leave is.\n\n## Carry over\n\nFive days may be carried over.\n"
PUMP = "# Pump\n\nThe pump runs at 4419 rpm when it is hot, and slower when not.\n"
HR = {"policies/leave.md": LEAVE, "intro.md": "# Intro\n\nRead on in the policies of leave.\n"}
SPECS = {"pump.md": PUMP, "logo.png": b"\x89PNG"}


@pytest.fixture
def hr(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "handbook", HR)


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "specs", SPECS)


@pytest.fixture
def store(hr: Path, specs: Path, tmp_path: Path) -> Path:
    """A store of both."""
    ingest(hr, tmp_path / "store", name="hr")
    ingest(specs, tmp_path / "store", name="specs")
    return tmp_path / "store"


def sections(store: Path) -> dict[str, tuple[object, ...]]:
    """All that is kept of each section, by id, but for its numbers."""
    database = open_store(store).snapshot().database
    return {
        section.id: section._replace(number=0, document=0)
        for document in database.documents()
        for section in database.sections_of(document)
    }


def hits(store: Path, query: str) -> set[str]:
    """All that is found, and what has the same text as something that is."""
    snapshot = open_store(store).snapshot()
    found: set[str] = set()
    page = search(snapshot, query, limit=50)
    while page.hits:
        found |= {id_ for hit in page.hits for id_ in (hit.section.id, *hit.copies)}
        page = search(snapshot, query, limit=50, offset=page.offset + len(page.hits))
    return found


def outcomes(report: IngestReport) -> dict[str, str]:
    return {file.path: file.outcome for file in report.files}


def test_the_name_begins_every_path(store: Path) -> None:
    assert list(open_store(store).snapshot().documents) == [
        "hr/intro.md",
        "hr/policies/leave.md",
        "specs/pump.md",
    ]
    result = ToolSession(open_store(store)).call("read", {"ids": "hr/policies/leave.md#carry-over"})
    assert "Five days may be carried over." in result.text
    assert "hr/" in ToolSession(open_store(store)).call("index", {"path": "hr"}).text


def test_a_path_as_the_corpus_itself_writes_it_is_answered_with_the_right_one(store: Path) -> None:
    result = ToolSession(open_store(store)).call("read", {"ids": "policies/leave.md#carry-over"})
    assert result.is_error
    assert "hr/policies/leave.md#carry-over" in result.text


def test_a_corpus_is_brought_up_to_date_without_a_look_at_the_others(
    hr: Path, specs: Path, store: Path
) -> None:
    shutil.rmtree(specs)  # nobody who looked would pass over that
    report = ingest(hr, store, name="hr")
    assert (report.generation, report.unchanged, report.missing) == (2, 2, ())
    write_corpus(hr, {"new.md": PUMP})
    report = ingest(hr, store, name="hr")
    assert outcomes(report) == {"hr/new.md": "added"}
    assert (report.generation, report.documents, report.sections) == (3, 3, 3)
    assert hits(store, "4419") == {"hr/new.md#pump", "specs/pump.md#pump"}


def test_without_a_folder_every_corpus_is_brought_up_to_date(
    hr: Path, specs: Path, store: Path
) -> None:
    assert ingest(None, store).generation == 2
    write_corpus(hr, {"new.md": PUMP})
    specs.joinpath("pump.md").unlink()
    assert outcomes(ingest(None, store)) == {
        "hr/new.md": "added",
        "specs/pump.md": "removed",
        "specs/logo.png": "left out",
    }
    write_corpus(specs, {"new.md": PUMP})
    write_corpus(hr, {"newer.md": PUMP})
    assert outcomes(ingest(None, store, name="hr")) == {"hr/newer.md": "added"}


def test_without_a_folder_a_corpus_without_a_name_is_brought_up_to_date(
    hr: Path, tmp_path: Path
) -> None:
    ingest(hr, tmp_path / "store")
    write_corpus(hr, {"new.md": PUMP})
    assert outcomes(ingest(None, tmp_path / "store")) == {"new.md": "added"}
    with pytest.raises(StoreNotFound, match="contextpull ingest FOLDER"):
        ingest(None, tmp_path / "nothing")


@pytest.mark.parametrize("folder", [b"caf\xe9", rb"caf\xe9"])
@pytest.mark.parametrize("name", ["", "hr"])
def test_without_a_folder_one_whose_name_is_no_utf8_or_looks_so_is_found(
    tmp_path: Path, folder: bytes, name: str
) -> None:
    root = write_corpus(tmp_path / os.fsdecode(folder), {"old.md": PUMP})
    ingest(root, tmp_path / "store", name=name)
    write_corpus(root, {"new.md": PUMP})
    prefix = f"{name}/" if name else ""
    assert outcomes(ingest(None, tmp_path / "store")) == {f"{prefix}new.md": "added"}
    (facts,) = corpora_facts(open_store(tmp_path / "store").snapshot().database)
    assert facts.is_there


def test_what_is_left_out_or_warns_has_the_name_too(hr: Path, store: Path) -> None:
    write_corpus(hr, {"half.json": '{"half": [1, 2', "empty.md": "", ".gitignore": "policies/\n"})
    report = ingest(hr, store, name="hr")
    assert outcomes(report) == {
        "hr/half.json": "added",
        "hr/empty.md": "unreadable",
        "hr/policies/leave.md": "removed",
    }
    assert [each.path for each in report.warnings] == ["hr/half.json"]
    assert [each.path for each in open_store(store).snapshot().database.skipped()] == [
        "specs/logo.png"
    ]
    assert outcomes(ingest(hr, store, name="hr", verify=True))["hr/empty.md"] == "unreadable"


PLACES = st.sampled_from(["a.md", "b.md", "deep/er/a.md", "a-b/c.md", "x.txt", "x.bin", "e.md"])
TEXTS = st.builds("# {}\n\n{}\n\n## {}\n\n{}\n".format, TITLES, PARAGRAPHS, TITLES, PARAGRAPHS)
CORPUS = st.dictionaries(PLACES, st.one_of(TEXTS, st.just("")), max_size=4)
# Paths below "a-" sort before those below "a".
NAMES = st.sampled_from(["a", "a-", "b.md", "C"])
CORPORA = st.dictionaries(NAMES, CORPUS, min_size=2, max_size=3)


@given(CORPORA)
@settings(max_examples=6, deadline=None)
def test_a_store_of_several_is_the_union_of_the_stores_of_each(corpora: dict[str, Files]) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        roots = {name: write_corpus(place / name, files) for name, files in corpora.items()}
        for name, root in roots.items():
            ingest(root, place / f"only {name}", name=name)
        alone = {name: sections(place / f"only {name}") for name in roots}
        found = {name: hits(place / f"only {name}", "cache") for name in roots}
        for names in (list(roots), list(roots)[::-1]):
            both = place / " ".join(names)
            for name in names:
                ingest(roots[name], both, name=name)
            assert sections(both) == {
                id_: each for one in alone.values() for id_, each in one.items()
            }
            assert hits(both, "cache") == set().union(*found.values())
            assert store_state(both).is_current
            for name in names[1:]:
                remove_corpus(both, name)
            assert sections(both) == alone[names[0]]
            assert hits(both, "cache") == found[names[0]]
            assert store_state(both).is_current


def test_removing_takes_out_one_corpus_in_one_generation(
    hr: Path, specs: Path, store: Path
) -> None:
    opened = open_store(store)
    gone = remove_corpus(store, "specs")
    assert (gone.name, gone.documents, gone.sections) == ("specs", 1, 1)
    assert opened.snapshot().generation == 3
    assert list(opened.snapshot().documents) == ["hr/intro.md", "hr/policies/leave.md"]
    assert opened.snapshot().database.skipped() == []
    assert specs.joinpath("pump.md").exists()
    assert ingest(None, store).generation == 3
    remove_corpus(store, "hr")
    assert sections(store) == {}
    with pytest.raises(InvalidInput, match="holds no corpus"):
        ingest(None, store)
    ingest(hr, store)  # now it may be one without a name, too
    assert "policies/leave.md" in opened.snapshot().documents


@pytest.mark.parametrize("name", ["HR", "h", "", "hr/", "handbook"])
def test_only_a_corpus_of_exactly_that_name_is_removed(store: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"no corpus .*Its corpora are 'hr', 'specs'\."):
        remove_corpus(store, name)
    assert open_store(store).snapshot().generation == 2


def test_where_there_is_no_store_nothing_is_removed_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        remove_corpus(tmp_path / "nothing", "hr")
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_without_a_name_cannot_be_removed(hr: Path, tmp_path: Path) -> None:
    ingest(hr, tmp_path / "store")
    with pytest.raises(InvalidInput, match="Its corpus has no name"):
        remove_corpus(tmp_path / "store", "")


@pytest.mark.parametrize("name", ["hr", "2026", "_x", "a.b-c_D", "x" * 64])
def test_names_are_letters_digits_and_a_few_marks(hr: Path, tmp_path: Path, name: str) -> None:
    ingest(hr, tmp_path / "store", name=name)
    assert f"{name}/intro.md" in open_store(tmp_path / "store").snapshot().documents


@pytest.mark.parametrize(
    "name", [".", "..", ".x", "-x", "a/b", "a b", "a#b", "a\n", "Ü", "*", "x" * 65, "a\\b"]
)
def test_other_names_are_refused_and_no_store_is_made(hr: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot have the name"):
        ingest(hr, tmp_path / "store", name=name)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("folder", "name", "reason"),
    [
        ("specs", "", "ingest it with --as specs"),
        ("other", "", "others by a name only"),
        ("other", "hr", r"reads the corpus 'hr' from .*handbook', not from .*other'"),
        ("other", "HR", "differs in case alone"),
        ("handbook", "HR", "differs in case alone"),
        ("handbook", "people", r"reads .*handbook' as the corpus 'hr'"),
    ],
)
def test_what_a_store_cannot_take_beside_its_corpora_is_refused(
    store: Path, tmp_path: Path, folder: str, name: str, reason: str
) -> None:
    write_corpus(tmp_path / "other", {"a.md": PUMP})
    before = sections(store)
    with pytest.raises(StoreConflict, match=reason):
        ingest(tmp_path / folder, store, name=name)
    assert sections(store) == before


@pytest.mark.parametrize("folder", ["handbook", "specs"])
def test_a_store_of_a_corpus_without_a_name_takes_none_with_a_name(
    hr: Path, specs: Path, tmp_path: Path, folder: str
) -> None:
    ingest(hr, tmp_path / "store")
    with pytest.raises(StoreConflict, match=r"holds the corpus .*handbook', which has no name"):
        ingest(tmp_path / folder, tmp_path / "store", name="hr")
    assert ingest(hr, tmp_path / "store").generation == 1


def test_a_folder_within_another_corpus_may_be_one_too(hr: Path, tmp_path: Path) -> None:
    ingest(hr, tmp_path / "store", name="all")
    ingest(hr / "policies", tmp_path / "store", name="policies")
    leave = {"all/policies/leave.md#carry-over", "policies/leave.md#carry-over"}
    assert hits(tmp_path / "store", "carried") == leave
    (hr / ".contextpullignore").write_text("policies/\n")
    ingest(None, tmp_path / "store")
    assert hits(tmp_path / "store", "carried") == {"policies/leave.md#carry-over"}


def test_other_sizes_cut_every_corpus_anew(hr: Path, specs: Path, store: Path) -> None:
    write_corpus(specs, {"long.md": "# Long\n\n" + "Some words of it. " * 40})
    report = ingest(hr, store, CutSettings(max_chars=300), name="hr")
    assert report.documents == 4
    assert "specs/long.md#long~2" in sections(store)
    assert ingest(None, store).generation == report.generation


def test_a_folder_that_is_gone_keeps_its_sections_and_is_told(specs: Path, store: Path) -> None:
    before = sections(store)
    specs.rename(specs.with_name("elsewhere"))
    report = ingest(None, store)
    (sentence,) = report.missing
    assert f"{str(specs)!r} of the corpus 'specs' is gone" in sentence
    assert (report.generation, report.documents) == (2, 2)
    assert sections(store) == before
    state = store_state(store)
    assert state.problems == (sentence,)
    assert (state.new, state.changed, state.gone) == (0, 0, 0)
    assert [each.is_there for each in state.corpora] == [True, False]
    with pytest.raises(InvalidInput, match="does not exist"):
        ingest(None, store, name="specs")


def test_while_a_folder_is_gone_nothing_is_cut_anew(hr: Path, specs: Path, store: Path) -> None:
    before = sections(store)
    specs.rename(specs.with_name("elsewhere"))
    with pytest.raises(InvalidInput, match=r"specs' is gone .* contextpull corpora remove specs"):
        ingest(hr, store, CutSettings(max_chars=300), name="hr")
    assert sections(store) == before
    remove_corpus(store, "specs")
    assert ingest(hr, store, CutSettings(max_chars=300), name="hr").changed == 2


def test_an_empty_folder_is_a_corpus_too(tmp_path: Path) -> None:
    empty = write_corpus(tmp_path / "empty", {})
    assert ingest(empty, tmp_path / "store", name="empty").generation == 1
    assert ingest(None, tmp_path / "store").generation == 1
    (facts,) = corpora_facts(Database(tmp_path / "store" / FILE))
    assert facts == ("empty", str(empty.resolve()), 0, 0, True)


def test_a_store_with_names_is_of_a_newer_format_than_one_without(
    hr: Path, store: Path, tmp_path: Path
) -> None:
    """An older program must not take the names for folders of one corpus."""
    ingest(hr, tmp_path / "one")
    assert Database(tmp_path / "one" / FILE).format == 2
    assert Database(store / FILE).format == 3


def test_a_damaged_store_is_built_again_with_all_its_corpora(hr: Path, store: Path) -> None:
    before = sections(store)
    spoil(store, "sections")
    report = ingest(hr, store, name="hr", verify=True)
    assert report.notes == ("the store was damaged; it was built again from the corpus",)
    assert sections(store) == before


def test_a_store_that_tells_no_more_of_its_corpora_says_what_to_do(hr: Path, store: Path) -> None:
    (store / FILE).write_bytes(b"nothing")
    with pytest.raises(StoreError, match="Name them: contextpull ingest FOLDER, with --as NAME"):
        ingest(None, store)
    assert ingest(hr, store, name="hr").notes == (
        "the store was damaged; it was built again from the corpus",
        "it holds 'hr' alone; ingest what else it held",
    )
    assert {path.partition("/")[0] for path in sections(store)} == {"hr"}
