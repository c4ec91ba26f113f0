"""Grep: every line that matches, in document order, in time linear in the text."""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import re2

from contextpull.errors import InvalidInput
from contextpull.retrieval.paths import matching_documents
from contextpull.retrieval.snippets import clip_line
from contextpull.store import Snapshot
from contextpull.store.flat_text import Extent, FlatText
from contextpull.store.records import StoredSection

MOST_LINES = 100
MOST_CONTEXT = 10
LONGEST_PATTERN = 1_000
LONGEST_LINE = 240
MOST_COUNTED = 10_000
"""Matching lines are counted up to this."""

_SECONDS = 1.0
"""A pattern that takes longer, which only a contrived one does, ends with what was found."""
_WINDOW = 128 * 1024
_STEPS_AT_ONCE = 500_000_000
"""The engine cannot be stopped while it looks at one window: so many steps take half a second."""
_OVERLAP = 4 * LONGEST_PATTERN + 96
"""Bytes of a line cut into windows that are looked at twice: no literal text is missed."""
_PARALLEL_BYTES = 8 * 1024 * 1024
_LINE_END = ord("\n")
_LINEWISE = "(?m)"


class GrepLine(NamedTuple):
    """A line of a document, by its number in the file."""

    number: int
    text: str
    is_match: bool


class GrepMatch(NamedTuple):
    """A matching line with the lines around it."""

    section: StoredSection
    lines: tuple[GrepLine, ...]


class GrepResult(NamedTuple):
    """A page of matching lines, in document order."""

    matches: list[GrepMatch]
    offset: int
    total: int
    """How many lines match, counted up to `MOST_COUNTED`."""
    documents: int
    """In how many documents they are."""
    is_complete: bool
    """False when counting stopped early: there are more, or the pattern took too long."""
    notes: tuple[str, ...]


def grep(
    snapshot: Snapshot,
    pattern: str,
    *,
    regex: bool = False,
    ignore_case: bool | None = None,
    paths: Sequence[str] = (),
    context: int = 0,
    limit: int = 20,
    offset: int = 0,
) -> GrepResult:
    """Find the lines that hold a literal text, or match an RE2 regular expression.

    `ignore_case` None is smart case: ignored unless the pattern has a capital letter.
    Raises InvalidInput for a pattern that cannot be used, PathNotFound for a path that means no
    document.
    """
    compiled = compile_pattern(pattern, regex=regex, ignore_case=ignore_case)
    chosen = matching_documents(snapshot, paths) if paths else None
    numbers = None if chosen is None else {document.number for document in chosen}
    limit = max(1, min(limit, MOST_LINES))
    found = _Scan(snapshot.text, compiled).run(numbers, max(MOST_COUNTED, offset + limit))
    page = found.offsets[offset : offset + limit]
    documents = {snapshot.text.document_at(each) for each in found.offsets}
    return GrepResult(
        matches=list(_matches(snapshot, page, min(max(context, 0), MOST_CONTEXT))),
        offset=offset,
        total=len(found.offsets),
        documents=len(documents),
        is_complete=found.is_complete,
        notes=found.notes,
    )


def compile_pattern(pattern: str, *, regex: bool, ignore_case: bool | None) -> Any:
    """The compiled pattern; a match never spans lines.

    Raises InvalidInput with what to change.
    """
    if not pattern:
        raise InvalidInput("The pattern is empty. Give the text or expression to look for.")
    if len(pattern) > LONGEST_PATTERN:
        raise InvalidInput(
            f"The pattern is longer than {LONGEST_PATTERN:,} characters. Shorten it."
        )
    if "\n" in pattern and not regex:
        raise InvalidInput(
            "A pattern matches within one line. Look for a part without line breaks."
        )
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise InvalidInput("The pattern holds half a character (a lone surrogate). Leave it out.")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    options.case_sensitive = (
        _has_capital(pattern, regex) if ignore_case is None else not ignore_case
    )
    try:
        return re2.compile(_LINEWISE + pattern if regex else re2.escape(pattern), options)
    except re2.error as error:
        raise InvalidInput(_explained(pattern, error)) from None


def _has_capital(pattern: str, regex: bool) -> bool:
    if not regex:
        return pattern != pattern.lower()
    plain = _without_escapes(pattern)
    return plain != plain.lower()


def _without_escapes(pattern: str) -> str:
    """The pattern without its escapes: the capital in `\\W` or `\\pL` is no letter to match."""
    kept = []
    at = 0
    while at < len(pattern):
        if pattern[at] != "\\":
            kept.append(pattern[at])
            at += 1
        elif pattern[at + 1 : at + 2] in {"p", "P"}:
            end = pattern.find("}", at) if pattern[at + 2 : at + 3] == "{" else at + 2
            at = (end if end > 0 else at + 2) + 1
        else:
            at += 2
    return "".join(kept)


def _explained(pattern: str, error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    detail = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    detail = detail.replace(_LINEWISE, "")[:100]
    hint = "To look for it literally, leave regex out."
    if any(sign in pattern for sign in ("(?=", "(?!", "(?<")) or "invalid escape" in detail:
        hint = (
            "Lookarounds and back-references are not part of RE2; a plain pattern must do. " + hint
        )
    return f"The regular expression {pattern[:100]!r} cannot be used: {detail}. {hint}"


class _Found(NamedTuple):
    offsets: list[int]
    """Where each matching line's first match begins, in document order."""
    is_complete: bool
    notes: tuple[str, ...]


class _Scan:
    """One pass over the flat text, in as many threads as there are processors."""

    def __init__(self, text: FlatText, pattern: Any) -> None:
        self._text = text
        self._pattern = pattern
        self._deadline = time.monotonic() + _SECONDS
        self._out_of_time = False
        self._longest = max(4 * _OVERLAP, _STEPS_AT_ONCE // max(1, pattern.programsize))
        self._has_cut_lines = False

    def run(self, documents: set[int] | None, most: int) -> _Found:
        extents = self._text.extents(documents)
        shares = _shares(self._text, extents)
        if len(shares) == 1:
            offsets = self._lines(shares[0], most)
        else:
            with ThreadPoolExecutor(len(shares)) as pool:
                parts = pool.map(lambda share: self._lines(share, most), shares)
                offsets = [offset for part in parts for offset in part]
        return _Found(
            offsets[:most], len(offsets) < most and not self._out_of_time, tuple(self._notes())
        )

    def _notes(self) -> Iterator[str]:
        if self._out_of_time:
            yield (
                f"Stopped after {_SECONDS} s: this expression is slow. "
                "Simplify it (bound less, repeat less) or narrow it with paths."
            )
        if self._has_cut_lines:
            yield (
                f"Lines over {self._longest // 2:,} bytes were looked at in pieces; in them a"
                f" match of more than {_OVERLAP:,} may be missing."
            )

    def _lines(self, extents: Sequence[Extent], most: int) -> list[int]:
        """The first match of each matching line; the engine runs outside the interpreter's lock."""
        text, search = self._text.bytes, self._pattern.search
        found: list[int] = []
        for start, stop in extents:
            while start < stop:
                if time.monotonic() > self._deadline:
                    self._out_of_time = True
                    return found
                at, end = start, self._window_end(start, stop)
                while at < end and (match := search(text, at, end)) is not None:
                    offset = match.start()
                    if offset >= end:
                        break
                    found.append(offset)
                    if len(found) >= most:
                        return found
                    at = text.find(b"\n", match.end(), stop) + 1 or stop
                is_inside_line = end < stop and text[end - 1] != _LINE_END
                start = max(at, end - _OVERLAP if is_inside_line else end)
        return found

    def _window_end(self, start: int, stop: int) -> int:
        """Where a span of whole lines ends, small enough to look at the clock behind it."""
        least, most = start + min(_WINDOW, self._longest // 2), start + self._longest
        if least >= stop:
            return stop
        end = self._text.bytes.find(b"\n", least - 1, min(most, stop)) + 1
        if not end and most < stop:
            self._has_cut_lines = True
        return end or min(most, stop)


def _shares(text: FlatText, extents: list[Extent]) -> list[list[Extent]]:
    """The extents in order, dealt out evenly to the processors when there is much to scan."""
    size = sum(extent.end - extent.start for extent in extents)
    count = os.cpu_count() or 1
    if size < _PARALLEL_BYTES or count == 1:
        return [extents]
    target = size // min(count, 8) + 1
    shares: list[list[Extent]] = [[]]
    room = target
    for extent in extents:
        start = extent.start
        while extent.end - start > room:
            cut = text.bytes.find(b"\n", start + room, extent.end) + 1 or extent.end
            shares[-1].append(Extent(start, cut))
            shares.append([])
            start, room = cut, target
        shares[-1].append(Extent(start, extent.end))
        room -= extent.end - start
    return [share for share in shares if share]


def _matches(snapshot: Snapshot, offsets: Sequence[int], context: int) -> Iterator[GrepMatch]:
    text = snapshot.text
    numbers = [text.section_at(offset) for offset in offsets]
    sections = {
        section.number: section
        for section in snapshot.database.sections(list(dict.fromkeys(numbers)))
    }
    for offset, number in zip(offsets, numbers, strict=True):
        section = sections[number]
        start = text.section_start(offset)
        line = section.first_line + text.bytes[start:offset].count(b"\n")
        yield GrepMatch(section, tuple(_lines_around(text, offset, line, context)))


def _lines_around(text: FlatText, offset: int, number: int, context: int) -> Iterator[GrepLine]:
    """The matching line, with lines of the same document around it."""
    extent = text.document_extent(offset)
    start = text.bytes.rfind(b"\n", extent.start, offset) + 1 or extent.start
    end = text.bytes.find(b"\n", offset, extent.end)
    end = extent.end if end < 0 else end
    before: list[GrepLine] = []
    edge = start
    for back in range(1, context + 1):
        if edge <= extent.start:
            break
        begin = text.bytes.rfind(b"\n", extent.start, edge - 1) + 1 or extent.start
        before.append(GrepLine(number - back, _shown(text, begin, edge - 1, begin), False))
        edge = begin
    yield from reversed(before)
    yield GrepLine(number, _shown(text, start, end, offset), True)
    for ahead in range(1, context + 1):
        start = end + 1
        if start >= extent.end:
            break
        end = text.bytes.find(b"\n", start, extent.end)
        end = extent.end if end < 0 else end
        yield GrepLine(number + ahead, _shown(text, start, end, start), False)


def _shown(text: FlatText, start: int, end: int, focus: int) -> str:
    """A line, cut around the focus when it is long; only what is shown is decoded."""
    reach = 4 * LONGEST_LINE
    begin, stop = max(start, focus - reach), min(end, focus + reach)
    head = text.bytes[begin:focus].decode("utf-8", "ignore")
    tail = text.bytes[focus:stop].decode("utf-8", "ignore")
    clipped = clip_line(head + tail, len(head), LONGEST_LINE)
    lost = (begin > start or stop < end) and not clipped.is_cut
    return clipped.text + "…" if lost else clipped.text
