"""`contextpull golden sweep`: builds, their order, and what is refused."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull.adapters.push import bm25_over_store
from contextpull.cli.main import cli
from contextpull.eval.golden.chunking.corpus import read_corpus
from contextpull.eval.golden.chunking.indexing import index
from contextpull.eval.golden.grains import Grain
from contextpull.eval.golden.reporting import golden_report
from contextpull.eval.golden.sweep import SweepBuild, cut_for, sweep, sweep_builds
from contextpull.store.ingest import ingest
from contextpull.types import Question
from tests.conftest import Files, write_corpus
from tests.documents.pdf_files import lines as printed
from tests.documents.pdf_files import pdf
from tests.embedders import snapshot_of
from tests.eval.golden.stores import HARBOUR, asks, golden_place, json_of, lines, long_document

ASKED: list[dict[str, object]] = [
    {
        "id": "oil",
        "question": "how many litres of oil does the lamp burn",
        "expected": ["lamp.md#oil"],
        "evidence": ["eleven litres of oil"],
    },
    {"id": "boat", "question": "where does a boat keep clear", "expected": ["boats.md"]},
    {"id": "bread", "question": "what makes bread rise", "expected": ["bread.md"]},
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents and a golden file, which is also the current one."""
    return golden_place(tmp_path, monkeypatch, HARBOUR, ASKED)


def run(*arguments: object) -> Result:
    command = ["golden", "sweep", "golden.jsonl", "docs", "--rounds", "100", *map(str, arguments)]
    return CliRunner().invoke(cli, command)


def record(*arguments: object) -> Any:
    return json_of(run("--json", *arguments))


def test_every_combination_is_a_row_with_its_figures() -> None:
    told = record("--cutter", "sections,recursive", "--headings", "in,out", "--k", "1,3")
    assert (told["kind"], told["format"]) == ("sweep", 1)
    names = {row["name"] for row in told["rows"]}
    assert "sections 1000, lexical" in names
    assert "recursive 2000 no headings, lexical" in names
    assert len(names) == 8
    for row in told["rows"]:
        assert {"recall@3", "hit_rate@1", "mrr@3", "ndcg@3"} <= set(row["measures"])
        assert row["sections"] >= 3
        assert row["build_seconds"] > 0
        assert row["median_ms"] > 0
    assert told["best"] == told["rows"][0]["name"]
    assert len(told["comparisons"]) == 7
    assert all("could_be_luck" in each for each in told["comparisons"])


def test_rows_are_ranked_by_ndcg_then_mrr(place: Path) -> None:
    text = "".join(f"Boats and ropes number {at}.\n\n" for at in range(200))
    write_corpus(place / "docs", {"long.md": f"# Ropes\n\n{text}\n\nThe lamp burns oil.\n"})
    told = record("--max-chars", "100,400,4000", "--by", "evidence", "--k", "1,3")
    figures = [
        (row["measures"]["ndcg@3"]["mean"], row["measures"]["mrr@3"]["mean"])
        for row in told["rows"]
    ]
    assert figures == sorted(figures, reverse=True)


def test_the_builds_of_an_ingest_are_exactly_an_ingest(place: Path) -> None:
    files: Files = {
        **HARBOUR,
        "keeper.md": "---\ntitle: The keeper\ntags: [lamp]\n---\n# A\n\n## Watch\n\nAt night.\n",
    }
    write_corpus(place / "docs", files)
    ingest(place / "docs", place / "store")
    ingested = snapshot_of(place / "store")
    corpus = read_corpus(place / "docs")
    build = SweepBuild()
    made = index(
        place / "scratch",
        ((each, cut_for(build, each, None)) for each in corpus.sources),
        headings=True,
    )
    for path, document in ingested.documents.items():
        mine = made.database.sections_of(made.documents[path])
        theirs = ingested.database.sections_of(document)
        assert [(s.id, s.headings, s.text, s.kind) for s in mine] == [
            (s.id, s.headings, s.text, s.kind) for s in theirs
        ]
    for asked in ("keeper lamp", "watch at night", "boats"):
        question = Question(asked, asked, "", ())
        ranked = [
            bm25_over_store(place / at).retrieve(question.text, 9) for at in ("store", "scratch")
        ]
        assert ranked[0] == ranked[1]


@pytest.mark.parametrize("by", ["doc", "page", "evidence"])
def test_the_build_of_an_ingest_has_the_figures_of_a_report_over_it(place: Path, by: Grain) -> None:
    pytest.importorskip("pypdfium2")
    pages = [
        printed(*[f"All about the {each} of a ship {n}." for n in range(50)]) for each in "abc"
    ]
    write_corpus(place / "docs", {"ship.pdf": pdf(*pages)})
    ingest(place / "docs", place / "store")
    asked = [
        asks("about the b of a ship 40", "ship.pdf#page=2", evidence=("of a ship 40",)),
        asks("about the c of a ship", "ship.pdf#page=3~2", evidence=("the c of a ship 49",)),
        asks(
            "about the a", "ship.pdf#page=1", evidence=("the a of a ship 0", "the a of a ship 49")
        ),
        asks("what does the lamp burn", "lamp.md#oil", evidence=("eleven litres of oil",)),
    ]
    asked = asked[:3] if by == "page" else asked
    swept = sweep(read_corpus(place / "docs"), asked, [SweepBuild()], by=by, k=(1, 3), rounds=100)
    reported = golden_report(snapshot_of(place / "store"), asked, by=by, k=(1, 3), rounds=100)
    rows = (swept.rows[0].measured.row, reported.rows[0].row)
    figures = [[outcome.scores for outcome in row.outcomes] for row in rows]
    assert figures[0] == figures[1]
    assert any(scores["recall@3"] > 0 for scores in figures[0])


def test_settings_that_a_cutter_ignores_make_no_builds_of_their_own() -> None:
    builds = sweep_builds(("sections", "fixed"), (1_000,), (0, 40), (2, 6))
    assert [each.name for each in builds] == [
        "sections 1000 min 0 depth 2",
        "sections 1000 min 0",
        "sections 1000 depth 2",
        "sections 1000",
        "fixed 1000",
    ]


def test_pieces_overlap_and_sections_are_built_without() -> None:
    asked = ("--cutter", "sections,fixed", "--max-chars", "500", "--overlap", "0,20")
    told = record(*asked)
    assert {(row["name"], row["overlap"]) for row in told["rows"]} == {
        ("sections 500, lexical", 0),
        ("fixed 500, lexical", 0),
        ("fixed 500 overlap 20%, lexical", 20),
    }
    assert "Our sections never overlap: --overlap is of the other cutters." in told["notes"]
    assert "Our sections never overlap" in run(*asked).stdout
    assert "never overlap" not in run("--cutter", "sections,fixed").stdout


def test_sections_are_refused_with_the_reason_before_anything_is_built() -> None:
    result = run("--by", "section")
    assert result.exit_code == 2
    assert "A section is another one when the cutting changes" in result.stderr
    assert "building" not in result.stderr
    assert result.stdout == ""


def test_labels_that_name_sections_count_as_documents_and_that_is_said() -> None:
    result = run()
    assert result.exit_code == 0
    assert "1 questions name sections" in result.stdout
    assert "name sections" not in run("--by", "evidence").stdout


@pytest.mark.parametrize("folder", ["nope", "golden.jsonl", "docs/nope.md", "docs/lamp.md"])
def test_a_folder_that_is_not_there_is_an_error_and_never_text(folder: str) -> None:
    result = CliRunner().invoke(cli, ["golden", "sweep", "golden.jsonl", folder])
    assert result.exit_code == 2
    assert folder in result.stderr
    assert result.stdout == ""


def test_a_folder_without_documents_is_an_error(place: Path) -> None:
    write_corpus(place / "empty", {"a.bin": b"\0", "b.md": " \n"})
    result = CliRunner().invoke(cli, ["golden", "sweep", "golden.jsonl", "empty"])
    assert result.exit_code == 2
    assert "holds no document with text" in result.stderr


@pytest.mark.parametrize("label", ["lump.md", "docs/lamp.md", "/lamp.md", "lamp.md/x#a"])
def test_documents_that_the_folder_lacks_are_an_error_and_no_zeros(place: Path, label: str) -> None:
    asked = [*ASKED, {"id": "lost", "question": "where is it", "expected": [label]}]
    (place / "golden.jsonl").write_text(lines(asked))
    result = run()
    assert result.exit_code == 2
    assert f"does not hold {label!r} (question lost)" in result.stderr
    assert "such as 'boats.md'" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--k", "0"], "whole number"),
        (["--k", "2.9"], "whole number"),
        (["--k", "x"], "whole number"),
        (["--max-chars", "99"], "max_chars must be 100 or more"),
        (["--max-chars", "1e3"], "whole numbers"),
        (["--min-chars", "1000", "--max-chars", "500"], "min_chars must be 0 to 499"),
        (["--heading-depth", "7"], "heading_depth must be 1 to 6"),
        (["--overlap", "20"], "Our sections never overlap"),
        (["--overlap", "0.2"], "whole numbers"),
        (["--cutter", "fixed", "--overlap", "200"], "percent of the size from 0 to 100, not 200"),
        (
            ["--only", "tree"],
            "No question has the id 'tree', nor one that matches it. The first is",
        ),
        (["--only", "oil", "--skip", "o*"], "No question is left"),
        (["--cutter", "markdown"], "'markdown' is no cutter"),
        (["--headings", "maybe"], "Choose from: in, out"),
        (["--cutter", "semantic"], "semantic needs vectors: name an --embedder"),
        (["--settings", "dense"], "dense needs vectors: name an --embedder"),
        (["--settings", "best"], "'best' is no setting"),
        (["--by", "page"], "--by"),
        (["--json", "--markdown"], "Choose one of --json and --markdown"),
    ],
)
def test_what_cannot_be_is_said(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_figures_say_which_questions_of_which_file_they_are_of(place: Path) -> None:
    sha = sha256((place / "golden.jsonl").read_bytes()).hexdigest()
    told = record("--only", "b*", "--skip", "bread")
    assert told["golden"] == {
        "path": "golden.jsonl", "sha256": sha, "only": ["b*"], "skip": ["bread"],
    }  # fmt: skip
    assert told["scored"] == 1


def test_a_golden_file_with_faults_is_an_error(place: Path) -> None:
    (place / "golden.jsonl").write_text('{"question": "q", "expeted": ["lamp.md"]}\n')
    result = run()
    assert result.exit_code == 2
    assert "expeted" in result.stderr


def test_a_long_document_hides_no_other(place: Path) -> None:
    text = long_document(300, "All about the anchor of a ship")
    write_corpus(place / "docs", {"long.md": text, "anchor.md": "# Anchor\n\nThe anchor ship.\n"})
    asked: dict[str, object] = {
        "id": "a",
        "question": "all about the anchor of a ship",
        "expected": ["anchor.md"],
    }
    (place / "golden.jsonl").write_text(lines([asked]))
    told = record("--k", "2", "--cutter", "sections,fixed", "--max-chars", "200")
    assert [row["measures"]["recall@2"]["mean"] for row in told["rows"]] == [1, 1]


def test_nothing_of_a_store_changes(place: Path) -> None:
    ingest(place / "docs", place / "docs" / ".contextpull")
    store = place / "docs" / ".contextpull"

    def contents() -> dict[str, bytes]:
        files = (path for path in sorted(place.rglob("*")) if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    before = contents()
    assert run().exit_code == 0
    assert contents() == before
    assert store.exists()


def test_the_best_settings_are_told_as_a_command() -> None:
    assert record("--max-chars", "500")["ingest"] == "contextpull ingest docs --max-chars 500"
    large = record("--max-chars", "9000", "--min-chars", "0", "--heading-depth", "2")["ingest"]
    assert large == (
        "contextpull ingest docs --max-chars 9000 --hard-max-chars 9000 --min-chars 0"
        " --heading-depth 2"
    )
    command = large.removeprefix("contextpull ").split()
    assert CliRunner().invoke(cli, [*command, "--store", "store"]).exit_code == 0
    assert "none of these can be ingested" in run("--cutter", "fixed").stdout


def test_the_table_says_whether_the_order_could_be_luck() -> None:
    result = run()
    assert "which could be luck (p 1.000)" in result.stdout
    assert "To use it: contextpull ingest docs" in result.stdout
    assert "No store was changed." in result.stdout
    assert all(len(line) <= 110 for line in result.stdout.splitlines()[:4])


def test_markdown_keeps_every_row_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("--markdown", "--cutter", "sections,recursive", "--headings", "in,out").stdout
    table = shown.split("\n\n")[0].splitlines()
    assert len(table) == 10
    assert all(line.startswith("| ") and line.endswith(" |") for line in table)
    assert len({line.count(" | ") for line in table}) == 1


def test_pages_are_scored_whatever_the_cutter(place: Path) -> None:
    pytest.importorskip("pypdfium2")
    topics = ("anchor", "bollard", "capstan")
    pages = [
        printed(*[f"All about the {topic} of a ship {n}." for n in range(6)]) for topic in topics
    ]
    write_corpus(place / "docs", {"ship.pdf": pdf(*pages)})
    asked: dict[str, object] = {
        "id": "b",
        "question": "about the bollard",
        "expected": ["ship.pdf#page=2"],
    }
    (place / "golden.jsonl").write_text(lines([asked]))
    told = record(
        "--by", "page", "--cutter", "sections,recursive", "--max-chars", "200", "--k", "1"
    )
    assert [row["measures"]["recall@1"]["mean"] for row in told["rows"]] == [1, 1]
    asked["expected"] = ["ship.pdf#page=4"]
    (place / "golden.jsonl").write_text(lines([asked]))
    result = run("--by", "page")
    assert result.exit_code == 2
    assert "does not hold 'ship.pdf#page=4'" in result.stderr


def test_vectors_are_made_for_every_build(place: Path, tiny_embedder: Path) -> None:
    pytest.importorskip("faiss")
    told = record(
        "--embedder", tiny_embedder, "--settings", "lexical,dense,hybrid",
        "--cutter", "sections,semantic", "--max-chars", "500",
    )  # fmt: skip
    assert len(told["rows"]) == 6
    dense = [row for row in told["rows"] if row["setting"] == "dense"]
    assert all(row["measures"]["recall@10"]["mean"] == 1 for row in dense)
    assert list((place / "cache").rglob("*.sqlite"))
    only_dense = ("--embedder", tiny_embedder, "--settings", "dense", "--max-chars", "2000")
    assert record(*only_dense)["ingest"] == f"contextpull ingest docs --embedder {tiny_embedder}"
