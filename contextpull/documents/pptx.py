"""Presentations (PPTX) as a clean text: a heading a slide, and what stands on it."""

from collections.abc import Iterator
from typing import Any

from contextpull.documents.composing import MOST_CELLS, Composer, Grid
from contextpull.documents.html_tables import Cell, Row, header_and_rows
from contextpull.documents.ooxml import (
    Package,
    attribute,
    child,
    children,
    local,
    number,
    relation_id,
)
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_TITLES = frozenset({"title", "ctrTitle"})
_MARGINS = frozenset({"dt", "ftr", "hdr"})
_PICTURES = frozenset({"sldNum", "sldImg"})
_MOST_SPAN = 1_000


def read_pptx(data: bytes) -> ParsedDocument:
    """Read a presentation; a slide has the anchor `slide=4` and its title for a heading.

    Text comes in the order of the file, which is the order that PowerPoint reads it out in; then
    tables, the data of charts, the text of diagrams and the speaker's notes.
    Raises DocumentError for what is no presentation, and for encrypted ones.
    """
    package = Package(data, "a .pptx")
    slides = package.relations(package.main)
    writer = _Writer(package)
    shown = children(child(package.document("presentation"), "sldIdLst"), "sldId")
    for count, each in enumerate(shown, start=1):
        relation = slides.get(relation_id(each) or "")
        if relation is not None:
            writer.slide(count, relation.part)
    about = package.properties()
    return writer.composer.document(about.title, about.description, about.keywords)


class _Writer:
    def __init__(self, package: Package) -> None:
        self.composer = Composer()
        self._package = package
        self._margins: set[str] = set()

    def slide(self, count: int, part: str) -> None:
        tree = child(self._package.xml(part), "cSld", "spTree")
        shapes = list(_shapes(tree))
        title = next((shape for shape in shapes if _placeholder(shape) in _TITLES), None)
        name = "" if title is None else " ".join(_paragraphs(title))
        self.composer.heading(1, name or f"Slide {count}", f"slide={count}")
        for shape in shapes:
            if local(shape) == "graphicFrame":
                self._graphic(shape, part)
            elif shape is not title:
                self._shape(shape)
        for notes in self._package.related(part, "notesSlide"):
            self._notes(notes)

    def _shape(self, shape: Any) -> None:
        kind = _placeholder(shape)
        if kind in _PICTURES:
            return
        if kind in _MARGINS:
            text = " ".join(_paragraphs(shape))
            if text in self._margins:
                return
            self._margins.add(text)
        paragraphs = list(children(child(shape, "txBody"), "p"))
        is_list = kind in {"body", "obj", ""} and kind is not None and len(paragraphs) > 1
        for paragraph in paragraphs:
            text = _text(paragraph)
            depth = min(number(child(paragraph, "pPr"), "lvl", 0), 8)
            if text and (is_list or _has_bullet(paragraph)):
                self.composer.item(f"{'  ' * depth}- {text}")
            else:
                self.composer.prose(text)
        self.composer.end_list()

    def _graphic(self, frame: Any, part: str) -> None:
        """A table, a chart or a diagram."""
        for data in children(child(frame, "graphic", "graphicData"), "tbl", "chart", "relIds"):
            if local(data) == "tbl":
                heads = 1 if attribute(child(data, "tblPr"), "firstRow", "1") != "0" else 0
                self.composer.table(*header_and_rows(list(_rows(data)), heads))
                continue
            key = "id" if local(data) == "chart" else "dm"
            relation = self._package.relations(part).get(attribute(data, key))
            if relation is not None and local(data) == "chart":
                self._chart(self._package.xml(relation.part))
            elif relation is not None:
                for paragraph in self._package.xml(relation.part).iter():
                    if local(paragraph) == "p" and (text := _text(paragraph)):
                        self.composer.item(f"- {text}")
                self.composer.end_list()

    def _chart(self, root: Any) -> None:
        chart = child(root, "chart")
        self.composer.prose(" ".join(_all_text(child(chart, "title"))))
        area = child(chart, "plotArea")
        for plot in () if area is None else area:
            series = list(children(plot, "ser"))
            if series:
                self.composer.table(*_chart_table(series))

    def _notes(self, part: str) -> None:
        tree = child(self._package.xml(part), "cSld", "spTree")
        for shape in _shapes(tree):
            if _placeholder(shape) == "body" and (text := "\n".join(_paragraphs(shape))):
                self.composer.prose(f"Notes: {text}")


def _shapes(tree: Any) -> Iterator[Any]:
    """Shapes with text and frames, out of their groups."""
    for shape in children(tree, "sp", "graphicFrame", "grpSp", "cxnSp"):
        if local(shape) == "grpSp":
            yield from _shapes(shape)
        else:
            yield shape


def _placeholder(shape: Any) -> str | None:
    """What the layout has this shape for; empty for any content, None for a shape of its own."""
    for properties in shape:
        holder = child(properties, "nvPr", "ph")
        if holder is not None:
            return attribute(holder, "type")
    return None


def _paragraphs(shape: Any) -> Iterator[str]:
    texts = (_text(each) for each in children(child(shape, "txBody"), "p"))
    return (text for text in texts if text)


def _text(paragraph: Any) -> str:
    """The text of a paragraph; a vertical tab in a file stands for a line break."""
    return "".join(_pieces(paragraph)).replace("\v", "\n").strip()


def _pieces(element: Any) -> Iterator[str]:
    for each in element:
        name = local(each)
        if name == "t":
            yield each.text or ""
        elif name == "br":
            yield "\n"
        elif name != "p":
            yield from _pieces(each)


def _all_text(element: Any) -> Iterator[str]:
    for each in () if element is None else element.iter():
        if local(each) == "p" and (text := _text(each)):
            yield text


def _has_bullet(paragraph: Any) -> bool:
    return any(True for _ in children(child(paragraph, "pPr"), "buChar", "buAutoNum"))


def _rows(table: Any) -> Iterator[Row]:
    cells = 0
    for row in children(table, "tr"):
        line: Row = []
        for cell in children(row, "tc"):
            if any(attribute(cell, merge) in {"1", "true"} for merge in ("hMerge", "vMerge")):
                continue
            columns = min(max(number(cell, "gridSpan", 1), 1), _MOST_SPAN)
            text = " ".join(_paragraphs(cell))
            line.append(Cell(text, columns=columns, rows=max(number(cell, "rowSpan", 1), 1)))
            cells += columns
            if cells > MOST_CELLS:
                raise DocumentError(f"a table of more than {MOST_CELLS:,} cells; it is not read")
        yield line


def _chart_table(series: list[Any]) -> tuple[list[str], Grid]:
    """The numbers that a chart was drawn of: categories down, series across."""
    first = _either(series[0], "cat", "xVal")
    names = [" ".join(_cached(child(each, "tx")).values()) for each in series]
    values = [_cached(_either(each, "val", "yVal")) for each in series]
    categories = _cached(first)
    places = sorted({at for column in (categories, *values) for at in column})
    if len(places) * (len(series) + 1) > MOST_CELLS:
        raise DocumentError(f"a chart of more than {MOST_CELLS:,} values; it is not read")
    rows = [[categories.get(at, ""), *(column.get(at, "") for column in values)] for at in places]
    return ["", *names], rows


def _cached(element: Any) -> dict[int, str]:
    """The values that the file keeps of a range, by place."""
    found: dict[int, str] = {}
    for each in () if element is None else element.iter():
        if local(each) == "pt":
            value = child(each, "v")
            found[number(each, "idx", 0)] = "" if value is None else value.text or ""
        elif local(each) == "v" and not found:
            found[0] = each.text or ""
    return found


def _either(element: Any, *names: str) -> Any:
    return next(children(element, *names), None)
