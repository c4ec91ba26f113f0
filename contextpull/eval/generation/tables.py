"""The pipe tables of a corpus, row by row, each with the section that holds it."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from contextpull.documents.markdown import read_markdown
from contextpull.eval.generation.corpus import Corpus, SourceSection
from contextpull.eval.generation.names import without_links

_CELLS = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br\s*/?>", re.I)
_TAG = re.compile(r"(?<!\\)</?[a-zA-Z][^<>\n]*>")
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{2,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_DELIMITERS = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$", re.M)


class Row(NamedTuple):
    """One body row of a table."""

    section: int
    """The number of the section that holds it."""
    columns: tuple[str, ...]
    cells: tuple[str, ...]
    """As many as there are columns, as a reader sees them."""

    @property
    def key(self) -> str:
        """What the row is about: its first cell."""
        return self.cells[0]


class _Table(NamedTuple):
    header: str
    """As it is written, with the line below it."""
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def rows_of(corpus: Corpus) -> Iterator[Row]:
    """Every row with as many cells as its table has columns, in reading order.

    A part that begins with rows takes the header of the table before it in the document.
    """
    document, header = "", ""
    for number, section in enumerate(corpus.sections):
        if section.document != document:
            document, header = section.document, ""
        if "|" not in section.text or section.is_metadata:
            header = ""
            continue
        header = section.repeated_header or header
        text, header = _with_header(section, header)
        for table in _tables(text):
            header = table.header
            for row in table.rows:
                if len(row) == len(table.columns) > 1:
                    yield Row(number, table.columns, row)


def _with_header(section: SourceSection, header: str) -> tuple[str, str]:
    """The text, below the header of the table that it continues; and that header, if it does."""
    first, _, rest = section.text.lstrip("\n").partition("\n")
    continues = first.lstrip().startswith("|") and not _DELIMITERS.match(rest.partition("\n")[0])
    if header and continues:
        return f"{header.rstrip()}\n{section.text.lstrip()}", header
    return section.text, ""


def _tables(text: str) -> Iterator[_Table]:
    data = text.encode()
    if not _DELIMITERS.search(text):
        return
    for block in read_markdown(data).blocks:
        if block.kind == "table" and block.breaks and block.header:
            ends = (*block.breaks[1:], block.end)
            rows = [
                _cells(data[start:end].decode())
                for start, end in zip(block.breaks, ends, strict=True)
            ]
            yield _Table(block.header, _cells(block.header.split("\n", 1)[0]), rows)


def _cells(row: str) -> tuple[str, ...]:
    line = row.strip().split("\n", 1)[0].strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return tuple(shown(cell) for cell in _CELLS.split(line))


def shown(cell: str) -> str:
    """A cell as a reader sees it: without markup."""
    text = _TAG.sub("", _BREAK.sub(" ", without_links(cell)))
    text = _EMPHASIS.sub(r"\2", text.replace("`", ""))
    return " ".join(_ESCAPE.sub(r"\1", html.unescape(text)).split())
