"""A text as lines with their byte offsets, for the formats that are read line by line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from contextpull.types import Block

_LINE_END = re.compile(r"\r\n|\n|\r")
_TAB = 8


@dataclass(frozen=True, slots=True)
class Lines:
    """`texts[n]` is the n-th line without its end; it begins at byte `starts[n]` of the text.

    `starts` has one entry more than `texts`: the size of the text.
    """

    texts: list[str]
    starts: list[int]
    indents: list[int]
    """Columns of white space before each line, tabs up to the next multiple of 8; -1 if blank."""


def lines_of(text: str) -> Lines:
    """The lines of a text, which end at LF, CRLF or CR."""
    texts: list[str] = []
    starts = [0]
    position = 0
    for match in _LINE_END.finditer(text):
        texts.append(text[position : match.start()])
        starts.append(starts[-1] + len(text[position : match.end()].encode()))
        position = match.end()
    if position < len(text):
        texts.append(text[position:])
        starts.append(starts[-1] + len(text[position:].encode()))
    return Lines(texts, starts, [_indent(line) for line in texts])


def _indent(line: str) -> int:
    body = line.lstrip()
    if not body:
        return -1
    if body is line or line[0] not in " \t":
        return 0
    return len(line[: len(line) - len(body)].expandtabs(_TAB))


def with_lists_joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """Items that follow each other as one list, which may be split before each."""
    for is_list, group in groupby(blocks, key=lambda block: block.kind == "list"):
        if not is_list:
            yield from group
            continue
        items = list(group)
        breaks = tuple(item.start for item in items)
        yield Block("list", items[0].start, items[-1].end, breaks=breaks)
