"""CSV and TSV, sliced from the source: one table, split between records.

A record may hold line ends inside quotes (RFC 4180). Nothing is retyped, unquoted or aligned.
"""

import re
from collections.abc import Iterator

from contextpull.documents.slicing import source_of
from contextpull.types import Block, ParsedDocument

_DELIMITERS = b",;\t|"
_SAMPLE = 64 * 1024
_LONGEST_QUOTED = 64 * 1024
"""A quote that does not end within so many bytes is taken for a character like any other."""
_LONGEST_HEADER = 2_000
_MOST_RECORDS = 300_000
_CLOSE_RECORDS = 200
"""Beyond `_MOST_RECORDS`, records shorter than so many bytes together stay in one part."""
_MOST_TITLE_RECORDS = 5


def read_delimited(data: bytes) -> ParsedDocument:
    """Read records of any usual delimiter; the first is the header that each part repeats.

    Lines of one filled cell above it, such as the title of a sheet, belong to the header.
    """
    source = source_of(data)
    text, lines = source.text, source.lines
    if not text.strip():
        return ParsedDocument(text, (), warnings=source.warnings)
    delimiter = _delimiter(lines[:_SAMPLE])
    starts = _thinned([start for start in _starts(lines, delimiter) if lines[start : start + 1]])
    first = _first_row(lines, starts, delimiter)
    body = tuple(starts[first + 1 :])
    header = lines[: body[0]].strip(b"\r\n") if body else b""
    if len(header) > _LONGEST_HEADER:
        header = b""
    block = Block("table", 0, len(text), breaks=body, header=header.decode())
    return ParsedDocument(text, (block,), warnings=source.warnings)


def _delimiter(sample: bytes) -> bytes:
    """The character that most lines hold equally often, the usual ones first."""
    lines = [line for line in sample.splitlines()[:50] if line.strip()]

    def fitness(character: int) -> tuple[int, int]:
        counts = [line.count(character) for line in lines]
        usual = max(set(counts), key=counts.count, default=0)
        return (counts.count(usual) if usual else 0, usual)

    best = max(_DELIMITERS, key=fitness)
    return bytes([best])


def _starts(text: bytes, delimiter: bytes) -> Iterator[int]:
    """Where each record begins."""
    opening = re.compile(rb'(?:(?<=\n)|\A|(?<=%s))[ \t]*"' % re.escape(delimiter))
    closing = re.compile(rb'[^"]*+(?:""[^"]*+)*+"')
    position = 0
    while position < len(text):
        yield position
        end = text.find(b"\n", position)
        quote = text.find(b'"', position, end if end >= 0 else len(text))
        while end >= 0 and 0 <= quote < end:
            opened = opening.search(text, position, end)
            if opened is None:
                break
            closed = closing.match(text, opened.end(), opened.end() + _LONGEST_QUOTED)
            if closed is None:
                break
            position = closed.end()
            if position > end:
                end = text.find(b"\n", position)
            quote = text.find(b'"', position, end if end >= 0 else len(text))
        position = end + 1 if end >= 0 else len(text)


def _thinned(starts: list[int]) -> list[int]:
    if len(starts) <= _MOST_RECORDS:
        return starts
    kept = starts[:_MOST_TITLE_RECORDS]
    for start in starts[_MOST_TITLE_RECORDS:]:
        if start - kept[-1] >= _CLOSE_RECORDS:
            kept.append(start)
    return kept


def _first_row(text: bytes, starts: list[int], delimiter: bytes) -> int:
    """The number of the record that names the columns: the first with more than one filled cell."""
    ends = [*starts[1:], len(text)]
    leading = zip(starts, ends[:_MOST_TITLE_RECORDS], strict=False)
    for number, (start, end) in enumerate(leading):
        cells = [cell for cell in text[start:end].split(delimiter) if cell.strip()]
        if len(cells) > 1:
            return number
    return 0
