"""Push baselines: the pipeline picks k sections before the model has thought."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from contextpull.documents.markdown import read_markdown
from contextpull.sections.fields import search_fields
from contextpull.store import open_store
from contextpull.store.lexical import FOLDER, LexicalIndex, LexicalWriter, comparable
from contextpull.types import BlockKind, Passage

_ROOM_FOR_TIES = 50


class Bm25:
    """The lexical index of the store, with nobody to read what it finds.

    Unlike `search` it keeps sections with the same text apart: each may be the gold of a question.
    """

    def __init__(self, index: LexicalIndex, ids: Mapping[int, str]) -> None:
        """Rank the sections of `index`; `ids` gives the id of each by number."""
        self.ids: Sequence[str] = list(ids.values())
        self._index = index
        self._ids = ids

    def retrieve(self, query: str, k: int) -> list[str]:
        """The ids of the best `k` sections; equal scores rank by id."""
        scored = self._index.search(query, 2 * k + _ROOM_FOR_TIES)
        ranked = sorted((-comparable(each.score), self._ids[each.number]) for each in scored)
        return [section_id for _, section_id in ranked[:k]]


def bm25_over_store(path: Path) -> Bm25:
    """The row `bm25` over the sections of a store."""
    snapshot = open_store(path).snapshot()
    numbers = [
        number for document in snapshot.documents.values() for number in document.section_numbers
    ]
    addresses = snapshot.database.addresses(numbers)
    return Bm25(snapshot.index, {number: addresses[number].id for number in numbers})


def bm25_over_passages(passages: Sequence[Passage]) -> Bm25:
    """The row `bm25` over passages that somebody else cut.

    Headings are read out of the passages' own text; a passage without one stands under the last
    heading of its source.
    """
    ids: dict[int, str] = {}
    with tempfile.TemporaryDirectory(prefix="contextpull-") as temporary:
        folder = Path(temporary, FOLDER)
        writer = LexicalWriter(folder, afresh=True, sections=len(passages))
        for source in _by_source(passages):
            fields = search_fields(list(_with_headings(source)), _about(source[0].source))
            for passage, each in zip(source, fields, strict=True):
                ids[len(ids)] = passage.id
                writer.add(len(ids) - 1, 0, each)
        writer.commit(1)
        # The engine maps its files when it opens them: they may be unlinked from then on.
        return Bm25(LexicalIndex.open(folder), ids)


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
