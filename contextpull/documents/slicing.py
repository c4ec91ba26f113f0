"""What readers of text formats share: the text as it stands, and blocks that lie in it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from contextpull.documents.decoding import decode
from contextpull.types import Block, BlockKind, ParsedDocument

MOST_BLOCKS = 300_000
"""Every block costs memory; what is left of a file with more is read as one block of prose."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text file as UTF-8, and what a person should know about it."""

    text: bytes
    lines: bytes
    """The same bytes, with lines that end in LF where the file ends all of them in CR."""
    warnings: tuple[str, ...] = ()


def source_of(data: bytes) -> Source:
    """Decode a text file. Raises DocumentError when it is no text."""
    decoded = decode(data)
    text = decoded.text.encode()
    lines = text if b"\n" in text else text.replace(b"\r", b"\n")
    return Source(text, lines, decoded.warnings)


def one_block(data: bytes, kind: BlockKind) -> ParsedDocument:
    """A text file as one block of this kind. Raises DocumentError when it is no text."""
    source = source_of(data)
    blocks = (Block(kind, 0, len(source.text)),) if source.text.strip() else ()
    return ParsedDocument(source.text, blocks, warnings=source.warnings)


def bounded(blocks: list[Block], size: int) -> tuple[str, ...]:
    """Have one block of prose for all behind MOST_BLOCKS, in place; a warning where that is so.

    `size` is where the text ends.
    """
    if len(blocks) <= MOST_BLOCKS:
        return ()
    blocks[MOST_BLOCKS:] = [Block("prose", blocks[MOST_BLOCKS].start, size)]
    return (f"more than {MOST_BLOCKS:,} blocks: the rest is read as plain text",)


def filled(text: bytes, blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks, with prose wherever text lies before, between or behind them."""
    result = list(islice(_filled(text, blocks), MOST_BLOCKS + 1))
    if len(result) > MOST_BLOCKS:
        result[-1] = Block("prose", result[-1].start, len(text))
    return tuple(result)


def _filled(text: bytes, blocks: Iterable[Block]) -> Iterator[Block]:
    position = 0
    for block in blocks:
        if text[position : block.start].strip():
            yield Block("prose", position, block.start)
        yield block
        position = block.end
    if text[position:].strip():
        yield Block("prose", position, len(text))


def line_start(text: bytes, offset: int, floor: int = 0) -> int:
    """Where the line begins that the offset lies in, or `floor` if that is later."""
    return max(text.rfind(b"\n", floor, offset) + 1, floor)


def line_end(text: bytes, offset: int) -> int:
    """Where the next line begins, or the text ends."""
    end = text.find(b"\n", offset)
    return len(text) if end < 0 else end + 1
