"""Read: sections by id, verbatim, with their neighbours."""

from collections.abc import Sequence
from typing import NamedTuple

from contextpull.errors import SectionNotFound
from contextpull.retrieval.paths import LONGEST_PATTERN, nearest, normal_path
from contextpull.store import Snapshot
from contextpull.store.records import StoredDocument, StoredSection

MOST_IDS = 50
MOST_CONTEXT = 5

_WRAPPING = " \t\n`'\"<>[]()"


class ReadSection(NamedTuple):
    """A section that was read, and what stands before and behind it in its document."""

    section: StoredSection
    previous_id: str | None
    next_id: str | None
    is_context: bool
    """True when it was not asked for itself but stands beside one that was."""


def read(snapshot: Snapshot, ids: Sequence[str], *, context: int = 0) -> list[ReadSection]:
    """The sections with these ids, in the order asked for, each once.

    An id may also be that of a heading that was merged into a section, or the path of a document,
    which stands for all its sections. `context` adds so many sections before and behind each.
    Raises SectionNotFound for the first id that leads nowhere.
    """
    asked: dict[int, StoredDocument] = {}
    for section_id in ids:
        document, numbers = _meant(snapshot, section_id)
        asked.update(dict.fromkeys(numbers, document))
    reach = min(max(context, 0), MOST_CONTEXT)
    wanted: dict[int, StoredDocument] = {}
    for number, document in asked.items():
        every = document.section_numbers
        near = range(max(every.start, number - reach), min(every.stop, number + reach + 1))
        wanted.update(dict.fromkeys(near, document))
    beside = sorted({number + step for number in wanted for step in (-1, 1)})
    addresses = snapshot.database.addresses(beside)

    def neighbour(number: int, document: StoredDocument) -> str | None:
        return addresses[number].id if number in document.section_numbers else None

    return [
        ReadSection(
            section,
            neighbour(section.number - 1, wanted[section.number]),
            neighbour(section.number + 1, wanted[section.number]),
            is_context=section.number not in asked,
        )
        for section in snapshot.database.sections(list(wanted))
    ]


def _meant(snapshot: Snapshot, section_id: str) -> tuple[StoredDocument, Sequence[int]]:
    """The document and the numbers of the sections that an id or a path means."""
    section_id = section_id.encode("utf-8", "replace").decode()
    for candidate in dict.fromkeys((section_id, section_id.strip(_WRAPPING))):
        document = _document(snapshot, candidate)
        if document is not None:
            return document, document.section_numbers
        path, _, slug = candidate.rpartition("#")
        document = _document(snapshot, path)
        number = document and _section(snapshot, document, slug)
        if document and number:
            return document, [number]
    raise _not_found(snapshot, section_id.strip(_WRAPPING))


def _section(snapshot: Snapshot, document: StoredDocument, slug: str) -> int | None:
    resolve = snapshot.database.resolve
    return resolve(document, slug) or resolve(document, slug.lower())


def _not_found(snapshot: Snapshot, section_id: str) -> SectionNotFound:
    path, mark, slug = section_id.rpartition("#")
    shown = section_id[:LONGEST_PATTERN]
    if not mark:
        return SectionNotFound(shown, nearest(normal_path(section_id), snapshot.documents))
    document = _document(snapshot, path)
    if document is None:
        paths = nearest(normal_path(path), snapshot.documents)
        return SectionNotFound(shown, [_best_id(snapshot, each, slug) for each in paths])
    slugs = nearest(slug, snapshot.database.slugs_of(document), likeness=0)
    return SectionNotFound(shown, [f"{document.path}#{each}" for each in slugs])


def _document(snapshot: Snapshot, path: str) -> StoredDocument | None:
    for wanted in (path, normal_path(path)):
        if wanted in snapshot.documents:
            return snapshot.documents[wanted]
    alike = snapshot.paths_by_lower.get(normal_path(path).lower(), ())
    return snapshot.documents[alike[0]] if len(alike) == 1 else None


def _best_id(snapshot: Snapshot, path: str, slug: str) -> str:
    """The id in this document whose slug comes closest."""
    slugs = snapshot.database.slugs_of(snapshot.documents[path])
    close = nearest(slug, slugs)
    return f"{path}#{close[0] if close else slugs[0]}"
