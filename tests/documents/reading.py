"""What the tests of readers say of a document."""

from collections.abc import Callable
from itertools import pairwise

from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.types import Block, ParsedDocument

Reader = Callable[[bytes], ParsedDocument]


def read(name: str, text: str) -> ParsedDocument:
    """The document that a file of this name and text becomes."""
    return reader_of(name)(text.encode())


def pieces(document: ParsedDocument) -> list[tuple[str, str]]:
    """Kind and text of each block."""
    return [
        (block.kind, document.text[block.start : block.end].decode()) for block in document.blocks
    ]


def headings(document: ParsedDocument) -> list[Block]:
    return [block for block in document.blocks if block.kind == "heading"]


def outline(document: ParsedDocument) -> list[tuple[int, str]]:
    """Level and title of each heading."""
    return [(block.level, block.title) for block in document.blocks if block.level]


def assert_in_place(document: ParsedDocument) -> None:
    """Blocks lie in the text, in order, on character boundaries; the sections join to the text."""
    text = document.text
    text.decode()
    for block in document.blocks:
        assert 0 <= block.start < block.end <= len(text)
        inner = [*block.breaks, *(offset for span in block.solid for offset in span)]
        assert all(block.start <= offset <= block.end for offset in inner)
        assert all(_begins_character(text, each) for each in (block.start, block.end, *inner))
        assert list(block.breaks) == sorted(block.breaks)
        assert (block.kind == "heading") == (1 <= block.level <= 6)
    assert all(one.end <= other.start for one, other in pairwise(document.blocks))
    joined = "".join(section.text for section in cut(document)).encode()
    assert joined == text or (not joined and not text.strip())


def _begins_character(text: bytes, offset: int) -> bool:
    return offset == len(text) or text[offset] & 0b1100_0000 != 0b1000_0000


def assert_sound(document: ParsedDocument) -> None:
    """All of it is in place, and no block names a place to split it twice."""
    assert_in_place(document)
    for block in document.blocks:
        assert len(block.breaks) == len(set(block.breaks))


def assert_sound_or_refused(reader: Reader, data: bytes) -> None:
    """Any bytes end in a document or in a DocumentError."""
    try:
        document = reader(data)
    except DocumentError:
        return
    assert_sound(document)


def assert_kept(reader: Reader, text: str) -> None:
    """The text of the document is that of the file."""
    document = reader(text.encode())
    assert document.text == text.encode()
    assert_sound(document)
