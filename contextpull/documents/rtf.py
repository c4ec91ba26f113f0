"""RTF as a clean text: paragraphs, headings by outline level, tables."""

import re

from striprtf.striprtf import rtf_to_text

from contextpull.documents.composing import Composer
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_OUTLINE_LEVEL = re.compile(r"\\outlinelevel([0-8])(?!\d) ?")
_FIRST_MARK = 0xE001
"""Private characters, one a level, that are put where a paragraph says its outline level."""
_MARKS = re.compile("[\ue001-\ue009]")
_HEX_DATA = re.compile(rb"(?:[0-9a-fA-F]{2}\s*){500,}+")
_BINARY_DATA = re.compile(rb"\\bin([0-9]{1,9}) ?")


def read_rtf(data: bytes) -> ParsedDocument:
    """Read an RTF file; pictures and embedded objects are left out.

    Raises DocumentError for what is no RTF.
    """
    if not data.strip():
        return ParsedDocument(b"", ())
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError(r"not RTF: it does not begin with {\rtf")
    source = _HEX_DATA.sub(b" ", _without_binary(data)).decode("latin-1")
    marked = _OUTLINE_LEVEL.sub(
        lambda level: f"{level[0]}{{\\uc1\\u{_FIRST_MARK + int(level[1]) - 0x10000}?}}", source
    )
    try:
        text = str(rtf_to_text(marked, errors="replace"))  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise DocumentError(f"damaged RTF ({error})") from error
    composer = Composer()
    # Characters beyond the basic plane come as two halves.
    _write(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), composer)
    return composer.document()


def _without_binary(data: bytes) -> bytes:
    """The source without the raw bytes of pictures."""
    pieces = []
    position = 0
    while match := _BINARY_DATA.search(data, position):
        pieces.append(data[position : match.start()])
        position = match.end() + int(match[1])
    return b"".join([*pieces, data[position:]])


def _write(text: str, composer: Composer) -> None:
    """One paragraph a line; lines that end in a bar are the rows of a table."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.endswith("|") and not _MARKS.search(line):
            rows.append([cell.strip() for cell in line[:-1].split("|")])
            continue
        if rows:
            composer.table(rows[0], rows[1:])
            rows = []
        mark = _MARKS.search(line)
        shown = _MARKS.sub("", line).strip("\0")
        if mark and shown.strip():
            composer.heading(ord(mark.group()) - _FIRST_MARK + 1, shown)
        else:
            composer.prose(shown)
