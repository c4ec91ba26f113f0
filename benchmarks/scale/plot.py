"""Draw costs against the number of sections, both axes logarithmic.

    python benchmarks/scale/plot.py FIGURES.json OUT [OUT ...]

FIGURES is what run.py wrote with --json; the end of each OUT says its format (.svg, .png).
Circles are made-up corpora, joined by a line; crosses are real documentation. Needs matplotlib.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot, rcParams

Figure = Callable[[dict[str, Any]], float]

PANELS: dict[str, dict[str, Figure]] = {
    "Ingest, CPU seconds": {
        "everything": lambda each: each["ingest"]["cpu_s"],
        "one file changed": lambda each: _median(each["ingest, one file changed"], "cpu_s"),
        "nothing changed": lambda each: each["ingest, nothing changed"]["cpu_s"],
    },
    "Memory and store, MB": {
        "text": lambda each: each["text_mb"],
        "store": lambda each: sum(each["store_mb"].values()),
        "memory of the ingesting process": lambda each: each["ingest"]["parent_mb"],
    },
    "Search and index, CPU ms": {
        "search, median": lambda each: each["search"]["search, words of a body"]["cpu_p50"],
        "search, 99 of 100": lambda each: each["search"]["search, words of a body"]["cpu_p99"],
        "index": lambda each: each["search"]["index"]["cpu_p50"],
    },
    "Grep, median CPU ms": {
        "rare literal": lambda each: each["grep"]["grep, rare literal"]["cpu_p50"],
        "ripgrep, the same": lambda each: each["grep"]["ripgrep, rare literal"]["cpu_p50"],
        "regex": lambda each: each["grep"]["grep, regex with a frequent prefix"]["cpu_p50"],
        "ripgrep, same regex": lambda each: each["grep"]["ripgrep, regex with a frequent prefix"][
            "cpu_p50"
        ],
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=Path)
    parser.add_argument("out", type=Path, nargs="+")
    arguments = parser.parse_args()
    pyplot.switch_backend("agg")
    rcParams["svg.hashsalt"] = "contextpull"  # the same figures give the same file
    measured = json.loads(arguments.figures.read_text())
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for axis, (title, lines) in zip(axes.flat, PANELS.items(), strict=True):
        draw(axis, title, lines, measured)
    for out in arguments.out:
        metadata = {"Date": None} if out.suffix == ".svg" else None
        figure.savefig(out, dpi=120, metadata=metadata)


def draw(
    axis: Any, title: str, lines: dict[str, Figure], measured: Sequence[dict[str, Any]]
) -> None:
    """One panel: a line for each figure over the made-up corpora, crosses for the real ones."""
    made_up = [each for each in measured if each["name"].startswith("synthetic")]
    real = [each for each in measured if each not in made_up]
    for name, value in lines.items():
        (line,) = axis.plot(
            [each["sections"] for each in made_up],
            [value(each) for each in made_up],
            "o-",
            label=name,
        )
        axis.plot(
            [each["sections"] for each in real],
            [value(each) for each in real],
            "x",
            color=line.get_color(),
        )
    axis.set(title=title, xlabel="sections", xscale="log", yscale="log")
    axis.grid(visible=True, which="major", alpha=0.3)
    axis.legend(fontsize="small")


def _median(costs: Sequence[dict[str, float]], figure: str) -> float:
    values = sorted(cost[figure] for cost in costs)
    return values[len(values) // 2]


if __name__ == "__main__":
    main()
