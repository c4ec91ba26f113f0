"""Markdown and its common dialects, sliced from the source.

CommonMark with tables, heading attributes (`{#anchor}`, also in Python-Markdown's `{: #anchor }`),
footnotes, task and definition lists; front matter; admonitions and tabs (`!!! note`, `=== "Tab"`);
headings and tables written in HTML.
"""

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

import pyromark
import re2

from contextpull.documents.decoding import decode
from contextpull.documents.front_matter import front_matter
from contextpull.types import Block, BlockKind, ParsedDocument

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_HEADING_ATTRIBUTES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_DEFINITION_LIST
)
_KINDS: dict[str, BlockKind] = {
    "CodeBlock": "code",
    "Table": "table",
    "List": "list",
    "DefinitionList": "list",
    "Heading": "heading",
}
_SOLID = frozenset({"CodeBlock", "Table"})
_INNER = frozenset({"Item", "TableRow", "DefinitionListTitle"}) | _SOLID
_ANCHOR = re.compile(r"""<a\s[^>]*?\b(?:id|name)\s*=\s*["']?([^\s"'>]+)""", re.I)
_ADMONITION = re.compile(rb"[ \t]*(?:!!!|\?\?\?\+?|===[!+]?)[ \t]")
# RE2, so that a page of unclosed tags costs one pass over it.
_HTML_HEADING = re2.compile(
    "|".join(rf"(?is)<h{level}\b([^>]*)>(.*?)</h{level}\s*>" for level in range(1, 7))
)
_HTML_OPAQUE = re2.compile(
    r"(?is)<!--.*?(?:-->|\z)"
    + "".join(rf"|<{tag}\b.*?(?:</{tag}|\z)" for tag in ("pre", "script", "style", "textarea"))
)
_HTML_ID = re.compile(r"""\b(?:id|name)\s*=\s*["']?([^\s"'>]+)""", re.I)
_HTML_TABLE = re2.compile(r"(?i)<table\b")
_HTML_HEADING_TAG = re2.compile(r"(?i)<h[1-6]\b")
_HTML_TABLE_END = re.compile(rb"</table\s*>[ \t]*\r?\n?", re.I)
_HTML_ROW = re.compile(rb"<tr\b", re.I)
_HTML_HEADER_CELL = re.compile(rb"<th\b", re.I)
_TAG = re.compile(r"<[^>]*>")
_LONGEST_TITLE = 300


def read_markdown(data: bytes) -> ParsedDocument:
    """Read a Markdown file; its blocks are slices of the text, markup and indentation included."""
    decoded = decode(data)
    matter = front_matter(decoded.text)
    if matter is None:
        text = decoded.text.encode()
        blocks = _with_html(text, _blocks(decoded.text, text, 0))
        return ParsedDocument(text, tuple(blocks), warnings=decoded.warnings)
    head = decoded.text[: matter.end].encode()
    body = decoded.text[matter.end :]
    text = head + body.encode()
    blocks = _with_html(text, _blocks(body, text, len(head)))
    return ParsedDocument(
        text,
        (Block("front matter", 0, len(head)), *blocks),
        matter.title,
        matter.description,
        matter.keywords,
        decoded.warnings + matter.warnings,
    )


def _blocks(body: str, text: bytes, base: int) -> list[Block]:
    """The top-level blocks that CommonMark sees in `body`, which begins at `text[base]`."""
    builder = _Builder(text, base)
    depth = 0
    events: Any = pyromark.events_with_range(body, options=_OPTIONS, merge_text=True)
    for event, span in events:
        if "Start" in event:
            tag = event["Start"]
            name = tag if type(tag) is str else next(iter(tag))
            if depth == 0:
                builder.open(name, tag, span)
            elif name in _INNER:
                builder.inner(name, span)
            depth += 1
        elif "End" in event:
            depth -= 1
        elif builder.in_heading:
            builder.heading_text(event)
    return builder.finish()


class _Builder:
    """Folds parser events into top-level blocks."""

    def __init__(self, text: bytes, base: int) -> None:
        self.in_heading = False
        self._text = text
        self._base = base
        self._blocks: list[Block] = []
        self._kind: BlockKind | None = None
        self._start = self._end = 0
        self._breaks: list[int] = []
        self._solid: list[tuple[int, int]] = []
        self._heading: dict[str, Any] = {}
        self._title: list[str] = []
        self._inline_anchor: str | None = None

    def open(self, name: str, tag: Any, span: dict[str, int]) -> None:
        """A top-level element begins; the one before it is complete."""
        self._close()
        self._start, self._end = span["start"] + self._base, span["end"] + self._base
        self._kind = _KINDS.get(name, "prose")
        self.in_heading = name == "Heading"
        if self.in_heading:
            self._heading = tag["Heading"]

    def inner(self, name: str, span: dict[str, int]) -> None:
        """An element inside it begins at which it may be split, or that must stay whole."""
        start = span["start"] + self._base
        if self._solid and start < self._solid[-1][1]:
            return
        self._breaks.append(start)
        if name in _SOLID:
            self._solid.append((start, span["end"] + self._base))

    def heading_text(self, event: Any) -> None:
        if event == "SoftBreak" or event == "HardBreak":
            self._title.append(" ")
            return
        ((kind, value),) = event.items()
        if kind == "Text" or kind == "Code" or kind == "InlineMath":
            self._title.append(value)
        elif kind == "InlineHtml" and (match := _ANCHOR.match(value)):
            self._inline_anchor = match.group(1)

    def finish(self) -> list[Block]:
        self._close()
        return self._blocks

    def _close(self) -> None:
        if self._kind is None:
            return
        start, end = self._start, self._end
        if self._kind == "heading":
            block = self._heading_block(start, end)
        elif self._kind == "table":
            block = _pipe_table(self._text, start, end, self._breaks)
        elif self._kind == "code":
            block = Block("prose" if self._continues_admonition() else "code", start, end)
        else:
            solid = tuple(self._solid)
            block = Block(self._kind, start, end, breaks=tuple(self._breaks), solid=solid)
        self._blocks.append(block)
        self._kind = None
        self.in_heading = False
        self._breaks, self._solid, self._title, self._inline_anchor = [], [], [], None

    def _heading_block(self, start: int, end: int) -> Block:
        title = " ".join("".join(self._title).split())[:_LONGEST_TITLE]
        anchor = self._heading["id"] or self._inline_anchor
        return Block("heading", start, end, int(self._heading["level"][1]), title, anchor)

    def _continues_admonition(self) -> bool:
        """Whether this indented block is the body of an admonition or tab, not code."""
        before = self._blocks[-1] if self._blocks else None
        if before is None or before.kind != "prose":
            return False
        last_line = self._text.rfind(b"\n", before.start, before.end - 1) + 1
        return bool(_ADMONITION.match(self._text, max(last_line, before.start)))


def _pipe_table(source: bytes, start: int, end: int, rows: list[int]) -> Block:
    """A pipe table; it may be split before each body row, at the start of the row's line."""
    lines = tuple(_line_start(source, row, start) for row in rows)
    header = source[start : lines[0]] if lines else b""
    return Block("table", start, end, breaks=lines, header=header.decode().rstrip("\r\n"))


def _line_start(source: bytes, offset: int, floor: int) -> int:
    return max(source.rfind(b"\n", floor, offset) + 1, floor)


def _with_html(source: bytes, blocks: list[Block]) -> list[Block]:
    """Find the headings and tables that are written in HTML."""
    if b"<" not in source:
        return blocks
    if _HTML_TABLE.search(source):
        blocks = _with_html_tables(source, blocks)
    if _HTML_HEADING_TAG.search(source):
        blocks = [piece for block in blocks for piece in _with_html_headings(source, block)]
    return blocks


def _with_html_headings(source: bytes, block: Block) -> Iterable[Block]:
    """Cut a block of raw HTML at the headings in it."""
    if block.kind != "prose" or not source[block.start : block.end].lstrip().startswith(b"<"):
        return (block,)
    raw = source[block.start : block.end]
    opaque = iter([match.span() for match in _HTML_OPAQUE.finditer(raw)])
    hidden = next(opaque, None)
    pieces: list[Block] = []
    position = 0
    for match in _HTML_HEADING.finditer(raw):
        while hidden and hidden[1] <= match.start():
            hidden = next(opaque, None)
        if hidden and hidden[0] <= match.start():
            continue
        if raw[position : match.start()].strip():
            pieces.append(Block("prose", block.start + position, block.start + match.start()))
        pieces.append(_html_heading(match, block.start))
        position = match.end()
    if not pieces:
        return (block,)
    if raw[position:].strip():
        pieces.append(Block("prose", block.start + position, block.end))
    return pieces


def _html_heading(match: Any, base: int) -> Block:
    """The heading that one of the six alternatives of the pattern found."""
    level = next(level for level in range(1, 7) if match.group(2 * level) is not None)
    attributes = match.group(2 * level - 1).decode()
    inner = match.group(2 * level).decode()
    title = " ".join(unescape(_TAG.sub("", inner)).split())[:_LONGEST_TITLE]
    found = _HTML_ID.search(attributes) or _ANCHOR.search(inner)
    anchor = found.group(1) if found else None
    return Block(
        "heading", base + match.start(), base + match.end(), level, title=title, anchor=anchor
    )


def _with_html_tables(source: bytes, blocks: list[Block]) -> list[Block]:
    """Join what CommonMark cut at blank lines inside `<table>…</table>` into one table block."""
    result: list[Block] = []
    covered = 0
    last_closing = max((match.end() for match in _HTML_TABLE_END.finditer(source)), default=0)
    for block in blocks:
        if block.start < covered:
            if block.end > covered:
                result.append(Block("prose", covered, block.end))
            continue
        opening = _HTML_TABLE.search(source, block.start, block.end)
        if block.kind != "prose" or opening is None or opening.end() >= last_closing:
            result.append(block)
            continue
        closing = _HTML_TABLE_END.search(source, opening.end())
        if closing is None:
            result.append(block)
            continue
        if source[block.start : opening.start()].strip():
            result.append(Block("prose", block.start, opening.start()))
        covered = closing.end()
        result.append(_html_table(source, opening.start(), covered))
        if block.end > covered and source[covered : block.end].strip():
            result.append(Block("prose", covered, block.end))
            covered = block.end
    return result


def _html_table(source: bytes, start: int, end: int) -> Block:
    rows = [match.start() for match in _HTML_ROW.finditer(source, start, end)]
    first_end = rows[1] if len(rows) > 1 else end
    if not rows or not _HTML_HEADER_CELL.search(source, rows[0], first_end):
        return Block("table", start, end, breaks=tuple(rows[1:]))
    header = source[start:first_end].decode().strip()
    return Block("table", start, end, breaks=tuple(rows[1:]), header=header)
