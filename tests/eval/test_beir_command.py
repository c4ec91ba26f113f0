"""`contextpull eval beir`, from the command line's side."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.adapters.push import Searched
from contextpull.cli import judged as command
from contextpull.cli.main import cli
from contextpull.cli.rows import RowModels
from tests.judged import DOCUMENTS, QRELS, lines, write_collection


def run(*arguments: str | Path) -> Result:
    texts = ["eval", "beir", "--rounds", "200", *map(str, arguments)]
    return CliRunner().invoke(cli, texts, standalone_mode=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "small")


@pytest.fixture
def two_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`--rows bm25` measures two: bm25 and one that fails on bread and finds nothing else."""

    class Nothing:
        def retrieve(self, query: str, k: int) -> list[str]:
            if "bread" in query:
                raise RuntimeError("no oven")
            return []

    opened = command.open_rows

    def open_rows(names: object, searched: Searched, models: RowModels) -> object:
        yield from opened(["bm25"], searched, models)
        yield "nothing", Nothing()

    monkeypatch.setattr(command, "open_rows", open_rows)
    return ["bm25", "nothing"]


def test_table_goes_to_stdout_and_nothing_else(small: Path) -> None:
    result = run(small)
    assert result.return_value == 0
    assert result.stderr == ""
    title, head, row, note, *_ = result.stdout.splitlines()
    assert title == "small: 4 documents, 2 queries, test"
    assert head.split()[:3] == ["row", "n", "nDCG@10"]
    assert row.split()[:3] == ["bm25", "2", "1.000"]
    assert note == "  1 queries without a relevant document were left out."


def test_json_holds_every_collection(small: Path, tmp_path: Path) -> None:
    other = write_collection(tmp_path / "other", qrels="q1\td3\t1\n")
    record = json.loads(run(small, other, "--json").stdout)
    assert [each["collection"] for each in record["collections"]] == ["small", "other"]
    means = [each["rows"][0]["measures"]["nDCG@10"]["mean"] for each in record["collections"]]
    assert means == [1, 0]
    assert record["means"][0]["measures"]["nDCG@10"]["mean"] == 0.5
    assert record["comparisons"] == []


def test_rows_are_compared_and_failures_exit_1(small: Path, two_rows: list[str]) -> None:
    result = run(small)
    assert result.return_value == 1
    assert "nDCG@10 beside the row bm25" in result.stdout
    assert "small, nothing: 1 failed question, counted as a miss:" in result.stdout
    assert "q2: RuntimeError: no oven" in result.stdout


def test_per_query_file_has_a_line_a_row_and_query(
    small: Path, tmp_path: Path, two_rows: list[str]
) -> None:
    path = tmp_path / "queries.jsonl"
    run(small, "--per-query", path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(each["row"], each["query"]) for each in records] == [
        (row, query) for row in two_rows for query in ("q1", "q2")
    ]
    assert records[0]["nDCG@10"] == 1
    assert records[0]["top"][:2] == ["d1", "d2"]


def test_run_files_are_written_one_a_row(small: Path, tmp_path: Path, two_rows: list[str]) -> None:
    run(small, "--run-files", tmp_path / "runs")
    assert (tmp_path / "runs/small.bm25.run").read_text().startswith("q1 Q0 d1 1 100 bm25\n")
    assert (tmp_path / "runs/small.nothing.run").read_text() == ""


def test_stores_are_kept_and_used_again(small: Path, tmp_path: Path) -> None:
    first = run(small, "--store", tmp_path / "stores", "--json")
    made = (tmp_path / "stores/small/store.sqlite").stat().st_mtime_ns
    again = run(small, "--store", tmp_path / "stores", "--json")
    assert (tmp_path / "stores/small/store.sqlite").stat().st_mtime_ns == made
    first_row, again_row = (
        json.loads(each.stdout)["collections"][0]["rows"][0]["measures"] for each in (first, again)
    )
    assert first_row == again_row


def test_store_of_other_documents_is_an_error(small: Path, tmp_path: Path) -> None:
    run(small, "--store", tmp_path / "stores")
    write_collection(small, corpus=lines(DOCUMENTS[:2]))
    result = run(small, "--store", tmp_path / "stores")
    assert result.return_value == 2
    assert "made of other documents than those of small" in result.stderr
    assert result.stdout == ""


def test_first_queries_of_another_split(small: Path) -> None:
    write_collection(small, qrels=QRELS, split="dev")
    result = run(small, "--split", "dev", "--queries", "1")
    assert "small: 4 documents, 1 queries, dev" in result.stdout
    assert "  Only the first 1 of 2 queries were asked." in result.stdout


def test_faults_are_shown_before_anything_is_measured(small: Path, tmp_path: Path) -> None:
    broken = write_collection(tmp_path / "broken", qrels="q1\td1\tyes\nq1\td1\tno\n")
    result = run(small, broken, "--store", tmp_path / "stores")
    assert result.return_value == 2
    assert "test.tsv:2: the score must be a whole number" in result.stderr
    assert not (tmp_path / "stores").exists()


def test_missing_numpy_is_said_before_a_store_is_made(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    result = run(small, "--store", tmp_path / "stores")
    assert result.return_value == 2
    assert "pip install 'contextpull[eval]'" in result.stderr
    assert not (tmp_path / "stores").exists()


def test_run_files_that_cannot_be_written_are_an_error(small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(
        cli, ["eval", "beir", str(small), "--run-files", str(tmp_path / "file/runs")]
    )
    assert result.exit_code == 1
    assert "Could not open file" in result.stderr


def test_collections_of_one_name_are_refused(small: Path, tmp_path: Path) -> None:
    again = write_collection(tmp_path / "more" / "small")
    result = run(small, again)
    assert "2 collections are named 'small'" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "bm25,grep"], "'grep' is no row"),
        (["--baseline", "dense"], "'dense' is not among the --rows"),
        (["--queries", "0"], "--queries"),
    ],
)
def test_wrong_usage_is_explained(small: Path, arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, ["eval", "beir", str(small), *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


def test_help_teaches() -> None:
    text = CliRunner().invoke(cli, ["eval", "beir", "--help"]).stdout
    assert "contextpull eval beir scifact" in text
    assert "Exit code:" in text
