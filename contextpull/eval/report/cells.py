"""Tables as plain values, and how their cells are written."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple

from contextpull.eval.report.figures import UNDEFINED, bounds, p_value, plain, signed, tokens
from contextpull.eval.statistics import Interval

Kind = Literal[
    "text",
    "count",
    "figure",
    "fine",
    "tenth",
    "percent",
    "p",
    "interval",
    "difference",
    "counts",
]
"""How the values of a column are written: with 3, 4 or 1 decimals, as a percentage of a share, …;
the last three are intervals: of figures, of signed ones, of counts."""
INTERVALS = frozenset({"interval", "difference", "counts"})
Cell = str | int | float | Interval | None
"""None, and a number that is none (nan), where there is nothing to say."""


class Column(NamedTuple):
    """The head of a column."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """One table; every line has a cell for each column."""

    name: str
    """Short, and good for a file's name."""
    title: str
    columns: tuple[Column, ...]
    lines: tuple[tuple[Cell, ...], ...]


class Written(NamedTuple):
    """A cell as text."""

    figure: str
    bounds: str = ""
    """`[low, high]` of an interval."""


def cell_text(column: Column, cell: Cell) -> Written:
    """A cell as tables show it; text of others as it is."""
    if isinstance(cell, str):
        return Written(cell)
    if cell is None:
        return Written(UNDEFINED)
    write = _writes(column, cell)
    if isinstance(cell, Interval):
        return Written(write(cell.mean), bounds(cell, write) if isfinite(cell.low) else "")
    return Written(write(cell) if isfinite(cell) else UNDEFINED)


def _writes(column: Column, cell: Cell) -> Callable[[float], str]:
    return _WRITES.get(column.kind, tokens if isinstance(cell, int) else plain)


_WRITES: dict[Kind, Callable[[float], str]] = {
    "count": tokens,
    "counts": tokens,
    "difference": signed,
    "fine": lambda value: plain(value, 4),
    "p": p_value,
    "percent": lambda value: f"{value:.1%}",
    "tenth": lambda value: f"{value:,.1f}",
}
