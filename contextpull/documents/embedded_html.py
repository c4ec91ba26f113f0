"""Headings and tables that are written in HTML inside a Markdown file."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from typing import Any

import re2

from contextpull.documents.composing import LONGEST_TITLE
from contextpull.types import Block

ANCHOR = re.compile(r"""<a\s[^<>]*?(?<![\w-])(?:id|name)\s*=\s*["']?([^\s"'<>]+)""", re.I)
# RE2, so that a page of unclosed tags costs one pass over it.
_HTML_HEADING = re2.compile(
    "|".join(rf"(?is)<h{level}\b([^>]*)>(.*?)</h{level}\s*>" for level in range(1, 7))
)
_HTML_OPAQUE = re2.compile(
    r"(?is)<!--.*?(?:-->|\z)"
    + "".join(rf"|<{tag}\b.*?(?:</{tag}|\z)" for tag in ("pre", "script", "style", "textarea"))
)
_HTML_ID = re.compile(r"""(?<![\w-])(?:id|name)\s*=\s*["']?([^\s"'>]+)""", re.I)
_HTML_TABLE = re2.compile(r"(?i)</table\s*>")
_HTML_HEADING_TAG = re2.compile(r"(?i)<h[1-6]\b")
_HTML_TABLE_TAG = re2.compile(r"(?i)</table\s*>[ \t]*\r?\n?|<table\b|<tr\b")
_HTML_HEADER_CELL = re2.compile(r"(?i)<th\b")
_TAG = re.compile(r"<[^<>]*>")


def with_html(source: bytes, blocks: list[Block]) -> list[Block]:
    """Find the headings and tables that are written in HTML."""
    if b"<" not in source:
        return blocks
    if _HTML_TABLE.search(source):
        blocks = _with_html_tables(source, blocks)
    if _HTML_HEADING_TAG.search(source):
        blocks = [piece for block in blocks for piece in _with_html_headings(source, block)]
    return blocks


def _outside_opaque(pattern: Any, source: bytes, block: Block) -> Iterator[Any]:
    """Matches in a block of raw HTML that lie in no comment, script or preformatted text."""
    if not source[block.start : block.end].lstrip().startswith(b"<"):
        return
    opaque = iter([match.span() for match in _HTML_OPAQUE.finditer(source, block.start, block.end)])
    hidden = next(opaque, None)
    for match in pattern.finditer(source, block.start, block.end):
        while hidden and hidden[1] <= match.start():
            hidden = next(opaque, None)
        if not hidden or match.start() < hidden[0]:
            yield match


def _with_html_headings(source: bytes, block: Block) -> Iterator[Block]:
    """Cut a block of raw HTML at the headings in it."""
    position = block.start
    if block.kind == "prose":
        for match in _outside_opaque(_HTML_HEADING, source, block):
            if source[position : match.start()].strip():
                yield Block("prose", position, match.start())
            yield _html_heading(match)
            position = match.end()
    if position == block.start:
        yield block
    elif source[position : block.end].strip():
        yield Block("prose", position, block.end)


def _html_heading(match: Any) -> Block:
    """The heading that one of the six alternatives of the pattern found."""
    level = next(level for level in range(1, 7) if match.group(2 * level) is not None)
    attributes = match.group(2 * level - 1).decode()
    inner = match.group(2 * level).decode()
    title = " ".join(unescape(_TAG.sub("", inner)).split())[:LONGEST_TITLE]
    found = _HTML_ID.search(attributes) or ANCHOR.search(inner)
    anchor = found.group(1) if found else None
    return Block("heading", match.start(), match.end(), level, title=title, anchor=anchor)


def _with_html_tables(source: bytes, blocks: list[Block]) -> list[Block]:
    """Join what CommonMark cut at blank lines inside `<table>…</table>` into one table block."""
    result: list[Block] = []
    tables = iter(_html_tables(source, blocks))
    table = next(tables, None)
    position = 0
    for block in blocks:
        position = max(position, block.start)
        while table and table.start < block.end:
            if source[position : table.start].strip():
                result.append(Block("prose", position, table.start))
            result.append(table)
            position = table.end
            table = next(tables, None)
        if position == block.start:
            result.append(block)
        elif source[position : block.end].strip():
            result.append(Block("prose", position, block.end))
    return result


def _html_tables(source: bytes, blocks: list[Block]) -> list[Block]:
    """The tables that are complete and lie in no other table."""
    tables: list[Block] = []
    unclosed: list[list[int]] = []
    for block in blocks:
        if block.kind != "prose" and not (block.kind == "code" and unclosed):
            continue
        for match in _outside_opaque(_HTML_TABLE_TAG, source, block):
            kind = source[match.start() + 1 : match.start() + 3].lower()
            if kind == b"ta":
                unclosed.append([match.start()])
            elif unclosed and kind == b"tr":
                unclosed[-1].append(match.start())
            elif unclosed:
                start, *rows = unclosed.pop()
                while tables and tables[-1].start > start:
                    tables.pop()
                tables.append(_html_table(source, start, match.end(), rows))
    return tables


def _html_table(source: bytes, start: int, end: int, rows: list[int]) -> Block:
    """A table in HTML; it may be split before each row but the first."""
    breaks = tuple(_with_indentation(source, before, row) for before, row in pairwise(rows))
    first_end = breaks[0] if breaks else end
    header = ""
    if rows and _HTML_HEADER_CELL.search(source, rows[0], first_end):
        header = source[start:first_end].decode().strip()
    return Block("table", start, end, breaks=breaks, header=header)


def _with_indentation(source: bytes, before: int, offset: int) -> int:
    """The start of the line, where nothing but white space stands between it and the offset."""
    line = source.rfind(b"\n", before, offset) + 1
    return line if line and not source[line:offset].strip() else offset
