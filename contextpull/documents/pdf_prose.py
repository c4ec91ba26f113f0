"""Lines of running text to paragraphs, items of lists and code."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from contextpull.documents.pdf_layout import Line, is_label

_WORD = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]{2,})*")
_SPLIT_WORD = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_REST = re.compile(r"[^\W\d_]+")
_HYPHENED = re.compile(r"\w-$")
_BULLETS = re.compile(r"[•◦▪■●○‣➢✓·]\s*|[-–—*o]\s+")
_GAP = 0.7
"""Lines further apart than this part of their height belong to two paragraphs."""
_SHORT = 0.75
"""A line that ends before this part of the width of its column ends there on purpose."""
_MOST_VOCABULARY = 500_000


class Prose(NamedTuple):
    """A paragraph, an item with its label, or lines of code."""

    kind: Literal["prose", "item", "code"]
    text: str


class Habits(NamedTuple):
    """What is usual in a document."""

    words: frozenset[str]
    """Those that stand whole on its lines, by which broken ones are known."""
    code_is_mono: bool
    """Whether a font of fixed width tells code; not where all is typed in one."""


def habits_of(lines: Iterable[Line]) -> Habits:
    """What these lines, of a whole document, have in common."""
    words: set[str] = set()
    chars = mono = 0
    for line in lines:
        chars += len(line.text)
        mono += len(line.text) * line.is_mono
        if len(words) < _MOST_VOCABULARY:
            words.update(word.lower() for word in _WORD.findall(line.text.rstrip("-")))
    return Habits(frozenset(words), code_is_mono=2 * mono <= chars)


def paragraphs(lines: Sequence[Line], left: float, right: float, habits: Habits) -> Iterator[Prose]:
    """The paragraphs that these lines make, of a column from `left` to `right`."""
    if not lines:
        return
    usual = median([below.top - above.bottom for above, below in pairwise(lines)] or [0.0])
    group: list[Line] = []
    is_code = [habits.code_is_mono and line.is_mono for line in lines]
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else None
        if group and is_code[at] != is_code[at - 1]:
            is_new = True
        elif group and is_code[at]:
            is_new = not _continues_code(group[-1], line)
        else:
            is_new = bool(group) and _begins(group, line, below, usual)
        if is_new:
            yield _paragraph(group, left, right, habits, is_code[at - 1])
            group = []
        group.append(line)
    yield _paragraph(group, left, right, habits, is_code[-1])


def _begins(group: Sequence[Line], line: Line, below: Line | None, usual: float) -> bool:
    """Whether a paragraph begins with this line, which `below` follows."""
    above = group[-1]
    height = above.bottom - above.top
    gap = line.top - above.bottom
    if _is_item(line) or gap > max(usual + 0.25 * height, -0.1 * height) or gap < -2 * height:
        return True
    if gap > _GAP * height or abs(above.size - line.size) > 1:
        return True
    indent = 0.5 * line.size
    is_first = below is not None and line.left - below.left > indent
    return is_first and line.left - above.left > indent and not _is_item(group[0])


def _continues_code(above: Line, line: Line) -> bool:
    height = above.bottom - above.top
    return -height < line.top - above.bottom < 3 * height


def _is_item(line: Line) -> bool:
    first = line.text.split(" ", 1)[0]
    return is_label(first) and len(line.text) > len(first)


def _paragraph(
    lines: Sequence[Line], left: float, right: float, habits: Habits, is_code: bool
) -> Prose:
    if is_code:
        return Prose("code", "\n".join(_indented(line, left) for line in lines))
    text = lines[0].text
    for above, below in pairwise(lines):
        text = _joined(text, below.text, above.right - left < _SHORT * (right - left), habits.words)
    if _is_item(lines[0]):
        return Prose("item", _BULLETS.sub("- ", text, count=1) if _BULLETS.match(text) else text)
    return Prose("prose", text)


def _joined(text: str, line: str, is_ended: bool, vocabulary: frozenset[str]) -> str:
    """A line behind those before it; a word that was broken between them is made whole."""
    broken, rest = _SPLIT_WORD.search(text[-100:]), _REST.match(line)
    if broken and rest and rest[0][0].islower():
        whole, hyphened = broken[1] + rest[0], f"{broken[1]}-{rest[0]}"
        keeps = whole.lower() not in vocabulary and (
            hyphened.lower() in vocabulary or "-" in broken[1] or len(broken[1]) == 1
        )
        return (text if keeps else text[:-1]) + line
    if not is_ended and line[:1].isalnum() and _HYPHENED.search(text[-2:]):
        return text + line  # `Lucene-` and `BM25`
    return f"{text}\n{line}" if is_ended else f"{text} {line}"


def _indented(line: Line, left: float) -> str:
    """A line of code; its indentation counted in characters of its own width."""
    word = line.words[0]
    width = (word.right - word.left) / max(len(word.text), 1) or 1.0
    return " " * min(max(round((line.left - left) / width), 0), 80) + line.text
