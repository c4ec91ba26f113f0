"""Pieces of documents become a store in a scratch folder, searched as every other."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextpull.eval.golden.chunking.corpus import Source
from contextpull.eval.golden.quotes import Span
from contextpull.models.embedding import Embedder
from contextpull.store import Snapshot, open_store
from contextpull.store.building import build_store, whole_document
from contextpull.store.embedding import embed_store, keep_made
from contextpull.store.parsing import ParsedFile, parsed_file
from contextpull.types import Section

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_FACTS: dict[str, object] = {"size": 0, "mtime_ns": 0, "digest": b""}

Progress = Callable[[int, int], None]
Told = Callable[[str, int, int], None]
"""Called with what is made next, the builds that are done, and all of them."""


class Piece(NamedTuple):
    """A span that is searched, and what is handed over for it."""

    searched: Span
    handed: Span
    note: str = ""
    """What stands above its text in the index; it is never handed over."""


def as_sections(source: Source, pieces: Sequence[Piece]) -> list[Section]:
    """The pieces as sections, each under the headings that it begins under."""
    sections = []
    for number, piece in enumerate(pieces, start=1):
        span = piece.searched
        pages = source.pages(span)
        text = source.text[span.start : span.end]
        sections.append(
            Section(
                slug=f"piece={number}",
                anchors=(),
                headings=source.heading_path(span.start),
                kind="prose",
                text=f"{piece.note}\n\n{text}" if piece.note else text,
                start=0,
                first_line=1,
                other_headings=source.headings_within(span),
                page=pages[0] if pages else 0,
                last_page=pages[-1] if pages else 0,
            )
        )
    return sections


def index(
    folder: Path,
    cut: Iterable[tuple[Source, Sequence[Section]]],
    *,
    headings: bool,
    embedder: Embedder | None = None,
    cache: Path | None = None,
    vectors: "NDArray[float32] | None" = None,
    on_progress: Progress | None = None,
) -> Snapshot:
    """A store of these sections, numbered from 1 in their order; `folder` must hold none.

    With headings a document is searched as an ingest has it; without, neither headings nor what
    the document says of itself count, but for its path. `embedder` makes the vectors, which
    `cache` keeps, unless they are given as `vectors`, a row a section.
    """
    made = (_with_headings(*each) if headings else _without(*each) for each in cut)
    snapshot = build_store(folder, "scratch", (each for each in made if each.sections))
    if embedder is None:
        return snapshot
    if vectors is None:
        embed_store(folder, embedder, cache=cache, progress=on_progress)
    else:
        keep_made(folder, embedder, vectors)
    return open_store(folder).snapshot()


def by_tenths(told: Told | None, name: str, done: int, total: int) -> Progress:
    """Tells of the vectors of a build, each time that another tenth of them is made."""
    tenths = 0

    def vectors(made: int, every: int) -> None:
        nonlocal tenths
        if told is not None and made * 10 // every > tenths:
            tenths = made * 10 // every
            told(f"{name}: {made:,} of {every:,} vectors", done, total)

    return vectors


def _with_headings(source: Source, sections: Sequence[Section]) -> ParsedFile:
    return parsed_file(source.path, _FACTS, source.parsed, sections)


def _without(source: Source, sections: Sequence[Section]) -> ParsedFile:
    bare = [each._replace(headings=(), other_headings=()) for each in sections]
    return whole_document(source.path, bare)
