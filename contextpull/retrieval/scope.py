"""Scopes: which documents of a store there are for somebody."""

import threading
import unicodedata
from dataclasses import dataclass

from contextpull.errors import InvalidInput
from contextpull.retrieval.paths import LONGEST_PATTERN, glob_expression, normal_path
from contextpull.store import Snapshot, Store
from contextpull.store.part import open_part

_OUT = "!"


@dataclass(frozen=True)
class Scope:
    """Which documents there are, told by globs as in the tools' `paths`, the last match decides.

    A glob is a path, a folder, or has `*` within a name, `**` across folders, `?`. One without a
    slash before its end matches names in every folder (`hr/` also means `legal/hr/`), one with a
    slash in front only from the top (`/hr/`). Capitals count. A glob behind `!` takes documents
    out. What no glob speaks of is outside, but for a scope that only takes out, or has no globs:
    then it is inside.
    """

    globs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise InvalidInput for a glob that cannot mean what somebody had in mind."""
        if isinstance(self.globs, str):
            raise InvalidInput(f"A scope takes a list of globs, not the text {self.globs!r}.")
        object.__setattr__(self, "globs", tuple(self.globs))
        for glob in self.globs:
            _check(glob)

    def allows(self, path: str) -> bool:
        """Whether a document with this path is inside."""
        verdicts = (
            not glob.startswith(_OUT)
            for glob in reversed(self.globs)
            if _means(glob.removeprefix(_OUT), path)
        )
        return next(verdicts, all(glob.startswith(_OUT) for glob in self.globs))


class ScopedStore:
    """A store as if it held only the documents of a scope; for any number of clients and threads.

    The first snapshot takes the time to index these documents, and so does each generation that
    changed one of them: whoever comes first waits, others are answered from the one before.
    """

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._follows: Snapshot | None = None
        """What the part was last brought up to date with."""
        self._part: Snapshot | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """A copy, in another process too, opens the store again for the same scope."""
        return ScopedStore, (self._store, self._scope)

    def snapshot(self) -> Snapshot:
        """The newest whole generation of the documents inside.

        Raises StoreError as `open_part` does.
        """
        whole = self._store.snapshot()
        if not self._scope.globs:
            return whole
        if whole is not self._follows and self._lock.acquire(blocking=self._part is None):
            try:
                self._follow(whole)
            finally:
                self._lock.release()
        assert self._part is not None  # without one, the lock is waited for
        return self._part

    def _follow(self, whole: Snapshot) -> None:
        if whole is not self._follows:
            self._part = open_part(self._store.path, self._scope.allows, self._part)
            self._follows = whole


def _check(glob: str) -> None:
    wanted = glob.removeprefix(_OUT)
    if not normal_path(wanted):
        raise InvalidInput(
            f"The glob {glob!r} of a scope names nothing. Leave it out, or write ** for everything."
        )
    if len(glob) > LONGEST_PATTERN:
        raise InvalidInput(
            f"The glob {glob[:60]!r}… of a scope is longer than {LONGEST_PATTERN} characters."
            " Name a folder above."
        )
    if ".." in normal_path(wanted).split("/"):
        raise InvalidInput(
            f"The glob {glob!r} of a scope matches nothing: paths begin at the top of the folder"
            " that is served, and have no '..'."
        )


def _means(glob: str, path: str) -> bool:
    """Whether a glob means a path, whichever way both write their accents."""
    glob, path = unicodedata.normalize("NFC", glob), unicodedata.normalize("NFC", path)
    wanted = normal_path(glob)
    if glob.startswith("/") and "/" not in wanted:
        path = path.partition("/")[0]
    found = glob_expression(wanted, True).search(path.replace("\n", "\0"))
    return glob == path or found is not None
