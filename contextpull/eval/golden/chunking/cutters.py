"""Ways to cut a text: pure functions from a text to spans of it.

Spans come in order, never overlap, hold at most `size` characters, and leave out nothing but white
space. None begins or ends between the parts of what a reader sees as one character.

The libraries that do this bring tokenizers or models of their own, or cut by regular expressions
as these few lines do; what they would add is not worth another dependency.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from re import Pattern
from typing import Literal
from unicodedata import category

from contextpull.eval.golden.quotes import Span
from contextpull.sections.splitting import LINE, PARAGRAPH, SENTENCE, WORD

Likeness = Callable[[Sequence[str]], Sequence[float]]
"""Takes texts, and tells how like each one but the last is to the next one: one number less."""
Plain = Literal["recursive", "sentence", "fixed"]

_LEVELS: dict[Plain, tuple[Pattern[str], ...]] = {
    "recursive": (PARAGRAPH, SENTENCE, LINE, WORD),
    "sentence": (SENTENCE, WORD),
    "fixed": (WORD,),
}
"""Where each cuts, by preference."""
_INK = re.compile(r"\S")
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def cut_plainly(text: str, size: int, how: Plain) -> list[Span]:
    """Pieces as long as fit into `size`, each ending at the best boundary that it reaches.

    `recursive`: a paragraph, else a sentence, a line, a word; `sentence`: a sentence, else a word;
    `fixed`: a word. Where a piece reaches no boundary, it ends at a character.
    """
    levels = [_boundaries(text, pattern) for pattern in _LEVELS[how]]
    last = len(text.rstrip())
    spans, start = [], _skipped(text, 0)
    while start < last:
        end = last if last - start <= size else _end(text, start, size, levels)
        spans.append(Span(start, end))
        start = _skipped(text, end)
    return trimmed(text, spans)


def cut_semantically(text: str, size: int, likeness: Likeness) -> list[Span]:
    """Sentences, parted where two neighbours are least alike until every part fits into `size`.

    No part is shorter than a quarter of `size` where that can be helped.
    """
    units = units_of(text, size)
    texts = [text[unit.start : unit.end] for unit in units]
    alike = likeness(texts) if len(units) > 1 else ()
    done: list[Span] = []
    waiting = [(0, len(units))] if units else []
    while waiting:
        first, behind = waiting.pop()
        whole = Span(units[first].start, units[behind - 1].end)
        if whole.end - whole.start <= size:
            done.append(whole)
            continue
        at = _weakest(units[first:behind], alike[first : behind - 1], size // 4)
        waiting += [(first + at, behind), (first, first + at)]
    return done


def cut_at(text: str, size: int, starts: Sequence[int]) -> list[Span]:
    """Parts that begin at these offsets, those that are longer than `size` cut `recursive`."""
    return [span for whole in _between(text, starts) for span in within(text, whole, size)]


def within(text: str, whole: Span, size: int) -> list[Span]:
    """The spans of `recursive` within one span."""
    inside = cut_plainly(text[whole.start : whole.end], size, "recursive")
    return [Span(whole.start + span.start, whole.start + span.end) for span in inside]


def units_of(text: str, size: int) -> list[Span]:
    """The sentences and paragraphs of a text; those longer than `size` cut at words."""
    ends = {*_boundaries(text, PARAGRAPH), *_boundaries(text, SENTENCE)}
    return [span for whole in _between(text, ends) for span in within(text, whole, size)]


def paragraphs_of(text: str) -> list[Span]:
    """The paragraphs of a text, however long."""
    return _between(text, _boundaries(text, PARAGRAPH))


def trimmed(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans without white space around them; those of white space alone are left out."""
    found = []
    for span in spans:
        piece = text[span.start : span.end]
        body = piece.strip()
        if body:
            start = span.start + len(piece) - len(piece.lstrip())
            found.append(Span(start, start + len(body)))
    return found


def whole_end(text: str, start: int, end: int) -> int:
    """The last offset in (start, end] that parts no character; `end` where there is none."""
    at = end
    while at > start and not parts_nothing(text, at):
        at -= 1
    return at if at > start else end


def parts_nothing(text: str, at: int) -> bool:
    """Whether a text may be cut before the character at `at`: by the main rules of UAX #29."""
    if at <= 0 or at >= len(text):
        return True
    before, behind = text[at - 1], text[at]
    if behind.isascii():
        return not (before == "\r" and behind == "\n")
    if category(behind)[0] == "M" or behind == _JOINER or ord(behind) in _SKIN_TONES:
        return False
    return before != _JOINER


def _boundaries(text: str, pattern: Pattern[str]) -> list[int]:
    """Where a piece may end: behind what the pattern finds, white space left aside."""
    ends = (found.start() + len(found[0].rstrip()) for found in pattern.finditer(text))
    return [end for end in ends if parts_nothing(text, end)]


def _between(text: str, points: Collection[int]) -> list[Span]:
    edges = [0, *sorted({point for point in points if 0 < point < len(text)}), len(text)]
    return trimmed(text, [Span(start, end) for start, end in pairwise(edges)])


def _skipped(text: str, start: int) -> int:
    """The first offset from `start` on that is no white space."""
    found = _INK.search(text, start)
    return found.start() if found else len(text)


def _end(text: str, start: int, size: int, levels: Sequence[Sequence[int]]) -> int:
    for ends in levels:
        at = bisect_right(ends, start + size) - 1
        if at >= 0 and ends[at] > start:
            return ends[at]
    return whole_end(text, start, start + size)


def _weakest(units: Sequence[Span], alike: Sequence[float], least: int) -> int:
    """The number of units before the best place to part them: the first of those least alike."""
    first, last = units[0].start, units[-1].end
    places = range(1, len(units))
    roomy = [
        at
        for at in places
        if units[at - 1].end - first >= least and last - units[at].start >= least
    ]
    return min(roomy or places, key=lambda at: (alike[at - 1], at))
