"""HTML tables as rows of text, their spans filled in."""

from collections.abc import Iterable
from dataclasses import dataclass

from contextpull.documents.composing import MOST_CELLS, Grid
from contextpull.errors import DocumentError

_MOST_COLUMNS = 1_000  # what HTML allows a cell to span


@dataclass(frozen=True, slots=True)
class Cell:
    """One `td` or `th`."""

    text: str
    is_header: bool = False
    columns: int = 1
    rows: int = 1
    """0 means down to the last row."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What covers one place of the grid, and whether it goes on from the place to its left."""

    cell: Cell
    continues: bool


_NOTHING = _Place(Cell(""), continues=False)

Row = list[Cell]


def span_of(value: str | None, default: int = 1) -> int:
    """A `colspan` or `rowspan` as HTML reads it."""
    digits = (value or "").strip()
    return min(int(digits[:6]), 65_534) if digits.isascii() and digits.isdigit() else default


def header_and_rows(rows: list[Row], heads: int) -> tuple[list[str], Grid]:
    """The header, of the first `heads` rows or of those that hold only header cells, and the rest.

    A cell that spans rows or columns is repeated in each, so that a row tells all when it is read
    alone; a column that adds nothing to the one on its left is left out, and one that is empty.
    A table without any header cell has its first row for a header.
    """
    grid = _without_idle_columns(_filled(rows))
    if not heads:
        heads = _leading_header_rows(grid)
    if not heads and not any(place.cell.is_header for row in grid for place in row):
        heads = 1 if len(grid) > 1 else 0
    header = [_joined(column) for column in zip(*grid[:heads], strict=True)]
    return header, [_texts(row) for row in grid[heads:] if any(place.cell.text for place in row)]


def _filled(rows: list[Row]) -> list[list[_Place]]:
    """Every row as wide as the table, after the table model of the HTML Standard."""
    grid: list[list[_Place]] = []
    hanging: dict[int, tuple[_Place, int]] = {}
    width = 0
    for number, row in enumerate(rows):
        line: list[_Place] = []
        waiting = iter(row)
        while True:
            at = len(line)
            if at in hanging:
                place, left = hanging.pop(at)
                line.append(place)
                if left > 1:
                    hanging[at] = (place, left - 1)
                continue
            cell = next(waiting, None)
            if cell is None:
                if not any(column > at for column in hanging):
                    break
                line.append(_NOTHING)
                continue
            down = min(cell.rows or len(rows), len(rows) - number)
            for column in range(at, at + min(max(cell.columns, 1), _MOST_COLUMNS)):
                if column > at and column in hanging:
                    break
                place = _Place(cell, continues=column > at)
                line.append(place)
                if down > 1:
                    hanging[column] = (place, down - 1)
        grid.append(line)
        width = max(width, len(line))
        if width * len(grid) > MOST_CELLS:
            raise DocumentError(f"a table of more than {MOST_CELLS:,} cells; split the file")
    return [line + [_NOTHING] * (width - len(line)) for line in grid]


def _without_idle_columns(grid: list[list[_Place]]) -> list[list[_Place]]:
    columns = list(zip(*grid, strict=True))
    kept = [column for column in columns if any(p.cell.text and not p.continues for p in column)]
    return [list(row) for row in zip(*kept, strict=True)]


def _leading_header_rows(grid: list[list[_Place]]) -> int:
    for number, row in enumerate(grid):
        if not all(place.cell.is_header or not place.cell.text for place in row):
            return number
    return min(1, len(grid))


def _texts(row: list[_Place]) -> list[str]:
    """The texts of a row; one cell over its whole width is said once."""
    if len({id(place.cell) for place in row}) == 1:
        return [row[0].cell.text]
    return [place.cell.text for place in row]


def _joined(column: Iterable[_Place]) -> str:
    """The header of a column, of as many rows as there are, each text once."""
    return " / ".join(dict.fromkeys(place.cell.text for place in column if place.cell.text))
