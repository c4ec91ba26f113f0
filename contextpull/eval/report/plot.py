"""The trade-off of a run as a picture for a README: recall against tokens per question."""

from collections.abc import Sequence
from functools import partial
from io import BytesIO
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from contextpull.adapters.files import replacing
from contextpull.errors import InvalidInput, MissingExtra
from contextpull.eval.report.model import RowView, RunView
from contextpull.eval.statistics import Interval
from contextpull.eval.table import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

FORMATS = (".png", ".svg")
_WIDTH, _HEIGHT = 8.0, 4.6
"""Inches."""
_DPI = 150
"""Of a PNG file."""
_POINTS = 72
"""A figure of so many dots an inch has a pixel a point: places found in one hold in the other."""
_INK, _FAINT, _GRID = "#1f2328", "#59636e", "#d9dee3"
_PULL, _PUSH = "#0b5cad", "#8a5a00"
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "contextpull",
    "text.color": _INK,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "text.parse_math": False,
}
_DODGE = 9.5
"""Points of paper between rows of about one cost, whose bars would hide each other."""
_GAP = 9.0
_MARGIN = 3.0
_HALF_BAR = 1.0
"""More points of paper: between mark and name, between names, half the width of a bar."""


class _Mark(NamedTuple):
    """One row of a run: what it finds, and what a question costs it."""

    name: str
    is_pull: bool
    is_best_push: bool
    is_filled: bool
    """For the best push row, and what an agent read; what it was only shown is hollow."""
    tokens: float
    recall: Interval


def plot_trade_off(view: RunView, path: Path) -> str:
    """Draw recall@k against tokens per question into a PNG or SVG file.

    The same run gives the same bytes. Rows whose tokens nobody counted are left out.
    Gives a text that says what the picture shows to those who do not see it.
    Raises InvalidInput for another ending and where there is nothing to draw, MissingExtra without
    matplotlib, EvaluationError where the file cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise InvalidInput(f"{path} must end in .png or .svg, which say how to draw it.")
    rows = [each for each in map(partial(_mark_of, view.measure), view.rows) if _is_known(each)]
    if not rows:
        raise InvalidInput(f"No row of {view.name!r} counted its tokens: there is nothing to draw.")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("A plot", "eval") from error
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_POINTS, layout="constrained")
        _draw(figure, rows, view.measure)
        nothing = {"Date": None, "Creator": None} if kind == ".svg" else {"Software": None}
        drawn = BytesIO()
        figure.savefig(drawn, format=kind[1:], dpi=_DPI, metadata=nothing)
    with replacing(path) as stream:
        stream.buffer.write(drawn.getvalue())
    return f"{view.measure} against tokens per question: {'; '.join(map(_said, rows))}."


def _mark_of(measure: str, row: RowView) -> _Mark:
    recall = row.overall.measures[measure]
    is_filled = row.is_best_push or row.seen == "read"
    return _Mark(row.name, row.is_pull, row.is_best_push, is_filled, row.cost.tokens.mean, recall)


def _is_known(row: _Mark) -> bool:
    return isfinite(row.tokens) and isfinite(row.recall.mean)


def _said(row: _Mark) -> str:
    bounds = f" [{row.recall.low:.3f}, {row.recall.high:.3f}]" if isfinite(row.recall.low) else ""
    best = " (the best push row)" if row.is_best_push else ""
    return f"{printable(row.name)}{best} {row.recall.mean:.3f}{bounds} at {row.tokens:,.0f} tokens"


def _draw(figure: "Figure", rows: Sequence[_Mark], measure: str) -> None:
    axes = figure.add_subplot()
    _frame(axes, rows, measure)
    figure.draw_without_rendering()  # so that places on paper are known
    marks = [_mark(axes, row, at) for row, at in zip(rows, _places(axes, rows), strict=True)]
    figure.draw_without_rendering()
    _label(axes, rows, marks)
    figure.set_layout_engine("none")  # labels stay where they were found room


def _frame(axes: "Axes", rows: Sequence[_Mark], measure: str) -> None:
    most = max(row.tokens for row in rows) or 1.0
    axes.set_xlim(-0.06 * most, 1.12 * most)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel(
        "tokens per question, sent and written\n"
        "(a push row asks no model: 0; rows of about one cost are moved apart)"
    )
    axes.set_ylabel(f"{measure}, 95% interval")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(visible=True, color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _places(axes: "Axes", rows: Sequence[_Mark]) -> list[float]:
    """Where each row's mark stands along the axis, in tokens, so that no bar hides another.

    Of all places that keep the rows' order and `_DODGE` between them, those with the least sum of
    squared distances to where the rows belong: isotonic regression by its min-max formula
    (Robertson, Wright and Dykstra, 1988). None is left of 0.
    """
    transform = axes.transData
    gap = _DODGE / (transform.transform((1, 0))[0] - transform.transform((0, 0))[0])
    order = sorted(range(len(rows)), key=lambda at: rows[at].tokens)
    closed = [rows[at].tokens - rank * gap for rank, at in enumerate(order)]
    places = [0.0] * len(rows)
    for rank, at in enumerate(order):
        fitted = max(
            min(fmean(closed[first:end]) for end in range(rank + 1, len(rows) + 1))
            for first in range(rank + 1)
        )
        places[at] = max(0.0, fitted) + rank * gap
    return places


def _mark(axes: "Axes", row: _Mark, at: float) -> tuple[float, float]:
    """Draw a row's point and bar at so many tokens; where it stands, in points."""
    colour = _PULL if row.is_pull else _PUSH
    if isfinite(row.recall.low):
        axes.plot(
            [at, at], [row.recall.low, row.recall.high], color=colour, linewidth=1.6, alpha=0.75
        )
    axes.plot(
        [at],
        [row.recall.mean],
        marker="o" if row.is_pull else "s",
        markersize=8,
        color=colour,
        markerfacecolor=colour if row.is_filled else "white",
        markeredgewidth=1.6,
        clip_on=False,
    )
    x, y = axes.transData.transform((at, row.recall.mean))
    return float(x), float(y)


def _label(axes: "Axes", rows: Sequence[_Mark], marks: Sequence[tuple[float, float]]) -> None:
    """Name every mark beside it, in the first place where nothing else is written or drawn."""
    bounds = axes.get_window_extent()
    area = (bounds.x0, bounds.y0, bounds.x1, bounds.y1)
    half = 6.0
    taken = [(x - half, y - half, x + half, y + half) for x, y in marks]
    taken += [_bar(axes, row, mark) for row, mark in zip(rows, marks, strict=True)]
    middle = (bounds.x0 + bounds.x1) / 2
    # From the middle outwards: a name stands beside its mark, not beyond another one.
    for row, mark in sorted(
        zip(rows, marks, strict=True), key=lambda each: abs(each[1][0] - middle)
    ):
        text = _text(axes, row, mark)
        size = text.get_window_extent()
        box, is_far = _place(mark, size.width, size.height, taken, area)
        taken.append(box)
        text.set_position((box[0], box[1]))
        if is_far:
            _lead(axes, mark, box)


def _text(axes: "Axes", row: _Mark, mark: tuple[float, float]) -> "Annotation":
    name = printable(row.name)
    return axes.annotate(
        f"{name} (best push)" if row.is_best_push else name,
        mark,
        xycoords="figure points",
        textcoords="figure points",
        xytext=mark,
        fontsize=10,
        annotation_clip=False,
    )


def _bar(axes: "Axes", row: _Mark, mark: tuple[float, float]) -> "_Box":
    """Where the bar of a row is drawn."""
    ends = (
        (row.recall.low, row.recall.high)
        if isfinite(row.recall.low)
        else (row.recall.mean, row.recall.mean)
    )
    low, high = (float(axes.transData.transform((0, end))[1]) for end in ends)
    return mark[0] - _HALF_BAR, low, mark[0] + _HALF_BAR, high


def _lead(axes: "Axes", mark: tuple[float, float], box: "_Box") -> None:
    """A thin line from a mark to its name."""
    end = (min(max(mark[0], box[0]), box[2]), min(max(mark[1], box[1]), box[3]))
    axes.annotate(
        "",
        mark,
        xycoords="figure points",
        textcoords="figure points",
        xytext=end,
        arrowprops={"arrowstyle": "-", "color": _FAINT, "linewidth": 0.7, "shrinkB": 6},
        annotation_clip=False,
    )


_Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""


def _place(
    mark: tuple[float, float], width: float, height: float, taken: Sequence[_Box], area: _Box
) -> tuple[_Box, bool]:
    """Where a name of this size goes, and whether that is so far that a line must lead there.

    The nearest free place is taken; where none is free, the one to the right of the mark.
    """
    boxes = [
        (
            mark[0] + away,
            mark[1] + rise - height / 2,
            mark[0] + away + width,
            mark[1] + rise + height / 2,
        )
        for away, rise in _offsets(width, height)
    ]
    for at, box in enumerate(boxes):
        if _is_within(box, area) and not any(_overlap(box, each) for each in taken):
            return box, at > 1
    return boxes[0], False


def _offsets(width: float, height: float) -> list[tuple[float, float]]:
    """Where a name may begin beside its mark, and how much higher its middle is, nearest first."""
    aside = [_GAP + step * _DODGE for step in range(10)]
    rises = [step * height / 2 for step in range(-16, 17)]
    right = [(abs(rise) + away, 0, away, rise) for away in aside for rise in rises]
    left = [(far, 1, -away - width, rise) for far, _, away, rise in right]
    return [(away, rise) for _, _, away, rise in sorted([*right, *left])]


def _is_within(box: _Box, area: _Box) -> bool:
    return area[0] <= box[0] and area[1] <= box[1] and box[2] <= area[2] and box[3] <= area[3]


def _overlap(one: _Box, other: _Box) -> bool:
    left, bottom, right, top = other
    return (
        one[0] < right + _MARGIN
        and left < one[2] + _MARGIN
        and one[1] < top + _MARGIN
        and bottom < one[3] + _MARGIN
    )
