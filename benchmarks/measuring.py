"""What every benchmark needs: the machine, CPU time of whole process trees, quantiles."""

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """What a command took, its children included."""

    cpu_s: float
    wall_s: float
    peak_mb: float


class Quantiles(NamedTuple):
    """Milliseconds of many calls."""

    p50: float
    p99: float
    most: float


def machine() -> str:
    """One line that says what the figures were measured on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} x {model}, {memory:.0f} GB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the start"
    )


def run(command: Sequence[str | Path], cwd: Path | None = None) -> Cost:
    """Run a command to its end: CPU time of it and its children, peak memory of it alone."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), process.args)
    wall = time.perf_counter() - start
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def cpu_s(pid: int, *, with_children: bool = False) -> float:
    """CPU seconds of a process so far, perhaps with those of its children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_children else 13])) / os.sysconf("SC_CLK_TCK")


def quantiles(
    function: Callable[[Any], object],
    inputs: Sequence[Any],
    clock: Callable[[], float] = time.perf_counter,
) -> Quantiles:
    """Call a function once for each input, after one call to warm up; time each by the clock."""
    function(inputs[0])
    taken = []
    for each in inputs:
        start = clock()
        function(each)
        taken.append((clock() - start) * 1000)
    taken.sort()
    return Quantiles(statistics.median(taken), taken[int(len(taken) * 0.99)], taken[-1])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned Markdown table."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    )
