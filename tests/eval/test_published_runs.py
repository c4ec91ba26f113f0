"""The runs in benchmarks/ say what they said when they were made."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from contextpull.cli.evaluate import eval_group

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
    rows = json.loads((run / "report.json").read_bytes())["rows"]
    ours = {
        each["row"]: [f"{figure['mean']:.3f}" for figure in each["measures"].values()]
        for each in rows
    }
    blocks = (run / "ragbisect.txt").read_text(encoding="utf-8").split("## our row: ")[1:]
    theirs = {block.partition("\n")[0]: _figures(block) for block in blocks}
    assert theirs == ours


def _figures(block: str) -> list[str]:
    (line,) = (each for each in block.splitlines() if each.startswith("your adapter"))
    return line.split()[2:5]
