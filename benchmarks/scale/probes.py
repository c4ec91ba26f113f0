"""What a process that reads a store pays; each runs in a process of its own and prints JSON.

    python benchmarks/scale/probes.py open STORE [--cold]
    python benchmarks/scale/probes.py search STORE
    python benchmarks/scale/probes.py grep STORE CORPUS

CPU time is that of every thread; of `rg` that of its process and what it starts.
"""

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from contextpull import open_store
from contextpull.retrieval.grep import GrepResult, grep
from contextpull.retrieval.listing import list_contents
from contextpull.retrieval.search import search
from contextpull.store import Snapshot

Figures = dict[str, float]
Rules = dict[str, Any]
"""How a pattern is to be looked for, by the names of grep's arguments."""

QUERIES = 200
PATTERNS = 7
_QUESTIONS = (
    "how do I use {} and what is it for",
    "what are the {} of the {} and when should I use them",
    "which of these can not be used with {} if it is in the {}",
    "is there a way to do this for all of the {}",
)
_SAMPLE_BYTES = 4_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe", choices=("open", "search", "grep"))
    parser.add_argument("store", type=Path)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    if arguments.probe == "open":
        found = opening(arguments.store, arguments.cold)
    elif arguments.probe == "search":
        found = searching(open_store(arguments.store).snapshot())
    else:
        found = scanning(open_store(arguments.store).snapshot(), arguments.corpus)
    json.dump(found, sys.stdout)


def opening(store: Path, cold: bool) -> dict[str, Figures]:
    """The first call of each kind, in this order; cold: nothing of the store is in memory yet."""
    if cold:
        forget_pages(store)
    steps: dict[str, Callable[[], object]] = {}
    taken: dict[str, Figures] = {}
    opened = once(lambda: steps.setdefault("store", open_store(store).snapshot))
    taken["open_store"] = opened
    snapshot: Any = steps["store"]()
    taken["first search"] = once(lambda: search(snapshot, "how to change a setting"))
    taken["first grep"] = once(lambda: grep(snapshot, "zq-no-such-text"))
    taken["first index"] = once(lambda: list_contents(snapshot))
    return taken


def searching(snapshot: Snapshot) -> dict[str, Figures]:
    """Latencies of searches and listings."""
    chance = random.Random(7)
    bodies = list(body_queries(snapshot, chance))
    headings = list(heading_queries(snapshot, chance))
    questions = list(stop_word_questions(bodies, chance))
    mixed = [*bodies[: QUERIES // 2], *headings[: QUERIES // 2]]
    narrow, wide = some_paths(snapshot)
    return {
        "search, words of a body": many(lambda each: search(snapshot, each), bodies),
        "search, a heading": many(lambda each: search(snapshot, each), headings),
        "search, a question full of stop words": many(
            lambda each: search(snapshot, each), questions
        ),
        "search in one folder": many(lambda each: search(snapshot, each, paths=[narrow]), mixed),
        "search in half the files": many(lambda each: search(snapshot, each, paths=[wide]), mixed),
        "search, offset 500": many(lambda each: search(snapshot, each, offset=500), mixed),
        "index": many(lambda _: list_contents(snapshot), range(9)),
        "index of a folder": many(lambda _: list_contents(snapshot, narrow), range(9)),
        "memory": {"rss_mb": resident_mb()},
    }


def scanning(snapshot: Snapshot, corpus: Path) -> dict[str, Figures]:
    """Latencies of greps, each beside ripgrep over the files, case rules alike."""
    found: dict[str, Figures] = {}
    for kind, (patterns, options) in grep_kinds(snapshot).items():
        ours = scanner(snapshot, options)
        found[f"grep, {kind}"] = many(ours, patterns)
        theirs = partial(ripgrep, corpus, **options)
        found[f"ripgrep, {kind}"] = many(theirs, patterns, who=children_cpu)
        lines = [ours(each) for each in patterns]
        found[f"grep, {kind}"] |= {
            "lines": statistics.median(each.total for each in lines),
            "cut": sum(not each.is_complete for each in lines),
        }
    return found


def scanner(snapshot: Snapshot, rules: Rules) -> Callable[[str], GrepResult]:
    return lambda pattern: grep(snapshot, pattern, **rules)


def ripgrep(corpus: Path, pattern: str, *, regex: bool = False, ignore_case: bool = False) -> None:
    """Count the matching lines of every file, in a process of its own."""
    flags = ["--ignore-case"] * ignore_case + ["--fixed-strings"] * (not regex)
    command = ["rg", "--count", "--no-config", *flags, "--", pattern, str(corpus)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def grep_kinds(snapshot: Snapshot) -> dict[str, tuple[list[str], Rules]]:
    """Patterns by kind, drawn from the text, with how they are to be looked for."""
    ranked = frequent_words(snapshot)
    frequent = ranked[5 : 5 + PATTERNS]
    rare = ranked[-PATTERNS:]
    pairs = zip(rare, ranked[-2 * PATTERNS :], strict=False)
    exact: Rules = {"ignore_case": False}
    folded: Rules = {"ignore_case": True}
    expression: Rules = {"ignore_case": False, "regex": True}
    free = (
        r"\b\w{19,21}\b",
        r"\d{3}-\d{3}",
        r"[A-Z]{2}-[0-9]{4}\b",
        r"^\W*\w+\W*$",
        r"\(\w+, [0-9]{3}\)$",
        r"[a-z]+_[a-z]+_[a-z]+_[a-z]+_[a-z]+",
    )
    return {
        "rare literal": (rare, exact),
        "frequent literal": (frequent, exact),
        "absent literal": ([f"{word[::-1]}qzx" for word in rare], exact),
        "rare literal, any case": (rare, folded),
        "frequent literal, any case": (frequent, folded),
        "regex with a rare prefix": ([rf"{word[:-1]}\w*" for word in rare], expression),
        "regex with a frequent prefix": (
            [rf"\b{word}\s+\w+ing\b" for word in frequent],
            expression,
        ),
        "regex of two words": ([rf"\b({a}|{b})\b" for a, b in pairs], expression),
        "regex without a literal": (list(free), expression),
    }


def frequent_words(snapshot: Snapshot) -> list[str]:
    """Words of at least seven letters by frequency, from pieces spread over the text."""
    text = snapshot.text
    size = text.text.end - text.text.start
    pieces = min(64, max(1, size * 64 // _SAMPLE_BYTES))
    counts: Counter[bytes] = Counter()
    for piece in range(pieces):
        start = text.text.start + size * piece // pieces
        counts.update(
            re.findall(rb"\b[a-z]{7,16}\b", text.bytes[start : start + _SAMPLE_BYTES // 64])
        )
    return [
        word.decode() for word, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]


def body_queries(snapshot: Snapshot, chance: random.Random) -> Iterator[str]:
    """Runs of 2 to 8 words as they stand in sections drawn at random."""
    drawn = 0
    for section in random_sections(snapshot, chance):
        words = [word for word in section.text.split() if word.isalpha()]
        if len(words) > 12:
            start = chance.randrange(len(words) - 8)
            yield " ".join(words[start : start + chance.randint(2, 8)])
            drawn += 1
            if drawn == QUERIES:
                return


def heading_queries(snapshot: Snapshot, chance: random.Random) -> Iterator[str]:
    """The last two headings of sections drawn at random."""
    drawn = 0
    for section in random_sections(snapshot, chance):
        words = " ".join(section.headings[-2:]).split()
        if len(words) > 1:
            yield " ".join(words[:8])
            drawn += 1
            if drawn == QUERIES:
                return


def stop_word_questions(queries: Sequence[str], chance: random.Random) -> Iterator[str]:
    for query in queries:
        words = query.split()
        yield chance.choice(_QUESTIONS).format(words[0], words[-1])


def random_sections(snapshot: Snapshot, chance: random.Random) -> Iterator[Any]:
    documents = list(snapshot.documents.values())
    while True:
        document = chance.choice(documents)
        yield from snapshot.database.sections([chance.choice(document.section_numbers)])


def some_paths(snapshot: Snapshot) -> tuple[str, str]:
    """A folder in the middle of the corpus, and a glob that about half of the files match."""
    paths = list(snapshot.documents)
    middle = paths[len(paths) // 2]
    halves = [f"**/*{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz"]
    names = [path.rpartition("/")[2] for path in paths]
    share = {glob: sum(glob[4] in name for name in names) / len(names) for glob in halves}
    return middle.rpartition("/")[0], min(halves, key=lambda glob: abs(share[glob] - 0.5))


def once(function: Callable[[], object]) -> Figures:
    """Milliseconds of one call, and what the process holds behind it."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return {
        "cpu_ms": (time.process_time() - cpu) * 1000,
        "wall_ms": (time.perf_counter() - wall) * 1000,
        "rss_mb": resident_mb(),
    }


def many(
    function: Callable[[Any], object],
    inputs: Sequence[Any],
    who: Callable[[], float] = time.process_time,
) -> Figures:
    """Milliseconds of a call for each input, after one to warm up: median, 99th in a hundred."""
    function(inputs[0])
    walls, cpus = [], []
    for each in inputs:
        wall, cpu = time.perf_counter(), who()
        function(each)
        cpus.append((who() - cpu) * 1000)
        walls.append((time.perf_counter() - wall) * 1000)
    return {
        f"{name}_{quantile}": sorted(values)[int(len(values) * share)]
        for name, values in (("cpu", cpus), ("wall", walls))
        for quantile, share in (("p50", 0.5), ("p99", 0.99))
    }


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def forget_pages(folder: Path) -> None:
    """Let the system drop what it keeps of these files in memory; no rights are needed for that."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
