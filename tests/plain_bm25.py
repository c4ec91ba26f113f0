"""BM25 by a library, with the words, parameters and tie rule of ragbisect's built-in row."""

import re
from collections.abc import Sequence

import bm25s

from contextpull.types import Passage

_WORD = re.compile(r"[a-z0-9][a-z0-9._-]*")


class PlainBm25:
    """Ranks the texts of passages, nothing else of them; k1 1.5, b 0.75."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._ids = [passage.id for passage in passages]
        # Lucene's form of BM25 lacks a factor that all scores share. In single precision scores
        # that differ would tie.
        self._engine = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
        self._engine.index([words(passage.text) for passage in passages], show_progress=False)

    def retrieve(self, query: str, k: int) -> list[str]:
        """Each word of the query counts once; equal scores rank in the order of the passages."""
        scores = self._engine.get_scores(sorted(set(words(query))))
        matching = [(-score, at) for at, score in enumerate(scores) if score > 0]
        return [self._ids[at] for _, at in sorted(matching)[:k]]


def words(text: str) -> list[str]:
    """Identifiers stay whole, in lower case; full stops and dashes around them go."""
    found = (word.strip("._-") for word in _WORD.findall(text.lower()))
    return [word for word in found if word]
