"""Grep: every line that matches, in document order, in time linear in the text."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import re2

from contextpull.errors import InvalidInput
from contextpull.retrieval.paths import matching_documents
from contextpull.retrieval.scanning import LONGEST_PATTERN, Scan
from contextpull.retrieval.sieve import sieve_of
from contextpull.retrieval.snippets import clip_line
from contextpull.retrieval.work import Work
from contextpull.store import Snapshot
from contextpull.store.flat_text import FlatText
from contextpull.store.records import StoredSection

MOST_LINES = 100
MOST_CONTEXT = 10
LONGEST_LINE = 240
MOST_COUNTED = 10_000
"""Matching lines are counted up to this."""

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
    work: Work | None = None,
) -> GrepResult:
    """Find the lines that hold a literal text, or match an RE2 regular expression.

    `ignore_case` None is smart case: ignored unless the pattern has a capital letter.
    Raises InvalidInput for a pattern that cannot be used, PathNotFound for a path that means no
    document, Stopped when `work` is to end.
    """
    compiled = compile_pattern(pattern, regex=regex, ignore_case=ignore_case)
    chosen = matching_documents(snapshot, paths) if paths else None
    numbers = None if chosen is None else {document.number for document in chosen}
    limit = max(1, min(limit, MOST_LINES))
    sieve = sieve_of(pattern, regex=regex, case_sensitive=compiled.options.case_sensitive)
    scan = Scan(snapshot.text, compiled, sieve, work)
    found = scan.run(numbers, max(MOST_COUNTED, offset + limit))
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
