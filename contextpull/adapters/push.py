"""Push baselines: the pipeline picks k sections before the model has thought."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from contextpull.documents.markdown import read_markdown
from contextpull.retrieval.search import search
from contextpull.sections.fields import search_fields
from contextpull.store import open_store
from contextpull.store.lexical import FOLDER, LexicalIndex, LexicalWriter
from contextpull.types import BlockKind, Passage

_SCORE_DIGITS = 3
_DEPTH_FACTOR = 2


class Bm25OverPassages:
    """The lexical index of the store, over passages that somebody else cut.

    Headings are read out of the passages' own text; a passage without one stands under the last
    heading of its source.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.ids: Sequence[str] = [passage.id for passage in passages]
        self._folder = tempfile.TemporaryDirectory(prefix="contextpull-")
        folder = Path(self._folder.name, FOLDER)
        writer = LexicalWriter(folder, afresh=True, sections=len(passages))
        number = 0
        for source in _by_source(passages):
            for fields in search_fields(list(_with_headings(source)), _about(source[0].source)):
                writer.add(number, 0, fields)
                number += 1
        self._order = [passage.id for source in _by_source(passages) for passage in source]
        writer.commit(1)
        self._index = LexicalIndex.open(folder)

    def retrieve(self, query: str, k: int) -> list[str]:
        """The ids of the best `k` passages; equal scores rank by id."""
        scored = self._index.search(query, k * _DEPTH_FACTOR + 10)
        ranked = sorted(
            (-round(each.score, _SCORE_DIGITS), self._order[each.number]) for each in scored
        )
        return [passage_id for _, passage_id in ranked[:k]]


class Bm25OverStore:
    """What `search` finds, without anybody reading it."""

    def __init__(self, path: Path) -> None:
        self._store = open_store(path)
        snapshot = self._store.snapshot()
        self.ids: Sequence[str] = [
            f"{document.path}#{slug}"
            for document in snapshot.documents.values()
            for slug in snapshot.database.slugs_of(document)
        ]

    def retrieve(self, query: str, k: int) -> list[str]:
        """The ids of the best `k` sections; sections with the same text count once."""
        result = search(self._store.snapshot(), query, limit=k, snippets="heading")
        return [hit.section.id for hit in result.hits]


def bm25_over_passages(passages: Sequence[Passage]) -> Bm25OverPassages:
    """The row `bm25` over passages that were exported."""
    return Bm25OverPassages(passages)


def bm25_over_store(path: Path) -> Bm25OverStore:
    """The row `bm25` over the sections of a store."""
    return Bm25OverStore(path)


class _Headed(NamedTuple):
    """A passage with the headings that it stands under."""

    text: str
    headings: tuple[str, ...]
    other_headings: tuple[str, ...]
    kind: BlockKind


def _by_source(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    sources: dict[str, list[Passage]] = {}
    for passage in passages:
        sources.setdefault(passage.source, []).append(passage)
    yield from sources.values()


def _with_headings(passages: Sequence[Passage]) -> Iterator[_Headed]:
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
        others = tuple(title for title in own if title not in headings)
        yield _Headed(passage.text, headings, others, "prose")


def _about(source: str) -> str:
    return os.path.splitext(source)[0].replace("/", " ")  # noqa: PTH122
