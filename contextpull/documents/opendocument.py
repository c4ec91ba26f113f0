"""OpenDocument texts and spreadsheets (ODT, ODS) as a clean text."""

from collections.abc import Iterator
from typing import Any

from contextpull.documents.archive import Archive
from contextpull.documents.composing import MOST_CELLS, NEEDS_PASSWORD, Composer, Grid
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_MANIFEST = "META-INF/manifest.xml"
_HIDDEN = frozenset(
    {f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_OFFICE}annotation-end"}
    | {f"{_TEXT}{name}" for name in ("sequence-decls", "variable-decls", "bookmark")}
)
_ROW_GROUPS = frozenset(
    f"{_TABLE}{name}" for name in ("table-header-rows", "table-rows", "table-row-group")
)
_PARAGRAPHS = frozenset({f"{_TEXT}p", f"{_TEXT}h"})
_MOST_SPACES = 100
_MOST_COLUMNS = 2_000


def read_odt(data: bytes) -> ParsedDocument:
    """Read a text: headings, paragraphs, lists, tables, footnotes at their place.

    Deleted text of tracked changes and comments are left out, macros never run.
    Raises DocumentError for what is no OpenDocument file, and for encrypted ones.
    """
    archive, body = _opened(data, "text")
    composer = Composer()
    _write_children(body, composer)
    return _described(archive, composer)


def read_ods(data: bytes) -> ParsedDocument:
    """Read a spreadsheet: each sheet a heading, each range between empty rows a table.

    Values are as the sheet shows them; the first row of a range is its header.
    Raises DocumentError as `read_odt` does.
    """
    archive, body = _opened(data, "spreadsheet")
    composer = Composer()
    for sheet in body.iterfind(f"{_TABLE}table"):
        composer.heading(1, sheet.get(f"{_TABLE}name", "Sheet"))
        _write_sheet(sheet, composer)
    return _described(archive, composer)


def _opened(data: bytes, kind: str) -> tuple[Archive, Any]:
    archive = Archive(data, f"an OpenDocument {kind}")
    if _MANIFEST in archive and b"encryption-data" in archive.read(_MANIFEST):
        raise DocumentError(NEEDS_PASSWORD)
    body = archive.xml("content.xml").find(f"{_OFFICE}body/{_OFFICE}{kind}")
    if body is None:
        raise DocumentError(f"not an OpenDocument {kind}: its content is of another kind")
    return archive, body


def _described(archive: Archive, composer: Composer) -> ParsedDocument:
    title = description = ""
    if "meta.xml" in archive:
        meta = archive.xml("meta.xml").find(f"{_OFFICE}meta")
        if meta is not None:
            title, description = (
                " ".join(meta.findtext(f"{{http://purl.org/dc/elements/1.1/}}{name}", "").split())
                for name in ("title", "description")
            )
    return composer.document(title=title[:1_000], description=description[:1_000])


def _write_children(element: Any, composer: Composer) -> None:
    for child in element:
        if child.tag in _HIDDEN:
            continue
        if child.tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level", "1")
            composer.heading(int(level) if level.isdecimal() else 1, _text_of(child))
        elif child.tag == f"{_TEXT}p":
            composer.prose(_text_of(child))
        elif child.tag == f"{_TEXT}list":
            _write_list(child, composer, 0)
            composer.end_list()
        elif child.tag == f"{_TABLE}table":
            _write_range([row for row, times in _rows(child) if times and any(row)], composer)
        else:
            _write_children(child, composer)


def _write_list(element: Any, composer: Composer, depth: int) -> None:
    for item in element:
        is_new = True
        for child in item:
            if child.tag == f"{_TEXT}list":
                _write_list(child, composer, depth + 1)
            elif child.tag in _PARAGRAPHS:
                marker = "- " if is_new else "  "
                composer.item(f"{'  ' * depth}{marker}{_text_of(child)}", is_new=is_new)
                is_new = False


def _text_of(element: Any) -> str:
    return "".join(_pieces(element)).strip()


def _pieces(element: Any) -> Iterator[str]:
    """Text as it is shown; white space in the file counts as one space (ODF 1.3, 6.1.2)."""
    yield _collapsed(element.text)
    for child in element:
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            yield " " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES)
        elif child.tag == f"{_TEXT}tab":
            yield "\t"
        elif child.tag == f"{_TEXT}line-break":
            yield "\n"
        elif child.tag == f"{_TEXT}note":
            yield f" [{' '.join(_text_of(child).split())}]"
        elif child.tag not in _HIDDEN:
            yield from _pieces(child)
            if child.tag in _PARAGRAPHS:
                yield " "
        yield _collapsed(child.tail)


def _collapsed(text: str | None) -> str:
    if not text:
        return ""
    inner = " ".join(text.split())
    before = " " if text[0].isspace() else ""
    return before + inner + (" " if inner and text[-1].isspace() else "")


def _rows(table: Any) -> Iterator[tuple[list[str], int]]:
    """Each row and how often it stands there, without the empty cells at its end."""
    for child in table:
        if child.tag in _ROW_GROUPS:
            yield from _rows(child)
        elif child.tag == f"{_TABLE}table-row":
            yield _cells(child), _repeats(child, "rows")


def _cells(row: Any) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = " ".join(_text_of(cell).split())
            room = max(_MOST_COLUMNS - len(cells), 0)
            cells += [text] * min(_repeats(cell, "columns"), room)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _repeats(element: Any, kind: str) -> int:
    value = element.get(f"{_TABLE}number-{kind}-repeated", "1")
    return int(value) if value.isdecimal() and len(value) < 10 else 1


def _write_sheet(sheet: Any, composer: Composer) -> None:
    rows: Grid = []
    cells = 0
    for row, times in _rows(sheet):
        if not row:
            _write_range(rows, composer)
            rows = []
            continue
        cells += len(row) * times
        if cells > MOST_CELLS:
            raise DocumentError(f"more than {MOST_CELLS:,} filled cells; split the file")
        rows += [row] * times
    _write_range(rows, composer)


def _write_range(rows: Grid, composer: Composer) -> None:
    """Rows as a table, without the columns on the left that are empty in all of them.

    What stands alone above the header, in a row with one filled cell, is a line of its own.
    """
    indent = min((_empty_cells(row) for row in rows), default=0)
    rows = [row[indent:] for row in rows]
    while rows and sum(map(bool, rows[0])) == 1 and any(len(row) > 1 for row in rows):
        composer.prose("".join(rows.pop(0)))
    if rows and max(map(len, rows)) == 1:
        composer.prose("\n".join(row[0] for row in rows))
    elif rows:
        composer.table(rows[0], rows[1:])


def _empty_cells(row: list[str]) -> int:
    return next((number for number, cell in enumerate(row) if cell), len(row))
