"""Workbooks (XLSX, XLSM) as a clean text: a heading a sheet, a pipe table a range."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook

from contextpull.documents.composing import MOST_CELLS, Composer
from contextpull.documents.ooxml import Package, attribute, child, relation_id
from contextpull.documents.sheet_xml import SheetFacts, facts_of, shared_text
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_MOST_AREA = 10_000_000
"""A sheet is held as one rectangle from its first to its last cell; a larger one is left out."""
_MOST_TEXT = 100_000_000
_MOST_FILLED = 2_000_000
_LARGEST_MERGE = 10_000
_ROWS_AT_ONCE = 100_000
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

Value = Any
"""What calamine gives for a cell: text, a number, a flag, a date, a time or a duration."""
Grid = list[list[Value]]


def read_xlsx(data: bytes) -> ParsedDocument:
    """Read a workbook: every sheet with cells, hidden ones too, in the order of the tabs.

    Ranges between empty rows become tables; the values are those that were saved, dates as ISO
    8601; a formula without a saved value is shown itself. Nothing is calculated or fetched.
    Raises DocumentError for what is no workbook, and for encrypted ones.
    """
    package = Package(data, "an .xlsx")
    workbook = package.document("workbook")
    strings, styles = _part_of(package, "sharedStrings"), _part_of(package, "styles")
    sheets = _sheets(package, workbook, strings)
    since_1904 = attribute(child(workbook, "workbookPr"), "date1904") in {"1", "true"}
    book = _opened(sheets, strings, styles, since_1904=since_1904)
    composer = Composer()
    warnings: list[str] = []
    for number, sheet in enumerate(sheets):
        if sheet.facts.area > _MOST_AREA:
            warnings.append(
                f"sheet {sheet.name!r} is not read: its cells spread over"
                f" {sheet.facts.area:,} places"
            )
        elif sheet.facts.area:
            _write(sheet.name, _values(book, number, sheet.facts), composer)
    about = package.properties()
    return composer.document(about.title, about.description, about.keywords, warnings)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A tab of the workbook."""

    name: str
    xml: bytes
    facts: SheetFacts


def _part_of(package: Package, kind: str) -> bytes:
    """The part of this kind that the workbook names, unpacked; empty when it names none."""
    parts = package.related(package.main, kind)
    return package.read(parts[0]) if parts else b""


def _sheets(package: Package, workbook: Any, strings: bytes) -> list[_Sheet]:
    """The tabs with cells, in order; checks how much shared text they refer to."""
    relations = package.relations(package.main)
    shared = shared_text(strings) if strings else []
    sheets: list[_Sheet] = []
    text = 0
    for element in workbook.iter():
        relation = relations.get(relation_id(element) or "")
        if relation is not None and relation.kind == "worksheet":
            xml = package.read(relation.part)
            sheets.append(_Sheet(element.get("name") or "", xml, facts_of(xml, shared)))
            text += sheets[-1].facts.text
            if text > _MOST_TEXT:
                raise DocumentError(f"its cells hold more than {_MOST_TEXT:,} bytes of text")
    return sheets


def _opened(
    sheets: Sequence[_Sheet], strings: bytes, styles: bytes, *, since_1904: bool
) -> CalamineWorkbook:
    """A workbook of these sheets, named by their number, and nothing else of the file.

    calamine takes each part from the place where Excel puts it, wherever the file has it, and
    unpacks without bounds what it is given.
    """
    tabs, relations = "", {}
    checked = io.BytesIO()
    with zipfile.ZipFile(checked, "w") as archive:
        for number, sheet in enumerate(sheets):
            tabs += f'<sheet name="{number}" sheetId="{number + 1}" r:id="r{number}"/>'
            relations[f"worksheets/{number}.xml"] = "worksheet"
            archive.writestr(f"xl/worksheets/{number}.xml", sheet.xml)
        for name, content in (("sharedStrings", strings), ("styles", styles)):
            if content:
                archive.writestr(f"xl/{name}.xml", content)
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><workbookPr'
            f' date1904="{int(since_1904)}"/><sheets>{tabs}</sheets></workbook>',
        )
        archive.writestr("_rels/.rels", _relations({"xl/workbook.xml": "officeDocument"}))
        archive.writestr("xl/_rels/workbook.xml.rels", _relations(relations))
    checked.seek(0)
    with _damage_reported():
        return CalamineWorkbook.from_filelike(checked)


def _relations(kinds: dict[str, str]) -> str:
    """A part that names others, each with its kind, by the ids `r0`, `r1` …"""
    each = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(kinds.items())
    )
    return f'<Relationships xmlns="{_PACKAGE}">{each}</Relationships>'


@contextmanager
def _damage_reported() -> Iterator[None]:
    """A DocumentError for what the library refuses or panics about."""
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # the library's, no Exception
        if not is_panic and not isinstance(error, CalamineError | ValueError | OSError):
            raise
        raise DocumentError(f"damaged: its sheets cannot be read ({error})") from error


def _values(book: CalamineWorkbook, number: int, facts: SheetFacts) -> Grid:
    """The rectangle that holds all cells, merged ones filled."""
    with _damage_reported():
        sheet = book.get_sheet_by_index(number)
        rows: Grid = sheet.to_python(skip_empty_area=True)
        first_row, first_column = sheet.start or (facts.top, facts.left)
        merged = sheet.merged_cell_ranges or []
    top, left = min(first_row, facts.top), min(first_column, facts.left)
    width = max(first_column + max(map(len, rows), default=0), facts.right + 1) - left
    before = [""] * (first_column - left)
    grid: Grid = [[] for _ in range(first_row - top)] + [before + row for row in rows]
    grid += [[] for _ in range(facts.bottom + 1 - top - len(grid))]
    for row in grid:
        row += [""] * (width - len(row))
    for (at, column), formula in facts.formulas.items():
        if grid[at - top][column - left] == "":
            grid[at - top][column - left] = formula
    _fill(grid, [tuple((at - top, column - left) for at, column in each) for each in merged])
    return grid


def _fill(grid: Grid, merged: Sequence[Any]) -> None:
    """Repeat the value of a merged range in each of its cells, so that a row tells all."""
    filled = 0
    height, width = len(grid), len(grid[0]) if grid else 0
    for (top, left), (bottom, right) in merged:
        area = (bottom - top + 1) * (right - left + 1)
        if not (0 <= top < height and 0 <= left < width) or area > _LARGEST_MERGE:
            continue
        if top == bottom and sum(value != "" for value in grid[top]) < 2:
            continue  # a title over the table
        filled += area
        if filled > _MOST_FILLED:
            return
        for row in grid[top : bottom + 1]:
            for column in range(left, min(right + 1, width)):
                row[column] = grid[top][left]


def _write(name: str, grid: Grid, composer: Composer) -> None:
    if not any(value != "" for row in grid for value in row):
        return
    composer.heading(1, name)
    previous: tuple[list[str], int, int] | None = None
    for is_full, rows in groupby(grid, key=lambda row: any(value != "" for value in row)):
        band = list(rows) if is_full else []
        for left, right in _side_by_side(band):
            table = [row[left:right] for row in band]
            table = [row for row in table if any(value != "" for value in row)]
            while len(table) > 1 and right - left > 1 and (title := _title(table[0])):
                composer.prose(title)
                table = table[1:]
            previous = _table(table, left, right, previous, composer)


def _table(
    table: Grid,
    left: int,
    right: int,
    previous: tuple[list[str], int, int] | None,
    composer: Composer,
) -> tuple[list[str], int, int] | None:
    """Write one range; what goes on under a table of the same columns has its header."""
    if right - left == 1 or (len(table) == 1 and _title(table[0])):
        lines = (next(_shown(value) for value in row if value != "") for row in table)
        composer.prose("\n".join(lines))
        return previous
    if _has_header(table):
        header, rows = [_shown(value) for value in table[0]], table[1:]
    elif previous and previous[1:] == (left, right):
        header, rows = previous[0], table
    else:
        header, rows = [_letters(column) for column in range(left, right)], table
    step = max(1, min(_ROWS_AT_ONCE, MOST_CELLS // (right - left) - 1))
    for start in range(0, max(len(rows), 1), step):
        composer.table(header, [[_shown(v) for v in row] for row in rows[start : start + step]])
    return (header, left, right)


def _side_by_side(band: Grid) -> Iterator[tuple[int, int]]:
    """The columns of the tables in a band: parted by empty ones where both are two columns wide."""
    full = [any(value != "" for value in column) for column in zip(*band, strict=True)]
    spans: list[tuple[int, int]] = []
    at = 0
    for is_full, run in groupby(full):
        start, at = at, at + len(list(run))
        if is_full:
            spans.append((start, at))
    if all(right - left > 1 for left, right in spans):
        yield from spans
    elif spans:
        yield spans[0][0], spans[-1][1]


def _title(row: list[Value]) -> str:
    """The text that stands alone in a row; else nothing."""
    values = [value for value in row if value != ""]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else ""


def _has_header(table: Grid) -> bool:
    """Whether the first row is unlike those under it: only text, or text where they have none."""
    first = [type(value) for value in table[0] if value != ""]
    if all(kind is str for kind in first):
        return True
    return len(table) > 1 and _kinds(table[0]) != _kinds(table[1])


def _kinds(row: list[Value]) -> list[bool | None]:
    return [isinstance(value, str) if value != "" else None for value in row]


def _shown(value: Value) -> str:
    """A value as a person would write it; 15 digits are what a spreadsheet keeps of a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(int(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(value)


def _letters(column: int) -> str:
    """The name of a column, from 0: A … Z, AA …"""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
