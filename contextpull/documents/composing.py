"""A clean text of its own, for formats whose source is no text that a person would read.

Headings become `## Title`, tables pipe tables with one header row, lists `- item`, code a fence.
"""

import re
from collections.abc import Sequence

from contextpull.errors import DocumentError
from contextpull.types import Block, ParsedDocument

LONGEST_TITLE = 300
MOST_CELLS = 2_000_000
"""A table that would have more cells than this is refused: spans can make any number of them."""
NEEDS_PASSWORD = "encrypted; save it without a password and ingest again"
_FENCE_RUN = re.compile(r"`{3,}")

Grid = list[list[str]]


class Composer:
    """Writes blocks one behind the other and remembers where each of them lies."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._blocks: list[Block] = []
        self._list: list[Block] = []
        """The items of the list that is being written, each as a block."""
        self._page = self._first_of_page = 0

    def heading(self, level: int, title: str, anchor: str | None = None) -> None:
        """A heading of level 1 to 6; one without any text is left out."""
        title = " ".join(title.split())
        if title:
            level = min(max(level, 1), 6)
            start, end = self._write(f"{'#' * level} {title}\n")
            self._blocks.append(
                Block("heading", start, end, level, title=title[:LONGEST_TITLE], anchor=anchor)
            )

    def prose(self, text: str) -> None:
        """A paragraph, with its line breaks; nothing when it holds only white space."""
        if text.strip():
            start, end = self._write(text.strip("\n") + "\n")
            self._blocks.append(Block("prose", start, end))

    def code(self, text: str, language: str = "") -> None:
        """Code, kept as it is, in a fence that is longer than any in it."""
        if text.strip():
            start, end = self._write(fenced(text, language))
            self._blocks.append(Block("code", start, end))

    def item(self, text: str, *, is_new: bool = True, is_solid: bool = False) -> None:
        """A line or more of a list, marker and indentation included.

        It goes on with the list before it until `end_list`. A part may begin at it where `is_new`,
        and never inside it where `is_solid`.
        """
        if not text.strip():
            return
        start, end = self._write(text.rstrip("\n") + "\n", is_joined=bool(self._list))
        breaks = (start,) if is_new else ()
        solid = ((start, end),) if is_solid else ()
        self._list.append(Block("list", start, end, breaks=breaks, solid=solid))

    def end_list(self) -> None:
        """What comes next is no longer part of the list."""
        if self._list:
            breaks = tuple(offset for item in self._list for offset in item.breaks)
            solid = tuple(span for item in self._list for span in item.solid)
            start, end = self._list[0].start, self._list[-1].end
            self._blocks.append(Block("list", start, end, breaks=breaks, solid=solid))
            self._list = []

    def table(self, header: Sequence[str], rows: Grid) -> None:
        """A pipe table; rows that are too short are filled up, and the header with them."""
        width = max([len(header), *(len(row) for row in rows)], default=0)
        if not width or not (rows or any(header)):
            return
        if width * (len(rows) + 1) > MOST_CELLS:
            raise DocumentError(f"a table of more than {MOST_CELLS:,} cells; split the file")
        head = f"{pipe_row(header, width)}\n|{'---|' * width}"
        lines = [pipe_row(row, width).encode() + b"\n" for row in rows]
        start, end = self._write(f"{head}\n")
        breaks = []
        for line in lines:
            breaks.append(end)
            self._pieces.append(line)
            end += len(line)
        self._size = end
        self._blocks.append(Block("table", start, end, breaks=tuple(breaks), header=head))

    def start_page(self, number: int) -> None:
        """What comes next stands on the page with this number, from 1."""
        self._end_page()
        self._page = number

    def _end_page(self) -> None:
        self.end_list()
        for at in range(self._first_of_page, len(self._blocks)):
            self._blocks[at] = self._blocks[at]._replace(page=self._page)
        self._first_of_page = len(self._blocks)

    def include(self, document: ParsedDocument, deeper: int = 0) -> None:
        """All of another document; its headings go `deeper` levels down."""
        if not document.text.strip():
            return
        start, _ = self._write(document.text.decode().rstrip("\n") + "\n")
        end = self._size
        for block in document.blocks:
            level = min(block.level + deeper, 6) if block.level else 0
            self._blocks.append(
                block._replace(
                    start=block.start + start,
                    end=min(block.end + start, end),
                    level=level,
                    breaks=tuple(offset + start for offset in block.breaks),
                    solid=tuple((first + start, last + start) for first, last in block.solid),
                )
            )

    def document(
        self,
        title: str = "",
        description: str = "",
        keywords: str = "",
        warnings: Sequence[str] = (),
    ) -> ParsedDocument:
        """All that was written."""
        self._end_page()
        return ParsedDocument(
            b"".join(self._pieces),
            tuple(self._blocks),
            title=title,
            description=description,
            keywords=keywords,
            warnings=tuple(warnings),
        )

    def _write(self, text: str, *, is_joined: bool = False) -> tuple[int, int]:
        """Where the text comes to lie; a blank line goes before it unless it is joined."""
        if not is_joined:
            self.end_list()
        if self._size and not is_joined:
            self._pieces.append(b"\n")
            self._size += 1
        start = self._size
        data = text.encode(errors="replace")
        self._pieces.append(data)
        self._size += len(data)
        return start, self._size


def fenced(text: str, language: str = "") -> str:
    """Code between fences, each line as it was."""
    longest = max((len(run) for run in _FENCE_RUN.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}\n"


def pipe_row(cells: Sequence[str], width: int) -> str:
    """One row of a pipe table; line breaks in a cell become spaces, its pipes are escaped."""
    flat = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return "|" + "|".join(f" {cell} " for cell in [*flat, *[""] * (width - len(flat))]) + "|"
