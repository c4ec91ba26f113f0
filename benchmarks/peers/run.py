"""Peers side by side, each in its own environment, on the same files and queries, in one run.

    python benchmarks/peers/run.py --data DATA --work WORK [--quick] [--only NAME] [--json OUT]

DATA holds `corpora/`, `eval/` and `judged/`. WORK keeps environments, unpacked corpora and
indexes from one run to the next. Needs ripgrep and npm on PATH and Python 3.12 beside this one.
Writes results.md beside this file, unless --results says where; with --only or --quick it prints.
"""

import argparse
import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import behaviours
import costs
import datasets
import environments
import fairness
import peer as peers_file
import quality
from measuring import machine
from peer import Peer, Spec

_JUDGED = (
    "scifact",
    "claude_codebase",
    "chroma_chunking",
    "hotpotqa_100",
    "fetaqa_tables",
    "cranfield",
    "cisi",
    "adi",
)


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    corpora: tuple[str, ...]
    grep_only: tuple[str, ...]
    """Corpora that only grep is compared on, by those that need no index or ours."""
    judged: tuple[str, ...]
    builds: dict[str, int]
    """Rounds by corpus."""
    rounds: int
    queries: int
    patterns: int


FULL = Plan(
    ("uv_docs", "cpp_docs"), ("win32_docs",), _JUDGED, {"uv_docs": 3, "cpp_docs": 2}, 2, 100, 20
)
QUICK = Plan(("uv_docs",), (), ("adi", "cranfield"), {"uv_docs": 1}, 1, 40, 4)


@dataclass
class Run:
    """One run: what it compares, where, and what came out so far."""

    arguments: argparse.Namespace
    specs: list[Spec]
    plan: Plan
    parts: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @property
    def work(self) -> Path:
        """Where everything is put."""
        work: Path = self.arguments.work
        return work

    def add(self, heading: str, body: str, fair: str) -> None:
        """One part of the report: its table, and whether it is fair, said once."""
        said = any(fair in part for part in self.parts)
        self.parts.append(
            f"## {heading}\n\n{body}\n\n{'Fair or not: as above.' if said else fair}\n"
        )
        print(f"{time.perf_counter() - self.started:.0f} s: {heading}", file=sys.stderr, flush=True)


def main() -> None:
    arguments = parse()
    for program in ("rg", "npm"):
        if not shutil.which(program):
            sys.exit(f"{program} is not on PATH. Install it: Debian has it as ripgrep, or npm.")
    specs, sources = peers_file.load()
    specs = chosen(specs, arguments.only)
    run = Run(arguments, specs, QUICK if arguments.quick else FULL)
    described = machine()
    prepare(specs, sources, run)
    for name in run.plan.corpora:
        with ExitStack() as stack:
            on_corpus(run, name, stack)
    for name in run.plan.grep_only:
        with ExitStack() as stack:
            on_grep_corpus(run, name, stack)
    on_judgements(run)
    on_behaviours(run)
    taken = time.perf_counter() - run.started
    report = "\n".join([header(run, described, sources, taken), *run.parts])
    if arguments.json:
        arguments.json.write_text(json.dumps(run.raw, ensure_ascii=False, indent=1))
    target = arguments.results
    if target is None and not (arguments.quick or arguments.only):
        target = Path(__file__).parent / "results.md"
    if target:
        target.write_text(report, encoding="utf-8")
    else:
        print(report)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], help="a peer, beside ours")
    parser.add_argument("--quick", action="store_true", help="the small corpus, few queries")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json to count tokens with")
    parser.add_argument("--json", type=Path, help="every figure, to this file")
    parser.add_argument("--results", type=Path, help="the report, to this file")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    arguments.data = arguments.data.resolve()
    return arguments


def chosen(specs: Sequence[Spec], only: Sequence[str]) -> list[Spec]:
    """All peers; or ours, those named, and whose indexes they share."""
    if not only:
        return list(specs)
    named = {spec.name for spec in specs if any(each in spec.name for each in only)}
    named |= {spec.shares for spec in specs if spec.name in named}
    return [spec for spec in specs if not spec.beside or spec.name in named]


def prepare(specs: Sequence[Spec], sources: dict[str, dict[str, Any]], run: Run) -> None:
    """Every environment that the peers need."""
    needed = {each for spec in specs for each in (spec.environment, spec.target) if each}
    for name in sorted(needed):
        folder = run.work / "environments" / name
        environments.make(name, sources[name], folder)
        run.raw.setdefault("packages", {})[name] = environments.installed(folder)


def on_corpus(run: Run, name: str, stack: ExitStack) -> None:
    """Build, search and grep one corpus; questions and sizes on the one they are about."""
    corpus = datasets.corpus(run.arguments.data, run.work, name)
    rounds = run.plan.builds[name]
    running, cost = costs.indexed(run.specs, corpus, run.work, rounds, stack)
    run.raw[f"build {name}"] = cost
    run.add(
        f"Building: {name}, {corpus.files:,} Markdown files, median of {rounds}",
        costs.builds_table(run.specs, cost),
        fairness.BUILDING,
    )
    most = run.plan.queries
    questions = quality.Questions(run.arguments.data, most if run.arguments.quick else None)
    about_uv = name == "uv_docs"
    queries = questions.texts[:most] if about_uv else datasets.word_runs(corpus, most)
    answered = costs.searched(
        {each: peer for each, peer in running.items() if kind_of(run, each) != "grep"},
        queries,
        run.plan.rounds,
    )
    run.raw[f"search {name}"] = answered
    run.add(
        f"Searching: {name}, {len(queries)} queries, {run.plan.rounds} rounds",
        costs.latency_table(run.specs, answered),
        fairness.SEARCHING,
    )
    if about_uv:
        on_questions(run, corpus, running, questions)
    if not about_uv or run.arguments.quick:
        on_patterns(run, corpus, running, run.plan.patterns)


def on_questions(
    run: Run, corpus: datasets.Corpus, running: dict[str, Peer], questions: quality.Questions
) -> None:
    """The published questions, by section and by file; what ten hits look like."""
    sections = quality.over_sections(run.specs, questions, corpus, run.work)
    files = quality.over_files(run.specs, running, questions)
    run.raw |= {"questions by section": sections, "questions by file": files}
    count = len(questions.texts)
    run.add(
        f"Questions, by section: {count} over the same 603 sections",
        quality.questions_table(run.specs, sections, questions.sources),
        fairness.SECTIONS,
    )
    run.add(
        f"Questions, by file: {count} over {corpus.files} files, through MCP",
        quality.questions_table(run.specs, files, questions.sources),
        fairness.FILES,
    )
    run.add(
        "What ten hits put into the context: median of 50 questions",
        behaviours.sizes(
            run.specs, running, questions.texts[:50], counter(run.arguments.tokenizer)
        ),
        fairness.SIZES,
    )


def on_patterns(run: Run, corpus: datasets.Corpus, running: dict[str, Peer], count: int) -> None:
    """Literals and expressions, `count` of each, beside ripgrep."""
    able = {spec.name for spec in run.specs if spec.grep} & set(running)
    literals, expressions = datasets.patterns(corpus, count)
    for what, patterns, regex in (("literals", literals, False), ("regex", expressions, True)):
        peers = {name: running[name] for name in running if name in able}
        answered = costs.grepped(peers, patterns, regex, run.plan.rounds)
        run.raw[f"grep {what} {corpus.name}"] = answered
        kept, alike = costs.countable(answered, len(patterns))
        run.add(
            f"Grep, {what}: {corpus.name}, {kept} of {len(patterns)} patterns,"
            f" {run.plan.rounds} rounds",
            costs.latency_table(run.specs, alike, found="lines"),
            fairness.GREP,
        )


def on_grep_corpus(run: Run, name: str, stack: ExitStack) -> None:
    """Grep on a corpus too large for everything else."""
    corpus = datasets.corpus(run.arguments.data, run.work, name, cut=False)
    able = [spec for spec in run.specs if spec.grep]
    running, cost = costs.indexed(able, corpus, run.work, 1, stack)
    run.raw[f"build {name}"] = cost
    on_patterns(run, corpus, running, run.plan.patterns // 2)


def on_judgements(run: Run) -> None:
    """The judged collections."""
    scores = quality.over_judged(run.specs, run.arguments.data, run.plan.judged, run.work)
    run.raw["judged"] = scores
    run.add(
        "Judged collections: nDCG@10",
        quality.judged_table(run.specs, scores, run.plan.judged),
        fairness.JUDGED,
    )


def on_behaviours(run: Run) -> None:
    """Queries that are not plain words."""
    cells = behaviours.report(run.specs, run.work)
    run.raw["behaviours"] = cells
    run.add("Behaviour", behaviours.report_table(run.specs, cells), fairness.BEHAVIOUR)


def header(run: Run, described: str, sources: dict[str, dict[str, Any]], taken: float) -> str:
    """Machine, versions and command."""
    ripgrep = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=False)
    versions = [
        each
        for source in sources.values()
        for each in (*source.get("packages", ()), *source.get("modules", ()))
    ]
    given = " --tokenizer FILE" * bool(run.arguments.tokenizer)
    given += "".join(f" --only {shlex.quote(name)}" for name in run.arguments.only)
    given += " --quick" * run.arguments.quick
    return (
        "# Peers side by side\n\n"
        f"{described}\n\n"
        f"Pinned: {', '.join(sorted(set(versions)))}; {ripgrep.stdout.splitlines()[0]}; "
        f"SQLite {sqlite3.sqlite_version}.\n\n"
        f"```\npython benchmarks/peers/run.py --data DATA --work WORK{given}\n```\n\n"
        f"Took {taken / 60:.1f} minutes. A column with × is the peer's figure divided by ours.\n"
    )


def kind_of(run: Run, name: str) -> str:
    return next(spec.kind for spec in run.specs if spec.name == name)


def counter(tokenizer: Path | None) -> Callable[[str], int] | None:
    if tokenizer is None:
        return None
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    return lambda text: len(loaded.encode(text).ids)


if __name__ == "__main__":
    main()
