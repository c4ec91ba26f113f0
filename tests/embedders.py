"""Embedders that tell what they were given, and what must hold of a store's vectors."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from contextpull import open_store
from contextpull.models.embedding import Embedder
from contextpull.store.embedding import EmbedReport, embed_store, embedded_text
from contextpull.store.ingest import ingest
from contextpull.store.opening import Snapshot
from tests.conftest import Files, write_corpus


class Interrupted(Exception):
    """What ends an embedder in the middle of its work."""


class Watched:
    """An embedder that remembers the texts of passages, and may be interrupted among them."""

    def __init__(
        self,
        embedder: Embedder,
        *,
        stops_after: int | None = None,
        fingerprint: str = "",
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Stop before the text after `stops_after`; call `meanwhile` before each batch."""
        self._embedder = embedder
        self._stops_after = stops_after
        self._meanwhile = meanwhile
        self.name = embedder.name
        self.fingerprint = fingerprint or embedder.fingerprint
        self.given: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self._meanwhile()
        if self._stops_after is not None and len(self.given) + len(texts) > self._stops_after:
            raise Interrupted
        self.given += texts
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Any:
        return self._embedder.embed_query(text)


def embedded(
    folder: Path, files: Files, embedder: Embedder, *, cache: Path | None = None
) -> EmbedReport:
    """Make `folder/docs` hold these files and no others, and `folder/store` its vectors."""
    update(folder, files)
    return embed_store(folder / "store", embedder, cache=cache)


def update(folder: Path, files: Files) -> None:
    """Make `folder/docs` hold these files and no others, and ingest them into `folder/store`."""
    root = write_corpus(folder / "docs", {})
    for path in root.rglob("*.md"):
        if path.relative_to(root).as_posix() not in files:
            path.unlink()
    changed = {name: text for name, text in files.items() if content(root / name) != text}
    ingest(write_corpus(root, changed), folder / "store")


def content(path: Path) -> str | None:
    """What stands in a file, if there is one."""
    return path.read_text() if path.is_file() else None


def snapshot_of(store: Path) -> Snapshot:
    """The newest generation of a store."""
    return open_store(store).snapshot()


def assert_vectors_are_right(store: Path, embedder: Embedder) -> None:
    """Every section has a vector, the one of its own text, and nothing else has one."""
    snapshot = snapshot_of(store)
    documents = snapshot.documents.values()
    numbers = [number for document in documents for number in document.section_numbers]
    sections = snapshot.database.sections(numbers)
    vectors = embedder.embed_passages([embedded_text(section) for section in sections])
    for section, vector in zip(sections, vectors, strict=True):
        near = snapshot.dense.search(vector, len(numbers) + 1, exact=True)
        cosines = dict(near)
        assert len(near) == len(cosines)
        assert cosines.keys() == set(numbers)
        assert cosines[section.number] > 0.9999, section.id


def without(*libraries: str) -> dict[str, None]:
    """What to put into `sys.modules` where these libraries are to be missing."""
    loaded = [
        name for name in sys.modules if name.startswith(tuple(f"{each}." for each in libraries))
    ]
    return dict.fromkeys([*libraries, *loaded])
