"""How like sentences are to the next ones, by vectors."""

from collections.abc import Sequence
from itertools import pairwise

from contextpull.eval.golden.chunking.cutters import Likeness
from contextpull.store.vectors import VectorCache


def by_vectors(vectors: VectorCache) -> Likeness:
    """The cosines of neighbours; vectors are made once and kept."""

    def likeness(texts: Sequence[str]) -> list[float]:
        made = vectors.vectors(texts)
        return [float(one @ other) for one, other in pairwise(made)]

    return likeness
