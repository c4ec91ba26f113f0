"""The server under 200 clients at once, over 100,000 calls, and what a scope lets through.

    python benchmarks/http/run.py --corpus FOLDER --scoped FOLDER [--calls N] [--checks N]

FOLDER of --corpus is served (the C++ documentation, in results.md), the other is what scopes are
tried on (uv's). Everything is on 127.0.0.1. The clients run in this process and are not counted.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from load import Load, mixed_calls, under_load
from measuring import machine, run, table
from scopes import check_scopes
from served import Served

CLIENTS = 200
SDK_CALLS = 20


def main() -> None:
    """Print the three parts as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--scoped", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--checks", type=int, default=10_000)
    arguments = parser.parse_args()
    print(f"# Serving many over HTTP\n\n{machine()}\n", flush=True)
    with TemporaryDirectory(prefix="contextpull-bench-") as folder:
        for part in (
            _load_report(arguments.corpus, Path(folder), arguments.calls),
            check_scopes(arguments.scoped, Path(folder), arguments.checks),
        ):
            for text in part:
                print(f"{text}\n", flush=True)


def _load_report(corpus: Path, work: Path, count: int) -> Iterator[str]:
    store = work / "store"
    run([sys.executable, "-m", "contextpull", "ingest", corpus, "--store", store])
    calls = mixed_calls(store, random.Random(0))
    with Served(store) as served:
        quiet_mb = served.resident_mb()
        sdk = under_load(served, calls, CLIENTS, CLIENTS * SDK_CALLS, sdk=True)
        yield _of_load(f"{CLIENTS} clients of the SDK at once", sdk)
        plain = under_load(served, calls, CLIENTS, count, sdk=False)
        yield _of_load(f"{CLIENTS} plain HTTP clients at once", plain)
        yield _of_memory(quiet_mb, plain)


def _of_load(title: str, load: Load) -> str:
    rows = [
        [
            tool,
            f"{len(times):,}",
            f"{_quantile(times, 0.5):,.0f}",
            f"{_quantile(times, 0.99):,.0f}",
            f"{max(times):,.0f}",
        ]
        for tool, times in sorted(load.milliseconds.items())
    ]
    heads = ("tool", "calls", "p50 ms", "p99 ms", "most ms")
    return (
        f"## {title}\n\n{table(heads, rows)}\n\n"
        f"{load.done:,} calls, {load.errors:,} errors;"
        f" {load.done / load.server_cpu_s:,.0f} calls a second of the server's CPU,"
        f" {load.done / load.wall_s:,.0f} a second of wall time."
        f" Times hold the wait for {CLIENTS - 1} others."
    )


def _of_memory(quiet_mb: float, load: Load) -> str:
    rows = [[f"{done:,}", f"{resident:,.0f}"] for done, resident in load.memory]
    return (
        "## Memory of the server\n\n"
        f"{quiet_mb:,.0f} MB before the first call.\n\n{table(('calls', 'resident MB'), rows)}"
    )


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


if __name__ == "__main__":
    main()
