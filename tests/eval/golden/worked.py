"""The worked examples of docs/golden-examples.md, run as a reader would.

python -m tests.eval.golden.worked    writes what the commands print into the page
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from click.testing import CliRunner

from contextpull.cli.main import cli
from tests.documented import DOCS
from tests.eval.golden.writers import agrees, is_critic
from tests.standins import Request, Says, Step, standing_in

PAGE = DOCS / "golden-examples.md"
ADDRESS = "http://127.0.0.1:8080"
"""Where the page has its model."""

_BLOCK = re.compile(r"(?<=^```\n)\$ .*?(?=^```$)", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_TIMES = (
    (r"\bin \d+\.\d s\b", "in … s"),
    (r"^(median ms|p95 ms)( +)\d+\.\d", r"\1\2…"),
    (r"(?<= )\d+\.\d( +)\d+\.\d$", r"…\1…"),
    (r"^((?:structure-aware|recursive|fixed) \d+ .*) \d+\.\d$", r"\1 …"),
)
_DRAFTS = {
    "May I open the enclosure?": (
        "What happens to the guarantee once the seal is broken?",
        "It ends.",
        "Opening the enclosure itself breaks the seal",
    ),
    "Which ports must the firewall open?": (
        "Where do log lines leave the plant, if they do?",
        "Through TCP port 6514.",
        "TCP 6514 if logs are sent away",
    ),
}


class Worked(NamedTuple):
    """One command of the page."""

    command: str
    shown: str
    """What the page says that it prints."""
    printed: str
    """What it printed, with `…` for times."""


def worked_examples(page: str, folder: Path) -> list[Worked]:
    """Run the commands of a page, in order, in a folder that holds the demo alone.

    Raises AssertionError for a command that fails unless `echo $?` comes next.
    """
    shutil.copytree(DOCS.parent / "demo" / "corpus", folder / "demo" / "corpus")
    shutil.copy(DOCS.parent / "demo" / "questions.jsonl", folder / "demo")
    kept = {name: value for name, value in os.environ.items() if "CONTEXTPULL" not in name}
    done = []
    with standing_in(reads) as model, chdir(folder), patch.dict(os.environ, kept, clear=True):
        steps = list(_steps(page))
        code = "0"
        for at, (command, shown) in enumerate(steps):
            is_told = dict(steps[at + 1 : at + 2]).keys() == {"echo $?"}
            printed, code = _run(command, shown, code, model.address)
            assert code == "0" or is_told, f"{command}: {code}: {printed}"
            done.append(Worked(command, shown, _without_times(printed)))
    return done


def reads(request: Request) -> Step:
    """A model that copies the passages that it is shown, and grades by the words that are there."""
    told = request.question
    if is_critic(request):
        return Says(json.dumps(agrees(told)))
    if "grade answers" in request.system:
        pair = ("ANSWER", "EVIDENCE") if "\nEVIDENCE\n" in told else ("REFERENCE", "ANSWER")
        wanted, given = (_part(told, name) for name in pair)
        share = len(wanted & given) / len(wanted)
        return Says(json.dumps({"reason": "Words were counted.", "score": round(share, 2)}))
    if "answer questions from passages" in request.system:
        return Says(json.dumps({"answer": told.partition("\n\n")[2]}))
    [(question, answer, words)] = [draft for key, draft in _DRAFTS.items() if key in told]
    quotes = [{"passage": 1, "words": words}]
    return Says(
        json.dumps({"question": question, "answer": answer, "quotes": quotes, "declined": ""})
    )


def _part(told: str, name: str) -> set[str]:
    [text] = re.findall(rf"^{name}\n(\w+)\n(.*?)\n\1$", told, re.DOTALL | re.MULTILINE)[:1]
    return _words(text[1])


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _steps(page: str) -> Iterator[tuple[str, str]]:
    for block in _BLOCK.findall(page):
        yield from _STEP.findall(block)


def _run(command: str, shown: str, code: str, address: str) -> tuple[str, str]:
    """What a command prints, and its exit code; a file that is not there is made by `cat`."""
    words = shlex.split(command.replace("\\\n", " ").replace(ADDRESS, address))
    target = None
    if words[-2:-1] == [">"]:
        target = Path(words[-1])
        del words[-2:]
    most = _most_lines(words)
    if words == ["echo", "$?"]:
        return f"{code}\n", "0"
    if words[0] == "contextpull":
        result = CliRunner().invoke(cli, words[1:])
        printed = result.output if result.exit_code == 2 else result.stdout
        printed, code = printed.replace(address, ADDRESS), str(result.exit_code)
    else:
        path = Path(words[-1])
        if not path.exists():
            path.write_text(shown, encoding="utf-8")
        printed, code = path.read_text(encoding="utf-8"), "0"
    printed = "".join(printed.splitlines(keepends=True)[:most])
    if target is None:
        return printed, code
    target.write_text(printed, encoding="utf-8")
    return "", code


def _most_lines(words: list[str]) -> int | None:
    """How many lines are shown; `| head -5` is taken off the command."""
    if words[-3:-1] == ["|", "head"]:
        most = int(words[-1].removeprefix("-"))
        del words[-3:]
        return most
    return int(words[1].removeprefix("-")) if words[0] == "head" else None


def _without_times(printed: str) -> str:
    for pattern, instead in _TIMES:
        printed = re.sub(pattern, instead, printed, flags=re.MULTILINE)
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


def refreshed(page: str, done: Sequence[Worked]) -> str:
    """The page with what the commands printed."""
    steps = iter(done)

    def step(_found: re.Match[str]) -> str:
        worked = next(steps)
        return f"$ {worked.command}\n{worked.printed}"

    return _BLOCK.sub(lambda block: _STEP.sub(step, block[0]), page)


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(refreshed(text, worked_examples(text, Path(scratch))), encoding="utf-8")
