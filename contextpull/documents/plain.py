"""Plain text: one stream of paragraphs."""

from contextpull.documents.decoding import decode
from contextpull.types import Block, ParsedDocument


def read_plain(data: bytes) -> ParsedDocument:
    """Read a text file as prose; it has no headings to cut at."""
    decoded = decode(data)
    text = decoded.text.encode()
    blocks = (Block("prose", 0, len(text)),) if text.strip() else ()
    return ParsedDocument(text, blocks, warnings=decoded.warnings)
