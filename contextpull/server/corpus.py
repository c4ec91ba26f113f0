"""The store that a server answers from, kept up with its folders."""

import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextpull.config import CutSettings
from contextpull.errors import ContextPullError, StoreBusy, StoreNotFound
from contextpull.retrieval.work import Work
from contextpull.server.telling import tell
from contextpull.store import Store, open_store
from contextpull.store.database import FILE

if TYPE_CHECKING:
    from contextpull.store.ingest import IngestReport

FIRST_WAIT = 8.0
"""Seconds that a start waits for a folder that was never read; then it serves while reading."""
_CALL_WAITS = 40
_WAIT = 0.5
"""Seconds that a call waits, so many times, until the store is up to date; then it answers from
what is there."""

_LAST_SECONDS = 2.0
"""At the end, for the thread that follows the folder."""
_AGAIN = 5.0
"""Seconds until the vectors are tried again that another process's writing held up."""


class Vectors(NamedTuple):
    """What a server needs to keep up the vectors of a store that has some."""

    model: str | None
    """None for the model that the store itself names."""
    api_key: str
    cache: Path | None


class Watching(NamedTuple):
    """How a server follows its folders."""

    poll: float | None = None
    """Seconds between two looks through them; None to be told by the system where it can tell."""


_NO_CACHE = Vectors(None, "", None)


class Corpus:
    """A store, and the folders that it is read from, if the server looks after those."""

    def __init__(
        self,
        store: Path,
        root: Path | None,
        settings: CutSettings | None = None,
        vectors: Vectors = _NO_CACHE,
        watching: Watching | None = None,
        every: bool = False,
    ) -> None:
        """Keep up with the folder `root`, or with `every` one that the store remembers, or none.

        Follow it for good if `watching` is given; call `close` in the end.
        """
        self._path = store
        self._root = root
        self._reads = every or root is not None
        self._settings = settings
        self._vectors = vectors
        self._watching = watching if self._reads else None
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._refreshing = not self._reads
        self._fresh = threading.Event()
        self._failure: ContextPullError | None = None
        self._stop = threading.Event()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

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
        if not self._reads:
            self._fresh.set()
        if self._store is None:
            self.refresh()
            self._fresh.wait(FIRST_WAIT)
            if self._failure is not None:
                self.close()
                raise self._failure

    def close(self) -> None:
        """Follow the folder no longer. An ingest that is under way may be left to its end."""
        self._stop.set()
        self._news.set()
        if self._thread is not None and self._watching is not None:
            self._thread.join(_LAST_SECONDS)

    def _check_root(self) -> None:
        from contextpull.store.corpora import Source, check_corpora

        if self._root is not None and self._store is not None:
            database = self._store.snapshot().database
            check_corpora(database, self._path, [Source("", self._root).record])

    def refresh(self) -> None:
        """Begin to bring the store up to date behind the scenes, once.

        A server calls this when its first answer is out: reading the folder must not delay that.
        """
        with self._lock:
            begin, self._refreshing = not self._refreshing, True
        if begin:
            self._thread = threading.Thread(target=self._refresh, name="ingest", daemon=True)
            self._thread.start()

    def follow(self) -> None:
        """Begin to follow the folder if that is wanted, though nobody has asked anything yet."""
        if self._watching is not None:
            self.refresh()

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
        if self._failure is not None:
            # One error for every call: each would add its own frames to it, and keep them.
            raise self._failure.with_traceback(None)
        raise StoreNotFound("The folder is still being read. Call again in a few seconds.")

    @property
    def store_if_ready(self) -> Store | None:
        """The store, or None while the folder is read for the first time."""
        return self._store

    def _refresh(self) -> None:
        generation = self._ingest()
        if self._watching is not None:
            self._watch(self._watching, generation)
        elif self._failure is None:
            self._keep_vectors()

    def _ingest(self) -> int | None:
        """Read the folders for the first time; the generation, None where that failed."""
        try:
            report = self._read()
        except StoreBusy:
            return None  # whoever is writing brings it up to date; the server sees the generation
        except ContextPullError as error:
            self._failure = error
            tell(str(error))
            return None
        except Exception as error:  # the thread ends here: nobody else would tell
            traceback.print_exc()
            self._failure = ContextPullError(f"The folder could not be read: {error}")
            return None
        else:
            tell(
                f"{report.documents:,} documents, {report.sections:,} sections,"
                f" {len(report.skipped):,} files left out"
            )
            if self._watching is None:  # who watches tells
                for sentence in report.missing:
                    tell(sentence)
            return report.generation
        finally:
            self._open()
            self._fresh.set()

    def _read(self) -> "IngestReport":
        """Read the folders, when another process that makes the store just now has done so.

        Raises StoreBusy where there is a store already that another process is writing to.
        """
        from contextpull.store.ingest import ingest

        while True:
            try:
                return ingest(self._root, self._path, self._settings)  # waits for the other a while
            except StoreBusy:
                if self._stop.is_set() or (self._path / FILE).is_file():
                    raise

    def _watch(self, watching: Watching, generation: int | None) -> None:
        from contextpull.store.watching import watch

        self._news.set()
        threading.Thread(target=self._keep_vectors_up, name="vectors", daemon=True).start()
        try:
            watch(
                self._root,
                self._path,
                self._settings,
                stop=self._stop,
                on_report=self._take,
                tell=tell,
                poll=watching.poll,
                known=generation,
            )
        except Exception:  # as above
            traceback.print_exc()
            tell("the folder is followed no longer; start the server anew.")

    def _take(self, report: "IngestReport") -> None:
        """Answer from a new generation."""
        from contextpull.store.watching import changes_of

        self._failure = None
        self._open()
        tell(changes_of(report))
        self._news.set()

    def _keep_vectors_up(self) -> None:
        """Embed what is new, while the folder is read on: models take their time."""
        while self._news.wait() and not self._stop.is_set():
            self._news.clear()
            if self._store is not None and not self._keep_vectors():
                self._stop.wait(_AGAIN)
                self._news.set()

    def _keep_vectors(self) -> bool:
        """New sections are found by their words until they have vectors, which may take long.

        False when another process is writing, and it is to be tried again.
        """
        from contextpull.store.embedding import keep_vectors

        try:
            report = keep_vectors(self._path, **self._vectors._asdict())
        except ContextPullError as error:
            if self._watching is not None and isinstance(error, StoreBusy):
                return False
            tell(f"the vectors are not up to date: {error}")
        except Exception:  # as above
            traceback.print_exc()
        else:
            if report:
                tell(f"{report.made:,} sections embedded")
        return True

    def _open(self) -> None:
        if self._store is None:
            try:
                self._store = open_store(self._path)
            except ContextPullError as error:
                self._failure = self._failure or error
