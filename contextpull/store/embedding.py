"""Vectors for the sections of a store: made by a model, kept up with every ingest."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextpull.errors import MissingExtra, StoreError
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.models.specs import check_named
from contextpull.store.database import FILE, Database, DatabaseWriter
from contextpull.store.dense import (
    FOLDER,
    DenseIndex,
    DenseWriter,
    new_manifest,
    read_manifest,
    remove_dense,
)
from contextpull.store.ingest import writing
from contextpull.store.records import StoredSection
from contextpull.store.vectors import Progress, VectorCache

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

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
        while True:
            database = Database(store / FILE)
            writer = _filled(database, embedder, vectors, progress)
            with writing(store):
                if _is_newer(Database(store / FILE), database):
                    continue
                _record(store, embedder.name)
                writer.commit()
                break
    seconds = time.monotonic() - started
    return EmbedReport(embedder.name, writer.sections, len(writer.missing), seconds)


def keep_made(store: Path, embedder: Embedder, vectors: "NDArray[float32]") -> None:
    """Give the sections of a store these vectors, a row each by their numbers, of length 1.

    They must be of the embedder's space, as its vectors of queries are compared with them.
    Raises StoreBusy and StoreError as `ingest` does, MissingExtra without faiss.
    """
    with writing(store):
        _record(store, embedder.name)
        database = Database(store / FILE)
        documents = database.documents()
        numbers = sorted(n for document in documents for n in document.section_numbers)
        writer = _dense_writer(database, embedder, numbers)
        row_of = {number: row for row, number in enumerate(numbers)}
        if writer.is_afresh and numbers:
            writer.train(vectors[[row_of[number] for number in writer.sample]])
        writer.add(writer.missing, vectors[[row_of[number] for number in writer.missing]])
        writer.commit()


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

    Nothing is loaded where there is nothing to do, and the result is None. An endpoint must be
    named by `model`: that a store names it is not enough to send text there.
    Raises as `open_embedder` and `embed_store` do.
    """
    database = Database(store / FILE)
    wanted = database.embedder if model is None else model
    if not wanted or (model is None and _is_up_to_date(store, database)):
        return None
    check_named(wanted, model)
    embedder = open_embedder(wanted, api_key=api_key, models=packs)
    return embed_store(store, embedder, cache=cache, progress=progress)


def _is_newer(database: Database, seen: Database) -> bool:
    return (database.numbering, database.generation) != (seen.numbering, seen.generation)


def _is_up_to_date(store: Path, database: Database) -> bool:
    try:
        manifest = read_manifest(store / FOLDER)
        with suppress(MissingExtra):  # nothing could be made anew without it
            DenseIndex(store / FOLDER)
    except StoreError:
        return not database.counts()[1]
    return (manifest.model, manifest.numbering, manifest.generation) == (
        database.embedder,
        database.numbering,
        database.generation,
    )


def forget_vectors(store: Path) -> None:
    """Delete the vectors of a store, and record that it is to have none."""
    with writing(store):
        _record(store, "")
        remove_dense(store / FOLDER)


def embedded_text(section: StoredSection) -> str:
    """The text that stands for a section: its own, below those headings that it does not show."""
    own = section.headings[-1:]
    begins_with_own = bool(own) and own[0] in section.text.split("\n", 1)[0]
    shown = {*section.other_headings, *(own if begins_with_own or section.other_headings else ())}
    above = [heading for heading in section.headings if heading not in shown]
    return "\n".join([" > ".join(above), section.text]) if above else section.text


def _record(store: Path, model: str) -> None:
    database = Database(store / FILE)
    if database.embedder != model:
        writer = DatabaseWriter(database.path, database, database.generation)
        writer.commit(database.corpora, database.settings, model)


def _dense_writer(database: Database, embedder: Embedder, numbers: Sequence[int]) -> DenseWriter:
    """The next dense index of a store, of the sections with these numbers."""
    made_of = new_manifest(
        embedder.name, embedder.fingerprint, database.numbering, database.generation
    )
    return DenseWriter(database.path.parent / FOLDER, numbers, made_of)


def _filled(
    database: Database, embedder: Embedder, vectors: VectorCache, progress: Progress | None
) -> DenseWriter:
    """The dense index of all sections, to be committed; their vectors made where need be."""
    numbers = [n for document in database.documents() for n in document.section_numbers]
    writer = _dense_writer(database, embedder, numbers)
    _make(database, writer.missing, vectors, progress)
    if writer.is_afresh and numbers:
        writer.train(vectors.vectors([text for _, text in _texts(database, writer.sample)]))
    for batch in _batches(_texts(database, writer.missing)):
        some, texts = zip(*batch, strict=True)
        writer.add(some, vectors.vectors(texts))
    return writer


def _make(
    database: Database, numbers: Sequence[int], vectors: VectorCache, progress: Progress | None
) -> None:
    """Make the vectors of sections: what takes long, and an interrupt must not undo."""
    done = 0
    for batch in _batches(_texts(database, numbers)):

        def report(some: int, _all: int, done: int = done) -> None:
            if progress:
                progress(done + some, len(numbers))

        vectors.make([text for _, text in batch], report)
        done += len(batch)


def _texts(database: Database, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    for start in range(0, len(numbers), _BATCH):
        for section in database.sections(numbers[start : start + _BATCH]):
            yield section.number, embedded_text(section)


def _batches(numbered: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    while batch := list(islice(numbered, _BATCH)):
        yield batch
