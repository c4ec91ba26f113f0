"""Opening a store for reading, and keeping up with it while others write."""

import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from filelock import Timeout

from contextpull.errors import StoreError
from contextpull.store import dense, derived, flat_text, lexical
from contextpull.store.database import FILE, Database
from contextpull.store.dense import DenseIndex
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
        self,
        database: Database,
        index: LexicalIndex,
        text: FlatText,
        notes: tuple[str, ...] = (),
        *,
        is_partial: bool = False,
    ) -> None:
        """Put parts together; `is_partial` when the store keeps vectors of more than they hold."""
        self.database = database
        self.index = index
        self.text = text
        self.notes = notes
        """What is not as it should be, for whoever looks after the store."""
        self._is_partial = is_partial

    @property
    def keeps_vectors(self) -> bool:
        """Whether the sections are to have vectors, by the store's own record."""
        return bool(self.database.embedder)

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
    def dense(self) -> DenseIndex:
        """The vectors of the sections; opened when they are first asked for.

        Raises StoreError when there are none that belong to this numbering of sections,
        MissingExtra without faiss.
        """
        store = self.database.path.parent
        if not self.database.embedder:
            raise StoreError(
                "this store keeps no vectors; contextpull ingest --embedder makes them."
            )
        within = None
        if self._is_partial:
            within = [document.section_numbers for document in self.documents.values()]
        index = DenseIndex(store / dense.FOLDER, within)
        if index.manifest.numbering != self.database.numbering:
            raise StoreError("the vectors are behind; contextpull ingest makes new ones.")
        return index

    @cached_property
    def path_lines(self) -> tuple[bytes, dict[int, StoredDocument]]:
        """The paths of the documents, a line each, and the document of each line by its offset.

        NUL, which no path holds, stands for a line break within a path.
        """
        lines = [path.replace("\n", "\0").encode() + b"\n" for path in self.documents]
        starts = accumulate(map(len, lines), initial=0)
        return b"".join(lines), dict(zip(starts, self.documents.values(), strict=False))

    @cached_property
    def paths_by_lower(self) -> dict[str, list[str]]:
        """The paths of the documents by their lower-case form."""
        paths: dict[str, list[str]] = {}
        for path in self.documents:
            paths.setdefault(path.lower(), []).append(path)
        return paths


class Store:
    """A store opened for reading; `snapshot()` follows it from generation to generation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen = _signature(path)
        self._snapshot = _open_snapshot(path)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy, in another process too, is the same folder opened again."""
        return open_store, (self.path.absolute(),)

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


def _signature(path: Path) -> tuple[int, ...] | None:
    """What changes with every generation, and when vectors come to one that had none."""
    try:
        status = (path / FILE).stat()
    except OSError:
        return None
    vectors = 0
    with suppress(OSError):
        vectors = (path / dense.FOLDER).stat().st_mtime_ns
    return (status.st_ino, status.st_mtime_ns, status.st_size, vectors)


def _newer_snapshot(path: Path) -> Snapshot | None:
    """The new generation if it is complete, or can be completed now; None to ask again later."""
    try:
        whole = _whole_snapshot(path)
        if whole is None and _writer_is_at_work(path):
            return None
        return whole or _open_snapshot(path)
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
    whole = _whole_snapshot(path)
    if whole is not None:
        return whole
    reason = "another process is writing"
    try:
        with writer_lock(path).acquire(timeout=_WAIT_FOR_WRITER):
            derived.rebuild(path, Database(path / FILE))
            whole = _whole_snapshot(path)
    except Timeout:
        pass
    except (OSError, StoreError) as error:
        reason = f"the store cannot be written to: {getattr(error, 'strerror', None) or error}"
    return whole or _open_privately(path, reason)


def _whole_snapshot(path: Path) -> Snapshot | None:
    """The snapshot if its parts are sound and of one generation, whatever a writer does."""
    database = Database(path / FILE)
    index = _sound(LexicalIndex.open, path / lexical.FOLDER, database)
    text = _sound(FlatText, path / flat_text.FILE, database)
    return Snapshot(database, index, text) if index and text else None


def _open_privately(path: Path, reason: str) -> Snapshot:
    """Build what is wrong in a temporary folder, which may go as soon as it is open."""
    database = Database(path / FILE)
    problems = derived.derived_problems(path, database)
    index = _sound(LexicalIndex.open, path / lexical.FOLDER, database)
    text = _sound(FlatText, path / flat_text.FILE, database)
    try:
        with tempfile.TemporaryDirectory(prefix="contextpull-") as private:
            index = index or rebuilt_index(Path(private), database)
            text = text or rebuilt_text(Path(private), database)
    except OSError as error:
        raise StoreError(
            f"The store at {str(path)!r} needs repair, but {reason}, and there is no room for"
            f" temporary files: {error.strerror or error}."
        ) from error
    notes = tuple(f"{problem}, and {reason}; built for this process alone" for problem in problems)
    return Snapshot(database, index, text, notes)


def _sound(open_part: Callable[[Path], _Part], path: Path, database: Database) -> _Part | None:
    try:
        part = open_part(path)
    except StoreError:
        return None
    return part if part.generation == database.generation else None


def rebuilt_index(folder: Path, database: Database) -> LexicalIndex:
    """The lexical index of a database, made in a folder that may go as soon as it is open."""
    derived.rebuild_lexical(folder, database)
    # The engine maps its files when it opens them: they may be unlinked from then on.
    return LexicalIndex.open(folder / lexical.FOLDER)


def rebuilt_text(folder: Path, database: Database) -> FlatText:
    """The flat text of a database, made in a folder that may go as soon as it is open."""
    derived.rebuild_flat_text(folder, database)
    return FlatText(folder / flat_text.FILE)
