"""From folders to a committed generation; only what changed is read again."""

import sqlite3
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.discovery import SourceFile
from contextpull.documents.formats import check_read_as, format_of
from contextpull.errors import StoreBusy, StoreDamaged, StoreError, StoreNotFound
from contextpull.store import dense, flat_text, lexical
from contextpull.store.corpora import (
    Walk,
    check_corpora,
    sources_of,
    walk,
    widened,
    with_added,
    without_emptied,
)
from contextpull.store.database import (
    FILE,
    Database,
    DatabaseWriter,
    remove_leftovers,
)
from contextpull.store.dense import read_manifest
from contextpull.store.derived import discard, next_generation, rebuild
from contextpull.store.parsing import ParsedFile, parse_file
from contextpull.store.planning import Plan, plan_changes
from contextpull.store.records import Skipped, StoredCorpus, StoredDocument
from contextpull.store.report import FileReport, Progress, not_read, read_now
from contextpull.store.report import IngestReport as IngestReport  # where callers look for it

LOCK = "writer.lock"
CUTTING_VERSION = 3
"""Raised whenever readers or cutting change what comes out of a file; all are then cut anew."""

OnProgress = Callable[[Progress], None]
"""Called when a file has been read."""

WAIT_FOR_READERS = 2.0
"""Seconds that an ingest waits for the lock: a reader holds it while it looks or repairs."""
_LITTLE_BYTES = 6 * 1024 * 1024
"""Below this in all, starting processes for small texts costs more than it saves."""
_SMALL_BYTES = 1024 * 1024


def writer_lock(store: Path) -> FileLock:
    """The lock that one writer at a time holds."""
    return FileLock(store / LOCK)


def ingest(
    root: Path | None,
    store: Path,
    settings: CutSettings | None = None,
    *,
    name: str = "",
    verify: bool = False,
    allow_empty: bool = False,
    progress: OnProgress | None = None,
    limits: ReadLimits | None = None,
) -> IngestReport:
    """Bring the store up to date with the folder `root` and commit that as one generation.

    With a `name` the folder is one corpus of several, and the name begins its paths in the store.
    Without `root` the corpus of that name is read from the folder that the store remembers, or
    without a name every one. What was read of a folder that is gone stays; so does what was read of
    one that is empty all of a sudden, as where a drive is not mounted, but for `allow_empty`.

    A file whose size and time are unchanged is not read, unless `verify` asks for every hash, and
    for another try of what could not be read. What is long, or needs a library, is read in child
    processes of bounded time and memory; a file that is too much for `limits` is reported.
    Without `settings` a store keeps those that it was made with; others cut every corpus anew.
    Raises StoreBusy when another process is writing, StoreConflict when the store holds another
    corpus, StoreError when it cannot be written, InvalidInput when there is no folder to read,
    CorpusEmptied when all of the folders are empty of which the store has documents.
    """
    check_read_as(settings.read_as if settings else "")
    while True:
        sources, chosen = sources_of(store, root, name), settings_of(store, settings)
        walked = walk(sources, store, chosen.read_as)
        with writing(store, root):
            if (sources_of(store, root, name), settings_of(store, settings)) != (sources, chosen):
                continue  # another process added a corpus, took one out or cut all anew
            remove_leftovers(store)
            run = _Ingest(walked, store, chosen, limits or ReadLimits(), allow_empty=allow_empty)
            return run.run(verify, progress)


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


def stored_settings(store: Path) -> CutSettings | None:
    """The settings that the sections of a store were cut with; None when it cannot tell."""
    try:
        settings = Database(store / FILE).settings
    except StoreError:
        return None
    known = {each.name for each in fields(CutSettings)}
    return CutSettings(**{name: value for name, value in settings.items() if name in known})


def settings_of(store: Path, given: CutSettings | None = None) -> CutSettings:
    """The settings that are given, else those that the store was made with, else the defaults."""
    return given or stored_settings(store) or CutSettings()


class _Ingest:
    def __init__(
        self,
        walked: Walk,
        store: Path,
        settings: CutSettings,
        limits: ReadLimits,
        *,
        allow_empty: bool,
    ) -> None:
        self._started = time.monotonic()
        self._walk = walked
        self._corpora: tuple[StoredCorpus, ...] = tuple(walked.found)
        """All of the store, as it is to be."""
        self._store = store
        self._settings = settings
        self._limits = limits
        self._allow_empty = allow_empty
        self._notes: list[str] = []
        self._embedder = ""
        self._read: dict[str, FileReport] = {}
        """What came out of each file that was read, by path."""
        self._previous = self._open_previous()

    def run(self, verify: bool, progress: OnProgress | None) -> IngestReport:
        try:
            return self._run(verify, progress)
        except (StoreDamaged, sqlite3.DatabaseError) as error:
            if self._previous is None or isinstance(error, sqlite3.OperationalError):
                raise
            self._walk = self._widened()
            self._give_up_previous()
            return self._run(verify, progress)

    def _run(self, verify: bool, progress: OnProgress | None) -> IngestReport:
        if verify and self._previous and (problems := self._previous.check()):
            raise StoreDamaged(str(self._store), problems[0])
        if self._previous and not self._allow_empty:
            self._walk = without_emptied(self._walk, self._previous, needs_all=self._recut)
        documents = self._documents()
        given = (self._settings, self._limits)
        found = self._walk.everything
        plan = plan_changes(found, documents, *given, recut=self._recut, verify=verify)
        self._retry(plan)
        self._read = {}
        known = self._previous.skipped() if self._previous else []
        skipped = self._skipped(plan, known)
        if self._previous is None or self._recut or skipped != known or self._changes_content(plan):
            self._write(plan, skipped, progress)
            documents = self._documents()
        else:
            self._touch(plan.to_touch)
            self._repair()
        return self._report(plan, documents)

    def _documents(self) -> list[StoredDocument]:
        """Those of the corpora that are brought up to date, as the store knows them now."""
        if self._previous is None:
            return []
        corpora = self._walk.found
        return [each for corpus in corpora for each in self._previous.documents_of(corpus)]

    def _changes_content(self, plan: Plan) -> bool:
        assert self._previous is not None
        return bool(plan.to_parse or plan.to_remove or self._previous.corpora != self._corpora)

    def _skipped(self, plan: Plan, known: list[Skipped]) -> list[Skipped]:
        """What is left out of all corpora, by path; `known` is what was."""
        others = [each for each in known if not self._walk.covers(each.path)]
        return sorted([*others, *plan.skipped], key=lambda each: each.path)

    def _retry(self, plan: Plan) -> None:
        """Plan to read what could not be read and now gives something else."""
        files = [file for file, _ in plan.to_retry]
        with closing(parse_files(files, self._settings, self._limits)) as parsed:
            for (file, before), again in zip(plan.to_retry, parsed, strict=True):
                known = (before.size, before.problem)
                if (again.document.size, again.document.problem) != known:
                    plan.replace(file, before)
        plan.to_parse.sort(key=lambda file: file.path)

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
            names = [corpus.name for corpus in self._corpora if corpus.name]
            self._notes += [f"it holds {name!r} alone; ingest what else it held" for name in names]
            return None
        check_corpora(previous, self._store, self._walk.found)
        self._corpora = with_added(previous.corpora, self._walk.found)
        self._embedder = previous.embedder
        if previous.settings != self._recorded_settings():
            self._walk = self._widened()
            self._recut = True
            self._notes.append("the settings changed; every document was cut anew")
        return previous

    def _widened(self) -> Walk:
        return widened(self._walk, self._corpora, self._store, self._settings.read_as)

    def _recorded_settings(self) -> dict[str, int | str]:
        return {**self._settings.as_dict(), "cutting_version": CUTTING_VERSION}

    def _touch(self, documents: Sequence[StoredDocument]) -> None:
        """Record new times of files; the generation stays, for its content does."""
        assert self._previous is not None
        if documents:
            writer = DatabaseWriter(self._previous.path, self._previous, self._previous.generation)
            for document in documents:
                writer.touch(document)
            writer.commit(self._corpora, self._recorded_settings(), self._embedder)
            self._previous = Database(self._store / FILE)

    def _write(self, plan: Plan, skipped: list[Skipped], progress: OnProgress | None) -> None:
        """Commit what the plan says."""
        if self._previous is None:
            discard(self._store)
        number = self._previous.generation + 1 if self._previous else 1
        base = None if self._recut else self._previous
        total = sum(file.size for file in plan.to_parse)
        with next_generation(self._store, base, number, bytes_to_add=total) as (writer, derived):
            for document in plan.to_remove if base else ():
                writer.remove(document)
                derived.remove(document)
            for document in plan.to_touch:
                writer.touch(document)
            with closing(self._reading(plan, total, progress)) as reading:
                for parsed in reading:
                    stored = writer.add(parsed.document, parsed.sections, parsed.anchors)
                    derived.add(stored, parsed.fields)
            writer.replace_skipped(skipped)
            writer.commit(self._corpora, self._recorded_settings(), self._embedder)
            self._previous = Database(self._store / FILE)  # also if what is derived then fails

    def _reading(
        self, plan: Plan, all_bytes: int, progress: OnProgress | None
    ) -> Generator[ParsedFile]:
        """Read what is to be read; note what came out of each file, and tell how far it is."""
        known = {document.path for document in plan.to_remove}
        done = 0
        files = plan.to_parse
        with closing(parse_files(files, self._settings, self._limits)) as parsed_files:
            for file, parsed in zip(files, parsed_files, strict=True):
                self._read[file.path] = read_now(parsed, is_new=file.path not in known)
                yield parsed
                done += file.size
                if progress:
                    progress(Progress(len(self._read), len(plan.to_parse), done, all_bytes))

    def _repair(self) -> None:
        """Nothing changed in the corpus: make sure that everything derived stands."""
        assert self._previous is not None
        problems = rebuild(self._store, self._previous)
        self._notes += [f"{problem}; it was built again" for problem in problems]

    def _report(self, plan: Plan, documents: list[StoredDocument]) -> IngestReport:
        assert self._previous is not None
        found = [document for document in documents if not document.problem]
        others = not_read(plan, self._previous, documents, self._read.keys())
        outcomes = Counter(each.outcome for each in self._read.values())
        return IngestReport(
            generation=self._previous.generation,
            documents=len(found),
            sections=sum(document.sections for document in found),
            chars=sum(document.chars for document in found),
            added=outcomes["added"],
            changed=outcomes["changed"],
            removed=len(plan.gone),
            unchanged=len(documents) - len(self._read),
            files=tuple(sorted([*self._read.values(), *others])),
            notes=tuple(self._notes),
            missing=self._walk.missing,
            seconds=time.monotonic() - self._started,
        )


def parse_files(
    files: Sequence[SourceFile],
    settings: CutSettings,
    limits: ReadLimits,
    *,
    keeps_parsed: bool = False,
) -> Generator[ParsedFile]:
    """Read and cut files as `parse_file` does, in order: in child processes but for a little text.

    What cannot be read comes with its reason. Raises StoreError when no process can be started.
    """
    now = time.time_ns()
    is_little = sum(file.size for file in files) < _LITTLE_BYTES
    guarded = [file for file in files if not (is_little and _is_small_text(file, settings))]
    here = partial(
        parse_file, settings=settings, limits=limits, now_ns=now, keeps_parsed=keeps_parsed
    )
    if not guarded:
        yield from map(here, files)
        return
    from contextpull.store.workers import Workers

    with Workers(settings, limits, keeps_parsed=keeps_parsed) as workers:
        answers = workers.parse(guarded)
        waiting = deque(guarded)
        for file in files:
            if waiting and file is waiting[0]:
                waiting.popleft()
                yield next(answers)
            else:
                yield here(file)


def _is_small_text(file: SourceFile, settings: CutSettings) -> bool:
    format_ = format_of(file.path, settings.read_as)
    return bool(format_ and format_.in_process and file.size <= _SMALL_BYTES)
