"""Markdown and its common dialects, sliced from the source.

CommonMark with tables, footnotes, task and definition lists; heading attributes (`{#anchor}`, also
`{: #anchor }` and `{/* #anchor */}`); front matter; admonitions and tabs (`!!! note`,
`=== "Tab"`); headings and tables written in HTML.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import pyromark

from contextpull.documents.composing import LONGEST_TITLE
from contextpull.documents.decoding import decode
from contextpull.documents.embedded_html import ANCHOR, with_html
from contextpull.documents.front_matter import FrontMatter, front_matter
from contextpull.documents.slicing import MOST_BLOCKS, bounded, line_start
from contextpull.types import Block, BlockKind, ParsedDocument

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_DEFINITION_LIST
)
_KINDS: dict[str, BlockKind] = {
    "Table": "table",
    "List": "list",
    "DefinitionList": "list",
    "Heading": "heading",
}
_SOLID = frozenset({"CodeBlock", "Table"})
_INNER = frozenset({"Item", "TableRow", "DefinitionListTitle"}) | _SOLID
_ATTRIBUTE = r"""(?:[#.][^\s{}]+|[\w:-]+=(?:"[^"]*"|'[^']*'|[^\s{}"']+))"""
_ATTRIBUTES = re.compile(
    rf"(?:\s+#+)?\s*\{{(?::|/\*)?\s*({_ATTRIBUTE}(?:\s+{_ATTRIBUTE})*)\s*(?:\*/)?\}}\s*\Z"
)
_ADMONITION = re.compile(rb"^[ \t]*(?:!!!|\?\?\?\+?|===[!+]?)[ \t]", re.M)
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_LONE_HEADING = re.compile(rb"\n[ \t]*\r?\n(#{1,6}[ \t]+\S[^\n]*)(?=\n[ \t]*\r?(?:\n|\Z)|\Z)")
_MOST_UNCLOSED = 10
_NEWLINE = ord("\n")


def read_markdown(data: bytes) -> ParsedDocument:
    """Read a Markdown file; its blocks are slices of the text, markup and indentation included."""
    decoded = decode(data)
    # The parser does not know lines that end in CR alone.
    lines = decoded.text if "\n" in decoded.text else decoded.text.replace("\r", "\n")
    matter = front_matter(lines) or FrontMatter(0)
    source = lines.encode()
    base = len(lines[: matter.end].encode())
    parsed, fence_warnings = _with_fences_ended(source, _blocks(lines[matter.end :], source, base))
    blocks = with_html(source, parsed)
    if matter.end:
        blocks.insert(0, Block("front matter", 0, base))
    warnings = decoded.warnings + matter.warnings + bounded(blocks, len(source))
    return ParsedDocument(
        text=source if lines is decoded.text else decoded.text.encode(),
        blocks=tuple(blocks),
        title=matter.title,
        description=matter.description,
        keywords=matter.keywords,
        warnings=warnings + fence_warnings,
    )


def _with_fences_ended(source: bytes, blocks: list[Block]) -> tuple[list[Block], tuple[str, ...]]:
    """End a code fence that is never closed before the next heading that stands alone.

    CommonMark takes all that follows for code, which hides the rest of the document; a `#` line
    with blank lines around it is a heading far more often than a comment. A warning says so.
    """
    warnings: list[str] = []
    while len(warnings) < _MOST_UNCLOSED and (fence := _unclosed_fence(source, blocks)):
        line = source.count(b"\n", 0, fence.start) + 1
        heading = _LONE_HEADING.search(source, fence.start)
        if heading is None:
            warnings.append(f"the code fence on line {line} is never closed: the rest is code")
            break
        end = heading.start(1)
        ends = line + source.count(b"\n", fence.start, end)
        warnings.append(
            f"the code fence on line {line} is never closed: taken to end before line {ends}"
        )
        rest = _blocks(source[end:].decode(), source, end)
        blocks = [*blocks[:-1], Block("code", fence.start, end), *rest]
    return blocks, tuple(warnings)


def _unclosed_fence(source: bytes, blocks: list[Block]) -> Block | None:
    """The last block, if it is a code fence without an end."""
    last = blocks[-1] if blocks else None
    fence = _FENCE.match(source, last.start) if last and last.kind == "code" else None
    if last is None or fence is None:
        return None
    mark = fence.group(1)
    _, *behind = source[last.start : last.end].strip().rsplit(b"\n", 1)
    ending = behind[0].strip() if behind else b""
    is_closed = ending.startswith(mark) and not ending.strip(mark[:1])
    return None if is_closed else last


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
                if builder.is_full:
                    break
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
        self._start = self._end = base
        self._breaks: list[int] = []
        self._solid: list[tuple[int, int]] = []
        self._tables: list[tuple[int, int, int]] = []
        self._rows: list[int] = []
        self._level = 0
        self._title: list[str] = []
        self._anchor: str | None = None

    @property
    def is_full(self) -> bool:
        return len(self._blocks) > MOST_BLOCKS

    def open(self, name: str, tag: Any, span: dict[str, int]) -> None:
        """A top-level element begins, with its line; the one before it is complete."""
        start = span["start"] + self._base
        if self._kind is not None:
            self._end = min(self._end, start)  # a definition list may claim too much
            self._close()
        if start > self._end and self._text[start - 1] != _NEWLINE:
            start = line_start(self._text, start, self._end)
        self._start = start
        self._end = end = span["end"] + self._base
        if name == "Paragraph":
            self._blocks.append(Block("prose", start, end))
        elif name == "CodeBlock":
            kind: BlockKind = "prose" if self._continues_admonition() else "code"
            self._blocks.append(Block(kind, start, end))
        else:
            self._kind = _KINDS.get(name, "prose")
            if name == "Heading":
                self.in_heading = True
                self._level = int(tag["Heading"]["level"][1])

    def inner(self, name: str, span: dict[str, int]) -> None:
        """An element inside it begins at which it may be split, or that must stay whole."""
        start, end = span["start"] + self._base, span["end"] + self._base
        if self._solid and start < self._solid[-1][1]:
            if name == "TableRow":
                self._rows.append(start)
            return
        line = line_start(self._text, start, self._breaks[-1] if self._breaks else self._start)
        self._breaks.append(line)
        if name in _SOLID:
            self._solid.append((line, end))
        if name == "Table":
            self._tables.append((line, start, end))

    def heading_text(self, event: Any) -> None:
        if type(event) is str:  # a line break; or the rule behind a heading, which is no text
            self._title.append(" ")
            return
        ((kind, value),) = event.items()
        if kind == "Text":
            self._title.append(value)
        elif kind == "Code":
            self._title += (value, "")  # what stands in code is no attribute
        elif kind == "InlineHtml" and (match := ANCHOR.match(value)):
            self._anchor = match.group(1)

    def finish(self) -> list[Block]:
        if self._kind is not None:
            self._close()
        return self._blocks

    def _close(self) -> None:
        start, end = self._start, self._end
        if self._kind == "heading":
            self._blocks.append(self._heading_block(start, end))
            self._title, self._anchor = [], None
            self.in_heading = False
        else:
            if self._kind == "table":
                self._blocks.append(_pipe_table(self._text, start, start, end, self._breaks))
            elif self._tables:
                self._blocks += self._around_tables()
            else:
                self._blocks.append(self._slice(start, end))
            self._breaks, self._solid, self._tables, self._rows = [], [], [], []
        self._kind = None

    def _heading_block(self, start: int, end: int) -> Block:
        if self._title and self._title[-1].endswith("}"):
            self._take_attributes()
        title = " ".join("".join(self._title).split())[:LONGEST_TITLE]
        return Block("heading", start, end, self._level, title, self._anchor)

    def _take_attributes(self) -> None:
        text = self._title[-1]
        match = _ATTRIBUTES.search(text, max(0, len(text) - LONGEST_TITLE))
        if match:
            self._title[-1] = text[: match.start()]
            ids = [each[1:] for each in match.group(1).split() if each.startswith("#")]
            self._anchor = ids[0] if ids else self._anchor

    def _continues_admonition(self) -> bool:
        """Whether this indented block is the body of an admonition or tab, not code."""
        before = self._blocks[-1] if self._blocks else None
        if before is None or before.kind != "prose" or _FENCE.match(self._text, self._start):
            return False
        return bool(_ADMONITION.search(self._text, before.start, before.end))

    def _slice(self, start: int, end: int) -> Block:
        """What of the element lies between the two offsets."""
        breaks = self._breaks[bisect_left(self._breaks, start) : bisect_left(self._breaks, end)]
        solid = self._solid[bisect_left(self._solid, (start,)) : bisect_left(self._solid, (end,))]
        return Block(self._kind or "prose", start, end, breaks=tuple(breaks), solid=tuple(solid))

    def _around_tables(self) -> Iterator[Block]:
        """The element as blocks around the tables in it, which are split by their own rows."""
        position = self._start
        for line, start, end in [*self._tables, (self._end,) * 3]:
            if self._text[position:line].strip():
                yield self._slice(position, line)
            rows = self._rows[bisect_left(self._rows, start) : bisect_left(self._rows, end)]
            if start < end:
                yield _pipe_table(self._text, line, start, end, rows)
            position = end


def _pipe_table(source: bytes, start: int, table: int, end: int, rows: list[int]) -> Block:
    """A pipe table; it may be split before each body row, at the start of the row's line.

    Before the table itself begins, a list marker or a `>` may stand on its first line.
    """
    lines = tuple(line_start(source, row, table) for row in rows)
    header = source[table : lines[0]].decode() if lines else ""
    header = "\n".join(line.lstrip(" \t>") for line in header.splitlines())
    return Block("table", start, end, breaks=lines, header=header)
