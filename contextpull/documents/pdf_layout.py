"""Words on a page to lines in reading order: columns first, then from top to bottom.

Coordinates are points; what is further down has the larger number.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from math import inf
from statistics import fmean
from typing import NamedTuple

_GAP = 1.0
"""Words further apart than this many times their size belong to two segments."""
_DEEPEST = 4
_FEWEST_LINES = 3
_PROSE_CHARS = 18
"""Segments shorter than this on average are cells of a table, not lines of a column."""
_MOST_CROSSING = 0.3
_MIDDLE = (0.2, 0.8)
_BIN = 2.0
_FEWEST_BINS = 10
_MOST_BINS = 2_000
_LABELS = frozenset("•◦▪■●○‣–—-*·o➢✓")


class Word(NamedTuple):
    """A run of letters without white space."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    size: float
    is_bold: bool
    is_mono: bool
    is_spaced: bool = True
    """Whether white space stands before it, however narrow."""


class Rule(NamedTuple):
    """A horizontal line that is drawn on the page."""

    left: float
    right: float
    at: float


class Segment(NamedTuple):
    """Words of one line with no wide gap between them."""

    words: tuple[Word, ...]
    text: str
    left: float
    right: float
    top: float
    bottom: float

    @property
    def size(self) -> float:
        """The size of the font that most of it is set in."""
        return max(self.words, key=lambda word: len(word.text)).size


class Line(NamedTuple):
    """The segments of one line, from left to right."""

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """All that stands on it."""
        return " ".join(segment.text for segment in self.segments)

    @property
    def words(self) -> list[Word]:
        """Its words in order."""
        return [word for segment in self.segments for word in segment.words]

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.segments[0].left

    @property
    def right(self) -> float:
        """Where it ends."""
        return max(segment.right for segment in self.segments)

    @property
    def top(self) -> float:
        """Its upper edge."""
        return min(segment.top for segment in self.segments)

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return max(segment.bottom for segment in self.segments)

    @property
    def size(self) -> float:
        """The size of the font that most of it is set in, in half points."""
        longest = max(self.segments, key=lambda segment: len(segment.text))
        return round(longest.size * 2) / 2

    @property
    def is_bold(self) -> bool:
        """Whether all of it is bold."""
        return all(word.is_bold for word in self.words)

    @property
    def is_mono(self) -> bool:
        """Whether most of it is set in a font of fixed width."""
        words = self.words
        return sum(word.is_mono for word in words) > 0.8 * len(words)


def regions(words: Sequence[Word]) -> list[list[Line]]:
    """The lines of a page, column by column, in reading order."""
    segments = [segment for row in _rows(words) for segment in _segments(row)]
    return [_lines(region) for region in _columns(segments, _DEEPEST)]


def _rows(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Words whose middles lie on one height, from left to right."""
    order = {id(word): at for at, word in enumerate(words)}
    row: list[Word] = []
    middle = height = 0.0
    for word in sorted(words, key=lambda word: (word.top + word.bottom, word.left)):
        own, own_height = (word.top + word.bottom) / 2, word.bottom - word.top
        if row and own - middle > 0.45 * max(height, own_height):
            yield _from_left(row, order)
            row, height = [], 0.0
        if own_height > height:
            middle, height = own, own_height
        row.append(word)
    if row:
        yield _from_left(row, order)


def _from_left(row: list[Word], order: dict[int, int]) -> list[Word]:
    """The words of a row; text that is printed over other text stays behind it, not in it."""
    row = sorted(row, key=lambda word: word.left)
    for before, word in pairwise(row):
        overlap = min(before.right, word.right) - word.left
        if overlap > 0.5 * min(before.right - before.left, word.right - word.left):
            return sorted(row, key=lambda word: order[id(word)])
    return row


def _segments(row: list[Word]) -> Iterator[Segment]:
    run: list[Word] = []
    right = 0.0
    for word in row:
        size = max(word.size, run[-1].size) if run else 0
        gap = word.left - right
        is_apart = gap > _GAP * size or gap < -2 * size
        if run and is_apart and not (gap > 0 and is_label("".join(w.text for w in run))):
            yield _segment(run)
            run = []
        right = max(right, word.right) if run else word.right
        run.append(word)
    if run:
        yield _segment(run)


def is_label(text: str) -> bool:
    """Whether this is what stands before an item of a list: a bullet, `3.`, `(b)`."""
    if text in _LABELS:
        return True
    bare = text.strip("().")
    return bare != text and len(bare) <= 3 and bare.isalnum() and (bare.isdigit() or len(bare) < 2)


def _segment(words: Sequence[Word]) -> Segment:
    """Words side by side; where they touch, they are one word in two fonts."""
    pieces = [words[0].text]
    for before, word in pairwise(words):
        is_joined = not word.is_spaced and word.left - before.right < 0.05 * word.size
        pieces.append(word.text if is_joined else f" {word.text}")
    return Segment(
        tuple(words),
        "".join(pieces),
        min(word.left for word in words),
        max(word.right for word in words),
        min(word.top for word in words),
        max(word.bottom for word in words),
    )


class _Gutter(NamedTuple):
    """A gap that runs down between two columns, from one height to another."""

    at: float
    top: float
    bottom: float


def _columns(segments: list[Segment], depth: int) -> Iterator[list[Segment]]:
    """Regions of one column each: what stands above, the columns from left to right, the rest."""
    gutter = _gutter(segments) if depth else None
    if gutter is None:
        if segments:
            yield segments
        return
    ordered = sorted(segments, key=lambda each: each.top)
    yield from _columns([each for each in ordered if each.bottom <= gutter.top], depth - 1)
    inside = [each for each in ordered if each.bottom > gutter.top and each.top < gutter.bottom]
    for crosses, band in groupby(inside, key=lambda each: each.left < gutter.at < each.right):
        parts = list(band)
        if crosses:
            yield parts
            continue
        yield from _columns([each for each in parts if each.right <= gutter.at], depth - 1)
        yield from _columns([each for each in parts if each.left >= gutter.at], depth - 1)
    below = (each for each in ordered if each.bottom > gutter.top and each.top >= gutter.bottom)
    yield from _columns(list(below), depth - 1)


def _gutter(segments: list[Segment]) -> _Gutter | None:
    """The gap between two columns of prose; None when there is none."""
    at = _emptiest(segments) if len(segments) >= 2 * _FEWEST_LINES else None
    if at is None:
        return None
    sides = ([s for s in segments if s.right <= at], [s for s in segments if s.left >= at])
    if any(len(side) < _FEWEST_LINES or not _is_prose(side) for side in sides):
        return None
    top = max(min(each.top for each in side) for side in sides)
    bottom = min(max(each.bottom for each in side) for side in sides)
    crossing = [each for each in segments if each.left < at < each.right]
    between = sum(top < each.top < bottom for each in crossing)
    beside = min(sum(top <= each.top < bottom for each in side) for side in sides)
    if beside < _FEWEST_LINES or between > _MOST_CROSSING * beside:
        return None
    return _Gutter(
        at,
        max((each.bottom for each in crossing if each.top <= top), default=-inf),
        min((each.top for each in crossing if each.top >= bottom), default=inf),
    )


def _is_prose(side: list[Segment]) -> bool:
    return fmean(len(each.text) for each in side) >= _PROSE_CHARS


def _emptiest(segments: list[Segment]) -> float | None:
    """Where the fewest segments cross a vertical line in the middle of the page."""
    left, right = min(each.left for each in segments), max(each.right for each in segments)
    bins = min(int((right - left) / _BIN), _MOST_BINS)
    if bins < _FEWEST_BINS:
        return None
    step = (right - left) / bins
    changes = [0] * (bins + 2)
    for each in segments:
        changes[int((each.left - left) / step)] += 1
        changes[min(int((each.right - left) / step) + 1, bins + 1)] -= 1
    covered = list(accumulate(changes[:bins]))
    middle = range(int(bins * _MIDDLE[0]), int(bins * _MIDDLE[1]))
    fewest = min(covered[at] for at in middle)
    runs = [list(run) for few, run in groupby(middle, lambda at: covered[at] == fewest) if few]
    widest = max(runs, key=len)
    return left + (widest[len(widest) // 2] + 0.5) * step


def _lines(region: list[Segment]) -> list[Line]:
    """The segments of a region as lines from top to bottom."""
    lines: list[list[Segment]] = []
    middle = height = 0.0
    for each in sorted(region, key=lambda each: (each.top + each.bottom, each.left)):
        own, own_height = (each.top + each.bottom) / 2, each.bottom - each.top
        if not lines or own - middle > 0.45 * max(height, own_height):
            lines.append([])
            middle, height = own, own_height
        lines[-1].append(each)
    return [Line(tuple(sorted(line, key=lambda each: each.left))) for line in lines]
