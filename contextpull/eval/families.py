"""Comparisons that belong together, and whose p-values are corrected together."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from contextpull.eval.comparing import Comparison, Discordance, holm, paired_permutation, verdict


class Paired(NamedTuple):
    """Two rows' values of one measure, question by question."""

    row: str
    shape: str
    """Empty for questions of all shapes."""
    first: Sequence[float]
    second: Sequence[float]
    clusters: Sequence[Hashable]
    """One key a question; questions of one key are drawn together."""


class Compared(NamedTuple):
    """One comparison of a family; first less second."""

    row: str
    shape: str
    comparison: Comparison
    p_holm: float
    """The p-value, corrected for the number of comparisons in the family."""

    @property
    def verdict(self) -> str:
        """What the comparison says; see `contextpull.eval.comparing.verdict`."""
        return verdict(self.comparison, self.p_holm)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name as JSON-ready values."""
        return {
            "row": self.row,
            "shape": self.shape or None,
            **self.comparison.as_dict(),
            "p_holm": self.p_holm,
            "verdict": self.verdict,
        }


class ComparedHits(NamedTuple):
    """A row beside another in outcomes of yes or no."""

    row: str
    discordance: Discordance
    p_holm: float


def compare_family(pairs: Sequence[Paired], *, rounds: int, seed: int) -> list[Compared]:
    """Each pair by `paired_permutation`, with the p-values corrected over all of them (Holm)."""
    found = [
        paired_permutation(each.first, each.second, each.clusters, rounds=rounds, seed=seed)
        for each in pairs
    ]
    corrected = holm([each.p for each in found])
    return [
        Compared(pair.row, pair.shape, comparison, p)
        for pair, comparison, p in zip(pairs, found, corrected, strict=True)
    ]


def by_shape(pairs: Sequence[Paired], shapes: Sequence[str]) -> list[Paired]:
    """The pairs cut by the shape of each question, one after the other.

    Nothing where all questions have one shape: that comparison is the overall one.
    """
    named = [each for each in dict.fromkeys(shapes) if each]
    if len(set(shapes)) < 2:
        return []
    return [_of_shape(pair, shapes, shape) for pair in pairs for shape in named]


def _of_shape(pair: Paired, shapes: Sequence[str], shape: str) -> Paired:
    chosen = [at for at, each in enumerate(shapes) if each == shape]
    return Paired(
        pair.row,
        shape,
        [pair.first[at] for at in chosen],
        [pair.second[at] for at in chosen],
        [pair.clusters[at] for at in chosen],
    )
