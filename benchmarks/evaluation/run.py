"""What the evaluation itself costs: ranking rows, asking agents, replaying a kept run.

    python benchmarks/evaluation/run.py --data DATA [--ragbisect COMMAND] [--times N]

DATA holds `eval/uv-questions.jsonl` and `eval/uv-sections.jsonl`. The pack bge-small-en-v1.5 must
be installed (contextpull models install --all). COMMAND is ragbisect 0.2.0's, in an environment of
its own; what is not given is left out and said so. Each command runs N times, 5 by default.
The model that agents ask answers at once, in a process of its own (standin.py).
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import Cost, machine, run, table

CLI = [sys.executable, "-m", "contextpull", "eval", "run"]
ROWS = "bm25,dense,hybrid,hybrid-rrf"
MANY = 1_000
REPEATS = 3
HEADS = ("", "CPU s", "least to most", "wall s", "peak MB", "CPU ms a question", "must be below")


class Bench(NamedTuple):
    """What is measured with."""

    work: Path
    sections: Path
    published: Path
    """The published questions."""
    many: Path
    """A thousand made of them, no two the same."""
    times: int

    def line(self, name: str, command: Sequence[str | Path], asked: int, bound: str) -> list[str]:
        """A line of the table: a command that asks so many questions."""
        return cells(name, [run(command) for _ in range(self.times)], asked, bound)

    def command(self, questions: Path, *more: str | Path) -> list[str | Path]:
        """`contextpull eval run` over these questions."""
        return [*CLI, "--questions", questions, "--sections", self.sections, *more]


def main() -> None:
    arguments = parse()
    print(f"# What the evaluation costs\n\n{machine()}\n")
    print(
        f"Each command ran {arguments.times} times; figures are medians, peaks the most of all.\n",
        flush=True,
    )
    with TemporaryDirectory(prefix="contextpull-bench-") as folder:
        work, data = Path(folder), arguments.data / "eval"
        published = data / "uv-questions.jsonl"
        many = many_questions(published, work / "many.jsonl")
        bench = Bench(work, data / "uv-sections.jsonl", published, many, arguments.times)
        print(pushes(bench, arguments.ragbisect), flush=True)
        print(agents(bench), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ragbisect", type=Path)
    parser.add_argument("--times", type=int, default=5)
    return parser.parse_args()


def many_questions(published: Path, path: Path) -> Path:
    """Write a thousand questions: the published ones, again with their words in turned order."""
    questions = [json.loads(line) for line in published.read_text(encoding="utf-8").splitlines()]
    made: dict[str, str] = {}
    for turn in range(20):
        for question in questions:
            words = question["q"].split()
            text = " ".join(words[turn:] + words[:turn])
            record = {**question, "id": f"{question['id']}-{turn}", "q": text}
            made.setdefault(text, json.dumps(record))
    path.write_text("\n".join(list(made.values())[:MANY]) + "\n", encoding="utf-8")
    return path


def pushes(bench: Bench, ragbisect: Path | None) -> str:
    """Push rows over a thousand questions, beside the same questions in ragbisect."""
    # Makes the vectors of the sections, which are kept from then on.
    run(bench.command(bench.published, "--rows", "dense", "--sample", "1"))
    lines = [
        bench.line("bm25", bench.command(bench.many, "--rows", "bm25"), MANY, ""),
        bench.line(ROWS, bench.command(bench.many, "--rows", ROWS), MANY, "20 s"),
    ]
    if ragbisect:
        given = ("--corpus", bench.sections, "--questions", bench.many)
        command = [ragbisect, "run", *given, "--workdir", bench.work / "ragbisect"]
        lines.append(bench.line("ragbisect 0.2.0, its bm25", command, MANY, ""))
    note = "" if ragbisect else "\n\nragbisect was not given."
    return f"## Push rows, {MANY:,} questions\n\n{table(HEADS, lines)}{note}\n"


def agents(bench: Bench) -> str:
    """The published questions put to a model, and the same run printed again without asking it."""
    questions = len(bench.published.read_text(encoding="utf-8").splitlines())
    lines = []
    with standing_in() as model:
        for repeats in (1, REPEATS):
            more = ("--rows", "pull", "--model", model, "--repeats", str(repeats), "--out")
            runs = [bench.work / f"asked-{repeats}-{time}" for time in range(bench.times)]
            costs = [run(bench.command(bench.published, *more, out)) for out in runs]
            asked = questions * repeats
            lines.append(cells(f"asked, {repeats} x", costs, asked, "20 ms a question"))
            size = (runs[0] / "transcripts.jsonl").stat().st_size / asked / 1000
            replay = bench.command(bench.published, *more, runs[0], "--offline")
            name = f"replayed, {repeats} x, {size:.0f} KB a transcript"
            lines.append(bench.line(name, replay, asked, "3 s"))
    return f"## Agents, {questions} questions\n\n{table(HEADS, lines)}\n"


@contextmanager
def standing_in() -> Iterator[str]:
    """A model in a process of its own, under the name that `--model` takes."""
    command = [sys.executable, str(Path(__file__).with_name("standin.py"))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1#scripted"
        process.stdin.close()


def cells(name: str, costs: Sequence[Cost], asked: int, bound: str) -> list[str]:
    """The median of what a command took, start-up included."""
    cpu = sorted(cost.cpu_s for cost in costs)
    median = statistics.median(cpu)
    return [
        name,
        f"{median:.2f}",
        f"{cpu[0]:.2f} to {cpu[-1]:.2f}",
        f"{statistics.median(cost.wall_s for cost in costs):.2f}",
        f"{max(cost.peak_mb for cost in costs):.0f}",
        f"{median / asked * 1000:.1f}",
        bound,
    ]


if __name__ == "__main__":
    main()
