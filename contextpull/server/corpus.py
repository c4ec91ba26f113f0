"""The store that a server answers from, kept up with its folder."""

import sys
import threading
import traceback
from pathlib import Path
from typing import NamedTuple

from contextpull.config import CutSettings
from contextpull.errors import ContextPullError, StoreBusy, StoreNotFound
from contextpull.retrieval.work import Work
from contextpull.store import Store, open_store

FIRST_WAIT = 8.0
"""Seconds that a start waits for a folder that was never read; then it serves while reading."""
_CALL_WAITS = 40
_WAIT = 0.5
"""Seconds that a call waits, so many times, until the store is up to date; then it answers from
what is there."""


class Vectors(NamedTuple):
    """What a server needs to keep up the vectors of a store that has some."""

    model: str | None
    """None for the model that the store itself names."""
    api_key: str
    cache: Path | None


_NO_CACHE = Vectors(None, "", None)


class Corpus:
    """A store, and the folder that it is read from, if the server looks after that."""

    def __init__(
        self,
        store: Path,
        root: Path | None,
        settings: CutSettings | None = None,
        vectors: Vectors = _NO_CACHE,
    ) -> None:
        self._path = store
        self._root = root
        self._settings = settings
        self._vectors = vectors
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._refreshing = root is None
        self._fresh = threading.Event()
        self._failure: ContextPullError | None = None

    def start(self) -> None:
        """Open what is there, or read the folder if nothing is.

        Raises the reason when there is nothing to serve and no folder to read.
        """
        try:
            self._store = open_store(self._path)
        except StoreNotFound:
            if self._root is None:
                raise
        else:
            self._check_root()
        if self._root is None:
            self._fresh.set()
        if self._store is None:
            self.refresh()
            self._fresh.wait(FIRST_WAIT)
            if self._failure is not None:
                raise self._failure

    def _check_root(self) -> None:
        from contextpull.store.ingest import check_root, root_name

        if self._root is not None and self._store is not None:
            database = self._store.snapshot().database
            check_root(database, self._path, root_name(self._root))

    def refresh(self) -> None:
        """Begin to bring the store up to date behind the scenes, once.

        A server calls this when its first answer is out: reading the folder must not delay that.
        """
        with self._lock:
            begin, self._refreshing = not self._refreshing, True
        if begin:
            threading.Thread(target=self._refresh, name="ingest", daemon=True).start()

    def store(self, work: Work | None = None) -> Store:
        """The store, up to date unless that takes long.

        Raises ContextPullError when there is nothing to answer from yet, or never will be, Stopped
        when `work` is to end.
        """
        self.refresh()
        work = work or Work()
        for _ in range(_CALL_WAITS):
            if self._fresh.wait(_WAIT):
                break
            work.tell("Waiting until the folder has been read.")
        if self._store is not None:
            return self._store
        raise self._failure or StoreNotFound(
            "The folder is still being read. Call again in a few seconds."
        )

    @property
    def store_if_ready(self) -> Store | None:
        """The store, or None while the folder is read for the first time."""
        return self._store

    def _refresh(self) -> None:
        from contextpull.store.ingest import ingest

        assert self._root is not None
        try:
            report = ingest(self._root, self._path, self._settings)
            print(
                f"contextpull: {report.documents:,} documents, {report.sections:,} sections,"
                f" {len(report.skipped):,} files left out",
                file=sys.stderr,
            )
        except StoreBusy:
            pass  # whoever is writing brings it up to date; the server sees the new generation
        except ContextPullError as error:
            self._failure = error
            print(f"contextpull: {error}", file=sys.stderr)
        except Exception as error:  # the thread ends here: nobody else would tell
            traceback.print_exc()
            self._failure = ContextPullError(f"The folder could not be read: {error}")
        finally:
            self._open()
            self._fresh.set()
        if self._failure is None:
            self._keep_vectors()

    def _keep_vectors(self) -> None:
        """New sections are found by their words until they have vectors, which may take long."""
        from contextpull.store.embedding import keep_vectors

        try:
            report = keep_vectors(self._path, **self._vectors._asdict())
        except ContextPullError as error:
            print(f"contextpull: the vectors are not up to date: {error}", file=sys.stderr)
        except Exception:  # as above
            traceback.print_exc()
        else:
            if report:
                print(f"contextpull: {report.made:,} sections embedded", file=sys.stderr)

    def _open(self) -> None:
        if self._store is None:
            try:
                self._store = open_store(self._path)
            except ContextPullError as error:
                self._failure = self._failure or error
