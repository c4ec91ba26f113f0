"""Tables of a PDF page: lines whose segments stand in columns."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from contextpull.documents.pdf_layout import Line, Rule, Segment

_FEWEST_ROWS = 3
_FEWEST_ROWS_IF_WIDE = 2
_WIDE = 3
_MOST_ROWS = 500
_FARTHEST = 3.0
"""Lines further apart than this many times their height belong to no common table."""
_CLOSE = 0.5


class Table(NamedTuple):
    """The cells of a table, the header first."""

    rows: list[list[str]]


class Region(NamedTuple):
    """A part of a page that is read from top to bottom."""

    parts: list[Line | Table]
    left: float
    right: float


def region_of(lines: Sequence[Line], rules: Sequence[Rule]) -> Region:
    """Lines that stand below each other, at least one, with the tables among them."""
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    return Region(list(_with_tables(lines, rules)), left, right)


def _with_tables(lines: Sequence[Line], rules: Sequence[Rule]) -> Iterator[Line | Table]:
    at = 0
    while at < len(lines):
        end = _end_of_run(lines, at)
        if _is_table(lines[at:end]):
            yield _table(lines[at:end], rules)
        else:
            yield from lines[at:end]
        at = end


def _end_of_run(lines: Sequence[Line], start: int) -> int:
    """Where the lines end that could be a table and begin with this one."""
    end = start + 1
    if len(lines[start].segments) < 2:
        return end
    for before, line in pairwise(lines[start : start + _MOST_ROWS]):
        if line.top - before.bottom > _FARTHEST * (before.bottom - before.top):
            break
        if len(line.segments) < 2 and not _is_between(lines, end, start):
            break
        end += 1
    return end


def _is_table(lines: Sequence[Line]) -> bool:
    full = [line for line in lines if len(line.segments) > 1]
    widest = max((len(line.segments) for line in full), default=0)
    needed = _FEWEST_ROWS_IF_WIDE if widest >= _WIDE else _FEWEST_ROWS
    return len(full) >= needed and _is_aligned(full)


def _is_between(lines: Sequence[Line], at: int, start: int) -> bool:
    """Whether a single segment is a cell of the table: it fits a column, and the table goes on."""
    following = lines[at + 1 : at + 3]
    if not any(len(line.segments) > 1 for line in following):
        return False
    segment = lines[at].segments[0]
    columns = _columns(lines[start:at])
    return sum(left < segment.right and segment.left < right for left, right in columns) == 1


def _is_aligned(lines: Sequence[Line]) -> bool:
    """Whether most segments lie in one column each, and none of the columns is as wide as all."""
    columns = _columns(lines)
    inside = total = 0
    for segment in (segment for line in lines for segment in line.segments):
        total += 1
        touched = sum(left < segment.right and segment.left < right for left, right in columns)
        inside += touched == 1
    return len(columns) > 1 and inside >= 0.8 * total


def _columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Where the columns lie, as the lines with the most segments have them."""
    most = max(len(line.segments) for line in lines)
    spans: list[tuple[float, float]] = []
    telling = [line for line in lines if len(line.segments) == most]
    for each in sorted((s for line in telling for s in line.segments), key=lambda s: s.left):
        if spans and each.left < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], each.right))
        else:
            spans.append((each.left, each.right))
    return spans


def _table(lines: Sequence[Line], rules: Sequence[Rule]) -> Table:
    columns = _columns(lines)
    drawn = _drawn_between(lines, rules)
    widest = max((below.top - above.bottom for above, below in pairwise(lines)), default=0.0)
    rows: list[list[str]] = []
    for number, line in enumerate(lines):
        cells = [""] * len(columns)
        for segment in line.segments:
            at = _column_of(segment, columns)
            cells[at] = f"{cells[at]} {segment.text}".strip()
        if number and _goes_on(lines[number - 1], line, cells, drawn, widest):
            rows[-1] = [f"{a} {b}".strip() for a, b in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return Table(rows)


def _goes_on(
    above: Line, line: Line, cells: Sequence[str], drawn: Sequence[float], widest: float
) -> bool:
    """Whether a line belongs to the row above: no rule parts them where the others have one."""
    if drawn:
        return not any(above.top < rule < line.bottom for rule in drawn)
    return not cells[0] and line.top - above.bottom < _CLOSE * widest


def _drawn_between(lines: Sequence[Line], rules: Sequence[Rule]) -> list[float]:
    """The heights of the rules between the rows, where most rows of the table have them."""
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    top, bottom = lines[0].bottom, lines[-1].top
    across = {
        round(rule.at)
        for rule in rules
        if top - 2 <= rule.at <= bottom + 2 and rule.left < (left + right) / 2 < rule.right
    }
    return sorted(across) if len(across) > len(lines) / 4 and len(across) > 1 else []


def _column_of(segment: Segment, columns: Sequence[tuple[float, float]]) -> int:
    """The column that most of the segment lies in, or the nearest."""

    def common(at: int) -> float:
        left, right = columns[at]
        return min(segment.right, right) - max(segment.left, left)

    return max(range(len(columns)), key=common)
