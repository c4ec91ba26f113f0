"""Opening a store for reading, and keeping up with it while others write."""

import os
import tempfile
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from filelock import Timeout

from contextpull.errors import StoreError
from contextpull.store import derived, flat_text, lexical
from contextpull.store.database import FILE, Database
from contextpull.store.flat_text import FlatText
from contextpull.store.ingest import writer_lock
from contextpull.store.lexical import LexicalIndex
from contextpull.store.records import StoredDocument

_WAIT_FOR_WRITER = 10.0
"""Seconds to wait for a writer that is between the commit and the end of the derived parts."""

_Part = TypeVar("_Part", LexicalIndex, FlatText)


class Snapshot:
    """One whole generation: database, lexical index and flat text that belong together."""

    def __init__(
        self, database: Database, index: LexicalIndex, text: FlatText, notes: tuple[str, ...] = ()
    ) -> None:
        self.database = database
        self.index = index
        self.text = text
        self.notes = notes
        """What is not as it should be, for whoever looks after the store."""

    @property
    def generation(self) -> int:
        """The number of the ingest that this is the result of."""
        return self.database.generation

    @cached_property
    def documents(self) -> dict[str, StoredDocument]:
        """The documents whose sections can be found, by path, in order."""
        every = self.database.documents()
        return {document.path: document for document in every if not document.problem}

    @cached_property
    def documents_by_number(self) -> dict[int, StoredDocument]:
        """The same by number."""
        return {document.number: document for document in self.documents.values()}


class Store:
    """A store opened for reading; `snapshot()` follows it from generation to generation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen = _signature(path)
        self._snapshot = _open_snapshot(path)

    def snapshot(self) -> Snapshot:
        """The newest whole generation; a look at one file's status when nothing changed."""
        signature = _signature(self.path)
        if signature != self._seen and signature is not None:
            with self._lock:
                if signature != self._seen and (newer := _newer_snapshot(self.path)):
                    self._seen, self._snapshot = signature, newer
        return self._snapshot


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open the store in a folder for reading.

    A derived part that is missing, behind or damaged is built again; where the folder cannot be
    written to, in a private place for as long as the store is open, with a note that says so.
    Raises StoreNotFound, or StoreError when the database itself is damaged or too new.
    """
    return Store(Path(path))


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        status = (path / FILE).stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def _newer_snapshot(path: Path) -> Snapshot | None:
    """The new generation if it is complete, or can be completed now; None to ask again later."""
    try:
        database = Database(path / FILE)
        if derived.derived_problems(path, database) and _writer_is_at_work(path):
            return None
        return _open_snapshot(path)
    except StoreError:
        return None


def _writer_is_at_work(path: Path) -> bool:
    try:
        with writer_lock(path).acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _open_snapshot(path: Path) -> Snapshot:
    database = Database(path / FILE)
    if not derived.derived_problems(path, database):
        return _assemble(database, path)
    try:
        with writer_lock(path).acquire(timeout=_WAIT_FOR_WRITER):
            database = Database(path / FILE)
            derived.rebuild(path, database)
            return _assemble(database, path)
    except Timeout:
        return _open_privately(path, "another process is writing")
    except OSError as error:
        return _open_privately(path, f"the store cannot be written to: {error.strerror or error}")


def _assemble(database: Database, path: Path) -> Snapshot:
    index = LexicalIndex.open(path / lexical.FOLDER)
    return Snapshot(database, index, FlatText(path / flat_text.FILE))


def _open_privately(path: Path, reason: str) -> Snapshot:
    """Build what is wrong in a temporary folder that goes when the snapshot goes."""
    database = Database(path / FILE)
    problems = derived.derived_problems(path, database)
    with tempfile.TemporaryDirectory(prefix="contextpull-") as private:
        index = _sound(LexicalIndex.open, path / lexical.FOLDER, database) or _rebuilt_index(
            Path(private), database
        )
        text = _sound(FlatText, path / flat_text.FILE, database) or _rebuilt_text(
            Path(private), database
        )
    notes = tuple(f"{problem}, and {reason}; built for this process alone" for problem in problems)
    return Snapshot(database, index, text, notes)


def _sound(open_part: Callable[[Path], _Part], path: Path, database: Database) -> _Part | None:
    try:
        part = open_part(path)
    except StoreError:
        return None
    return part if part.generation == database.generation else None


def _rebuilt_index(folder: Path, database: Database) -> LexicalIndex:
    derived.rebuild_lexical(folder, database)
    # The engine maps its files when it opens them: they may be unlinked from then on.
    return LexicalIndex.open(folder / lexical.FOLDER)


def _rebuilt_text(folder: Path, database: Database) -> FlatText:
    derived.rebuild_flat_text(folder, database)
    return FlatText(folder / flat_text.FILE)
