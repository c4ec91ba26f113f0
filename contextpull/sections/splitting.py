"""Where a text that is too long for one section may be cut.

Everything here returns offsets, so that the pieces joined are always the whole.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from contextpull.config import CutSettings
from contextpull.types import Block

_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+|(?<=[。！？])(?=\S)|(?<=[。！？])\s+")
_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s+")
_PROSE_BOUNDARIES = (_PARAGRAPH, _SENTENCE, _LINE, _WORD)
_CODE_BOUNDARIES = (_PARAGRAPH, _LINE)

Extent = tuple[int, int]


def length(text: bytes, start: int, end: int) -> int:
    """Characters, not bytes, of `text[start:end]`."""
    piece = text[start:end]
    return len(piece) if piece.isascii() else len(piece.decode())


def split_points(
    text: bytes, start: int, end: int, blocks: Sequence[Block], settings: CutSettings
) -> list[int]:
    """Offsets at which `text[start:end]` is cut so that parts hold at most `max_chars` characters.

    A part is longer only where a code block or a table row must stay whole.
    `blocks` are those of the span, in order.
    """
    points: list[int] = []
    size = 0
    holds_body = False
    for atom_start, atom_end, is_heading in _atoms(text, start, end, blocks, settings):
        atom = length(text, atom_start, atom_end)
        if holds_body and size + atom > settings.max_chars:
            points.append(atom_start)
            size, holds_body = 0, False
        size += atom
        holds_body = holds_body or not is_heading
    return points


def _atoms(
    text: bytes, start: int, end: int, blocks: Sequence[Block], settings: CutSettings
) -> Iterator[tuple[int, int, bool]]:
    """Consecutive spans that are never cut further, and whether each is a heading."""
    starts = [start, *(block.start for block in blocks[1:]), end]
    for block, atom_start, atom_end in zip(blocks, starts, starts[1:], strict=False):
        if length(text, atom_start, atom_end) <= settings.max_chars or block.kind == "heading":
            yield atom_start, atom_end, block.kind == "heading"
        else:
            for piece_start, piece_end in _inside(text, atom_start, atom_end, block, settings):
                yield piece_start, piece_end, False


def _inside(
    text: bytes, start: int, end: int, block: Block, settings: CutSettings
) -> Iterator[Extent]:
    """Cut one block: a table between rows, a list between items, code last of all."""
    if block.kind == "code":
        yield from _code(text, start, end, settings)
        return
    edges = {*block.breaks, *(offset for span in block.solid for offset in span)}
    solid_starts = {first for first, _ in block.solid}
    for piece_start, piece_end in _between(start, end, sorted(edges)):
        if block.kind == "table" or length(text, piece_start, piece_end) <= settings.max_chars:
            yield piece_start, piece_end
        elif piece_start in solid_starts:
            yield from _code(text, piece_start, piece_end, settings)
        else:
            yield from _text(text, piece_start, piece_end, settings.max_chars, _PROSE_BOUNDARIES)


def _between(start: int, end: int, points: Sequence[int]) -> Iterator[Extent]:
    edges = [start, *(point for point in points if start < point < end), end]
    yield from pairwise(edges)


def _code(text: bytes, start: int, end: int, settings: CutSettings) -> Iterator[Extent]:
    if length(text, start, end) <= settings.hard_max_chars:
        yield start, end
    else:
        yield from _text(text, start, end, settings.max_chars, _CODE_BOUNDARIES)


def _text(
    text: bytes, start: int, end: int, limit: int, boundaries: Sequence[re.Pattern[str]]
) -> Iterator[Extent]:
    """Cut running text at the widest boundary that gives pieces of at most `limit` characters."""
    offset = start
    for piece in _pieces(text[start:end].decode(), limit, boundaries):
        size = len(piece.encode())
        yield offset, offset + size
        offset += size


def _pieces(text: str, limit: int, boundaries: Sequence[re.Pattern[str]]) -> Iterator[str]:
    if len(text) <= limit:
        yield text
        return
    if not boundaries:
        for position in range(0, len(text), limit):
            yield text[position : position + limit]
        return
    ends = [*(match.end() for match in boundaries[0].finditer(text)), len(text)]
    start = last = 0
    for end in ends:
        if end - start > limit and last > start:
            yield from _pieces(text[start:last], limit, boundaries[1:])
            start = last
        last = end
    yield from _pieces(text[start:], limit, boundaries[1:]) if start < len(text) else ()
