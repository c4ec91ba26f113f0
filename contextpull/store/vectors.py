"""The vectors of texts, kept by model and text: none is ever made twice."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contextpull.errors import ModelUnavailable
from contextpull.models.embedding import Embedder

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_BATCH = 64
"""Texts that are embedded before their vectors are kept: what an interrupt can lose."""
_BYTES_PER_NUMBER = 4
_WAIT_SECONDS = 60.0
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL)"

_Item = TypeVar("_Item")

Progress = Callable[[int, int], None]
"""Called with the texts done and the texts in all."""


def text_key(text: str) -> bytes:
    """The hash by which a text is known again, 16 bytes."""
    return blake2b(text.encode(), digest_size=16).digest()


class VectorCache:
    """The vectors that one embedder has made, in a file that all stores of a user share.

    A file that cannot be used costs time, never an answer; one that is damaged is begun anew.
    """

    def __init__(self, folder: Path | None, embedder: Embedder) -> None:
        """Keep vectors in `folder`; in memory only where that is None or cannot be written."""
        self._embedder = embedder
        self._unkept: dict[bytes, bytes] = {}
        """What is in memory only."""
        self._path = folder / f"{embedder.fingerprint}.sqlite" if folder else None
        self._file = _open(self._path) if self._path else None
        self._is_writable = True

    def make(self, texts: Sequence[str], progress: Progress | None = None) -> None:
        """Make and keep the vectors of those texts that have none yet, a batch at a time.

        What was made before an interrupt is not made again. Raises ModelUnavailable as the
        embedder does.
        """
        missing = {text_key(text): text for text in texts}
        for key in self._kept(list(missing)):
            missing.pop(key)
        done = len(texts) - len(missing)
        for batch in _batches(missing.items()):
            self._make(dict(batch))
            done += len(batch)
            if progress:
                progress(done, len(texts))

    def vectors(self, texts: Sequence[str]) -> "NDArray[float32]":
        """The vectors of texts, made where need be: (texts, dimensions), each row of length 1.

        Raises ModelUnavailable also where some have another length than others.
        """
        import numpy as np

        keyed = {text_key(text): text for text in texts}
        rows = self._kept(list(keyed))
        for batch in _batches([each for each in keyed.items() if each[0] not in rows]):
            rows |= self._make(dict(batch))
        self._check_lengths(rows)
        joined = b"".join(rows[text_key(text)] for text in texts)
        return np.frombuffer(joined, dtype=np.float32).reshape(len(texts), -1 if joined else 0)

    def close(self) -> None:
        """Let go of the file."""
        if self._file:
            self._file.close()

    def _make(self, texts: dict[bytes, str]) -> dict[bytes, bytes]:
        vectors = self._embedder.embed_passages(list(texts.values()))
        made = {key: vector.tobytes() for key, vector in zip(texts, vectors, strict=True)}
        self._keep(made)
        return made

    def _keep(self, made: dict[bytes, bytes]) -> None:
        if self._file and self._is_writable:
            try:
                with self._file:
                    statement = "INSERT OR REPLACE INTO vectors VALUES (?, ?)"
                    self._file.executemany(statement, made.items())
            except sqlite3.Error as error:
                self._is_writable = False  # what it holds may still be read
                self._renew_if_damaged(error)
            else:
                return
        self._unkept |= made

    def _kept(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors that there are, by the keys of their texts."""
        found = {key: self._unkept[key] for key in keys if key in self._unkept}
        for batch in _batches(keys):
            marks = ",".join("?" * len(batch))
            statement = f"SELECT text, vector FROM vectors WHERE text IN ({marks})"
            try:
                found |= self._file.execute(statement, batch).fetchall() if self._file else {}
            except sqlite3.Error as error:
                if not self._renew_if_damaged(error):
                    self.close()
                    self._file = None
        return found

    def _renew_if_damaged(self, error: sqlite3.Error) -> bool:
        is_damaged = _is_damage(error)
        if is_damaged and self._path:
            self.close()
            self._file = _opened_anew(self._path)
            self._is_writable = True
        return is_damaged

    def _check_lengths(self, rows: dict[bytes, bytes]) -> None:
        lengths = sorted({len(row) // _BYTES_PER_NUMBER for row in rows.values()})
        if len(lengths) > 1:
            raise ModelUnavailable(
                f"The model {self._embedder.name!r} gives vectors of {lengths[-1]} numbers and of"
                f" {lengths[0]}: there is another one behind its name by now. Delete"
                f" {str(self._path)!r}, and ingest with --no-vectors before --embedder."
            )


def _batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _open(path: Path) -> sqlite3.Connection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _connect(path)
    except sqlite3.Error as error:
        return _opened_anew(path) if _is_damage(error) else None
    except OSError:
        return None


def _opened_anew(path: Path) -> sqlite3.Connection | None:
    """A new file in place of a damaged one; who still has that open keeps it."""
    try:
        path.unlink(missing_ok=True)
        return _connect(path)
    except (OSError, sqlite3.Error):
        return None


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
    try:
        connection.execute(_TABLE)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_damage(error: sqlite3.Error) -> bool:
    # The others are of its kind: locked, full, not to be written to.
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError
    )
