"""How costs grow with the size of a corpus: real documentation and made-up corpora, in one run.

    python benchmarks/scale/run.py --data DATA --work WORK [--sizes 10000,100000] [--json FILE]

DATA holds `corpora/NAME/NAME.tar.xz`; what is not there is left out. WORK keeps what was unpacked,
made up and measured, so that a run that was stopped goes on with the size where it was; --again
measures what was measured before. The table goes to stdout, the figures to --json. Needs `rg`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import machine, run, table
from synthetic import generate

CLI = [sys.executable, "-m", "contextpull"]
PROBES = [sys.executable, str(Path(__file__).with_name("probes.py"))]
REAL = ("uv_docs", "cpp_docs", "win32_docs")
SIZES = "10000,100000,300000,1000000"
_LOOK_EVERY = 0.05
_PARTS = ("store.sqlite", "text.bin", "lexical")

Measured = dict[str, Any]


def main() -> None:
    arguments = parse()
    if not shutil.which("rg"):
        sys.exit("ripgrep (rg) is not installed; grep is measured beside it.")
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    measured = []
    for name, make in corpora(arguments.data, arguments.sizes, work).items():
        kept = work / f"{name}.json"
        if arguments.again or not kept.exists():
            print(f"{name} …", file=sys.stderr)
            kept.write_text(json.dumps(measure(name, make(), work / "stores" / name), indent=1))
        measured.append(json.loads(kept.read_text()))
    measured.sort(key=lambda each: each["sections"])
    if arguments.json:
        arguments.json.write_text(json.dumps(measured, indent=1) + "\n")
    print(report(measured, sys.argv[1:]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", default=SIZES, help="sections of the made-up corpora")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", action="store_true", help="measure everything once more")
    return parser.parse_args()


def corpora(data: Path, sizes: str, work: Path) -> dict[str, Callable[[], Path]]:
    """What is measured, by name, each with how to get its folder."""
    found: dict[str, Callable[[], Path]] = {}
    for name in REAL:
        archive = data / "corpora" / name / f"{name}.tar.xz"
        if archive.exists():
            found[name] = partial(unpacked, archive, work / name)
    for size in (int(part) for part in sizes.split(",") if part):
        found[f"synthetic-{size}"] = partial(made_up, work / f"synthetic-{size}", size)
    return found


def unpacked(archive: Path, target: Path) -> Path:
    """The files of an archive, afresh: a run changes one."""
    shutil.rmtree(target, ignore_errors=True)
    with tarfile.open(archive) as content:
        content.extractall(target, filter="data")
    return target


def made_up(target: Path, sections: int) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    generate(target, sections)
    return target


def measure(name: str, corpus: Path, store: Path) -> Measured:
    """Everything about one corpus; the store is made anew."""
    shutil.rmtree(store, ignore_errors=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    ingest = [*CLI, "ingest", str(corpus), "--store", str(store), "--json"]
    text = sum(file.stat().st_size for file in corpus.rglob("*.md"))
    full, counts = watched(ingest)
    probes = {
        "open, nothing in memory": probe("open", store, "--cold"),
        "open": probe("open", store),
        "search": probe("search", store),
        "grep": probe("grep", store, str(corpus)),
    }
    return {
        "name": name,
        "machine": machine(),
        "documents": counts["documents"],
        "sections": counts["sections"],
        "text_mb": text / 1e6,
        "store_mb": {part: size_mb(store / part) for part in _PARTS},
        "start_up": run([*CLI, "--version"])._asdict(),
        "ingest": full,
        "ingest, nothing changed": watched(ingest)[0],
        "ingest, one file changed": [one_changed(corpus, ingest, at) for at in (0.5, 0.2, 0.8)],
        **probes,
    }


def one_changed(corpus: Path, ingest: Sequence[str], place: float) -> Measured:
    """An ingest after a line came to one file, which stands so far down the corpus."""
    files = sorted(corpus.rglob("*.md"))
    with files[int(len(files) * place)].open("a", encoding="utf-8") as page:
        page.write("\nOne more line at the end of the page.\n")
    return watched(ingest)[0]


def watched(command: Sequence[str]) -> tuple[Measured, Measured]:
    """Run a command that prints JSON; its cost with the memory of it and of its processes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout
    memory = _Memory(process.pid)
    memory.start()
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    memory.join()
    if status:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    cost = {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": wall,
        "parent_mb": memory.parent,
        "workers_mb": memory.workers,
    }
    return cost, json.loads(printed)


class _Memory(threading.Thread):
    """Looks at a process and its children while it lives: most of each at one time, in MB.

    Counts memory of its own; pages of mapped files, which the system may drop, are left out.
    """

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.parent = self.workers = 0.0

    def run(self) -> None:
        while (own := _own_memory_mb(self._process)) is not None:
            self.parent = max(self.parent, own)
            children = [_own_memory_mb(child) or 0.0 for child in _children(self._process)]
            self.workers = max(self.workers, sum(children))
            time.sleep(_LOOK_EVERY)


def _own_memory_mb(process: int) -> float | None:
    """None when the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon:")), None)


def _children(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def probe(name: str, store: Path, *more: str) -> Measured:
    command = [*PROBES, name, str(store), *more]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return dict(json.loads(found))


def size_mb(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) / 1e6


def report(measured: Sequence[Measured], arguments: Sequence[str]) -> str:
    """The tables, a column for each corpus."""
    names = [each["name"].removesuffix("_docs") for each in measured]
    command = f"python benchmarks/scale/run.py {' '.join(arguments)}"
    parts = [f"# Scale\n\n{measured[-1]['machine']}\n\n```\n{command}\n```\n"]
    for title, rows in (("Ingest and store", sizes), ("Open", opens), ("Search", searches)):
        parts.append(f"## {title}\n\n{table(['', *names], rows(measured))}\n")
    parts.append(f"## Grep: CPU ms p50 / p99, wall p50\n\n{table(['', *names], greps(measured))}\n")
    return "\n".join(parts)


def sizes(measured: Sequence[Measured]) -> list[list[str]]:
    figures: dict[str, Callable[[Measured], str]] = {
        "sections": lambda each: f"{each['sections']:,}",
        "documents": lambda each: f"{each['documents']:,}",
        "text MB": lambda each: f"{each['text_mb']:.1f}",
        **{f"{part} MB": partial(_part_mb, part) for part in _PARTS},
        "sections a second (wall)": lambda each: (
            f"{each['sections'] / each['ingest']['wall_s']:,.0f}"
        ),
        "MB a second (wall)": lambda each: f"{each['text_mb'] / each['ingest']['wall_s']:.1f}",
        "ingest CPU s": lambda each: f"{each['ingest']['cpu_s']:.2f}",
        "ingest wall s": lambda each: f"{each['ingest']['wall_s']:.2f}",
        "own memory of the parent, most, MB": lambda each: f"{each['ingest']['parent_mb']:.0f}",
        "of its workers together, MB": lambda each: f"{each['ingest']['workers_mb']:.0f}",
        "nothing changed, CPU s": lambda each: f"{each['ingest, nothing changed']['cpu_s']:.2f}",
        "one file changed, CPU s": lambda each: f"{middle(each, 'cpu_s'):.2f}",
        "one file changed, wall s": lambda each: f"{middle(each, 'wall_s'):.2f}",
    }
    return [[name, *map(figure, measured)] for name, figure in figures.items()]


def _part_mb(part: str, each: Measured) -> str:
    return f"{each['store_mb'][part]:.1f}"


def middle(each: Measured, figure: str) -> float:
    """The median of the ingests of one changed file."""
    costs = sorted(cost[figure] for cost in each["ingest, one file changed"])
    return float(costs[len(costs) // 2])


def opens(measured: Sequence[Measured]) -> list[list[str]]:
    rows = []
    for group, name in (("open, nothing in memory", "cold"), ("open", "warm")):
        for step in measured[0][group]:
            times = [each[group][step] for each in measured]
            cells = [f"{time['cpu_ms']:.1f} / {time['wall_ms']:.1f}" for time in times]
            rows.append([f"{step}, {name}: CPU / wall ms", *cells])
    return rows


def searches(measured: Sequence[Measured]) -> list[list[str]]:
    kinds = [kind for kind in measured[0]["search"] if kind != "memory"]
    return [
        [f"{kind}: CPU ms p50 / p99", *(cpu_cell(each["search"][kind]) for each in measured)]
        for kind in kinds
    ]


def greps(measured: Sequence[Measured]) -> list[list[str]]:
    return [
        [
            kind,
            *(
                f"{cpu_cell(each['grep'][kind])}, {each['grep'][kind]['wall_p50']:.0f}"
                for each in measured
            ),
        ]
        for kind in measured[0]["grep"]
    ]


def cpu_cell(figures: dict[str, float]) -> str:
    return f"{figures['cpu_p50']:.1f} / {figures['cpu_p99']:.1f}"


if __name__ == "__main__":
    main()
