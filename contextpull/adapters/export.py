"""The sections of a store in the form that other tools take."""

from collections.abc import Iterator

from contextpull.store import Snapshot
from contextpull.types import Passage


def passages(snapshot: Snapshot) -> Iterator[Passage]:
    """Every section as a passage, by path, in reading order."""
    for document in snapshot.documents.values():
        for section in snapshot.database.sections_of(document):
            yield Passage(section.id, section.text, section.path)
