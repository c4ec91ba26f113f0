"""Drawings of golden-file results: settings side by side, and what a cut-off keeps."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor
from typing import NamedTuple

from markupsafe import Markup

from contextpull.eval.report.figures import plain, written
from contextpull.eval.report.svg import element, line, picture, round_step, shortened, text
from contextpull.eval.statistics import Interval
from contextpull.eval.table import printable

_WIDTH = 440.0
"""Narrow, so that text is as large on a telephone as beside it."""
_LEFT, _RIGHT = 8.0, _WIDTH - 40
_ROW = 40.0
_BARS = 120.0
"""Height of the bars, up and down together."""
_CURVES = 130.0
_BINS = 40
_LETTERS = 44
_Across = Callable[[float], float]


class Share(NamedTuple):
    """A value with what it costs to cut there."""

    cutoff: float
    answered: float
    declined: float


def intervals_chart(title: str, rows: Sequence[tuple[str, Interval]]) -> Markup:
    """Name and figures of each row over its interval between 0 and 1; the highest is filled."""
    base = _ROW * len(rows) + 4
    at = _across(0.0, 1.0, _WIDTH - 10)
    drawn = _scale([each / 5 for each in range(6)], at, 4, base)
    best = max(value.mean for _, value in rows)
    for number, (name, value) in enumerate(rows):
        named, marked = "name", "mark push"
        if value.mean == best:
            named, marked = f"{named} best", f"{marked} best"
        y = _ROW * number + 31
        drawn.append(text(_LEFT, y - 13, shortened(name, _LETTERS), named))
        drawn.append(text(_WIDTH - 10, y - 13, written(value), "tick", "end"))
        bar = line(at(value.low), y, at(value.high), y, "bar")
        drawn.append(element("g", bar, class_="push"))
        drawn.append(element("circle", cx=at(value.mean), cy=y, r=4.5, class_=marked))
    said = "; ".join(f"{printable(name)} {written(each)}" for name, each in rows)
    return picture(_WIDTH, base + 24, *drawn, title=title, description=f"{said}.", class_="golden")


def cutoff_chart(
    title: str,
    answers: Sequence[float],
    misses: Sequence[float],
    table: Sequence[Share],
    cutoff: Interval | None,
) -> Markup:
    """How many answers (up) and near misses (down) have each value; below, what a cut keeps.

    `cutoff` is drawn through both, with its interval; None where none is supported.
    """
    values = [*answers, *misses, *(each.cutoff for each in table)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    at, top, bottom = _across(low, high, _RIGHT), _BARS + 66, _BARS + 66 + _CURVES
    drawn: list[Markup] = []
    if cutoff:
        band = {"x": at(cutoff.low), "width": at(cutoff.high) - at(cutoff.low)}
        drawn.append(element("rect", y=20, height=bottom - 20, class_="band", **band))
    drawn += _bars(answers, misses, low, high)
    drawn += _scale(_round_marks(low, high), at, top, bottom)
    drawn += _curves(table, at, top)
    said = f"{len(answers):,} answers and {len(misses):,} near misses"
    if cutoff:
        drawn.append(line(at(cutoff.mean), 20, at(cutoff.mean), bottom, "reference"))
        drawn.append(_inside(at(cutoff.mean), 14, f"cut-off {plain(cutoff.mean)}"))
        said += f"; cut-off {written(cutoff)}"
    return picture(
        _WIDTH, bottom + 28, *drawn, title=title, description=f"{said}.", class_="golden"
    )


def _across(low: float, high: float, right: float) -> _Across:
    return lambda value: _LEFT + (value - low) / (high - low) * (right - _LEFT)


def _inside(x: float, y: float, label: str) -> Markup:
    """A label with its middle at x, or what of that the picture has room for."""
    anchor = "start" if x < 50 else "end" if x > _WIDTH - 50 else "middle"
    return text(x, y, label, "label", anchor)


def _scale(marks: Sequence[float], at: _Across, top: float, bottom: float) -> list[Markup]:
    drawn = []
    for mark in marks:
        drawn.append(line(at(mark), top, at(mark), bottom, "grid"))
        drawn.append(text(at(mark), bottom + 16, f"{mark:.3g}", "tick", "middle"))
    return drawn


def _round_marks(low: float, high: float) -> list[float]:
    """Round values within the ends, about five."""
    step = round_step((high - low) / 5)
    return [step * at for at in range(ceil(low / step), floor(high / step) + 1)]


def _bars(
    answers: Sequence[float], misses: Sequence[float], low: float, high: float
) -> Iterator[Markup]:
    middle = 24 + _BARS / 2
    binned = [_binned(values, low, high) for values in (answers, misses)]
    most = max(*binned[0], *binned[1], 1)
    step = (_RIGHT - _LEFT) / _BINS
    for kind, counts in zip(("answers", "misses"), binned, strict=True):
        for at, count in enumerate(counts):
            tall = count / most * _BARS / 2
            y = middle - tall if kind == "answers" else middle
            place = {"x": _LEFT + at * step, "y": y, "width": step - 1, "height": tall}
            if count:
                yield element("rect", class_=kind, **place)
    yield line(_LEFT, middle, _RIGHT, middle, "axis")
    yield text(_LEFT, middle - _BARS / 2 + 6, f"{len(answers):,} answers", "name answers")
    yield text(_LEFT, middle + _BARS / 2, f"{len(misses):,} near misses", "name misses")


def _binned(values: Sequence[float], low: float, high: float) -> list[int]:
    counts = [0] * _BINS
    for each in values:
        counts[min(int((each - low) / (high - low) * _BINS), _BINS - 1)] += 1
    return counts


def _curves(table: Sequence[Share], at: _Across, top: float) -> Iterator[Markup]:
    """The share of answers kept falls from 1, that of near misses declined rises from 0."""
    kept = [(each.cutoff, each.answered) for each in table]
    declined = [(each.cutoff, each.declined) for each in table]
    for kind, points in (("answers", kept), ("misses", declined)):
        places = ((at(cutoff), top + (1 - share) * _CURVES) for cutoff, share in points)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield element("polyline", points=path, class_=f"curve {kind}")
    for share in (0.0, 0.5, 1.0):
        yield text(_RIGHT + 6, top + (1 - share) * _CURVES + 4, f"{share:.0%}", "tick")
    yield text(_LEFT, top - 7, "answers kept", "name answers")
    yield text(_RIGHT, top - 7, "near misses declined", "name misses", "end")
