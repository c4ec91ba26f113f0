"""Which lines of a PDF file are headings: by its outline, else by their fonts."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import NamedTuple

from contextpull.documents.pdf_layout import Line, is_label
from contextpull.documents.pdf_tables import Region, Table

_LONGEST = 150
_FEWEST_FOUND = 2
_LARGER = 1.1
_MOST_BOLD = 0.4
"""Where more of the text than this is bold, bold says nothing."""
_MOST_HEADS = 0.25
_TOUCHING = 0.25
_NUMBER = re.compile(
    r"(?:(?:chapter|section|part|appendix)\s+)?(?:\d+|[ivxlc]+|[a-z])?(?:\.\d+)*[.:)]?\s+"
)
_LEADERS = re.compile(r"(?:\s?\.){3,}\s*\d*$")

Pages = Sequence[Sequence[Region]]
"""The regions of each page."""


class Heads(NamedTuple):
    """The headings of a document."""

    levels: dict[int, int]
    """By the identity of their lines, which lasts as long as the pages are kept."""

    @property
    def is_empty(self) -> bool:
        """Whether the document has none."""
        return not self.levels

    def level(self, line: Line) -> int:
        """1 to 6; 0 for a line that is no heading."""
        return self.levels.get(id(line), 0)


def heads_of(pages: Pages, outline: Sequence[tuple[int, str]]) -> Heads:
    """The headings of these pages; `outline` holds the level, from 0, and the title of entries."""
    found = _in_outline(pages, outline)
    return Heads(_with_alike(pages, found) if found else _by_font(pages))


def title_of(line: Line) -> str:
    """The text of a heading without the dots and the number that a table of contents adds."""
    return _LEADERS.sub("", line.text).strip()


def front_title(pages: Pages, heads: Heads) -> str:
    """The title on the front page, which outlines rarely name: its lines in the largest type.

    Empty where that is a heading, or no larger than what the document is set in.
    """
    front = next((lines for page in pages if (lines := list(_lines([page])))), [])
    chars: Counter[float] = Counter()
    for line in _lines(pages):
        chars[line.size] += len(line.text)
    size = max((line.size for line in front if _could_be_title(line)), default=0)
    if not front or size <= _LARGER * _body_size(chars):
        return ""
    largest = dropwhile(lambda line: line.size != size or not _could_be_title(line), front)
    lines = list(takewhile(lambda line: line.size == size, largest))
    return "" if heads.level(lines[0]) else " ".join(line.text for line in lines)


def _lines(pages: Pages) -> Iterator[Line]:
    for page in pages:
        for region in page:
            yield from (each for each in region.parts if isinstance(each, Line))


def _plain(title: str) -> str:
    """Letters and digits alone, since outlines spell numbers and spaces in their own way."""
    return "".join(each for each in title.casefold() if each.isalnum())


def _in_outline(pages: Pages, outline: Sequence[tuple[int, str]]) -> dict[int, int]:
    """The lines that are the outline's titles, in its order; nothing when most are not found."""
    wanted = [(level, _plain(title)) for level, title in outline if _plain(title)]
    candidates: dict[str, list[tuple[int, Line]]] = {}
    for order, line in enumerate(_lines(pages)):
        if len(line.text) <= _LONGEST and not _LEADERS.search(line.text):
            text = line.text.casefold()
            for name in {_plain(text), _plain(_NUMBER.sub("", text, count=1))}:
                candidates.setdefault(name, []).append((order, line))
    levels: dict[int, int] = {}
    last = -1
    for level, name in wanted:
        places = [each for each in candidates.get(name, ()) if each[0] > last]
        if places:
            last, line = max(places[:4], key=lambda each: (each[1].size, -each[0]))
            levels[id(line)] = min(level + 1, 6)
    enough = max(_FEWEST_FOUND, len(wanted) / 2)
    return levels if len(levels) >= enough else {}


def _with_alike(pages: Pages, levels: dict[int, int]) -> dict[int, int]:
    """The headings of the outline, and lines in the large type that no text but they are set in."""
    styles: dict[tuple[float, bool], int] = {}
    chars: Counter[float] = Counter()
    for line in _lines(pages):
        chars[line.size] += len(line.text)
        if id(line) in levels:
            styles.setdefault((line.size, line.is_bold), levels[id(line)])
    body = _body_size(chars)
    alike = {
        id(line): styles[(line.size, line.is_bold)]
        for line in _lines(pages)
        if line.size > _LARGER * body
        and (line.size, line.is_bold) in styles
        and _could_be_title(line)
    }
    return alike | levels


def _body_size(chars: Counter[float]) -> float:
    """The size that most of the text is set in; the smaller one of two."""
    return max(chars, key=lambda size: (chars[size], -size))


def _by_font(pages: Pages) -> dict[int, int]:
    """Short lines in larger type than the text, or bold where the text is not."""
    chars: Counter[float] = Counter()
    bold = 0
    for line in _lines(pages):
        chars[line.size] += len(line.text)
        bold += len(line.text) * line.is_bold
    if not chars:
        return {}
    body = _body_size(chars)
    bold_tells = bold <= _MOST_BOLD * chars.total()
    found = [
        line
        for page in pages
        for region in page
        for line in _heads_in(region.parts, body, bold_tells)
    ]
    if sum(len(line.text) for line in found) > _MOST_HEADS * chars.total():
        found = [line for line in found if line.size > _LARGER * body]
    sizes = sorted({line.size for line in found if line.size > _LARGER * body}, reverse=True)
    ranks = {size: min(rank, 5) for rank, size in enumerate(sizes, start=1)}
    return {id(line): ranks.get(line.size, min(len(sizes), 5) + 1) for line in found}


def _heads_in(parts: Sequence[Line | Table], body: float, bold_tells: bool) -> Iterator[Line]:
    for at, each in enumerate(parts):
        if not isinstance(each, Line) or not _could_be_title(each):
            continue
        if each.size > _LARGER * body:
            yield each
        elif bold_tells and each.is_bold and not each.is_mono and each.size >= body:
            above = parts[at - 1] if at else None
            if not (isinstance(above, Line) and _touches(above, each)):
                yield each


def _touches(above: Line, below: Line) -> bool:
    return below.top - above.bottom < _TOUCHING * (below.bottom - below.top)


def _could_be_title(line: Line) -> bool:
    text = line.text
    return (
        len(text) <= _LONGEST
        and sum(each.isalpha() for each in text) >= max(2, len(text) / 3)
        and not text.endswith((",", ";"))
        and not (text.endswith(".") and len(text) > 40)
        and not (is_label(text.split(" ", 1)[0]) and not text[0].isalnum())
    )
