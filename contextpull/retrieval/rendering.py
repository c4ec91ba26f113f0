"""Results as compact plain text for a model, and as plain data for a program.

Nothing that is shown of a document is changed: no marks inside it, no escapes.
Every text is capped, says when it was cut, and how to reach the rest.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from contextpull.retrieval.grep import MOST_COUNTED, GrepLine, GrepMatch, GrepResult
from contextpull.retrieval.listing import Listing
from contextpull.retrieval.reading import ReadSection
from contextpull.retrieval.search import SearchResult
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection

MOST_CHARS = 16_000
"""Characters of one result: under 25,000 tokens in any script, and under what hosts cut."""

_SHOWN_COPIES = 2


def search_text(
    snapshot: Snapshot, query: str, result: SearchResult, matches_elsewhere: bool
) -> str:
    """Hits, one id a line, each with its heading path and snippet."""
    if not result.hits:
        return _no_hits(snapshot, query, result.offset, matches_elsewhere)
    lines: list[str] = list(result.notes)
    shown = 0
    size = 0
    for hit in result.hits:
        entry = [f"{result.offset + shown + 1}. {_titled(hit.section)}"]
        if hit.snippet:
            entry.append(f"   {hit.snippet}")
        if hit.copies:
            entry.append(f"   same text: {_some(hit.copies)}")
        size += sum(len(line) + 1 for line in entry)
        if shown and size > MOST_CHARS:
            break
        lines += entry
        shown += 1
    if result.has_more or shown < len(result.hits):
        lines.append(f"More: offset={result.offset + shown}")
    return "\n".join(lines)


def _no_hits(snapshot: Snapshot, query: str, offset: int, matches_elsewhere: bool) -> str:
    if offset:
        return f"No hits from {offset} on."
    _, sections, _ = snapshot.database.counts()
    tries = ["other words", "grep for an exact string", "index for what there is"]
    if matches_elsewhere:
        tries.insert(0, "without paths: other documents match")
    if '"' in query or "“" in query:
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
                "copies": list(hit.copies),
            }
            for hit in result.hits
        ],
        "offset": result.offset,
        "has_more": result.has_more,
        "notes": list(result.notes),
    }


def grep_text(snapshot: Snapshot, pattern: str, regex: bool, result: GrepResult) -> str:
    """Matching lines with their numbers, under the section that holds them."""
    if not result.total:
        return _no_lines(snapshot, pattern, regex, result)
    count = f"{result.total:,}" if result.is_complete else f"At least {result.total:,}"
    lines = [
        f"{count} line{'s' if result.total != 1 else ''} in {result.documents:,}"
        f" document{'s' if result.documents != 1 else ''}.",
        *result.notes,
    ]
    shown = 0
    size = 0
    for group in _by_section(result.matches):
        entry = [_titled(group[0].section), *_numbered(group)]
        size += sum(len(line) + 1 for line in entry)
        if shown and size > MOST_CHARS:
            break
        lines += entry
        shown += len(group)
    after = result.offset + shown
    if after < result.total:
        lines.append(f"More: offset={after}")
    return "\n".join(lines)


def _no_lines(snapshot: Snapshot, pattern: str, regex: bool, result: GrepResult) -> str:
    if result.notes:
        return " ".join(result.notes)
    documents = len(snapshot.documents)
    tries = "search for the words" if regex else "a shorter part, or search for the words"
    return f"No line matches {pattern[:100]!r} in {documents:,} documents. Try {tries}."


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


def read_text(sections: Sequence[ReadSection], offset: int, changed: set[str]) -> str:
    """The sections one after the other, verbatim; the page from `offset` on when they are long."""
    whole = "\n\n".join(_read_entry(each, each.section.id in changed) for each in sections)
    if offset >= len(whole):
        return f"Nothing left: the text ends at character {len(whole):,}."
    if offset == 0 and len(whole) <= MOST_CHARS:
        return whole
    end = min(offset + MOST_CHARS, len(whole))
    if end < len(whole):
        end = whole.rfind("\n", offset + MOST_CHARS * 3 // 4, end) + 1 or end
    page = whole[offset:end]
    if end == len(whole):
        return page
    return (
        f"{page}\n[cut: characters {offset:,} to {end:,} of {len(whole):,}; "
        f"go on with the same ids and offset={end}]"
    )


def _read_entry(each: ReadSection, has_changed: bool) -> str:
    section = each.section
    place = f"lines {section.first_line}-{section.last_line}"
    notes = [place]
    if each.is_context:
        notes.append("context")
    if has_changed:
        notes.append("CHANGED since you last saw it")
    head = f"[{section.id}] {section.heading_path or section.path} ({', '.join(notes)})"
    if section.repeated_header:
        head += f"\n[the table goes on; its header, repeated:]\n{section.repeated_header}"
    beside = [
        f"{name}: {value}"
        for name, value in (("previous", each.previous_id), ("next", each.next_id))
        if value
    ]
    tail = f"\n[{'; '.join(beside)}]" if beside else ""
    return f"{head}\n{section.text.strip(chr(10) + chr(13))}{tail}"


def read_data(sections: Sequence[ReadSection]) -> dict[str, Any]:
    """The sections with their text exactly as the file holds it."""
    return {
        "sections": [
            {
                **_address(each.section),
                "text": each.section.text,
                "repeated_header": each.section.repeated_header,
                "previous": each.previous_id,
                "next": each.next_id,
                "is_context": each.is_context,
            }
            for each in sections
        ]
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
    path = section.heading_path
    return f"{section.id} | {path}" if path else section.id


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_SHOWN_COPIES])
    more = len(ids) - _SHOWN_COPIES
    return f"{shown} and {more} more" if more > 0 else shown


def _address(section: StoredSection) -> dict[str, Any]:
    return {
        "id": section.id,
        "path": section.path,
        "heading_path": section.heading_path,
        "first_line": section.first_line,
        "last_line": section.last_line,
    }
