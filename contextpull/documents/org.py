"""Org, sliced from the source: headlines, tables and blocks. Nothing is included or evaluated."""

import re
from collections.abc import Iterator

from contextpull.documents.composing import LONGEST_TITLE
from contextpull.documents.slicing import filled, line_end, source_of
from contextpull.types import Block, ParsedDocument

_LINE_OF_NOTE = re.compile(
    rb"^(?P<stars>\*+)[ \t]+(?P<title>[^\n]*)"
    rb"|^[ \t]*#\+begin_(?P<block>\S+)[^\n]*"
    rb"|^[ \t]*\|[^\n]*",
    re.M | re.I,
)
_KEYWORD = re.compile(rb"^[ \t]*#\+(\w+):[ \t]*([^\n]*)", re.M)
_DRAWER = re.compile(
    rb"\s*(?:^[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):[^\n]*\n)?[ \t]*:PROPERTIES:[ \t]*\r?\n"
    rb"((?:[ \t]*:(?!END:)[^\n]*\n){0,100})",
    re.M | re.I,
)
_CUSTOM_ID = re.compile(rb"^[ \t]*:CUSTOM_ID:[ \t]+(\S+)", re.M | re.I)
_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*\Z")
_PRIORITY = re.compile(r"\[#[A-Za-z0-9]{1,2}\][ \t]*")
_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]+)\])?\]")
_EMPHASIS = re.compile(r"(?<!\w)([*/_=~+])(\S(?:[^\n]{0,200}?\S)?)\1(?!\w)")
_CODE = frozenset({b"src", b"example", b"export", b"comment"})
_HEAD = 64 * 1024


def read_org(data: bytes) -> ParsedDocument:
    """Read an Org file; a headline's `CUSTOM_ID` is its anchor.

    To-do keywords (also those that the file declares), priorities and tags are no part of titles.
    """
    source = source_of(data)
    settings = {
        name.upper(): value.decode(errors="replace").strip()
        for name, value in _KEYWORD.findall(source.lines[:_HEAD])
    }
    declared = " ".join(settings.get(name, "") for name in (b"TODO", b"SEQ_TODO", b"TYP_TODO"))
    states = {word.partition("(")[0] for word in declared.split() if word != "|"}
    blocks = _blocks(source.lines, states | {"TODO", "DONE", "COMMENT"})
    return ParsedDocument(
        source.text,
        filled(source.text, blocks),
        title=settings.get(b"TITLE", ""),
        description=settings.get(b"DESCRIPTION", ""),
        keywords=" ".join(
            settings.get(name, "").replace(":", " ").strip() for name in (b"KEYWORDS", b"FILETAGS")
        ).strip(),
        warnings=source.warnings,
    )


def _blocks(text: bytes, states: set[str]) -> Iterator[Block]:
    position = 0
    while match := _LINE_OF_NOTE.search(text, position):
        start = match.start()
        position = line_end(text, match.end())
        if match["stars"]:
            yield _headline(text, match, position, states)
        elif match["block"]:
            end = _end_of_block(text, position, match["block"])
            if end:
                is_code = match["block"].lower() in _CODE
                yield Block("code" if is_code else "prose", start, end)
                position = end
        else:
            table = _table(text, start)
            yield table
            position = table.end


def _headline(text: bytes, match: re.Match[bytes], end: int, states: set[str]) -> Block:
    title = _TAGS.sub("", match["title"].decode())
    word, _, rest = title.partition(" ")
    title = _PRIORITY.sub("", rest if word in states else title, count=1)
    title = _LINK.sub(lambda link: link[2] or link[1], title[: 4 * LONGEST_TITLE])
    title = " ".join(_EMPHASIS.sub(r"\2", title).split())[:LONGEST_TITLE]
    drawer = _DRAWER.match(text, end)
    custom = _CUSTOM_ID.search(drawer[1]) if drawer else None
    anchor = custom[1].decode() if custom else None
    level = min(len(match["stars"]), 6)
    return Block("heading", match.start(), end, level, title=title, anchor=anchor)


def _end_of_block(text: bytes, start: int, name: bytes) -> int:
    """Where the block ends; 0 when a headline or the end of the text comes first."""
    position = start
    ending = b"#+end_" + name.lower()
    while position < len(text):
        end = line_end(text, position)
        line = text[position:end]
        if line.strip().lower() == ending:
            return end
        if line.startswith(b"*") and line.lstrip(b"*")[:1] in (b" ", b"\t"):
            return 0
        position = end
    return 0


def _table(text: bytes, start: int) -> Block:
    """The table whose first row begins at the offset; what stands above a rule is its header."""
    rows = []
    end = start
    while end < len(text) and text[end : line_end(text, end)].lstrip(b" \t").startswith(b"|"):
        rows.append(end)
        end = line_end(text, end)
    rules = [
        number
        for number, row in enumerate(rows[:5])
        if text[row : row + 200].lstrip(b" \t").startswith(b"|-")
    ]
    first = next((number + 1 for number in rules if number), 0)
    body = tuple(rows[first:] if first else rows[1:])
    header = text[start : body[0]].decode().rstrip() if first and body else ""
    return Block("table", start, end, breaks=body, header=header)
