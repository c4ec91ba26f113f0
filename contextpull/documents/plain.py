"""Plain text: one stream of paragraphs."""

from contextpull.documents.slicing import one_block
from contextpull.types import ParsedDocument


def read_plain(data: bytes) -> ParsedDocument:
    """Read a text file as prose; it has no headings to cut at."""
    return one_block(data, "prose")
