"""The scan behind grep: matching lines of the flat text, in order, within a bounded time."""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from contextpull.retrieval.work import Work
from contextpull.store.flat_text import Extent, FlatText

LONGEST_PATTERN = 1_000

_SECONDS = 1.0
_BYTES_PER_SECOND = 150_000_000
"""A scan may take as long as this much text takes; the engine is four times faster on one core."""
_WINDOW = 128 * 1024
_STEPS_AT_ONCE = 500_000_000
"""The engine cannot be stopped while it looks at one window: so many steps take half a second."""
_OVERLAP = 4 * LONGEST_PATTERN + 96
"""Bytes of a line cut into windows that are looked at twice: no literal text is missed."""
_PIECE = 4 * 1024 * 1024
_MOST_THREADS = 8
_NEIGHBOURHOOD = 8 * 1024
"""Bytes behind a hit of the sieve that the pattern is tried on too; more with every further hit."""
_LINE_END = ord("\n")


class Found(NamedTuple):
    """The matching lines of a scan."""

    offsets: list[int]
    """Where each matching line's first match begins, in document order."""
    is_complete: bool
    notes: tuple[str, ...]


class Scan:
    """One pass over the flat text, in as many threads as there are processors."""

    def __init__(
        self, text: FlatText, pattern: Any, sieve: Any = None, work: Work | None = None
    ) -> None:
        """Look for `pattern`; where there is a `sieve`, only on lines that it matches."""
        self._work = work or Work()
        self._text = text
        self._pattern = pattern
        self._sieve = sieve
        self._longest = max(4 * _OVERLAP, _STEPS_AT_ONCE // max(1, pattern.programsize))
        self._seconds = self._deadline = 0.0
        self._has_enough = self._out_of_time = self._has_cut_lines = False

    def run(self, documents: set[int] | None, most: int) -> Found:
        """The first `most` matching lines of these documents, or of all.

        Raises Stopped when the work is to end.
        """
        extents = self._text.extents(documents)
        size = sum(extent.end - extent.start for extent in extents)
        self._seconds = max(_SECONDS, size / _BYTES_PER_SECOND)
        self._deadline = time.monotonic() + self._seconds
        first, *others = _pieces(self._text, extents)
        offsets = self._lines(first, most)  # alone: of what is frequent it holds enough
        if others and len(offsets) < most:
            with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
                for part in pool.map(partial(self._lines, most=most), others):
                    offsets += part
                    self._has_enough = len(offsets) >= most
        self._work.check()
        return Found(
            offsets[:most], len(offsets) < most and not self._out_of_time, tuple(self._notes())
        )

    def _notes(self) -> Iterator[str]:
        if self._out_of_time:
            yield (
                f"Stopped after {self._seconds:.1f} s, before all of the text was looked at."
                " Restrict paths, or make the expression simpler."
            )
        if self._has_cut_lines:
            yield (
                f"Lines over {self._longest // 2:,} bytes were looked at in pieces; in them a"
                f" match of more than {_OVERLAP:,} may be missing."
            )

    def _lines(self, extents: Sequence[Extent], most: int) -> list[int]:
        """The first match of each matching line; the engine runs outside the interpreter's lock."""
        found: list[int] = []
        for start, stop in extents:
            while start < stop and not self._must_stop():
                end = self._window_end(start, stop)
                found += islice(self._in_window(start, end), most - len(found))
                if len(found) >= most:
                    return found
                start = self._next_start(end, stop, found)
        return found

    def _must_stop(self) -> bool:
        if not self._has_enough and time.monotonic() > self._deadline:
            self._out_of_time = True
        return self._has_enough or self._out_of_time or self._work.is_stopped

    def _window_end(self, start: int, stop: int) -> int:
        """Where a span of whole lines ends, small enough to look at the clock behind it."""
        least, most = start + min(_WINDOW, self._longest // 2), start + self._longest
        if least >= stop:
            return stop
        end = self._text.bytes.find(b"\n", least - 1, min(most, stop)) + 1
        if not end and most < stop:
            self._has_cut_lines = True
        return end or min(most, stop)

    def _next_start(self, end: int, stop: int, found: Sequence[int]) -> int:
        """Where to go on behind a window; in a line that it cuts, some of it is seen again."""
        text = self._text.bytes
        if end == stop or text[end - 1] == _LINE_END:
            return end
        if found and text.find(b"\n", found[-1], end) < 0:  # the line that is cut matches already
            return text.find(b"\n", end, stop) + 1 or stop
        return end - _OVERLAP

    def _in_window(self, start: int, end: int) -> Iterator[int]:
        """First matches, looked for in the neighbourhood of the sieve's hits if there is one."""
        if self._sieve is None:
            yield from self._first_matches(start, end)
            return
        text, search, reach = self._text.bytes, self._sieve.search, _NEIGHBOURHOOD
        while start < end and (hit := search(text, start, end)) is not None:
            begin = text.rfind(b"\n", start, hit.start()) + 1 or start
            start = text.find(b"\n", min(hit.end() + reach, end), end) + 1 or end
            yield from self._first_matches(begin, start)
            reach *= 2

    def _first_matches(self, start: int, end: int) -> Iterator[int]:
        text, search = self._text.bytes, self._pattern.search
        while start < end and (match := search(text, start, end)) is not None:
            if match.start() >= end:  # the empty text behind the last line
                return
            yield match.start()
            start = text.find(b"\n", match.end(), end) + 1 or end


def _pieces(text: FlatText, extents: Sequence[Extent]) -> list[list[Extent]]:
    """The extents in order, dealt out in pieces of whole lines; at least one piece."""
    pieces: list[list[Extent]] = [[]]
    room = _PIECE
    for extent in extents:
        start = extent.start
        while extent.end - start > room:
            cut = text.bytes.find(b"\n", start + room, extent.end) + 1 or extent.end
            pieces[-1].append(Extent(start, cut))
            pieces.append([])
            start, room = cut, _PIECE
        pieces[-1].append(Extent(start, extent.end))
        room -= extent.end - start
    return pieces
