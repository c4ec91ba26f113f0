"""`contextpull eval run`, from the command line's side."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import contextpull.adapters
from contextpull.adapters.push import Searched
from contextpull.adapters.ragbisect import save_passages, save_questions
from contextpull.cli.evaluate import eval_group
from contextpull.errors import EvaluationError
from contextpull.types import Passage, Question
from tests.terminals import watched

PASSAGES = [Passage(f"a.md#{word}", f"about {word}", "a.md") for word in ("red", "green", "blue")]
QUESTIONS = [
    Question("q1", "red", "conceptual", ("a.md#red",)),
    Question("q2", "green", "exact_lookup", ("a.md#green",)),
    Question("q3", "grey", "exact_lookup", ("a.md#blue",)),
]


class WordMatch:
    """Stands in for bm25: the sections whose text holds the query."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self.ids = [passage.id for passage in passages]

    def retrieve(self, query: str, k: int) -> list[str]:
        if query == "fail":
            raise RuntimeError("broken index")
        return [passage.id for passage in self.passages if query in passage.text][:k]


@pytest.fixture(autouse=True)
def word_match(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(passages: Sequence[Passage], _folder: object = None) -> tuple[Any, ...]:
        return Searched(passages, {at: each.id for at, each in enumerate(passages)})  # type: ignore[arg-type]

    push = SimpleNamespace(
        over_passages=searched,
        over_store=lambda path: searched(PASSAGES),
        Push=lambda searched, *_: WordMatch(searched.snapshot),
    )
    monkeypatch.setattr(contextpull.adapters, "push", push, raising=False)


@pytest.fixture
def sections(tmp_path: Path) -> str:
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    return str(tmp_path / "sections.jsonl")


@pytest.fixture
def questions(tmp_path: Path) -> str:
    save_questions(tmp_path / "questions.jsonl", QUESTIONS)
    return str(tmp_path / "questions.jsonl")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(eval_group, ["run", "--rounds", "200", *arguments])


def test_table_goes_to_stdout_and_nothing_else(questions: str, sections: str) -> None:
    result = run("--questions", questions, "--sections", sections)
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0].startswith("row")
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["bm25", "3", "0.667"],
        ["conceptual", "1", "1.000"],
        ["exact_lookup", "2", "0.500"],
    ]


def test_progress_shows_on_a_terminal_and_stays_off_stdout(
    questions: str,
    sections: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = watched(monkeypatch)
    arguments = ["run", "--questions", questions, "--sections", sections, "--json"]
    with pytest.raises(SystemExit) as caught:
        eval_group.main(arguments)
    assert caught.value.code == 0
    assert "bm25" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert json.loads(capsys.readouterr().out)["k"] == 5


def test_json_holds_the_same_figures(questions: str, sections: str) -> None:
    result = run("--questions", questions, "--sections", sections, "--json", "--k", "2")
    record = json.loads(result.stdout)
    assert record["k"] == 2
    [row] = record["rows"]
    assert (row["row"], row["n"], row["errors"]) == ("bm25", 3, 0)
    assert row["measures"]["recall@2"]["mean"] == pytest.approx(2 / 3)
    assert row["interval"]["rounds"] == 200


def test_store_gives_the_sections_instead(questions: str) -> None:
    result = run("--questions", questions, "--store", "anywhere", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rows"][0]["n"] == 3


def test_seed_changes_the_interval_only(questions: str, sections: str) -> None:
    def row(seed: str) -> dict[str, object]:
        result = run("--questions", questions, "--sections", sections, "--json", "--seed", seed)
        measured = json.loads(result.stdout)["rows"][0]
        return {key: value for key, value in measured.items() if key != "seconds"}

    assert row("1") == row("1")
    assert row("1")["interval"] != row("2")["interval"]


def test_failed_question_is_listed_and_exits_1(tmp_path: Path, sections: str) -> None:
    path = tmp_path / "failing.jsonl"
    save_questions(path, [*QUESTIONS, Question("q4", "fail", "conceptual", ("a.md#red",))])
    result = run("--questions", str(path), "--sections", sections)
    assert result.exit_code == 1
    assert "bm25: 1 failed question, counted as a miss:" in result.stdout
    assert "q4: RuntimeError: broken index" in result.stdout


def test_gold_that_the_sections_lack_is_an_error(tmp_path: Path, questions: str) -> None:
    path = tmp_path / "fewer.jsonl"
    save_passages(path, PASSAGES[:1])
    result = run("--questions", questions, "--sections", str(path))
    assert isinstance(result.exception, EvaluationError)
    assert "2 of 3 questions have gold" in str(result.exception)


def test_missing_file_is_an_error(sections: str) -> None:
    result = run("--questions", "absent.jsonl", "--sections", sections)
    assert isinstance(result.exception, EvaluationError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --sections or --store"),
        (["--sections", "s", "--store", "d"], "either --sections or --store"),
        (["--store", "d", "--rows", "bm25,push"], "'push' is no row. Choose from: bm25, dense,"),
        (["--store", "d", "--rows", "bm25, bm25"], "'bm25' is named more than once"),
        (["--store", "d", "--k", "0"], "--k"),
        (["--store", "d", "--rounds", "5"], "--rounds"),
    ],
)
def test_wrong_usage_is_explained(questions: str, arguments: list[str], message: str) -> None:
    result = run("--questions", questions, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_help_teaches_and_loads_nothing_heavy() -> None:
    script = (
        "import sys; from contextpull.cli.evaluate import eval_group\n"
        "try: eval_group(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "print('loaded:', [each for each in ('numpy', 'rich', 'tantivy') if each in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "loaded: []" in output
    assert "contextpull eval run --questions questions.jsonl --store .contextpull" in output
    assert "Exit code:" in output
