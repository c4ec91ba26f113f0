"""The tables of a report for other programs: a folder of CSV files, or one Markdown file."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from contextpull.adapters.files import replacing
from contextpull.errors import EvaluationError
from contextpull.eval.report.cells import INTERVALS, Cell, Column, Table, cell_text
from contextpull.eval.report.figures import UNDEFINED
from contextpull.eval.report.model import RunView
from contextpull.eval.report.tables import results_of, tables_of
from contextpull.eval.statistics import Interval
from contextpull.eval.table import printable

if TYPE_CHECKING:  # it needs the libraries that draw
    from contextpull.eval.report.golden_view import GoldenView

_GUARD = "'"
_GUARDED = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", _GUARD)
"""What a spreadsheet may take for a formula at the beginning of a text."""
_MARKDOWN = str.maketrans(
    {each: f"\\{each}" for each in "\\`*_[]|~"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_INTERVALS_SAID = (
    f"Figures are means with 95% intervals: mean [low, high]. {UNDEFINED}: undefined or unknown."
)


def write_csv(
    views: Sequence[RunView], folder: Path, golden: Sequence["GoldenView"] = ()
) -> tuple[Path, ...]:
    """Write each table as NAME.csv into a folder, which is made; gives the files.

    Those of golden results are golden-1-NAME.csv, golden-2-NAME.csv, … in the order given.

    UTF-8 without a mark, one line of heads, lines end with a line feed. Numbers are bare, as
    exact as they are; text is quoted; what is undefined is empty. An interval has three columns:
    NAME, NAME low, NAME high. A text that a spreadsheet could take for a formula gets a `'` in
    front, and so does one that begins with that: take one off to have the text again.
    Raises EvaluationError where nothing can be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvaluationError(
            f"Cannot make the folder {str(folder)!r}: {error.strerror}. Name another one."
        ) from error
    tables = {each.name: each for each in (*tables_of(views), results_of(views)) if views}
    for number, part in enumerate(golden, start=1):
        tables |= {f"golden-{number}-{each.name}": each for each in part.tables}
    paths = tuple(folder / f"{name}.csv" for name in tables)
    for table, path in zip(tables.values(), paths, strict=True):
        with replacing(path) as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writerow([name for each in table.columns for name in _heads(each)])
            for line in table.lines:
                cells = zip(table.columns, line, strict=True)
                writer.writerow([value for each, cell in cells for value in _values(each, cell)])
    return paths


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula; see `write_csv`."""
    whole = text.encode("utf-8", "replace").decode()  # half of a pair is no character
    return f"{_GUARD}{whole}" if whole.startswith(_GUARDED) else whole


def markdown(views: Sequence[RunView], golden: Sequence["GoldenView"] = ()) -> str:
    """The tables as Markdown, figures with three decimals; tables without a line are left out.

    Text of others cannot end a cell, make a link or an element. Ends with a line feed.
    """
    names = _plain(", ".join([*(view.name for view in views), *(each.name for each in golden)]))
    of_runs = tables_of(views) if views else ()
    first = 0 if len(views) > 1 else 1  # with one run the column that names it says nothing
    parts = [part for table in of_runs if table.lines for part in _markdown(table, "##", first)]
    for each in golden:
        parts += ["", f"## {_plain(f'{each.title} ({each.name})')}", "", _plain(each.claim)]
        parts += [part for table in each.tables for part in _markdown(table, "###")]
        parts += ["", _plain(" ".join(each.notes))]
    return "\n".join([f"# {names}", "", _INTERVALS_SAID, *parts]) + "\n"


def _heads(column: Column) -> Iterator[str]:
    name = guarded(column.name)
    yield name
    if column.kind in INTERVALS:
        yield from (f"{name} low", f"{name} high")


def _values(column: Column, cell: Cell) -> Iterator[str | int | float]:
    """The values of a cell; an empty text for what is undefined."""
    if column.kind in INTERVALS:
        parts = (cell.mean, cell.low, cell.high) if isinstance(cell, Interval) else (None,) * 3
        yield from map(_value, parts)
    else:
        yield _value(cell)


def _value(cell: Cell) -> str | int | float:
    if isinstance(cell, str):
        return guarded(cell)
    if isinstance(cell, int):
        return int(cell)
    return cell if isinstance(cell, float) and isfinite(cell) else ""


def _markdown(table: Table, level: str, first: int = 0) -> Iterator[str]:
    columns = table.columns[first:]
    yield from ("", f"{level} {_plain(table.title)}", "")
    yield _line(_plain(each.name) for each in columns)
    yield _line("---" if each.kind == "text" else "---:" for each in columns)
    for line in table.lines:
        yield _line(_shown(*each) for each in zip(columns, line[first:], strict=True))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(column: Column, cell: Cell) -> str:
    text = " ".join(filter(None, cell_text(column, cell)))
    return _plain(text) if isinstance(cell, str) else text


def _plain(text: str) -> str:
    return printable(" ".join(text.split())).translate(_MARKDOWN)
