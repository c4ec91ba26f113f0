"""A store of documents that were cut elsewhere: judged collections, the passages of other tools."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from contextpull.errors import StoreConflict
from contextpull.store.database import (
    FILE,
    anchor_rows,
    new_document,
    remove_leftovers,
    section_rows,
)
from contextpull.store.derived import discard, next_generation
from contextpull.store.ingest import writing
from contextpull.store.opening import Snapshot, open_store
from contextpull.store.parsing import ParsedFile, digest, fields_of
from contextpull.store.records import StoredCorpus
from contextpull.types import Section


def build_store(
    folder: Path, root: str, documents: Iterable[ParsedFile], *, bytes_to_add: int = 0
) -> Snapshot:
    """Write a store of these documents into a folder that holds none, and open it.

    Documents and sections are numbered from 1 in the order given; paths must differ. `root` is
    what the store names as its corpus, `bytes_to_add` about how much text is to come.
    Raises StoreConflict when there is a store already, StoreBusy and StoreError as `ingest` does.
    """
    with writing(folder):
        if (folder / FILE).exists():
            raise StoreConflict(
                f"The folder {str(folder)!r} holds a store already. Name another, or delete it."
            )
        remove_leftovers(folder)
        discard(folder)
        _write(folder, root, documents, bytes_to_add)
    return open_store(folder).snapshot()


def whole_document(path: str, sections: Sequence[Section], *, title: str = "") -> ParsedFile:
    """A document on its way into a store, of sections that lie ready; its text is theirs joined."""
    text = "".join(section.text for section in sections)
    data = text.encode()
    document = new_document(
        path,
        None,
        title=title,
        chars=len(text),
        size=len(data),
        mtime_ns=0,
        digest=digest(data),
    )
    fields = [tuple(each) for each in fields_of(document, sections)]
    return ParsedFile(document, section_rows(sections), anchor_rows(sections), fields)


def _write(folder: Path, root: str, documents: Iterable[ParsedFile], bytes_to_add: int) -> None:
    with next_generation(folder, None, 1, bytes_to_add=bytes_to_add) as (writer, derived):
        for each in documents:
            stored = writer.add(each.document, each.sections, each.anchors)
            derived.add(stored, each.fields)
        writer.commit([StoredCorpus("", root)], {})
