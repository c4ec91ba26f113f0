"""The vectors of texts, kept by model and text: none is ever made twice."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contextpull.models.embedding import Embedder

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_BATCH = 64
"""Texts that are embedded before their vectors are kept: what an interrupt can lose."""
_WAIT_SECONDS = 60.0
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL)"

_Item = TypeVar("_Item")

Progress = Callable[[int, int], None]
"""Called with the texts done and the texts in all."""


def text_key(text: str) -> bytes:
    """The hash by which a text is known again, 16 bytes."""
    return blake2b(text.encode(), digest_size=16).digest()


class VectorCache:
    """The vectors that one embedder has made, in a file that all stores of a user share."""

    def __init__(self, folder: Path | None, embedder: Embedder) -> None:
        """Keep vectors in `folder`; in memory only where that is None or cannot be written."""
        self._embedder = embedder
        self._connection = _connect(folder, f"{embedder.fingerprint}.sqlite")

    def make(self, texts: Sequence[str], progress: Progress | None = None) -> None:
        """Make and keep the vectors of those texts that have none yet, a batch at a time.

        What was made before an interrupt is not made again. Raises ModelUnavailable as the
        embedder does.
        """
        missing = {text_key(text): text for text in texts}
        for key in self._kept(list(missing)):
            del missing[key]
        done = len(texts) - len(missing)
        for batch in _batches(missing.items()):
            self._make(dict(batch))
            done += len(batch)
            if progress:
                progress(done, len(texts))

    def vectors(self, texts: Sequence[str]) -> "NDArray[float32]":
        """The vectors of texts, made where need be: (texts, dimensions), each row of length 1."""
        import numpy as np

        self.make(texts)
        rows = b"".join(self._read(texts))
        return np.frombuffer(rows, dtype=np.float32).reshape(len(texts), -1 if rows else 0)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _make(self, texts: dict[bytes, str]) -> None:
        made = self._embedder.embed_passages(list(texts.values()))
        rows = [(key, vector.tobytes()) for key, vector in zip(texts, made, strict=True)]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _kept(self, keys: Sequence[bytes]) -> Iterator[bytes]:
        for batch in _batches(keys):
            marks = ",".join("?" * len(batch))
            query = f"SELECT text FROM vectors WHERE text IN ({marks})"
            yield from (row[0] for row in self._connection.execute(query, batch).fetchall())

    def _read(self, texts: Sequence[str]) -> Iterator[bytes]:
        for text in texts:
            query = "SELECT vector FROM vectors WHERE text = ?"
            yield self._connection.execute(query, (text_key(text),)).fetchone()[0]


def _connect(folder: Path | None, name: str) -> sqlite3.Connection:
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(folder / name, timeout=_WAIT_SECONDS)
            connection.execute(_TABLE)
        except (OSError, sqlite3.Error):
            pass  # a cache that cannot be kept costs time, never an answer
        else:
            return connection
    connection = sqlite3.connect(":memory:")
    connection.execute(_TABLE)
    return connection


def _batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _BATCH)):
        yield batch
