"""Runs of agents over a few questions: in this process, or in one that can be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from contextpull.adapters.ragbisect import save_passages, save_questions
from contextpull.cli.main import cli
from contextpull.types import Passage, Question
from tests.standins import Calls, Request, Says, StandIn, Step

REPOSITORY = Path(__file__).resolve().parents[1]
_CHILD = """\
import resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
if int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv[1:2] = []
from contextpull.cli.main import main
main()
"""
"""The command as a user's shell starts it: interruptible, with a limit to the size of files."""


def write_set(folder: Path, count: int) -> list[str]:
    """Files of so many questions and their sections, as options of the command."""
    numbers = range(1, count + 1)
    questions = [
        Question(f"q{n}", f"How long does kettle {n} take?", "conceptual", (f"{n}.md#kettle",))
        for n in numbers
    ]
    passages = [
        Passage(f"{n}.md#kettle", f"# Kettle {n}\n\nIt boils in {n} minutes.\n", f"{n}.md")
        for n in numbers
    ]
    save_questions(folder / "questions.jsonl", questions)
    save_passages(folder / "sections.jsonl", passages)
    files = {name: str(folder / f"{name}.jsonl") for name in ("questions", "sections")}
    return ["--questions", files["questions"], "--sections", files["sections"]]


def number_of(request: Request) -> int:
    """Which question a request belongs to."""
    return int(request.question.split()[4])


def reads_and_answers(request: Request) -> Step:
    """Reads what answers a question with an even number, and answers any."""
    number = number_of(request)
    if request.turn == 0 and number % 2 == 0:
        return Calls([("read", {"ids": [f"{number}.md#kettle"]})])
    return Says(f"{number} minutes, see [{number}.md#kettle].")


def asked(model: StandIn) -> list[int]:
    """The numbers of the questions that were put to a model, in order."""
    return [number_of(request) for request in model.asked if request.turn == 0]


def run(*arguments: object) -> Result:
    """The command, in this process."""
    options = ["eval", "run", "--rounds", "100", *map(str, arguments)]
    return CliRunner().invoke(cli, options)


def start(
    *arguments: object, most_bytes: int = 0, stderr: int = subprocess.PIPE
) -> "subprocess.Popen[str]":
    """The command in a process of its own; `most_bytes` is the longest file it may write."""
    command = [sys.executable, "-c", _CHILD, str(most_bytes)]
    return subprocess.Popen(
        [*command, "eval", "run", "--rounds", "100", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "TERM": "xterm"},
    )


def kept(out: Path) -> list[str]:
    """The ids of the questions whose transcripts a folder holds whole, in the order of the file."""
    return [each["transcript"]["question_id"] for each in lines(out / "transcripts.jsonl")]


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file, but for a last line that was never finished."""
    whole = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in whole]


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """A report without the times, and without what was kept: equal for runs that answer alike."""
    agents = {
        name: {key: value for key, value in record.items() if key not in {"seconds", "replayed"}}
        for name, record in report["agents"].items()
    }
    rows = [{**row, "seconds": 0} for row in report["rows"]]
    return {**report, "agents": agents, "rows": rows}


def failures(report: dict[str, Any], row: str = "pull, read") -> dict[str, str]:
    """Why questions of a row have no answer, by id."""
    found: Sequence[dict[str, str]] = next(
        each["failures"] for each in report["rows"] if each["row"] == row
    )
    return {each["id"]: each["error"] for each in found}
