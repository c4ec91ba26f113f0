"""Results as compact plain text for a model, and as plain data for a program.

Nothing that is shown of a document is changed: no marks inside it, no escapes.
Every text is capped, says when it was cut, and how to reach the rest.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from contextpull.retrieval.grep import MOST_COUNTED, GrepLine, GrepMatch, GrepResult
from contextpull.retrieval.listing import Listing
from contextpull.retrieval.reading import ReadSection
from contextpull.retrieval.search import Hit, SearchResult
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection

MOST_CHARS = 16_000
"""Characters of one result: under 25,000 tokens in any script, and under what hosts cut."""

_WITHOUT_PHRASES = "Without the quoted text:"
_SHOWN_COPIES = 2
_MOST_COPIES = 10
"""More ids of sections with the same text than this help no program either."""
_SHOWN_CHANGES = 2
_CHANGES_CHARS = 150
_MARKS = 15
"""Characters of a line number and of what may separate lines."""


def fitting_hits(result: SearchResult) -> SearchResult:
    """As many of the hits as one result may hold; at least one."""
    size = 0
    for count, hit in enumerate(result.hits):
        size += sum(len(line) + 1 for line in _hit_lines(hit, result.offset + count))
        if count and size > MOST_CHARS:
            return result._replace(hits=result.hits[:count], has_more=True)
    return result


def search_text(
    snapshot: Snapshot, query: str, result: SearchResult, matches_elsewhere: bool
) -> str:
    """Hits, one id a line, each with its heading path and snippet."""
    lines: list[str] = list(result.notes)
    if not result.hits:
        lines.append(_no_hits(snapshot, query, result.offset, matches_elsewhere))
    all_hold = True
    for rank, hit in enumerate(result.hits, start=result.offset):
        if all_hold and not hit.has_phrases:
            all_hold = False
            lines.append(_WITHOUT_PHRASES)
        lines += _hit_lines(hit, rank)
    if result.has_more:
        lines.append(f"More: offset={result.offset + len(result.hits)}")
    return "\n".join(lines)


def _hit_lines(hit: Hit, rank: int) -> list[str]:
    lines = [f"{rank + 1}. {_titled(hit.section)}"]
    if hit.snippet:
        lines.append(f"   {hit.snippet}")
    if hit.copies:
        lines.append(f"   same text: {_some(hit.copies, _SHOWN_COPIES)}")
    return lines


def _no_hits(snapshot: Snapshot, query: str, offset: int, matches_elsewhere: bool) -> str:
    if offset:
        return f"No hits from {offset} on."
    _, sections, _ = snapshot.database.counts()
    tries = ["other words", "grep for an exact string", "index for what there is"]
    if matches_elsewhere:
        tries.insert(0, "without paths: other documents match")
    if any(mark in query for mark in '"“„«'):
        tries.insert(0, "without the quotes")
    return f"No section matches, of {sections:,}. Try: {'; '.join(tries)}."


def search_data(result: SearchResult) -> dict[str, Any]:
    """Hits with everything that is known of each."""
    return {
        "hits": [
            {
                **_address(hit.section),
                "score": round(hit.score, 4),
                "snippet": hit.snippet,
                "copies": list(hit.copies[:_MOST_COPIES]),
                "has_phrases": hit.has_phrases,
            }
            for hit in result.hits
        ],
        "offset": result.offset,
        "has_more": result.has_more,
        "notes": list(result.notes),
    }


def fitting_matches(result: GrepResult) -> GrepResult:
    """As many of the matching lines as one result may hold, at least one; no context twice."""
    size = 0
    section = -1
    numbers: set[int] = set()
    fitting: list[GrepMatch] = []
    for match in result.matches:
        if match.section.number != section:
            section, numbers = match.section.number, set()
            size += len(_titled(match.section)) + 1
        new = tuple(each for each in match.lines if each.is_match or each.number not in numbers)
        numbers.update(each.number for each in new)
        size += sum(len(each.text) + _MARKS for each in new)
        if fitting and size > MOST_CHARS:
            break
        fitting.append(match._replace(lines=new))
    return result._replace(matches=fitting)


def grep_text(snapshot: Snapshot, pattern: str, regex: bool, result: GrepResult) -> str:
    """Matching lines with their numbers, under the section that holds them."""
    if not result.total:
        return " ".join([_no_lines(snapshot, pattern, regex), *result.notes])
    count = f"{result.total:,}" if result.is_complete else f"At least {result.total:,}"
    found = f"{count} line{'s' if result.total != 1 else ''} in {_documents(result.documents)}."
    lines = [found, *result.notes]
    for group in _by_section(result.matches):
        lines += [_titled(group[0].section), *_numbered(group)]
    after = result.offset + len(result.matches)
    if not result.matches:
        lines.append(f"None of them from {result.offset:,} on.")
    elif after < result.total or not result.is_complete:
        lines.append(f"More: offset={after}")
    return "\n".join(lines)


def _no_lines(snapshot: Snapshot, pattern: str, regex: bool) -> str:
    tries = "search for the words" if regex else "a shorter part, or search for the words"
    where = _documents(len(snapshot.documents))
    return f"No line matches {pattern[:100]!r} in {where}. Try {tries}."


def _documents(count: int) -> str:
    return f"{count:,} document{'s' if count != 1 else ''}"


def _by_section(matches: Sequence[GrepMatch]) -> Iterable[list[GrepMatch]]:
    group: list[GrepMatch] = []
    for match in matches:
        if group and group[0].section.number != match.section.number:
            yield group
            group = []
        group.append(match)
    if group:
        yield group


def _numbered(group: Sequence[GrepMatch]) -> list[str]:
    """Each line once, `12:` where it matches and `12-` around, `--` where lines are missing."""
    merged: dict[int, GrepLine] = {}
    for line in (line for match in group for line in match.lines):
        if line.is_match or line.number not in merged:
            merged[line.number] = line
    lines: list[str] = []
    has_context = any(len(match.lines) > 1 for match in group)
    previous = 0
    for number in sorted(merged):
        if has_context and previous and number != previous + 1:
            lines.append("--")
        line = merged[number]
        lines.append(f"{number}{':' if line.is_match else '-'} {line.text.rstrip()}")
        previous = number
    return lines


def grep_data(result: GrepResult) -> dict[str, Any]:
    """Matching lines with their sections and counts."""
    return {
        "matches": [
            {**_address(match.section), "lines": [line._asdict() for line in match.lines]}
            for match in result.matches
        ],
        "offset": result.offset,
        "total": result.total,
        "total_is_exact": result.is_complete and result.total < MOST_COUNTED,
        "documents": result.documents,
        "notes": list(result.notes),
    }


class Shown(NamedTuple):
    """A section on a page, with as much of its text as the page holds."""

    section: ReadSection
    text: str


class ReadPage(NamedTuple):
    """A page of what was read: its characters from `offset` to `end`, of `total`."""

    sections: list[Shown]
    text: str
    offset: int
    end: int
    total: int

    @property
    def next_offset(self) -> int | None:
        """Where the next page begins; None when nothing is left."""
        return self.end if self.end < self.total else None


def read_page(sections: Sequence[ReadSection], offset: int) -> ReadPage:
    """The sections one after the other, verbatim, from the character `offset` on."""
    shown_ids = {each.section.id for each in sections}
    entries = [_read_entry(each, shown_ids) for each in sections]
    whole = "\n\n".join("".join(entry) for entry in entries)
    end = min(offset + MOST_CHARS, len(whole))
    if end < len(whole):
        end = whole.rfind("\n", offset + MOST_CHARS * 3 // 4, end) + 1 or end
    shown = []
    at = 0
    for each, (head, text, tail) in zip(sections, entries, strict=True):
        begin, at = at + len(head), at + len(head) + len(text) + len(tail) + 2
        if begin - len(head) < end and at - 2 > offset:
            part = text[max(0, offset - begin) : max(0, end - begin)]
            shown.append(Shown(each, each.section.text if part == text else part))
    return ReadPage(shown, whole[offset:end], offset, end, len(whole))


def read_text(page: ReadPage, changed: Sequence[str]) -> str:
    """The page, how to go on when it is cut, and which sections changed since they were seen."""
    if not page.text:
        return f"Nothing left: the text ends at character {page.total:,}."
    lines = [page.text]
    if changed:
        which = _some(changed, _SHOWN_CHANGES)
        which = which if len(which) <= _CHANGES_CHARS else which[:_CHANGES_CHARS] + "…"
        lines.insert(0, f"[CHANGED since you last saw it: {which}]")
    if page.next_offset:
        lines.append(
            f"[cut: characters {page.offset:,} to {page.end:,} of {page.total:,}; "
            f"go on with the same ids and offset={page.end}]"
        )
    return "\n".join(lines)


def _read_entry(each: ReadSection, shown_ids: set[str]) -> tuple[str, str, str]:
    """What stands before the text, the text, and what stands behind.

    A neighbour that is shown itself is not named again.
    """
    section = each.section
    place = f"lines {section.first_line}-{section.last_line}"
    if section.page:
        place += f", {section.pages}"
    if each.is_context:
        place += ", context"
    head = f"[{section.id}] {section.heading_path or section.path} ({place})"
    if section.repeated_header:
        head += f"\n[the table goes on; its header, repeated:]\n{section.repeated_header}"
    beside = [
        f"{name}: {value}"
        for name, value in (("previous", each.previous_id), ("next", each.next_id))
        if value and value not in shown_ids
    ]
    tail = f"\n[{'; '.join(beside)}]" if beside else ""
    return head + "\n", section.text.strip("\r\n"), tail


def read_data(page: ReadPage) -> dict[str, Any]:
    """The sections of the page with their text exactly as the file holds it."""
    return {
        "sections": [
            {
                **_address(each.section),
                "text": text,
                "repeated_header": each.section.repeated_header,
                "previous": each.previous_id,
                "next": each.next_id,
                "is_context": each.is_context,
            }
            for each, text in page.sections
        ],
        "next_offset": page.next_offset,
    }


def index_text(listing: Listing) -> str:
    """The listing and, when it is cut, how to see the rest."""
    if listing.next_offset is None:
        return listing.text
    return f"{listing.text}\n{listing.remaining:,} more: offset={listing.next_offset}"


def index_data(listing: Listing) -> dict[str, Any]:
    """The listing line by line."""
    return {
        "heading": listing.heading,
        "lines": listing.lines,
        "next_offset": listing.next_offset,
        "remaining": listing.remaining,
    }


def _titled(section: StoredSection) -> str:
    about = " | ".join(each for each in (section.heading_path, section.pages) if each)
    return f"{section.id} | {about}" if about else section.id


def _some(ids: Sequence[str], most: int) -> str:
    shown = ", ".join(ids[:most])
    more = len(ids) - most
    return f"{shown} and {more} more" if more > 0 else shown


def _address(section: StoredSection) -> dict[str, Any]:
    return {
        "id": section.id,
        "path": section.path,
        "heading_path": section.heading_path,
        "first_line": section.first_line,
        "last_line": section.last_line,
        "page": section.page,
        "last_page": section.last_page,
    }
