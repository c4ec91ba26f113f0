"""What every driver speaks: one JSON object a line in, one a line out.

    {"op": "build", "corpus": FOLDER, "sections": FILE, "folder": FOLDER}
        -> {"wall_s", "cpu_s", "peak_mb", "bytes"}
    {"op": "open", "corpus": FOLDER, "folder": FOLDER} -> {}
    {"op": "search", "queries": [TEXT, ...], "k": 10, "texts": false}
        -> {"answers": [{"ids", "chars", "structured", "wall_ms", "cpu_ms", "error"}, ...]}
    {"op": "grep", "patterns": [TEXT, ...], "regex": false}
        -> {"answers": [{"lines", "wall_ms", "cpu_ms", "error"}, ...]}
    {"op": "close"} -> {}

A driver runs inside the environment of what it drives and needs nothing beyond that and the
standard library. Times are taken here, around the call alone, so that the pipe is in none.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SAMPLES_A_SECOND = 10
_LONGEST_ERROR = 300


@dataclass
class Answer:
    """What a search gave back: ids best first, and what a model would have been shown."""

    ids: list[str]
    text: str = ""
    structured: str = ""
    """The same for programs, as JSON, where a server sends both."""
    wall_ms: float | None = None
    """Set where the driver can time the call closer than `serve` can."""


@dataclass
class Driver:
    """One peer. A driver overrides what its peer can do."""

    options: dict[str, Any] = field(default_factory=dict)

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:
        """Index the files of `corpus`, or the sections in `sections`, into `folder`."""
        raise NotImplementedError

    def open(self, corpus: Path, folder: Path) -> None:
        """Take over an index that another driver built in `folder`."""
        raise NotImplementedError

    def search(self, query: str, k: int) -> Answer:
        """The best `k`."""
        raise NotImplementedError

    def grep(self, pattern: str, regex: bool) -> int:
        """How many lines match, whatever the case."""
        raise NotImplementedError

    def cpu_s(self) -> float:
        """CPU time so far of whatever answers the calls; its difference is a call's cost."""
        return time.process_time()

    def stored(self, folder: Path) -> Iterator[Path]:
        """The files that `build` left in `folder`."""
        return (file for file in folder.rglob("*") if file.is_file())

    def close(self) -> None:
        """Let go of what was opened."""


def serve(driver: Driver) -> None:
    """Answer requests from standard input until it ends."""
    driver.options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a peer prints must not stand among the answers
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = _OPERATIONS[request.pop("op")](driver, **request)
        except Exception as error:
            reply = {"error": _one_line(error)}
        print(json.dumps(reply), file=replies, flush=True)
    driver.close()


def run(command: Sequence[str | Path], **options: Any) -> None:
    """Run a peer's own command; its cost counts as the driver's child."""
    subprocess.run(
        [str(part) for part in command],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )


def load_sections(file: Path) -> Iterator[tuple[str, str]]:
    """The id and the text of each section."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["id"], record["text"]


def cpu_of_children() -> float:
    """CPU time so far of what this process has started and waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_of_descendants() -> float:
    """CPU time so far of what this process has started and still runs, and their children."""
    return sum(map(_cpu_of, _descendants()))


def _cpu_of(pid: int) -> float:
    """CPU time of another process to the nanosecond, and of its ended children to the tick."""
    try:
        own = time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED of that process
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, IndexError):  # it ended meanwhile
        return 0.0
    return own + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _descendants() -> list[int]:
    found = [os.getpid()]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found[1:]


class _Memory:
    """The largest memory of this process, or of all that it started together.

    A process alone is known exactly; several are added up by their proportional sizes, ten times
    a second.
    """

    def __init__(self) -> None:
        self._done = threading.Event()
        self._kb = 0
        self._own_cpu = 0.0
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> tuple[float, float]:
        """The peak in MB, and the CPU seconds that watching took."""
        self._done.set()
        self._thread.join()
        largest = max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return max(self._kb, largest) / 1024, self._own_cpu

    def _watch(self) -> None:
        while not self._done.wait(1 / _SAMPLES_A_SECOND):
            if started := _descendants():
                self._kb = max(self._kb, sum(map(_proportional_kb, started)))
            self._own_cpu = time.thread_time()


def _proportional_kb(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _build(driver: Driver, corpus: str, sections: str, folder: str) -> dict[str, Any]:
    target = Path(folder)
    target.mkdir(parents=True)
    memory = _Memory()
    cpu, wall = time.process_time() + cpu_of_children(), time.perf_counter()
    try:
        driver.build(Path(corpus), Path(sections), target)
    finally:
        wall_s = time.perf_counter() - wall
        cpu_s = time.process_time() + cpu_of_children() - cpu
        peak, watching = memory.stop()
    stored = sum(file.stat().st_size for file in driver.stored(target))
    return {"wall_s": wall_s, "cpu_s": cpu_s - watching, "peak_mb": peak, "bytes": stored}


def _open(driver: Driver, corpus: str, folder: str) -> dict[str, Any]:
    driver.open(Path(corpus), Path(folder))
    return {}


def _search(driver: Driver, queries: list[str], k: int, texts: bool = False) -> dict[str, Any]:
    answers = []
    for query in queries:
        cpu, wall = driver.cpu_s(), time.perf_counter()
        error = None
        try:
            found = driver.search(query, k)
        except Exception as reason:
            found, error = Answer([]), _one_line(reason)
        taken = (time.perf_counter() - wall) * 1000
        answers.append(
            {
                "ids": found.ids[:k],
                "chars": len(found.text),
                "structured": len(found.structured),
                "wall_ms": taken if found.wall_ms is None else found.wall_ms,
                "cpu_ms": (driver.cpu_s() - cpu) * 1000,
                "error": error,
                **({"text": found.text} if texts else {}),
            }
        )
    return {"answers": answers}


def _grep(driver: Driver, patterns: list[str], regex: bool) -> dict[str, Any]:
    answers = []
    for pattern in patterns:
        cpu, wall = driver.cpu_s(), time.perf_counter()
        lines, error = 0, None
        try:
            lines = driver.grep(pattern, regex)
        except Exception as reason:
            error = _one_line(reason)
        taken = (time.perf_counter() - wall) * 1000
        cost = (driver.cpu_s() - cpu) * 1000
        answers.append({"lines": lines, "wall_ms": taken, "cpu_ms": cost, "error": error})
    return {"answers": answers}


def _close(driver: Driver) -> dict[str, Any]:
    driver.close()
    return {}


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_ERROR]


_OPERATIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "build": _build,
    "open": _open,
    "search": _search,
    "grep": _grep,
    "close": _close,
}
