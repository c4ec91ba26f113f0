"""Push baselines: the pipeline picks k sections before the model has thought."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from contextpull.config import Mode
from contextpull.documents.markdown import read_markdown
from contextpull.errors import ModelUnavailable, StoreError
from contextpull.models.embedding import Embedder
from contextpull.retrieval.models import Models
from contextpull.retrieval.ranking import BEST_FUSION, Fusion, rank
from contextpull.store import Snapshot, open_store
from contextpull.store.building import build_store, whole_document
from contextpull.store.embedding import embed_store
from contextpull.types import Passage, Section

_ROOM_FOR_TIES = 50


class Searched(NamedTuple):
    """What the rows of one table search: the same sections under the same ids."""

    snapshot: Snapshot
    ids: Mapping[int, str]
    """The id that stands for each section, by its number."""


class Push:
    """One way to rank the sections of a store, with nobody to read what it finds.

    Unlike `search` it keeps sections with the same text apart: each may be the gold of a question.
    """

    def __init__(
        self,
        searched: Searched,
        mode: Mode,
        models: Models | None = None,
        fusion: Fusion = BEST_FUSION,
    ) -> None:
        """Rank what is searched; every mode but `lexical` needs vectors there, and models."""
        self._searched = searched
        self._models = models or Models()
        self._uses_vectors = mode != "lexical"
        self._rank = partial(rank, mode=mode, documents=None, models=self._models, fusion=fusion)

    def retrieve(self, query: str, k: int) -> list[str]:
        """The ids of the best `k` sections; equal scores rank by id.

        Raises ModelUnavailable where `search` would fall back to another mode: a row of a table
        must be what it says.
        """
        depth = 2 * k + _ROOM_FOR_TIES
        ranking = self._rank(self._searched.snapshot, query, depth=depth)
        if ranking.notes:
            raise ModelUnavailable(" ".join(ranking.notes))
        ids = self._searched.ids
        ranked = sorted(
            (each.rank, ids[each.number]) for each in ranking.scored if each.number in ids
        )
        return [section_id for _, section_id in ranked[:k]]

    def spared_seconds(self, query: str) -> float:
        """How much longer `retrieve` would take, had no row made the query's vector before."""
        if not self._uses_vectors:
            return 0.0
        return self._models.spared_seconds(self._searched.snapshot.dense.manifest, query)


def over_store(path: Path) -> Searched:
    """The sections of a store, under their own ids."""
    snapshot = open_store(path).snapshot()
    numbers = [
        number for document in snapshot.documents.values() for number in document.section_numbers
    ]
    addresses = snapshot.database.addresses(numbers)
    return Searched(snapshot, {number: addresses[number].id for number in numbers})


def over_passages(passages: Sequence[Passage], folder: Path) -> Searched:
    """Passages that somebody else cut, under their ids; their store is written into `folder`.

    Headings are read out of the passages' own text; a passage without one stands under the last
    heading of its source. `folder` may be deleted once this has returned.
    """
    by_source = list(_by_source(passages))
    documents = (whole_document(each[0].source, list(_sections(each))) for each in by_source)
    size = sum(len(passage.text) for passage in passages)
    snapshot = build_store(folder, "passages", documents, bytes_to_add=size)
    ids = (passage.id for each in by_source for passage in each)
    return Searched(snapshot, dict(enumerate(ids, start=1)))


def with_vectors(
    searched: Searched,
    embedder: Embedder,
    *,
    cache: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Searched:
    """The same sections, with vectors in their store; see `embed_store`."""
    store = searched.snapshot.database.path.parent
    embed_store(store, embedder, cache=cache, progress=progress)
    return searched._replace(snapshot=open_store(store).snapshot())


def require_vectors(snapshot: Snapshot) -> None:
    """Raise StoreError where sections lack vectors: a row could not find them."""
    if snapshot.dense.manifest.generation != snapshot.generation:
        raise StoreError(
            "The vectors of the store are behind its sections: contextpull ingest makes new ones."
        )


def bm25_over_store(path: Path) -> Push:
    """The row `bm25` over the sections of a store."""
    return Push(over_store(path), "lexical")


def bm25_over_passages(passages: Sequence[Passage]) -> Push:
    """The row `bm25` over passages that somebody else cut; see `over_passages`."""
    with tempfile.TemporaryDirectory(prefix="contextpull-") as folder:
        return Push(over_passages(passages, Path(folder)), "lexical")


def _by_source(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    sources: dict[str, list[Passage]] = {}
    for passage in passages:
        sources.setdefault(passage.source, []).append(passage)
    yield from sources.values()


def _sections(passages: Sequence[Passage]) -> Iterator[Section]:
    """The passages of one source as sections, each with the headings that it stands under."""
    chain: list[tuple[int, str]] = []
    for passage in passages:
        own: list[str] = []
        for block in read_markdown(passage.text.encode()).blocks:
            if block.kind == "heading":
                while chain and chain[-1][0] >= block.level:
                    chain.pop()
                chain.append((block.level, block.title))
                own.append(block.title)
        headings = tuple(title for _, title in chain)
        yield Section(
            slug=passage.id.removeprefix(f"{passage.source}#"),
            anchors=(),
            headings=headings,
            kind="prose",
            text=passage.text,
            start=0,
            first_line=1,
            other_headings=tuple(title for title in own if title not in headings),
        )
