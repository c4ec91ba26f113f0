"""Word documents (DOCX) as a clean text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from contextpull.documents.composing import Composer
from contextpull.documents.docx_numbering import BULLET, Numbering
from contextpull.documents.html_tables import Cell, Row, header_and_rows
from contextpull.documents.ooxml import Package, attribute, child, children, is_on, local, number
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_HEADING_STYLE = re.compile(r"heading ([1-9])", re.I)
_CODE_STYLE = re.compile(r"\b(?:code|source|preformatted|listing)\b", re.I)
_WRAPPERS = frozenset(
    {"ins", "moveTo", "hyperlink", "smartTag", "sdt", "sdtContent", "fldSimple", "customXml"}
    | {"dir", "bdo", "oMath", "oMathPara", "r"}
)
_GONE = frozenset({"del", "moveFrom", "pPr", "rPr", "instrText", "delText", "Fallback"})
_SIGNS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_LONGEST_CHAIN = 20
_MOST_SPAN = 1_000
_MOST_COLUMNS = 10_000


def read_docx(data: bytes) -> ParsedDocument:
    """Read a Word document: headings, paragraphs, numbered lists, tables, code by its style.

    Footnotes, endnotes, comments and text boxes stand behind the paragraph that they belong to;
    headers come first, footers last, each once. Deleted and hidden text is left out.
    Raises DocumentError for what is no Word document, and for encrypted ones.
    """
    package = Package(data, "a .docx")
    body = child(package.document("document"), "body")
    writer = _Writer(package)
    writer.margins("header")
    writer.blocks(() if body is None else body)
    writer.end_code()
    writer.margins("footer")
    about = package.properties()
    return writer.composer.document(about.title, about.description, about.keywords)


@dataclass(frozen=True, slots=True)
class _Style:
    name: str = ""
    based_on: str = ""
    outline: int | None = None
    list_key: str = ""
    list_level: int | None = None


@dataclass(slots=True)
class _Paragraph:
    """The text of a paragraph and what hangs on it."""

    pieces: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """The part and the id of each."""
    boxes: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()


class _Writer:
    def __init__(self, package: Package) -> None:
        self.composer = Composer()
        self._package = package
        self._parts = {each.kind: each.part for each in package.relations(package.main).values()}
        self._styles = dict(_styles(self._root("styles")))
        self._numbering = Numbering(self._root("numbering"))
        self._noted: dict[str, dict[str, Any]] = {}
        self._code: list[str] = []

    def _root(self, kind: str) -> Any:
        return self._package.xml(self._parts[kind]) if kind in self._parts else None

    def margins(self, kind: str) -> None:
        """All headers or all footers, each text once; a bare page number is none."""
        seen: set[str] = set()
        for part in self._package.related(self._package.main, kind):
            for text in self._texts(self._package.xml(part)):
                if text not in seen and not text.isdigit():
                    seen.add(text)
                    self.composer.prose(text)

    def blocks(self, parent: Any) -> None:
        """Everything that stands in the body, a text box or a single cell, in order."""
        for element in _blocks_of(parent):
            if local(element) == "tbl":
                self.end_code()
                self._table(element)
            else:
                self._paragraph(element)

    def _paragraph(self, element: Any) -> None:
        paragraph = _read(element)
        style = attribute(child(element, "pPr", "pStyle"), "val")
        is_code = bool(_CODE_STYLE.search(self._styles.get(style, _Style()).name))
        if is_code:
            self._code.append("".join(paragraph.pieces))
        else:
            self.end_code()
            self._text(element, style, paragraph.text)
        self._attached(paragraph)

    def _text(self, element: Any, style: str, text: str) -> None:
        """A heading, an item or plain text."""
        if not text:
            return  # Word numbers an empty paragraph too, but shows the number to nobody's use
        level = self._heading_level(element, style)
        label, depth = self._label(element, style)
        labelled = f"{label} {text}" if label else text
        if level:
            self.composer.heading(level, labelled if label != BULLET else text)
        elif label:
            self.composer.item("  " * depth + labelled)
        else:
            self.composer.prose(text)

    def _attached(self, paragraph: _Paragraph) -> None:
        for kind, key in paragraph.notes:
            if text := " ".join(self._texts(self._note(kind, key))):
                author = attribute(self._note(kind, key), "author")
                mark = f"Comment by {author or 'a reader'}" if kind == "comments" else f"[^{key}]"
                self.end_code()
                self.composer.prose(f"{mark}: {text}")
        for box in paragraph.boxes:
            self.end_code()
            self.blocks(box)

    def end_code(self) -> None:
        """Write the lines of code that came one behind the other."""
        self.composer.code("\n".join(self._code))
        self._code = []

    def _note(self, kind: str, key: str) -> Any:
        if kind not in self._noted:
            notes = self._root(kind)
            self._noted[kind] = {
                attribute(each, "id"): each for each in (() if notes is None else notes)
            }
        return self._noted[kind].get(key)

    def _heading_level(self, element: Any, style: str) -> int:
        """From 1; 0 for running text."""
        outline = child(element, "pPr", "outlineLvl")
        if outline is not None:
            level = number(outline, "val", 9)
            return level + 1 if level < 9 else 0  # 9 says running text
        for each in self._chain(style):
            if match := _HEADING_STYLE.fullmatch(each.name):
                return int(match[1])
            if each.outline is not None:
                return each.outline + 1 if each.outline < 9 else 0
            if each.name.lower() == "title":
                return 1
        return 0

    def _label(self, element: Any, style: str) -> tuple[str, int]:
        """What Word shows before a paragraph of a list, and how deep the item stands."""
        own = child(element, "pPr", "numPr")
        key = attribute(child(own, "numId"), "val")
        level = child(own, "ilvl")
        depth = number(level, "val", 0) if level is not None else None
        for each in self._chain(style):
            key = key or each.list_key
            depth = each.list_level if depth is None else depth
        depth = min(depth or 0, 8)
        return (self._numbering.label(key, depth) if key not in {"", "0"} else "", depth)

    def _chain(self, style: str) -> Iterator[_Style]:
        """A style and those that it is based on."""
        for _ in range(_LONGEST_CHAIN):
            if style not in self._styles:
                return
            yield self._styles[style]
            style = self._styles[style].based_on

    def _table(self, table: Any) -> None:
        rows = [list(_inside(row, "tc")) for row in _inside(table, "tr")]
        if len(rows) == 1 and len(rows[0]) == 1:  # a frame around text
            self.blocks(rows[0][0])
            self.end_code()
            return
        heads = [is_on(child(row, "trPr", "tblHeader")) for row in _inside(table, "tr")]
        marked = heads.index(False) if False in heads else 0
        self.composer.table(*header_and_rows(self._cells(table), marked or 1))
        for paragraph in _paragraphs_in(table):
            self._attached(paragraph)

    def _cells(self, table: Any) -> list[Row]:
        """The rows of a table; a cell that goes on below spans so many rows."""
        rows = [list(_placed(row)) for row in _inside(table, "tr")]
        going_on = [{at for at, _, merge, _ in row if merge == "continue"} for row in rows]
        cells: list[Row] = []
        for number_, row in enumerate(rows):
            line: Row = []
            for at, span, merge, cell in row:
                if merge == "continue":
                    continue
                below = 1
                while merge and number_ + below < len(rows) and at in going_on[number_ + below]:
                    below += 1
                text = "" if cell is None else " ".join(self._texts(cell))
                line.append(Cell(text, columns=span, rows=below))
            cells.append(line)
        return cells

    def _texts(self, parent: Any) -> Iterator[str]:
        """The paragraphs in a cell, a note or a margin; a table in it gives a line a row."""
        for element in () if parent is None else _blocks_of(parent):
            if local(element) == "tbl":
                for row in self._cells(element):
                    yield ", ".join(cell.text for cell in row)
            elif text := _read(element).text:
                label, _ = self._label(element, attribute(child(element, "pPr", "pStyle"), "val"))
                yield f"{label} {text}" if label else text


def _styles(root: Any) -> Iterator[tuple[str, _Style]]:
    for each in children(root, "style"):
        properties = child(each, "pPr")
        outline = child(properties, "outlineLvl")
        level = child(properties, "numPr", "ilvl")
        yield (
            attribute(each, "styleId"),
            _Style(
                attribute(child(each, "name"), "val"),
                attribute(child(each, "basedOn"), "val"),
                None if outline is None else number(outline, "val", 9),
                attribute(child(properties, "numPr", "numId"), "val"),
                None if level is None else number(level, "val", 0),
            ),
        )


def _blocks_of(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables, out of whatever is wrapped around them."""
    for element in parent:
        name = local(element)
        if name in {"p", "tbl"}:
            yield element
        elif name in _WRAPPERS or name == "AlternateContent" or name == "Choice":
            yield from _blocks_of(element)


def _inside(parent: Any, name: str) -> Iterator[Any]:
    """Rows of a table or cells of a row, out of content controls around them."""
    for element in parent:
        if local(element) == name:
            yield element
        elif local(element) in _WRAPPERS:
            yield from _inside(element, name)


def _placed(row: Any) -> Iterator[tuple[int, int, str, Any]]:
    """The column, the width, the vertical merge and the element of each cell of a row."""
    at = min(number(child(row, "trPr", "gridBefore"), "val", 0), _MOST_SPAN)
    if at:
        yield 0, at, "", None
    for cell in _inside(row, "tc"):
        properties = child(cell, "tcPr")
        span = min(max(number(child(properties, "gridSpan"), "val", 1), 1), _MOST_SPAN)
        merged = child(properties, "vMerge")
        merge = "" if merged is None else attribute(merged, "val", "continue")
        yield at, span, merge, cell
        at += span
        if at > _MOST_COLUMNS:
            raise DocumentError(f"a table of more than {_MOST_COLUMNS:,} columns; it is not read")


def _paragraphs_in(table: Any) -> Iterator[_Paragraph]:
    """The paragraphs of all cells, for what hangs on them."""
    for row in _inside(table, "tr"):
        for cell in _inside(row, "tc"):
            for element in _blocks_of(cell):
                if local(element) == "tbl":
                    yield from _paragraphs_in(element)
                else:
                    yield _read(element)


def _read(paragraph: Any) -> _Paragraph:
    found = _Paragraph()
    _collect(paragraph, found)
    return found


def _collect(element: Any, found: _Paragraph) -> None:
    for each in element:
        name = local(each)
        if name == "t":
            found.pieces.append(each.text or "")
        elif name == "br":
            found.pieces.append("\n" if attribute(each, "type", "line") != "page" else " ")
        elif name in _SIGNS:
            found.pieces.append(_SIGNS[name])
        elif name in _NOTES:
            key = attribute(each, "id")
            found.notes.append((_NOTES[name], key))
            found.pieces.append(f"[^{key}]")
        elif name == "commentReference":
            found.notes.append(("comments", attribute(each, "id")))
        elif name == "txbxContent":
            found.boxes.append(each)
        elif name not in _GONE and not (name == "r" and is_on(child(each, "rPr", "vanish"))):
            _collect(each, found)
