"""From a folder to a committed generation; only what changed is read again."""

import gc
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from filelock import FileLock, Timeout

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.discovery import Discovery, SourceFile, discover
from contextpull.errors import StoreBusy, StoreConflict, StoreDamaged, StoreError, StoreNotFound
from contextpull.store import dense, flat_text, lexical
from contextpull.store.database import (
    FILE,
    Database,
    DatabaseWriter,
    remove_leftovers,
)
from contextpull.store.dense import read_manifest
from contextpull.store.derived import DerivedWriter, discard, rebuild
from contextpull.store.parsing import UNKNOWN_SIZE, ParsedFile, digest_of, parse_file, settled
from contextpull.store.records import Skipped, StoredDocument

LOCK = "writer.lock"
CUTTING_VERSION = 1
"""Raised whenever readers or cutting change what sections come out; every file is then cut anew."""

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""

WAIT_FOR_READERS = 2.0
"""Seconds that an ingest waits for the lock: a reader holds it while it looks or repairs."""
_BATCH_BYTES = 512 * 1024
_SERIAL_BYTES = 6 * 1024 * 1024
"""Below this, starting worker processes costs more than it saves."""
_BATCHES_IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest found and did."""

    generation: int
    documents: int
    sections: int
    chars: int
    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: tuple[Skipped, ...]
    """Files that are not in the store, by path, each with its reason."""
    warnings: tuple[Skipped, ...]
    """Files that are in the store and deserve a look."""
    notes: tuple[str, ...]
    """What was repaired or redone beside the changes."""
    seconds: float


@dataclass(slots=True)
class _Plan:
    """What has to happen to get from the previous generation to the corpus as it is."""

    to_parse: list[SourceFile]
    to_touch: list[StoredDocument]
    to_remove: list[StoredDocument]
    """Documents whose old sections go, whether or not new ones come."""
    gone: int
    skipped: list[Skipped]
    skipped_changed: bool

    @property
    def changes_content(self) -> bool:
        return bool(self.to_parse or self.to_remove or self.skipped_changed)


def writer_lock(store: Path) -> FileLock:
    """The lock that one writer at a time holds."""
    return FileLock(store / LOCK)


def ingest(
    root: Path,
    store: Path,
    settings: CutSettings | None = None,
    *,
    verify: bool = False,
    progress: Progress | None = None,
    limits: ReadLimits | None = None,
) -> IngestReport:
    """Bring the store up to date with the folder `root` and commit that as one generation.

    A file whose size and time are unchanged is not read, unless `verify` asks for every hash.
    Without `settings` a store keeps those that it was made with.
    Raises StoreBusy when another process is writing, StoreConflict when the store holds another
    corpus, StoreError when it cannot be written.
    """
    found = discover(root, leave_out=store)
    try:
        with writing(store, root):
            remove_leftovers(store)
            chosen = settings or stored_settings(store) or CutSettings()
            work = _Ingest(root.resolve(), store, chosen, limits or ReadLimits())
            return work.run(found, verify, progress)
    except BrokenProcessPool as error:
        raise StoreError(
            "A process that read documents was killed, most likely because memory ran out."
            " Nothing was changed; try again with fewer large files."
        ) from error


@contextmanager
def writing(store: Path, root: Path | None = None) -> Iterator[None]:
    """Make a store's folder and hold its lock while the block writes to it.

    `root` is the corpus, where that is a folder.
    Raises StoreBusy when another process is writing, StoreError when the folder holds other files
    or cannot be written to.
    """
    try:
        _check_place(store, root)
        store.mkdir(parents=True, exist_ok=True)
        with writer_lock(store).acquire(timeout=WAIT_FOR_READERS, poll_interval=0.01):
            yield
    except Timeout:
        raise StoreBusy(
            f"Another process is writing to the store {str(store)!r}. Try again when it is done."
        ) from None
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            f"The store {str(store)!r} cannot be written: {getattr(error, 'strerror', 0) or error}."
            " Name another place with --store."
        ) from error


def _check_place(store: Path, root: Path | None) -> None:
    """Refuse a folder in which a store would overwrite files that are not a store's."""
    strangers = [store / name for name in (lexical.FOLDER, dense.FOLDER, flat_text.FILE)]
    if root is not None and root.resolve() == store.resolve():
        strangers = [root]
    elif (store / LOCK).exists() or (store / FILE).exists():
        return
    if any(stranger.exists() for stranger in strangers):
        raise StoreError(
            f"The folder {str(store)!r} holds other files than a store."
            " Name a folder of its own with --store."
        )


def root_name(root: Path) -> str:
    """The corpus as a store records it: its absolute path, whatever bytes that holds."""
    return os.fsencode(root.resolve()).decode("utf-8", "backslashreplace")


def check_root(database: Database, store: Path, root: str) -> None:
    """Refuse a store that holds another corpus than the one at `root`."""
    if database.root != root:
        raise StoreConflict(
            f"The store {str(store)!r} holds the corpus {database.root!r}, not {root!r}."
            " Name another store with --store, or delete that folder."
        )


def stored_settings(store: Path) -> CutSettings | None:
    """The settings that the sections of a store were cut with; None when it cannot tell."""
    try:
        settings = Database(store / FILE).settings
    except StoreError:
        return None
    defaults = CutSettings().as_dict()
    return CutSettings(**{name: settings.get(name, value) for name, value in defaults.items()})


class _Ingest:
    def __init__(self, root: Path, store: Path, settings: CutSettings, limits: ReadLimits) -> None:
        self._started = time.monotonic()
        self._root = root_name(root)
        self._store = store
        self._settings = settings
        self._limits = limits
        self._notes: list[str] = []
        self._embedder = ""
        self._previous = self._open_previous()

    def run(self, found: Discovery, verify: bool, progress: Progress | None) -> IngestReport:
        try:
            return self._run(found, verify, progress)
        except (StoreDamaged, sqlite3.DatabaseError) as error:
            if self._previous is None or isinstance(error, sqlite3.OperationalError):
                raise
            self._give_up_previous()
            return self._run(found, verify, progress)

    def _run(self, found: Discovery, verify: bool, progress: Progress | None) -> IngestReport:
        if verify and self._previous and (problems := self._previous.check()):
            raise StoreDamaged(str(self._store), problems[0])
        documents = self._previous.documents() if self._previous else []
        plan = self._plan(found, {each.path: each for each in documents}, verify)
        if self._previous is None or plan.changes_content or self._recut:
            documents = self._write(plan, progress)
        else:
            self._touch(plan.to_touch)
            self._repair()
        return self._report(plan, documents)

    def _give_up_previous(self) -> None:
        self._previous = None
        self._recut = False
        self._notes = ["the store was damaged; it was built again from the corpus"]
        with suppress(StoreError):  # the database may have been past telling
            self._embedder = self._embedder or read_manifest(self._store / dense.FOLDER).model

    def _open_previous(self) -> Database | None:
        self._recut = False
        try:
            previous = Database(self._store / FILE)
        except StoreNotFound:
            return None
        except StoreDamaged:
            self._give_up_previous()
            return None
        check_root(previous, self._store, self._root)
        self._embedder = previous.embedder
        if previous.settings != self._recorded_settings():
            self._recut = True
            self._notes.append("the settings changed; every document was cut anew")
        return previous

    def _recorded_settings(self) -> dict[str, int]:
        return {**self._settings.as_dict(), "cutting_version": CUTTING_VERSION}

    def _plan(self, found: Discovery, known: dict[str, StoredDocument], verify: bool) -> _Plan:
        plan = _Plan([], [], [], 0, [], False)
        for file in found.files:
            before = known.pop(file.path, None)
            if before is None:
                plan.to_parse.append(file)
            elif self._recut or before.size != file.size or before.mtime_ns != file.mtime_ns:
                self._plan_suspect(plan, file, before)
            elif self._is_too_large_now(file, before) or (
                verify and digest_of(file) != before.digest
            ):
                plan.to_parse.append(file)
                plan.to_remove.append(before)
        plan.to_remove.extend(known.values())
        plan.gone = len(known)
        plan.skipped = [Skipped(each.path, each.reason) for each in found.skipped]
        plan.skipped_changed = not self._previous or self._previous.skipped() != plan.skipped
        return plan

    def _plan_suspect(self, plan: _Plan, file: SourceFile, before: StoredDocument) -> None:
        """A file whose size or time differs: read it again only if its content does."""
        now = time.time_ns()
        if not self._recut and before.size == file.size and digest_of(file) == before.digest:
            touched = before._replace(mtime_ns=settled(file, now))
            plan.to_touch += [touched] if touched != before else []
        elif self._recut or before.size != UNKNOWN_SIZE or not self._fails_again(file, before, now):
            plan.to_parse.append(file)
            plan.to_remove.append(before)

    def _fails_again(self, file: SourceFile, before: StoredDocument, now: int) -> bool:
        again = parse_file(file, self._settings, self._limits, now).document
        return (again.size, again.problem) == (before.size, before.problem)

    def _is_too_large_now(self, file: SourceFile, before: StoredDocument) -> bool:
        return file.size > self._limits.max_file_bytes and not before.problem

    def _touch(self, documents: Sequence[StoredDocument]) -> None:
        """Record new times of files; the generation stays, for its content does."""
        assert self._previous is not None
        if documents:
            writer = DatabaseWriter(self._previous.path, self._previous, self._previous.generation)
            for document in documents:
                writer.touch(document)
            writer.commit(self._root, self._recorded_settings(), self._embedder)
            self._previous = Database(self._store / FILE)

    def _write(self, plan: _Plan, progress: Progress | None) -> list[StoredDocument]:
        """Commit what the plan says; every document of the new generation."""
        if self._previous is None:
            discard(self._store)
        generation = self._previous.generation + 1 if self._previous else 1
        base = None if self._recut else self._previous
        writer = DatabaseWriter(self._store / FILE, base, generation)
        total = sum(file.size for file in plan.to_parse)
        derived = DerivedWriter(self._store, base, bytes_to_add=total)
        try:
            for document in plan.to_remove if base else ():
                writer.remove(document)
                derived.remove(document)
            for document in plan.to_touch:
                writer.touch(document)
            done = 0
            for parsed in self._parse(plan.to_parse, total):
                stored = writer.add(parsed.document, parsed.sections, parsed.anchors)
                derived.add(stored, parsed.fields)
                done += max(parsed.document.size, 0)
                if progress:
                    progress(done, total)
            writer.replace_skipped(plan.skipped)
            writer.commit(self._root, self._recorded_settings(), self._embedder)
        except BaseException:
            writer.discard()
            raise
        self._previous = Database(self._store / FILE)
        derived.commit(self._previous)
        return self._previous.documents()

    def _parse(self, files: Sequence[SourceFile], total: int) -> Iterator[ParsedFile]:
        """Read and cut, in order; in worker processes when there is much to read."""
        now = time.time_ns()
        workers = os.cpu_count() or 1
        if total < _SERIAL_BYTES or workers == 1:
            for file in files:
                yield parse_file(file, self._settings, self._limits, now)
            return
        # Parsing makes no cycles: the workers go without the collector, which would find none.
        context = get_context("spawn")
        with ProcessPoolExecutor(min(workers, 8), context, gc.disable) as pool:
            waiting: deque[Future[list[ParsedFile]]] = deque()
            for batch in _batches(files):
                waiting.append(pool.submit(_parse_batch, batch, self._settings, self._limits, now))
                if len(waiting) >= _BATCHES_IN_FLIGHT:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()

    def _repair(self) -> None:
        """Nothing changed in the corpus: make sure that everything derived stands."""
        assert self._previous is not None
        problems = rebuild(self._store, self._previous)
        self._notes += [f"{problem}; it was built again" for problem in problems]

    def _report(self, plan: _Plan, documents: Sequence[StoredDocument]) -> IngestReport:
        assert self._previous is not None
        count, sections, chars = self._previous.counts()
        problems = [Skipped(each.path, each.problem) for each in documents if each.problem]
        warnings = [Skipped(each.path, each.warnings) for each in documents if each.warnings]
        changed = len(plan.to_remove) - plan.gone
        return IngestReport(
            generation=self._previous.generation,
            documents=count,
            sections=sections,
            chars=chars,
            added=len(plan.to_parse) - changed,
            changed=changed,
            removed=plan.gone,
            unchanged=len(documents) - len(plan.to_parse),
            skipped=tuple(sorted([*plan.skipped, *problems])),
            warnings=tuple(warnings),
            notes=tuple(self._notes),
            seconds=time.monotonic() - self._started,
        )


def _parse_batch(
    files: Sequence[SourceFile], settings: CutSettings, limits: ReadLimits, now_ns: int
) -> list[ParsedFile]:
    return [parse_file(file, settings, limits, now_ns) for file in files]


def _batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    batch: list[SourceFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.size
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
