"""How much of a model's context a question takes: what it is told, each call, the conversation.

    python benchmarks/context/run.py --tokenizer FILE [--peer-python PYTHON] [--claude COMMAND]
        [--set NAME FOLDER QUESTIONS] ...

FILE is a Hugging Face tokenizer.json. PYTHON has the public package contextpull[mcp] 0.2.1, COMMAND
is Claude Code; what is not given is left out of the report. Each set is a folder of documents and
an eval set over it, beside the demo's, which is always measured. Claude Code is asked ten
questions of each set. No model is asked anything: a script searches, reads and answers.
"""

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import anyio
import claude_code
from counting import Bill, Count, bill, compact, output_tokens, requests_of, spread, tokens_by
from mcp import Client
from measuring import machine, table
from notes import CALLS, CLAUDE, CONVERSATIONS, COSTS_MORE, PUBLISHED, TOLD
from sides import Ours, Peer, Side, counterparts
from talking import Asked, Told, ask, told

from contextpull.adapters.ragbisect import load_questions
from contextpull.tools import MOST_INSTRUCTION_CHARS
from contextpull.types import Question

ROOT = Path(__file__).resolve().parents[2]
PEER = "contextpull 0.2.1"
THROUGH_CLAUDE = 10
CHARS_A_TOKEN = 4


class Set(NamedTuple):
    """A folder of documents and the questions about it."""

    name: str
    folder: Path
    questions: list[Question]


class Heard(NamedTuple):
    """All that one side said of one set."""

    side: Side
    told: Told
    asked: list[Asked]


def main() -> None:
    arguments = parse()
    count = tokens_by(arguments.tokenizer)
    print(f"# What a question takes of the context\n\n{machine()}\n\n{versions(arguments)}\n")
    demo = ["demo", ROOT / "demo" / "corpus", ROOT / "demo" / "questions.jsonl"]
    for name, folder, questions in [demo, *arguments.set]:
        each = Set(name, Path(folder).resolve(), load_questions(Path(questions)))
        with TemporaryDirectory(prefix="contextpull-bench-") as work:
            report(each, sides(Path(work), arguments.peer_python), arguments, count)
    for title, note in (
        ("Told before the first call", TOLD),
        ("A call", CALLS),
        ("A conversation", CONVERSATIONS),
        ("Through Claude Code", CLAUDE),
    ):
        print(f"## How to read: {title}\n\n{note}\n")
    print(f"## Where ours costs more\n\n{COSTS_MORE}\n")
    print(f"## The published figure\n\n{PUBLISHED}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--claude", type=Path)
    parser.add_argument(
        "--set", nargs=3, action="append", default=[], metavar=("NAME", "FOLDER", "QUESTIONS")
    )
    return parser.parse_args()


def versions(arguments: argparse.Namespace) -> str:
    """What was measured, and the command that does so again."""
    used = [f"contextpull {version('contextpull')}", f"mcp {version('mcp')}"]
    command = "python benchmarks/context/run.py --tokenizer tokenizer.json"
    if arguments.peer_python:
        code = "from importlib.metadata import version as v; print(v('contextpull'), v('mcp'))"
        found = subprocess.run(
            [arguments.peer_python, "-c", code], capture_output=True, text=True, check=True
        )
        used.append("peer: contextpull {} on mcp {}".format(*found.stdout.split()))
        command += " --peer-python PEER/bin/python"
    if arguments.claude:
        used.append(claude_code.version(arguments.claude))
        command += " --claude CLAUDE"
    command += "".join(f" --set {name} FOLDER QUESTIONS" for name, *_ in arguments.set)
    digest = hashlib.sha256(arguments.tokenizer.read_bytes()).hexdigest()
    return f"{'; '.join(used)}. Tokenizer: sha256 {digest[:16]}…\n\n```\n{command}\n```"


def sides(work: Path, peer: Path | None) -> list[Side]:
    """Ours with each amount that search can show of a hit, and the peer if it is given."""
    command = [sys.executable, "-m", "contextpull"]
    return [
        Ours("ours", command, work),
        *(
            Ours(f"ours, snippets={shown}", command, work, ("--snippets", shown))
            for shown in ("heading", "full")
        ),
        *([Peer(PEER, [peer.with_name("contextpull")], work)] if peer else []),
    ]


def report(
    each: Set, all_sides: Sequence[Side], arguments: argparse.Namespace, count: Count
) -> None:
    """Everything about one set."""
    heard = listen(each, all_sides)
    documents = len({section.partition("#")[0] for section in heard[0].side.sections()})
    print(f"## {each.name}: {documents} documents, {len(each.questions)} questions\n")
    print(f"### Told before the first call\n\n{told_table(heard, count)}\n")
    print(f"### A call\n\n{calls_table(heard, count)}\n")
    print(f"### A conversation\n\n{talks_table(heard, count)}\n", flush=True)
    if arguments.claude:
        step = max(1, len(each.questions) // THROUGH_CLAUDE)
        questions = range(0, len(each.questions), step)[:THROUGH_CLAUDE]
        rows = through_claude(heard, questions, arguments.claude, count)
        title = f"### Through Claude Code, {len(questions)} of the questions"
        print(f"{title}\n\n{rows}\n", flush=True)


def listen(each: Set, all_sides: Sequence[Side]) -> list[Heard]:
    """Have every side read the documents, then ask it everything."""
    texts: dict[str, str] = {}
    heard = []
    for side in all_sides:
        if not side.is_variant:
            side.ingest(each.folder)
        sections = side.sections()
        texts = texts or sections  # ours comes first, and the questions name its sections
        gold = {name: texts[name] for question in each.questions for name in question.gold}
        heard.append(anyio.run(listen_to, side, each.questions, counterparts(gold, sections)))
    return heard


async def listen_to(
    side: Side, questions: Sequence[Question], gold: Mapping[str, Sequence[str]]
) -> Heard:
    """Start a server as a host does and ask it every question."""
    async with Client(side.server()) as client:
        first = await told(client)
        return Heard(side, first, [await ask(side, client, each, gold) for each in questions])


def told_table(heard: Sequence[Heard], count: Count) -> str:
    """One column of characters and one of tokens a side."""
    shown = [each for each in heard if not each.side.is_variant]
    texts = [_told_texts(each.told) for each in shown]
    rows = [
        [name, *(cell for text in texts for cell in _sizes(text[name], count))] for name in texts[0]
    ]
    heads = [f"{each.side.name}, {what}" for each in shown for what in ("characters", "tokens")]
    return table(["", *heads], rows)


def _told_texts(first: Told) -> dict[str, str]:
    tools = "\n".join(compact(tool) for tool in first.tools)
    cut = first.instructions[:MOST_INSTRUCTION_CHARS]
    return {
        "instructions": first.instructions,
        "the same, as Claude Code cuts them": cut,
        "tools: names, descriptions, schemas": tools,
        "what the model sees: cut instructions, tools": f"{cut}\n{tools}",
        "tools/list, to the host": first.listings["tools"],
        "resources/list, to the host": first.listings["resources"],
        "resources/templates/list, to the host": first.listings["resource_templates"],
        "prompts/list, to the host": first.listings["prompts"],
    }


def _sizes(text: str, count: Count) -> tuple[str, str]:
    return (f"{len(text):,}", f"{count(text):,}") if text else ("none", "")


def calls_table(heard: Sequence[Heard], count: Count) -> str:
    """A row for each kind of call and side, over the questions that all sides can be asked."""
    rows = []
    for kind in heard[0].asked[0].results:
        for each in heard:
            if kind != "search" and each.side.is_variant:
                continue
            texts = [
                own.results[kind]
                for own, *others in _side_by_side(each, heard)
                if all(kind in other.results for other in others)
            ]
            rows.append([kind, each.side.name, *_spreads(texts, count), _lines(kind, each, texts)])
    heads = ("characters", "p90", "tokens", "p90", "characters / 4", "lines shown")
    return table(("", "", "questions", *heads), rows)


def _side_by_side(each: Heard, heard: Sequence[Heard]) -> list[tuple[Asked, ...]]:
    return list(zip(each.asked, *(other.asked for other in heard), strict=True))


def _spreads(texts: Sequence[str], count: Count) -> list[str]:
    characters = spread([len(text) for text in texts])
    tokens = spread([count(text) for text in texts])
    return [
        f"{len(texts)}",
        *(f"{value:,.0f}" for value in (*characters, *tokens)),
        f"{characters.median / CHARS_A_TOKEN:,.0f}",
    ]


def _lines(kind: str, each: Heard, texts: Sequence[str]) -> str:
    if kind != "grep":
        return ""
    return f"{fmean(each.side.lines(text) for text in texts):.1f} on average"


def talks_table(heard: Sequence[Heard], count: Count) -> str:
    """A row a side: the conversations about all questions."""
    rows = []
    for each in heard:
        bills = [_loop_bill(each, asked, count) for asked in each.asked]
        characters = [_loop_bill(each, asked, len).total for asked in each.asked]
        totals = spread([own.total for own in bills])
        written = median(output_tokens(asked.talk, count) for asked in each.asked)
        rows.append(
            [
                each.side.name,
                f"{fmean(asked.found_gold for asked in each.asked):.0%}",
                f"{fmean(asked.reads for asked in each.asked):.2f}",
                f"{fmean(own.requests for own in bills):.2f}",
                *(f"{value:,.0f}" for value in totals),
                f"{median(own.told for own in bills):,.0f}",
                f"{median(characters) / CHARS_A_TOKEN:,.0f}",
                f"{median(own.cached for own in bills):,.0f}",
                f"{median(own.warm for own in bills):,.0f}",
                f"{written:,.0f}",
            ]
        )
    heads = ("gold among hits", "sections read", "requests", "input tokens", "p90", "told")
    more = ("characters / 4", "cached", "cached, begun warm", "output of calls")
    return table(("", *heads, *more), rows)


def _loop_bill(each: Heard, asked: Asked, count: Count) -> Bill:
    text = asked.question.text
    requests = requests_of(each.told, text, asked.talk)
    names = tuple(tool["name"] for tool in each.told.tools)
    return bill(requests, text, each.told, names, count)


def through_claude(
    heard: Sequence[Heard], questions: Sequence[int], claude: Path, count: Count
) -> str:
    """A row for each way to start it and each side."""
    rows = []
    for setting, options in claude_code.SETTINGS.items():
        for each in heard:
            if each.side.is_variant:
                continue
            look = claude_code.defers(claude, each.side, options)
            exchanges, bills = [], []
            for asked in (each.asked[place] for place in questions):
                text = asked.question.text
                found = claude_code.ask(claude, each.side, options, text, asked.talk, look)
                exchanges.append(found)
                bills.append(bill(found.requests, text, each.told, (claude_code.PREFIX,), count))
            rows.append([setting, each.side.name, *_claude_cells(exchanges, bills)])
    heads = ("requests", "bytes, first", "bytes, all", "input tokens", "p90", "cached")
    return table(("", "", *heads, "the host's", "the server's"), rows)


def _claude_cells(exchanges: Sequence[claude_code.Exchange], bills: Sequence[Bill]) -> list[str]:
    totals = spread([own.total for own in bills])
    return [
        f"{fmean(own.requests for own in bills):.1f}",
        f"{median(each.sizes[0] for each in exchanges):,.0f}",
        f"{median(sum(each.sizes) for each in exchanges):,.0f}",
        *(f"{value:,.0f}" for value in totals),
        f"{median(own.cached for own in bills):,.0f}",
        *(f"{median(own.by_owner[owner] for own in bills):,.0f}" for owner in ("host", "server")),
    ]


if __name__ == "__main__":
    main()
