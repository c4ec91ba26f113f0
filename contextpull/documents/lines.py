"""A text as lines with their byte offsets, for the formats that are read line by line."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from contextpull.documents.decoding import decode
from contextpull.documents.slicing import bounded
from contextpull.types import Block, BlockKind, ParsedDocument

LONGEST_LINE = 2_000
"""What a line is can be told from so many characters."""

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


def _with_lists_joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """Items that follow each other as one list, which may be split before each."""
    for is_list, group in groupby(blocks, key=lambda block: block.kind == "list"):
        if not is_list:
            yield from group
            continue
        items = list(group)
        breaks = tuple(item.start for item in items)
        yield Block("list", items[0].start, items[-1].end, breaks=breaks)


class LineScanner:
    """Goes through the lines once; `_at` is the first line that is in no block yet."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._texts = [line.rstrip() for line in lines.texts]
        self._at = 0
        self._blocks: list[Block] = []
        self._anchor: str | None = None

    def _take(
        self,
        count: int,
        kind: BlockKind,
        *,
        level: int = 0,
        title: str = "",
        anchor: str | None = None,
        breaks: tuple[int, ...] = (),
        header: str = "",
    ) -> None:
        """Make the next lines a block."""
        start, end = self._lines.starts[self._at], self._lines.starts[self._at + count]
        self._blocks.append(
            Block(kind, start, end, level, title, anchor, breaks=breaks, header=header)
        )
        self._at += count


def read_lines(data: bytes, scan: Callable[[Lines], list[Block]]) -> ParsedDocument:
    """Decode a text file and have its lines made blocks, which are slices of the text.

    A scan may end when it has more than MOST_BLOCKS: what is left is read as plain text.
    """
    decoded = decode(data)
    blocks = list(_with_lists_joined(scan(lines_of(decoded.text))))
    text = decoded.text.encode()
    warnings = decoded.warnings + bounded(blocks, len(text))
    return ParsedDocument(text, tuple(blocks), warnings=warnings)
