"""The drawings of a report: rows by cost, intervals side by side, histories."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import isfinite, log10
from typing import Any, NamedTuple

from markupsafe import Markup

from contextpull.eval.report.changes import HistoryLine
from contextpull.eval.report.figures import plain, written
from contextpull.eval.report.model import RowView, RunView
from contextpull.eval.report.svg import (
    Tick,
    decades,
    element,
    line,
    picture,
    shortened,
    text,
    ticks_up_to,
)
from contextpull.eval.statistics import Interval
from contextpull.eval.table import printable

_WIDTH, _HEIGHT = 480.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 14.0, 26.0, 44.0
_DODGE = 11.0
_LABEL_HEIGHT = 15.0
_PANEL_LETTERS, _PLOT_LETTERS = 30, 32
_LETTER = 6.3
"""About the width of one."""
_NEAR = 7.0
_ROOM = 60.0
"""Between points that are further apart a name finds room."""


class Axis(NamedTuple):
    """What a row costs, as a scale to draw it by."""

    name: str
    """tokens, dollars or seconds."""
    title: str
    of: Callable[[RowView], Interval]
    write: Callable[[float], str]
    is_log: bool = False


AXES = (
    Axis("tokens", "tokens a question", lambda row: row.cost.tokens, lambda x: f"{x:,.0f}"),
    Axis(
        "dollars",
        "dollars a question",
        lambda row: Interval(row.cost.dollars, row.cost.dollars, row.cost.dollars),
        lambda x: f"${x:.4f}".rstrip("0").rstrip(".") if x else "$0",
    ),
    Axis(
        "seconds",
        "seconds a question, each step ten times the last",
        lambda row: row.cost.seconds,
        lambda x: f"{x:.3g} s",
        is_log=True,
    ),
)


class _Point(NamedTuple):
    row: RowView
    x: float
    y: float
    low: float
    """Where the interval of its cost begins and ends; where it is itself without one."""
    high: float


def trade_off(run: RunView, axis: Axis) -> Markup | None:
    """Recall against cost, a point a row; None where no row is known to cost anything.

    Rows that cost nothing stand in a strip of their own, left of the scale.
    """
    known = [row for row in run.rows if isfinite(axis.of(row).mean)]
    paid = [row for row in known if axis.of(row).mean > 0]
    free = [row for row in known if axis.of(row).mean <= 0]
    if not paid:
        return None
    start = _LEFT + (len(free) * _DODGE + 18 if free else 4)
    scale, ticks = _scale([axis.of(row) for row in paid], axis, start, _WIDTH - _RIGHT)
    points = [
        *(_point(run, row, _LEFT + 14 + at * _DODGE) for at, row in enumerate(free)),
        *_apart([_paid(run, row, axis, scale) for row in paid]),
    ]
    drawn = [
        *_recall_axis(run.measure),
        *_cost_axis(ticks, scale, axis, start if free else 0),
        *(_bars(run, each) for each in points),
        *_labels(points, start if free else 0),
        *(_mark(_kind(each.row), each.x, each.y) for each in points),
    ]
    return picture(
        _WIDTH,
        _HEIGHT,
        *drawn,
        title=f"{run.measure} against {axis.title.partition(',')[0]}",
        description="; ".join(_described(run, axis, row) for row in known) + ".",
        class_="plot",
    )


def _described(run: RunView, axis: Axis, row: RowView) -> str:
    recall = row.overall.measures[run.measure]
    cost = axis.of(row).mean
    return f"{printable(row.name)}: {written(recall)}, {axis.write(cost)}"


def _point(run: RunView, row: RowView, x: float) -> _Point:
    return _Point(row, x, _up(row.overall.measures[run.measure].mean), x, x)


def _paid(run: RunView, row: RowView, axis: Axis, scale: Callable[[float], float]) -> _Point:
    cost = axis.of(row)
    point = _point(run, row, scale(cost.mean))
    if not isfinite(cost.low):
        return point
    return point._replace(low=scale(cost.low), high=scale(cost.high))


def _up(recall: float) -> float:
    return _HEIGHT - _BOTTOM - recall * (_HEIGHT - _TOP - _BOTTOM)


def _scale(
    costs: Sequence[Interval], axis: Axis, start: float, end: float
) -> tuple[Callable[[float], float], list[Tick]]:
    highs = [each.high if isfinite(each.high) else each.mean for each in costs]
    if axis.is_log:
        ticks = decades(min(each.mean for each in costs), max(highs))
        first, span = log10(ticks[0].value), log10(ticks[-1].value / ticks[0].value)
        least = ticks[0].value
        return lambda x: start + (log10(max(x, least)) - first) / span * (end - start), ticks
    ticks = ticks_up_to(max(highs), axis.write)
    most = ticks[-1].value
    return lambda x: start + x / most * (end - start), ticks


def _apart(points: Sequence[_Point]) -> list[_Point]:
    """The points, those at one place beside each other: an agent's two rows cost the same."""
    placed: list[_Point] = []
    for point in points:
        by = 0.0
        while any(abs(point.x - by - each.x) < _NEAR for each in placed):
            by += _NEAR
        placed.append(point._replace(x=point.x - by, low=point.low - by, high=point.high - by))
    return placed


def _recall_axis(measure: str) -> list[Markup]:
    drawn = [text(2.0, 11.0, measure, "label")]
    for tenths in range(0, 11, 2):
        y = _up(tenths / 10)
        drawn.append(line(_LEFT, y, _WIDTH - _RIGHT, y, "grid"))
        drawn.append(text(_LEFT - 6, y + 4, f"{tenths / 10:.1f}", "tick", "end"))
    return drawn


def _cost_axis(
    ticks: Sequence[Tick], scale: Callable[[float], float], axis: Axis, strip: float
) -> list[Markup]:
    base = _HEIGHT - _BOTTOM
    drawn = [line(_LEFT, base, _WIDTH - _RIGHT, base, "axis")]
    if strip:
        drawn.insert(
            0,
            element(
                "rect", x=_LEFT, y=_TOP, width=strip - _LEFT - 6, height=base - _TOP, class_="strip"
            ),
        )
        drawn.append(text(_LEFT + (strip - _LEFT - 6) / 2, base + 16, "none", "tick", "middle"))
    for at, tick in enumerate(ticks):
        x = scale(tick.value)
        if strip and not tick.value:
            continue
        drawn.append(line(x, base, x, base + 4, "axis"))
        anchor = "end" if at == len(ticks) - 1 else "middle"
        drawn.append(text(x + (6 if anchor == "end" else 0), base + 16, tick.label, "tick", anchor))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return [*drawn, text(middle, _HEIGHT - 6, axis.title, "label", "middle")]


def _bars(run: RunView, point: _Point) -> Markup:
    recall = point.row.overall.measures[run.measure]
    drawn = []
    if isfinite(recall.low):
        drawn.append(line(point.x, _up(recall.low), point.x, _up(recall.high), "bar"))
    if point.high > point.low:
        drawn.append(line(point.low, point.y, point.high, point.y, "bar"))
    return element("g", *drawn, class_=_kind(point.row))


def _labels(points: Sequence[_Point], strip: float) -> list[Markup]:
    """A name for each point: those of a cluster in a column beside it, each led to its point."""
    drawn = []
    for cluster in _clusters(points):
        on_right = max(each.x for each in cluster) < _WIDTH * 0.55
        x = _beside(cluster, strip, on_right=on_right)
        for point, y in zip(*_spread(cluster), strict=True):
            if len(cluster) > 1 or point.x < strip:
                drawn.append(line(point.x, point.y, x - (3 if on_right else -3), y, "leader"))
            kind = f"name {_kind(point.row)}"
            drawn.append(
                text(
                    x,
                    y + 4,
                    shortened(point.row.name, _PLOT_LETTERS),
                    kind,
                    "start" if on_right else "end",
                )
            )
    return drawn


def _clusters(points: Sequence[_Point]) -> list[list[_Point]]:
    """Points with no room for a name between them, from left to right."""
    clusters: list[list[_Point]] = []
    for point in sorted(points, key=lambda each: each.x):
        if not clusters or point.x - clusters[-1][-1].x > _ROOM:
            clusters.append([])
        clusters[-1].append(point)
    return clusters


def _beside(cluster: Sequence[_Point], strip: float, *, on_right: bool) -> float:
    """Where names are clear of all points of the cluster, and of the strip that they stand in."""
    if on_right:
        end = max(max(each.x, each.high) for each in cluster) + 11
        return max(end, strip + 9) if cluster[0].x < strip else end
    return min(min(each.x, each.low) for each in cluster) - 11


def _spread(points: Sequence[_Point]) -> tuple[list[_Point], list[float]]:
    """Points from top to bottom, and heights for their labels, none too near to another."""
    ordered = sorted(points, key=lambda each: (each.y, each.row.name))
    heights: list[float] = []
    for point in ordered:
        least = heights[-1] + _LABEL_HEIGHT if heights else 0.0
        heights.append(max(point.y, least))
    lowest = _HEIGHT - _BOTTOM - 10
    for at in range(len(heights) - 1, -1, -1):
        heights[at] = min(heights[at], lowest)
        lowest = heights[at] - _LABEL_HEIGHT
    return ordered, heights


def _kind(row: RowView) -> str:
    kind = f"pull {row.seen}" if row.is_pull else "push"
    return f"{kind} best" if row.is_best_push else kind


def _mark(kind: str, x: float, y: float) -> Markup:
    """A row's sign: a circle for an agent, hollow for what it was only shown; a square for push."""
    if kind.startswith("pull"):
        return element("circle", cx=x, cy=y, r=4.5, class_=f"mark {kind}")
    return element("rect", x=x - 4, y=y - 4, width=8, height=8, class_=f"mark {kind}")


def sign(row: RowView) -> Markup:
    """The row's sign alone, to stand before its name."""
    return sign_of(_kind(row))


def sign_of(kind: str) -> Markup:
    """The sign of a kind of row, for a legend."""
    drawn = _mark(kind, 7.0, 7.0)
    return element("svg", drawn, viewBox="0 0 14 14", class_="sign", aria_hidden="true")


def token_bar(record: Mapping[str, Any]) -> Markup:
    """An agent's tokens in their parts, which the table beside it tells in numbers."""
    cached, written = record["tokens_cached"], record["tokens_out"]
    parts = {"input": record["tokens_in"] - cached, "cached": cached, "output": written}
    whole = sum(parts.values()) or 1
    drawn, x = [], 0.0
    for kind, count in parts.items():
        width = 260.0 * count / whole
        drawn.append(element("rect", x=x, y=0, width=width, height=14, class_=f"part {kind}"))
        x += width
    return element("svg", *drawn, viewBox="0 0 260 14", class_="stack", aria_hidden="true")


def glyph(row: RowView, value: Interval, reference: float) -> Markup:
    """An interval from 0 to 1 in a cell of a table, whose figures say the same."""
    width, middle = 150.0, 9.0
    at = _across(6.0, width - 6.0)
    drawn = [line(at(0), middle, at(1), middle, "grid")]
    if isfinite(reference):
        drawn.append(line(at(reference), 0.0, at(reference), 18.0, "reference"))
    drawn += _interval(row, value, at, middle)
    return element("svg", *drawn, viewBox=f"0 0 {width:.0f} 18", class_="glyph", aria_hidden="true")


def _across(start: float, end: float) -> Callable[[float], float]:
    return lambda share: start + share * (end - start)


def _interval(
    row: RowView, value: Interval, at: Callable[[float], float], y: float
) -> list[Markup]:
    if not isfinite(value.mean):
        return []
    drawn = []
    if isfinite(value.low):
        bar = line(at(value.low), y, at(value.high), y, "bar")
        drawn.append(element("g", bar, class_=_kind(row)))
    return [*drawn, _mark(_kind(row), at(value.mean), y)]


def shape_panel(run: RunView, shape: str) -> Markup:
    """Recall of every row over the questions of one shape, with intervals from 0 to 1."""
    rows = [row for row in run.rows if shape in row.shapes]
    longest = max((len(shortened(row.name, _PANEL_LETTERS)) for row in rows), default=0)
    left, width, step = max(110.0, 14 + longest * _LETTER), 350.0, 20.0
    height = step * len(rows) + 30
    at = _across(left, width - 10)
    best = run.best_push
    drawn = [*_share_axis(at, height - 22)]
    if best and shape in best.shapes:
        x = at(best.shapes[shape].measures[run.measure].mean)
        drawn.append(line(x, 2.0, x, height - 22, "reference"))
    for number, row in enumerate(rows):
        y = step * number + 13
        drawn.append(
            text(left - 10, y + 4, shortened(row.name, _PANEL_LETTERS), f"name {_kind(row)}", "end")
        )
        drawn += _interval(row, row.shapes[shape].measures[run.measure], at, y)
    words = (
        f"{printable(row.name)} {written(each)}"
        for row in rows
        for each in [row.shapes[shape].measures[run.measure]]
    )
    return picture(
        width,
        height,
        *drawn,
        title=f"{run.measure} of {printable(shape)} questions",
        description="; ".join(words) + ".",
        class_="panel",
    )


def _share_axis(at: Callable[[float], float], base: float) -> list[Markup]:
    drawn = []
    for share in (0.0, 0.5, 1.0):
        drawn.append(line(at(share), 2.0, at(share), base, "grid"))
        label = f"{share:.1f}"
        drawn.append(text(at(share), base + 15, label, "tick", "middle"))
    return drawn


def history_chart(lines: Sequence[HistoryLine], row: RowView) -> Markup:
    """A row's recall in one run after the other.

    The line joins only runs that can be compared with the last one, and stops where a run lacks
    the row.
    """
    width, height = 340.0, 150.0
    at, up = _across(46.0, width - 20), _across(height - 28, 10.0)
    drawn = []
    for share in (0.0, 0.5, 1.0):
        drawn.append(line(34.0, up(share), width - 8, up(share), "grid"))
        drawn.append(text(28.0, up(share) + 4, f"{share:.1f}", "tick", "end"))
    values = [each.recalls.get(row.name) for each in lines]
    places = [at(number / max(1, len(lines) - 1)) for number in range(len(lines))]
    joined = [
        None if each.unlike_last else value for each, value in zip(lines, values, strict=True)
    ]
    for (x1, then), (x2, now) in pairwise(zip(places, joined, strict=True)):
        if then and now:
            drawn.append(line(x1, up(then.mean), x2, up(now.mean), f"trend {_kind(row)}"))
    for number, (x, value) in enumerate(zip(places, values, strict=True), start=1):
        drawn.append(text(x, height - 8, str(number), "tick", "middle"))
        if value:
            drawn += _upright(row, value, x, up)
    words = (f"run {n}: {plain(v.mean) if v else 'not there'}" for n, v in enumerate(values, 1))
    return picture(
        width,
        height,
        *drawn,
        title=f"{lines[-1].run.measure} of {printable(row.name)}, run by run",
        description="; ".join(words) + ".",
        class_="panel",
    )


def _upright(row: RowView, value: Interval, x: float, up: Callable[[float], float]) -> list[Markup]:
    point = _mark(_kind(row), x, up(value.mean))
    if not isfinite(value.low):
        return [point]
    bar = line(x, up(value.low), x, up(value.high), "bar")
    return [element("g", bar, class_=_kind(row)), point]
