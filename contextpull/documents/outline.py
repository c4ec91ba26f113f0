"""Keys of a data file as headings, and its records as places where it may be split."""

from contextpull.documents.composing import LONGEST_TITLE
from contextpull.documents.slicing import filled, line_start
from contextpull.types import Block

DEEPEST_KEY = 6
_MOST_KEYS = 50_000
_SHORTEST_RECORD = 80
"""Records shorter than so many bytes together stay in one part."""


class Outline:
    """Collects keys and records in the order of the text and makes blocks of them."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._blocks: list[Block] = []
        self._body = 0
        self._keys = 0
        self._depth = 0
        self._records: list[int] = []

    def key(self, start: int, end: int, level: int, name: str) -> None:
        """A key at `text[start:end]` that has a section of its own."""
        title = " ".join(name.split())[:LONGEST_TITLE]
        if level > DEEPEST_KEY or not title or self._keys >= _MOST_KEYS or start < self._body:
            return
        self._end_body(start)
        self._blocks.append(Block("heading", start, end, level, title=title))
        self._keys += 1
        self._body = end

    def record(self, start: int, depth: int) -> None:
        """A record begins; only the least deep ones between two keys count."""
        if not self._records or depth < self._depth:
            self._depth, self._records = depth, []
        elif depth > self._depth or start - self._records[-1] < _SHORTEST_RECORD:
            return
        if start >= self._body:
            self._records.append(start)

    def blocks(self) -> tuple[Block, ...]:
        """All blocks of the text."""
        self._end_body(len(self._text))
        return filled(self._text, self._blocks)

    def _end_body(self, end: int) -> None:
        if self._text[self._body : end].strip():
            breaks = tuple(start for start in self._records if self._body < start < end)
            self._blocks.append(Block("list", self._body, end, breaks=breaks))
        self._records = []
        self._body = end


def with_comments_above(text: bytes, start: int, floor: int) -> int:
    """Where the comment lines begin that stand directly above the line at `start`."""
    while start > floor:
        line = line_start(text, start - 1, floor)
        if not text[line:start].lstrip().startswith(b"#"):
            break
        start = line
    return start
