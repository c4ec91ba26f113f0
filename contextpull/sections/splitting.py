"""Where a text that is too long for one section may be cut.

Everything here returns offsets, so that the pieces joined are always the whole.
"""

import re
from collections.abc import Iterator, Sequence

from contextpull.config import CutSettings
from contextpull.types import Block

_LINE_END = r"(?>\r\n?|\n)"
PARAGRAPH = re.compile(rf"{_LINE_END}[ \t]*{_LINE_END}\s*")
SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+|(?<=[。！？])(?=\S)|(?<=[。！？])\s+")
LINE = re.compile(_LINE_END)
WORD = re.compile(r"\s+")
_PROSE_BOUNDARIES = (PARAGRAPH, SENTENCE, LINE, WORD)
_CODE_BOUNDARIES = (PARAGRAPH, LINE)

_BETWEEN = Block("prose", 0, 0)

Extent = tuple[int, int]


def length(text: bytes, start: int, end: int) -> int:
    """Characters, not bytes, of `text[start:end]`."""
    piece = text[start:end]
    return len(piece) if piece.isascii() else len(piece.decode())


def is_short(text: bytes, start: int, end: int, min_chars: int) -> bool:
    """Whether `text[start:end]` holds fewer characters, white space around it left aside."""
    return len(text[start:end].strip().decode()) < min_chars


def split_points(
    text: bytes, start: int, end: int, blocks: Sequence[Block], settings: CutSettings
) -> list[int]:
    """Offsets at which `text[start:end]` is cut so that parts hold at most `max_chars` characters.

    A part is longer only where a code block or a table row must stay whole, or by fewer than
    `min_chars` where what comes first is too short to stand alone.
    `blocks` are those of the span, in order.
    """
    points: list[int] = []
    begin, size = start, 0
    for atom_start, atom_end in _atoms(text, start, end, blocks, settings):
        atom = length(text, atom_start, atom_end)
        if size and size + atom > settings.max_chars:
            short = is_short(text, begin, atom_start, settings.min_chars)
            most = settings.max_chars + settings.min_chars
            if not short or (size + atom > most and atom <= settings.max_chars):
                points.append(atom_start)
                begin, size = atom_start, 0
        size += atom
    return points


def _atoms(
    text: bytes, start: int, end: int, blocks: Sequence[Block], settings: CutSettings
) -> Iterator[Extent]:
    """Consecutive spans that are never cut further; headings go with what follows them."""
    lead = start
    for block, block_start, block_end in _extents(text, start, end, blocks):
        is_heading = block.kind == "heading"
        if is_heading and length(text, lead, block_end) <= settings.max_chars // 2:
            continue
        if length(text, lead, block_end) <= settings.max_chars:
            yield lead, block_end
        else:
            room = settings.max_chars - length(text, lead, block_start)
            for _, piece_end in _inside(text, block_start, block_end, block, settings, room):
                yield lead, piece_end
                lead = piece_end
        lead = block_end
    if lead < end:
        yield lead, end


def _extents(
    text: bytes, start: int, end: int, blocks: Sequence[Block]
) -> Iterator[tuple[Block, int, int]]:
    """The blocks with the blank lines behind them; what else lies between counts as prose."""
    begin = start
    for block, following in zip(blocks, [*(each.start for each in blocks[1:]), end], strict=False):
        between = len(text[block.end : following].lstrip())
        yield block, begin, following - between
        begin = following - between
        if between:
            yield _BETWEEN, begin, following
            begin = following
    if begin < end:
        yield _BETWEEN, begin, end


def _inside(
    text: bytes, start: int, end: int, block: Block, settings: CutSettings, limit: int
) -> Iterator[Extent]:
    """Cut one block: a table between rows, a list between items, code last of all."""
    if block.kind == "code":
        yield from _code(text, start, end, settings, limit)
        return
    # A table's header goes with its first row.
    breaks = block.breaks[1:] if block.header else block.breaks
    edges = {*breaks, *(offset for span in block.solid for offset in span)}
    solid_starts = {first for first, _ in block.solid}
    for piece_start, piece_end in _between(text, start, end, sorted(edges)):
        if block.kind == "table" or length(text, piece_start, piece_end) <= limit:
            yield piece_start, piece_end
        elif piece_start in solid_starts:
            yield from _code(text, piece_start, piece_end, settings, limit)
        else:
            yield from _text(text, piece_start, piece_end, limit, _PROSE_BOUNDARIES)


def _between(text: bytes, start: int, end: int, points: Sequence[int]) -> Iterator[Extent]:
    """The spans between the points; one of white space alone goes with the span before it."""
    begin, last = start, start
    for point in [*(point for point in points if start < point < end), end]:
        if last > begin and not text[last:point].isspace():
            yield begin, last
            begin = last
        last = point
    yield begin, end


def _code(text: bytes, start: int, end: int, settings: CutSettings, limit: int) -> Iterator[Extent]:
    if length(text, start, end) <= settings.hard_max_chars:
        yield start, end
    else:
        yield from _text(text, start, end, limit, _CODE_BOUNDARIES)


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
