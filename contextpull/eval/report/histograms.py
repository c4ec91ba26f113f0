"""How a value is spread over the runs of an agent: bins, five figures, and a drawing."""

from dataclasses import dataclass
from math import ceil, floor
from statistics import fmean, quantiles
from typing import NamedTuple

from markupsafe import Markup

from contextpull.eval.report.agents import Distribution
from contextpull.eval.report.svg import element, line, picture, round_step, text

_MOST_BINS = 16


@dataclass(frozen=True, slots=True)
class Bin:
    """How many values lie from `low` up to `high`, which is one more for whole numbers."""

    low: float
    high: float
    count: int
    label: str


class Spread(NamedTuple):
    """A distribution in figures."""

    mean: float
    least: float
    first: float
    """The quartiles and the median."""
    median: float
    third: float
    most: float


def spread(values: tuple[float, ...]) -> Spread | None:
    """Mean, ends and quartiles; None without values."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(*(values[0],) * 6)
    first, median, third = quantiles(values, n=4, method="inclusive")
    return Spread(fmean(values), min(values), first, median, third, max(values))


def bins_of(values: tuple[float, ...]) -> list[Bin]:
    """One bin a whole number where these are few, else at most 16 of a round width."""
    if not values:
        return []
    whole = all(float(each).is_integer() for each in values)
    low, high = min(values), max(values)
    if whole and high - min(low, 0) < _MOST_BINS:
        counts = dict.fromkeys(range(int(min(low, 0)), int(high) + 1), 0)
        for each in values:
            counts[int(each)] += 1
        return [Bin(at, at + 1, count, f"{at}") for at, count in counts.items()]
    width = round_step((high - low) / (_MOST_BINS - 1) or abs(high) or 1.0)
    start = floor(low / width)
    found = [0] * (floor(high / width) - start + 1)
    for each in values:
        found[floor(each / width) - start] += 1
    edges = [(start + at) * width for at in range(len(found) + 1)]
    return [
        Bin(edges[at], edges[at + 1], count, f"{edges[at]:,.6g} to {edges[at + 1]:,.6g}")
        for at, count in enumerate(found)
    ]


def histogram(agent: str, distribution: Distribution) -> Markup:
    """The bins as bars, with the ends of the scale and a line at the mean."""
    width, height, base = 220.0, 84.0, 62.0
    bins, figures = bins_of(distribution.values), spread(distribution.values)
    if not bins or figures is None:
        return Markup()
    tallest = max(each.count for each in bins)
    step = min(28.0, (width - 8) / len(bins))
    drawn = [line(4.0, base, 4 + step * len(bins), base, "axis")]
    for at, each in enumerate(bins):
        tall = ceil(each.count / tallest * (base - 8))
        x = 4 + at * step
        rect = {"x": x + 0.75, "y": base - tall, "width": step - 1.5, "height": tall}
        if each.count:
            tip = element("title", f"{each.label}: {each.count:,}")
            drawn.append(element("rect", tip, class_="column", **rect))
    covered = bins[-1].high - bins[0].low
    x = 4 + (figures.mean - bins[0].low + _half(bins)) / covered * step * len(bins)
    drawn.append(line(x, 4.0, x, base, "reference"))
    drawn += _ends(bins, base + 15, step)
    return picture(
        width,
        height,
        *drawn,
        title=f"{distribution.name} of {agent}",
        description=f"{len(distribution.values):,} runs; mean {figures.mean:,.1f}, median"
        f" {figures.median:,.1f}, from {figures.least:,.1f} to {figures.most:,.1f}.",
        class_="histogram",
    )


def _half(bins: list[Bin]) -> float:
    """Whole numbers stand in the middle of their bars."""
    return 0.5 if " to " not in bins[0].label else 0.0


def _ends(bins: list[Bin], y: float, step: float) -> list[Markup]:
    if " to " in bins[0].label:
        left = text(4.0, y, f"{bins[0].low:,.6g}", "tick")
        right = text(4 + step * len(bins), y, f"{bins[-1].high:,.6g}", "tick", "end")
        return [left, right] if len(bins) > 3 else [left]
    every = max(1, ceil(len(bins) / 8))
    return [
        text(4 + (at + 0.5) * step, y, each.label, "tick", "middle")
        for at, each in enumerate(bins)
        if at % every == 0
    ]
