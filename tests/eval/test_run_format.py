"""The folder of a run holds what docs/runs.md says, no field more and none less."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from contextpull.cli.main import cli
from tests.agent_runs import lines, number_of, reads_and_answers, run, write_set
from tests.standins import Fails, Request, Says, Step, standing_in

pytest.importorskip("openai")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "runs.md"
NAMED_BY_DATA = {"agents", "measures", "shapes", "outcomes", "by_tool", "scores", "stats"}
WHOLE = {"arguments", "close_gold", "comparisons_by_shape"}
"""Values that the page does not look into."""


def documented() -> dict[str, set[str]]:
    """The fields of each file, as the page has them."""
    parts = PAGE.read_text(encoding="utf-8").split("\n### ")[1:]
    return {
        part.partition("\n")[0]: set(re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE))
        for part in parts
    }


def fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of everything that a record holds, as the page writes them."""
    name = path.rpartition(".")[2]
    if name in WHOLE:
        yield path
    elif isinstance(value, list):
        items = [each for item in value for each in fields(item, f"{path}[]")]
        yield from items or [f"{path}[]"]
    elif isinstance(value, dict):
        is_data = name in NAMED_BY_DATA
        inner = [(f"{path}{{}}" if is_data else f"{path}.{each}", value[each]) for each in value]
        yield from [each for at, item in inner for each in fields(item, at.removeprefix("."))]
        if not inner:
            yield f"{path}{{}}"
    else:
        yield path


def written(folder: Path, name: str) -> set[str]:
    path = folder / name
    records = lines(path) if name.endswith("l") else [json.loads(path.read_text())]
    if name == "failures.jsonl":
        records = [{**each, "transcript": ""} for each in records]
    return {each for record in records for each in fields(record)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a question that failed, kept in a folder and judged."""

    def script(request: Request) -> Step:
        return Fails(400) if number_of(request) == 3 else reads_and_answers(request)

    place = tmp_path_factory.mktemp("set")
    with standing_in(script) as model:
        agent = ["--rows", "bm25,pull", "--model", model.endpoint, "--concurrency", 1]
        run(*write_set(place, 4), *agent, "--out", place / "run")
        model.script = [Says('{"reason": "so", "score": 1}')]
        judge = ["eval", "judge", str(place / "run"), "--judge", model.endpoint]
        CliRunner().invoke(cli, judge)
    return place / "run"


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "questions.jsonl",
        "transcripts.jsonl",
        "failures.jsonl",
        "outcomes.jsonl",
        "report.json",
        "judgements.jsonl",
    ],
)
def test_a_file_of_a_run_has_the_fields_that_the_page_lists(folder: Path, name: str) -> None:
    found, page = written(folder, name), documented()[name]
    empty = tuple(each for each in found if each.endswith(("[]", "{}")))
    missing = {each for each in found - page if not any(at.startswith(each) for at in page)}
    assert not missing, f"docs/runs.md does not list them: {sorted(missing)}"
    gone = {each for each in page - found if not each.startswith(empty)}
    assert not gone, f"docs/runs.md lists what no run writes: {sorted(gone)}"


def test_the_page_lists_every_file_of_the_folder(folder: Path) -> None:
    table = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    assert {each.name for each in folder.iterdir()} == listed
