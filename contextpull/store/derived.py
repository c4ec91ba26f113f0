"""What is derived from the database: made beside an ingest, checked, rebuilt."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from contextpull.errors import StoreError
from contextpull.sections.fields import SearchFields
from contextpull.store import flat_text, lexical
from contextpull.store.database import FILE, Database, DatabaseWriter
from contextpull.store.flat_text import FlatText, write_flat_text
from contextpull.store.lexical import LexicalIndex, LexicalWriter
from contextpull.store.parsing import fields_of
from contextpull.store.records import StoredDocument

_BYTES_PER_SECTION = 400
"""A rough size of a section, to choose how much memory the engine gets."""


class DerivedWriter:
    """Brings the derived parts from one generation to the next while an ingest runs."""

    def __init__(self, store: Path, previous: Database | None, *, bytes_to_add: int) -> None:
        """Prepare to follow `previous`, or to start from nothing when it is None."""
        self._store = store
        self._previous = previous.generation if previous else 0
        self._must_rebuild = bool(previous and _lexical_problem(store, previous.generation))
        if not self._must_rebuild:
            sections = bytes_to_add // _BYTES_PER_SECTION
            folder = store / lexical.FOLDER
            self._writer = LexicalWriter(folder, afresh=previous is None, sections=sections)

    def remove(self, document: StoredDocument) -> None:
        """A document's sections go."""
        if not self._must_rebuild:
            self._writer.remove_document(document.number)

    def add(self, document: StoredDocument, fields: Sequence[tuple[str, ...]]) -> None:
        """A document's sections come."""
        if not self._must_rebuild:
            for number, each in enumerate(fields, start=document.first_section):
                self._writer.add(number, document.number, SearchFields(*each))

    def commit(self, database: Database) -> None:
        """Make the derived parts those of the generation that was just committed."""
        if self._must_rebuild:
            rebuild_lexical(self._store, database)
        else:
            self._writer.commit(database.generation)
        rebuild_flat_text(self._store, database, follows=self._previous)


@contextmanager
def next_generation(
    store: Path, base: Database | None, generation: int, *, bytes_to_add: int
) -> Iterator[tuple[DatabaseWriter, DerivedWriter]]:
    """What a block writes generation number `generation` with, from a copy of `base` or afresh.

    The block commits the database; the derived parts follow it. If it fails, nothing changes.
    """
    writer = DatabaseWriter(store / FILE, base, generation)
    derived = DerivedWriter(store, base, bytes_to_add=bytes_to_add)
    try:
        yield writer, derived
    except BaseException:
        writer.discard()
        raise
    derived.commit(Database(store / FILE))


def discard(store: Path) -> None:
    """Delete every derived part, before a database that they do not belong to takes its place."""
    shutil.rmtree(store / lexical.FOLDER, ignore_errors=True)
    (store / flat_text.FILE).unlink(missing_ok=True)


def derived_problems(store: Path, database: Database) -> list[str]:
    """What is missing, behind or damaged, in words; empty when all is well."""
    generation = database.generation
    problems = [_lexical_problem(store, generation), _flat_problem(store, generation)]
    return [problem for problem in problems if problem]


def rebuild(store: Path, database: Database) -> list[str]:
    """Build every derived part that is not in order anew; what was wrong, in words."""
    lexical_problem = _lexical_problem(store, database.generation)
    flat_problem = _flat_problem(store, database.generation)
    if lexical_problem:
        rebuild_lexical(store, database)
    if flat_problem:
        rebuild_flat_text(store, database)
    return [problem for problem in (lexical_problem, flat_problem) if problem]


def rebuild_lexical(store: Path, database: Database) -> None:
    """Build the lexical index anew in the folder `store`."""
    _, sections, _ = database.counts()
    writer = LexicalWriter(store / lexical.FOLDER, afresh=True, sections=sections)
    for document in database.documents():
        if document.sections:
            stored = database.sections_of(document)
            for section, fields in zip(stored, fields_of(document, stored), strict=True):
                writer.add(section.number, document.number, fields)
    writer.commit(database.generation)


def rebuild_flat_text(store: Path, database: Database, *, follows: int = 0) -> None:
    """Write the flat text anew in the folder `store`.

    What did not change since the generation it `follows` is copied from the flat text of that.
    """
    previous = None
    with suppress(StoreError):
        previous = FlatText(store / flat_text.FILE, verify=True) if follows else None
    if previous and previous.generation != follows:
        previous = None
    documents = (document for document in database.documents() if document.sections)
    write_flat_text(
        store / flat_text.FILE, database.generation, documents, database.texts_of, previous
    )


def _lexical_problem(store: Path, generation: int) -> str:
    return _problem("lexical index", LexicalIndex.open, store / lexical.FOLDER, generation)


def _flat_problem(store: Path, generation: int) -> str:
    return _problem("flat text", FlatText, store / flat_text.FILE, generation)


def _problem(
    name: str, open_part: Callable[[Path], LexicalIndex | FlatText], path: Path, generation: int
) -> str:
    try:
        found = open_part(path).generation
    except StoreError:
        return f"the {name} was missing or damaged"
    return "" if found == generation else f"the {name} was not of the last generation"
