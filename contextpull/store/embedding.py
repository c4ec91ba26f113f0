"""Vectors for the sections of a store: made by a model, kept up with every ingest."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from contextpull.errors import StoreError
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.store.database import FILE, Database, DatabaseWriter
from contextpull.store.dense import (
    FOLDER,
    DenseWriter,
    Manifest,
    new_manifest,
    numbers_in,
    read_manifest,
    remove_dense,
)
from contextpull.store.ingest import writing
from contextpull.store.records import StoredSection
from contextpull.store.vectors import Progress, VectorCache

_BATCH = 8_192
"""Sections whose vectors are in memory together."""


class EmbedReport(NamedTuple):
    """What embedding a store took."""

    model: str
    sections: int
    made: int
    """Sections that got their vector now; the others had one."""
    seconds: float


def embed_store(
    store: Path, embedder: Embedder, *, cache: Path | None, progress: Progress | None = None
) -> EmbedReport:
    """Give every section of a store a vector, and record that it is to be kept so.

    `cache` is a folder that keeps vectors for all stores; None keeps them in the store alone.
    What an interrupt leaves undone costs nothing but the last batch of texts where there is one.
    Raises StoreNotFound, StoreBusy and StoreError as `ingest` does, ModelUnavailable as the
    embedder does, MissingExtra without faiss.
    """
    started = time.monotonic()
    with closing(VectorCache(cache, embedder)) as vectors:
        # Making vectors may take hours, in which others may write; the lock is for the end alone.
        made = _make_vectors(store, embedder, vectors, progress)
        with writing(store):
            database = _recorded(store, embedder.name)
            wanted = list(_section_numbers(database))
            _write(store / FOLDER, wanted, _made_of(database, embedder), database, vectors)
    return EmbedReport(embedder.name, len(wanted), made, time.monotonic() - started)


def keep_vectors(
    store: Path,
    *,
    model: str | None,
    api_key: str = "",
    cache: Path | None,
    packs: Path | None = None,
    progress: Progress | None = None,
) -> EmbedReport | None:
    """Bring the vectors of a store up to date, if it keeps any or is to keep those of `model`.

    Nothing is loaded where there is nothing to do, and the result is None.
    Raises as `open_embedder` and `embed_store` do.
    """
    database = Database(store / FILE)
    wanted = database.embedder if model is None else model
    if not wanted or (model is None and _is_up_to_date(store, database)):
        return None
    embedder = open_embedder(wanted, api_key=api_key, models=packs)
    return embed_store(store, embedder, cache=cache, progress=progress)


def _is_up_to_date(store: Path, database: Database) -> bool:
    try:
        manifest = read_manifest(store / FOLDER)
    except StoreError:
        return False
    return (manifest.model, manifest.numbering, manifest.generation) == (
        database.embedder,
        database.numbering,
        database.generation,
    )


def forget_vectors(store: Path) -> None:
    """Delete the vectors of a store, and record that it is to have none."""
    with writing(store):
        _recorded(store, "")
        remove_dense(store / FOLDER)


def embedded_text(section: StoredSection) -> str:
    """The text that stands for a section: its own, below those headings that it does not show."""
    own = section.headings[-1:]
    shows_own = bool(own) and own[0] in section.text.split("\n", 3)[0]
    outer = section.headings[:-1] if shows_own else section.headings
    return "\n".join([" > ".join(outer), section.text]) if outer else section.text


def _recorded(store: Path, model: str) -> Database:
    """The database, once it names this model."""
    database = Database(store / FILE)
    if database.embedder != model:
        writer = DatabaseWriter(database.path, database, database.generation)
        writer.commit(database.root, database.settings, model)
        database = Database(store / FILE)
    return database


def _made_of(database: Database, embedder: Embedder) -> Manifest:
    return new_manifest(
        embedder.name, embedder.fingerprint, database.numbering, database.generation
    )


def _make_vectors(
    store: Path, embedder: Embedder, vectors: VectorCache, progress: Progress | None
) -> int:
    """Make the vectors of all sections that the newest dense index lacks; how many it lacks."""
    database = Database(store / FILE)
    numbers = list(_section_numbers(database))
    had = numbers_in(store / FOLDER, _made_of(database, embedder))
    missing = [number for number in numbers if number not in had]
    done = 0
    for batch in _batches(_texts(database, missing)):

        def report(some: int, _all: int, done: int = done) -> None:
            if progress:
                progress(done + some, len(missing))

        vectors.make([text for _, text in batch], report)
        done += len(batch)
    return len(missing)


def _write(
    folder: Path, wanted: Sequence[int], made_of: Manifest, database: Database, vectors: VectorCache
) -> None:
    writer = DenseWriter(folder, wanted, made_of)
    if writer.is_afresh and wanted:
        sample = [text for _, text in _texts(database, writer.sample)]
        writer.train(vectors.vectors(sample))
    for batch in _batches(_texts(database, writer.missing)):
        numbers, texts = zip(*batch, strict=True)
        writer.add(numbers, vectors.vectors(texts))
    writer.commit()


def _section_numbers(database: Database) -> Iterator[int]:
    for document in database.documents():
        yield from document.section_numbers


def _texts(database: Database, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    for start in range(0, len(numbers), _BATCH):
        for section in database.sections(numbers[start : start + _BATCH]):
            yield section.number, embedded_text(section)


def _batches(numbered: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    while batch := list(islice(numbered, _BATCH)):
        yield batch
