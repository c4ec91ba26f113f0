"""What following a folder costs: from a save to a new generation, CPU a change, and while idle.

    python benchmarks/watch/run.py --corpus NAME FOLDER [--corpus NAME FOLDER …] > results.md

Each corpus is copied first; a server over HTTP follows the copy, as `contextpull serve --watch`.
"""

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import cpu_s, machine, table

CLI = [sys.executable, "-m", "contextpull"]
ROUNDS = 7
BURST = 5_000
IDLE_SECONDS = 30.0
TEXT = "# {0}\n\nThe words of document {0}, which is one of many that came at once.\n"


class Change(NamedTuple):
    """From a save to the line that tells of its generation, which answers from then on."""

    seconds: float
    cpu_s: float


class Follower:
    """A server that follows a folder, its lines on standard error, and its CPU time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def until(self, pattern: str) -> None:
        """Wait for a line."""
        assert self._process.stderr
        for line in self._process.stderr:
            if re.search(pattern, line):
                return
        raise RuntimeError("the server ended")

    def cpu_s(self) -> float:
        """CPU seconds of the process so far, its children included where they ended."""
        return cpu_s(self._process.pid, with_children=True)

    def change(self, number: int, do: object) -> Change:
        """What a change costs that leads to the generation with this number."""
        cpu, start = self.cpu_s(), time.perf_counter()
        do()  # type: ignore[operator]
        self.until(rf"generation {number}: ")
        seconds = time.perf_counter() - start
        time.sleep(1.0)  # a rest belongs to the change
        return Change(seconds, self.cpu_s() - cpu)

    def idle_share(self) -> float:
        """The share of one core that it takes while nothing happens."""
        cpu = self.cpu_s()
        time.sleep(IDLE_SECONDS)
        return (self.cpu_s() - cpu) / IDLE_SECONDS


@contextmanager
def following(folder: Path, store: Path, *options: str) -> Iterator[Follower]:
    """A server over HTTP, once it has read the folder."""
    command = [*CLI, "serve", str(folder), "--store", str(store), "--http", "--port", "0"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    follower = Follower(process)
    try:
        follower.until(r"serving at")
        if options:
            follower.until(r"documents, ")
        time.sleep(2.0)
        yield follower
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def changes(folder: Path, follower: Follower) -> list[list[str]]:
    """One file changed, a few times; many added; many removed."""
    file = max(folder.rglob("*.md"), key=lambda path: path.stat().st_size)
    text = file.read_text()
    edits = [
        follower.change(n + 2, lambda n=n: file.write_text(f"{text}\nEdited {n} times.\n"))
        for n in range(ROUNDS)
    ]
    many = folder.parent / "many"
    for number in range(BURST):
        path = many / f"{number % 50}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT.format(number))
    added = follower.change(ROUNDS + 2, lambda: many.rename(folder / "many"))
    removed = follower.change(ROUNDS + 3, lambda: (folder / "many").rename(many))
    shutil.rmtree(many)
    median = Change(*map(statistics.median, zip(*edits, strict=True)))
    named = {
        f"one file saved (median of {ROUNDS})": median,
        "the slowest of them": max(edits),
        f"a folder of {BURST:,} files moved in": added,
        "and moved out": removed,
    }
    return [[name, f"{each.seconds:.2f}", f"{each.cpu_s:.2f}"] for name, each in named.items()]


def report(name: str, source: Path, work: Path) -> str:
    """The tables of one corpus."""
    folder, store = work / "docs", work / "store"
    shutil.copytree(source, folder)
    subprocess.run([*CLI, "ingest", folder, "--store", store], check=True, capture_output=True)
    os.sync()  # else a commit waits until the copy of the corpus is on the disk
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    with following(folder, store) as follower:
        idle = [["without --watch", f"{follower.idle_share():.2%}"]]
    with following(folder, store, "--watch") as follower:
        idle.append(["--watch", f"{follower.idle_share():.2%}"])
        rows = changes(folder, follower)
    with following(folder, store, "--watch-poll", "5") as follower:
        idle.append(["--watch-poll 5", f"{follower.idle_share():.2%}"])
    return "\n\n".join(
        [
            f"## {name}: {files:,} files",
            table(["change", "s until it is found", "CPU s"], rows),
            table(["idle server", f"of one core, over {IDLE_SECONDS:g} s"], idle),
        ]
    )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", nargs=2, action="append", required=True, metavar=("NAME", "FOLDER")
    )
    return parser.parse_args(arguments)


def main() -> None:
    """Print the tables of each corpus."""
    print(f"# Following a folder\n\n{machine()}")
    for name, source in parse().corpus:
        with TemporaryDirectory(prefix="contextpull-watch-") as work:
            print(f"\n{report(name, Path(source), Path(work))}", flush=True)


if __name__ == "__main__":
    main()
