"""The runs in benchmarks/ say what they said when they were made."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from contextpull.cli.evaluate import eval_group
from contextpull.eval.measures import at_cutoff, headline, score

PUBLISHED = Path(__file__).resolve().parents[2] / "benchmarks" / "pull"
RUNS = sorted(path.parent for path in PUBLISHED.glob("*/run.json"))


def test_there_are_published_runs() -> None:
    assert RUNS


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_published_run_replays_to_its_table(run: Path) -> None:
    result = CliRunner().invoke(eval_group, ["replay", str(run)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (run / "table.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_ragbisect_measured_the_rows_alike(run: Path) -> None:
    ours = {row: _first_runs(run, row) for row in _rows(run)}
    blocks = (run / "ragbisect.txt").read_text(encoding="utf-8").split("## our row: ")[1:]
    theirs = {block.partition("\n")[0]: _figures(block) for block in blocks}
    assert theirs == ours


def _rows(run: Path) -> list[str]:
    return [each["row"] for each in json.loads((run / "report.json").read_bytes())["rows"]]


def _first_runs(run: Path, row: str) -> list[str]:
    """The figures of a row by the rankings that ragbisect got: each question's first."""
    gold = {each["id"]: each["gold_chunk_ids"] for each in _lines(run / "questions.jsonl")}
    measures = at_cutoff(5)
    scores = [
        score(each["ranking"], gold[each["id"]], measures)
        for each in _lines(run / "outcomes.jsonl")
        if each["row"] == row
    ]
    terms = headline(scores, measures).values()
    return [f"{sum(each.numerators) / sum(each.denominators):.3f}" for each in terms]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _figures(block: str) -> list[str]:
    (line,) = (each for each in block.splitlines() if each.startswith("your adapter"))
    return line.split()[2:5]
