"""What the tests of readers say of a document."""

from itertools import pairwise

from contextpull.sections.cutting import cut
from contextpull.types import Block, ParsedDocument


def pieces(document: ParsedDocument) -> list[tuple[str, str]]:
    """Kind and text of each block."""
    return [
        (block.kind, document.text[block.start : block.end].decode()) for block in document.blocks
    ]


def headings(document: ParsedDocument) -> list[Block]:
    return [block for block in document.blocks if block.kind == "heading"]


def assert_sound(document: ParsedDocument) -> None:
    """Blocks lie in the text, in order, on character boundaries; the sections join to the text."""
    for block in document.blocks:
        assert 0 <= block.start < block.end <= len(document.text)
        document.text[block.start : block.end].decode()
        assert all(block.start <= point <= block.end for point in block.breaks)
        assert list(block.breaks) == sorted(block.breaks)
    assert all(one.end <= other.start for one, other in pairwise(document.blocks))
    sections = cut(document)
    joined = "".join(section.text for section in sections).encode()
    assert joined == document.text or not document.text.strip()
