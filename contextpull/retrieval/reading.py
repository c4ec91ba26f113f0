"""Read: sections by id, verbatim, with their neighbours."""

from collections.abc import Sequence
from typing import NamedTuple

from contextpull.errors import SectionNotFound
from contextpull.retrieval.paths import nearest, normal_path
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
    asked = [number for section_id in ids for number in _numbers(snapshot, section_id)]
    wanted: dict[int, bool] = {}
    for number in asked:
        for near in _around(snapshot, number, min(max(context, 0), MOST_CONTEXT)):
            wanted[near] = wanted.get(near, True) and near != number
    sections = snapshot.database.sections(list(wanted))
    return [
        ReadSection(
            section,
            *_neighbours(snapshot, section),
            is_context=wanted[section.number] and section.number not in asked,
        )
        for section in sections
    ]


def _numbers(snapshot: Snapshot, section_id: str) -> Sequence[int]:
    cleaned = section_id.strip(_WRAPPING)
    path, mark, slug = cleaned.rpartition("#")
    if not mark:
        document = _document(snapshot, cleaned)
        if document is not None:
            return range(document.first_section, document.first_section + document.sections)
        raise SectionNotFound(section_id, nearest(normal_path(cleaned), snapshot.documents))
    document = _document(snapshot, path)
    if document is None:
        paths = nearest(normal_path(path), snapshot.documents)
        raise SectionNotFound(section_id, [_best_id(snapshot, each, slug) for each in paths])
    for candidate in (slug, slug.lower()):
        number = snapshot.database.resolve(document, candidate)
        if number is not None:
            return [number]
    slugs = nearest(slug, snapshot.database.slugs_of(document), likeness=0)
    raise SectionNotFound(section_id, [f"{document.path}#{each}" for each in slugs])


def _document(snapshot: Snapshot, path: str) -> StoredDocument | None:
    wanted = normal_path(path)
    if wanted in snapshot.documents:
        return snapshot.documents[wanted]
    folded = wanted.lower()
    alike = [each for each in snapshot.documents if each.lower() == folded]
    return snapshot.documents[alike[0]] if len(alike) == 1 else None


def _best_id(snapshot: Snapshot, path: str, slug: str) -> str:
    """The id in this document whose slug comes closest."""
    slugs = snapshot.database.slugs_of(snapshot.documents[path])
    close = nearest(slug, slugs)
    return f"{path}#{close[0] if close else slugs[0]}"


def _around(snapshot: Snapshot, number: int, context: int) -> Sequence[int]:
    if not context:
        return [number]
    document = _document_of(snapshot, number)
    first, last = document.first_section, document.first_section + document.sections - 1
    return range(max(first, number - context), min(last, number + context) + 1)


def _document_of(snapshot: Snapshot, number: int) -> StoredDocument:
    (section,) = snapshot.database.sections([number])
    return snapshot.documents[section.path]


def _neighbours(snapshot: Snapshot, section: StoredSection) -> tuple[str | None, str | None]:
    document = snapshot.documents[section.path]
    first, last = document.first_section, document.first_section + document.sections - 1
    before = snapshot.database.section_id(section.number - 1) if section.number > first else None
    behind = snapshot.database.section_id(section.number + 1) if section.number < last else None
    return before, behind
