"""Following folders: every change in one soon leads to an ingest.

The system tells of changes folder by folder, for just those folders whose entries decide what the
corpus holds: not for hidden, vendored and ignored ones, and not for the store.
Where it cannot tell, the folders are looked through again and again.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.discovery import Discovery, readable_name
from contextpull.errors import ContextPullError, InvalidInput, StoreBusy
from contextpull.store.corpora import Source, sources_of, walk
from contextpull.store.ingest import IngestReport, ingest, settings_of

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

LOOK_SECONDS = 5.0
"""Between two looks through a folder of which the system does not tell."""
MOUNTS = Path("/proc/self/mountinfo")

_QUIET = 0.15
"""Seconds without a change after which an ingest begins; editors write in several steps."""
_MOST_UNREST = 2.0
"""Seconds after which it begins though changes go on."""
_LOOK_ANYHOW = 600.0
"""Seconds after which a folder is looked through though the system told of nothing: its queue may
have run over, a file may be written to through memory."""
_CHECK_ROOT = 5.0
"""Seconds between two checks whether the folders are still those that are watched."""
_STEP_MS = 50
_TRIES = 10
_MOST_NAMED = 5
_MOST_REST = 10.0
_SHARE = 10
"""Looking through a folder takes at most one part in so many of the time."""
_AGAIN, _MOST_AGAIN = 1.0, 30.0
"""Seconds until an ingest that failed is tried again, at first and at most."""
_SHARED = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4"}
    | {"prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs"}
)
"""File systems to which others write behind the back of this one."""


def watch(
    root: Path | None,
    store: Path,
    settings: CutSettings | None = None,
    *,
    name: str = "",
    stop: threading.Event,
    on_report: Callable[[IngestReport], object],
    tell: Callable[[str], object],
    poll: float | None = None,
    known: int | None = None,
    limits: ReadLimits | None = None,
) -> None:
    """Ingest the folder `root` now and after whatever changes in it, until `stop` is set.

    `name` and a `root` of None are as for `ingest`; corpora that others add to the store or take
    out of it are then followed from the next moment on, or no longer.
    `on_report` gets the report of every ingest that finds a generation other than the last one,
    which is `known` at the start. `tell` gets a sentence when an ingest fails, which is then tried
    again, when the folder of a corpus is gone or emptied while others are not, and when the system
    cannot tell of changes; the folders are then looked through every few seconds, as they are
    every `poll` seconds where that is given.
    Returns at once when `stop` is set while it waits, after the ingest while one is under way.
    Raises no ContextPullError of its own, but whatever the two callables raise.
    """
    folders = _Folders(root, store, settings, name)
    eyes: _Eyes = _Looking(folders, poll) if poll else _Told(folders)
    trouble = _Trouble(tell)
    try:
        while not stop.is_set():
            started = time.monotonic()
            try:
                eyes.open()
                report = ingest(root, store, settings, name=name, limits=limits)
            except _CannotTell as reason:
                tell(f"{reason} Looking through the folder every {LOOK_SECONDS:g} s instead.")
                eyes = _Looking(folders, LOOK_SECONDS)
                continue
            except ContextPullError as error:
                stop.wait(trouble.begun(error))
                continue
            trouble.ended(report.missing)
            if report.generation != known:
                known = report.generation
                on_report(report)
            # Whatever keeps changing, half of the time is left for others.
            stop.wait(min(time.monotonic() - started, _MOST_REST))
            eyes.wait(stop)
    finally:
        eyes.close()


def changes_of(report: IngestReport) -> str:
    """What an ingest changed, in a line that names a few files and counts many."""
    named = [each for each in report.files if each.outcome in ("added", "changed", "removed")]
    counts = {"added": report.added, "changed": report.changed, "removed": report.removed}
    parts = [f"{count:,} {outcome}" for outcome, count in counts.items() if count]
    if len(named) <= _MOST_NAMED and len(named) == sum(counts.values()):
        parts = [f"{each.path} {each.outcome}" for each in named]
    return (
        f"generation {report.generation}: {', '.join(parts) or 'no document changed'};"
        f" {report.documents:,} documents, {report.sections:,} sections ({report.seconds:.1f} s)"
    )


class _Trouble:
    """What keeps an ingest from being made, told once, and tried again more and more rarely."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._told = ""
        self._missing: tuple[str, ...] = ()
        self._pause = _AGAIN

    def begun(self, error: ContextPullError) -> float:
        """Seconds to wait before it is tried again."""
        if str(error) != self._told and not isinstance(error, StoreBusy):
            self._told = str(error)
            self._tell(self._told)
        pause = self._pause
        if not isinstance(error, InvalidInput):  # whether a folder is back costs nothing
            self._pause = min(2 * pause, _MOST_AGAIN)
        return pause

    def ended(self, missing: tuple[str, ...]) -> None:
        """An ingest was made, of all corpora but for those of which the sentences tell."""
        for sentence in missing:
            if sentence not in self._missing:
                self._tell(sentence)
        self._missing = missing
        self._told = ""
        self._pause = _AGAIN


class _CannotTell(Exception):
    """The system does not tell of changes in a folder; the message is a sentence that says why."""


class _Folders:
    """The folders that are followed: one, or those that the store names at the time."""

    def __init__(
        self, root: Path | None, store: Path, settings: CutSettings | None, name: str
    ) -> None:
        self._root = root
        self._store = store
        self._settings = settings
        self._name = name

    def found(self) -> list[Discovery]:
        """What lies in each. Raises InvalidInput when none is there, StoreError as the store."""
        read_as = settings_of(self._store, self._settings).read_as
        return list(walk(self._sources(), self._store, read_as).found.values())

    def identities(self) -> dict[Source, tuple[int, int] | None]:
        """Which folder it is that has each path, None for none; nothing where nobody can tell."""
        try:
            return {source: _identity(source.folder) for source in self._sources()}
        except ContextPullError:
            return {}

    def _sources(self) -> list[Source]:
        return sources_of(self._store, self._root, self._name)


class _Eyes(Protocol):
    """A way to notice changes of corpora."""

    def open(self) -> None:
        """Notice every change from now on.

        Raises InvalidInput when there is no such folder, StoreError when the store is to name it
        and cannot, _CannotTell when this way is none.
        """

    def wait(self, stop: threading.Event) -> None:
        """Return when something changed since `open`, or `stop` is set."""

    def close(self) -> None:
        """Notice nothing any more."""


class _Looking:
    """Looks through the folders, and compares names, sizes and times."""

    def __init__(self, folders: _Folders, seconds: float) -> None:
        self._folders = folders
        self._seconds = seconds
        self._found: list[Discovery] = []

    def open(self) -> None:
        self._found = self._folders.found()

    def wait(self, stop: threading.Event) -> None:
        pause = self._seconds
        while not stop.wait(pause):
            started = time.monotonic()
            try:
                found = self._folders.found()
            except ContextPullError:
                return
            if found != self._found:
                return
            pause = max(self._seconds, _SHARE * (time.monotonic() - started))

    def close(self) -> None:
        self._found = []


class _Told:
    """Is told by the system."""

    def __init__(self, folders: _Folders) -> None:
        self._folders = folders
        self._notify: RustNotify | None = None
        self._found: list[Discovery] = []
        self._identities: dict[Source, tuple[int, int] | None] = {}

    def open(self) -> None:
        if self._notify is None:
            try:
                self._open()
            except BaseException:
                self.close()
                raise

    def _open(self) -> None:
        """Watch the folders that there are; look again, for some may have come meanwhile.

        Those above are watched first, so that what comes after that is told of.
        """
        watched: set[str] | None = None
        for _ in range(_TRIES):
            self._identities = self._folders.identities()
            self._found = self._folders.found()
            folders = {folder for found in self._found for folder in found.folders}
            if folders == watched:
                return
            self.close()
            self._check()
            watched = folders if self._watch(sorted(folders)) else None
        raise _CannotTell("Folders come and go too fast to be watched.")

    def _check(self) -> None:
        """Raise _CannotTell where the system would not tell of every change."""
        for found in self._found:
            _check_names(found)
        for source in self._identities:
            if kind := _shared_file_system(source.folder):
                raise _CannotTell(f"On {kind} not every change is told of.")

    def _watch(self, folders: list[str]) -> bool:
        """Whether all of them are watched; one may have gone."""
        from watchfiles._rust_notify import RustNotify

        try:
            # Told to ignore denied permissions, it would pass over every other fault, too.
            self._notify = RustNotify(folders, False, False, 0, False, False)
        except (FileNotFoundError, PermissionError):
            return False
        except (OSError, RuntimeError) as error:
            raise _CannotTell(
                f"{len(folders):,} folders cannot be watched: the system's limit is reached, which"
                " fs.inotify.max_user_watches and fs.inotify.max_user_instances raise on Linux"
                f" ({error})."
            ) from error
        return True

    def wait(self, stop: threading.Event) -> None:
        until = time.monotonic() + _LOOK_ANYHOW
        while not self._matters(self._changes(_CHECK_ROOT, stop)):
            if stop.is_set():
                return
            if self._folders.identities() != self._identities or time.monotonic() > until:
                self.close()
                return
        until = time.monotonic() + _MOST_UNREST
        while time.monotonic() < until and (changes := self._changes(_QUIET, stop)):
            self._matters(changes)

    def _changes(self, seconds: float, stop: threading.Event) -> Iterable[str]:
        """The places of the next changes; none when there are none for so long, or `stop` is set.

        Raises KeyboardInterrupt, in the main thread.
        """
        if self._notify is None:
            stop.wait(seconds)
            return ()
        try:
            changes = self._notify.watch(2 * _STEP_MS, _STEP_MS, int(seconds * 1000), stop)
        except RuntimeError:  # a name that is no UTF-8: it tells of nothing else from now on
            self.close()
            return ("",)
        if changes == "signal":
            raise KeyboardInterrupt
        return {place for _, place in changes} if isinstance(changes, set) else ()

    def _matters(self, places: Iterable[str]) -> bool:
        """Whether one of them concerns the corpus; what moves folders ends the watch over them."""
        matters = False
        for place in places:
            if self._notify is None:
                return True
            moves = any(found.decides_folders(place) for found in self._found)
            if (moves or not matters) and any(found.concerns(place) for found in self._found):
                matters = True
                if moves:
                    self.close()
        return matters

    def close(self) -> None:
        if self._notify is not None:
            self._notify.close()
            self._notify = None


def _identity(root: Path) -> tuple[int, int] | None:
    """Which folder it is that has this path; None when there is none."""
    try:
        status = root.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _check_names(found: Discovery) -> None:
    """Raise _CannotTell if there are names that the library cannot pass on."""
    for location in (*found.folders, *(file.location for file in found.files)):
        try:
            location.encode()
        except UnicodeEncodeError:
            name = readable_name(Path(location).name)
            raise _CannotTell(f"The name {name!r} is no UTF-8.") from None


def _shared_file_system(root: Path) -> str:
    """The kind of file system that a folder lies on, if others may write to that; else ""."""
    try:
        device = root.stat().st_dev
        lines = MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:  # proc(5): number of the mount, of its parent, of the device … - kind …
        if line.split()[2] == number:
            kind = line.partition(" - ")[2].split()[0]
            return kind if kind in _SHARED or kind.startswith("fuse.") else ""
    return ""
