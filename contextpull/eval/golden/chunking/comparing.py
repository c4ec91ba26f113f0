"""Techniques by their best build, chosen on one half of the questions and told on the other."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.comparing import holm, mcnemar
from contextpull.eval.golden.chunking.plan import Build, Technique
from contextpull.eval.statistics import Interval, wilson_interval

ALPHA = 0.05
"""From this corrected p-value on a difference could be luck, unless another is named."""


class Halves(NamedTuple):
    """The ids of the questions that builds are chosen by, and of those that are told of."""

    choosing: tuple[str, ...]
    told: tuple[str, ...]


class TechniqueRow(NamedTuple):
    """A technique by its best build."""

    technique: Technique
    build: Build
    pieces: int
    outcomes: tuple[bool, ...]
    """For each question that is told of, whether it was right, or found."""
    is_tie: bool = False
    """Whether its distance to the best technique could be luck."""

    @property
    def right(self) -> int:
        """How many were."""
        return sum(self.outcomes)

    @property
    def share(self) -> Interval:
        """The share of them, with Wilson's interval."""
        return wilson_interval(self.right, len(self.outcomes))


class Pair(NamedTuple):
    """Two techniques on the same questions, the one that ranks higher first."""

    first: Technique
    second: Technique
    only_first: int
    """Questions that only the first has right."""
    only_second: int
    both: int
    neither: int
    p: float
    """Exact, two-sided (McNemar)."""
    p_holm: float
    """Corrected for the number of all pairs."""
    could_be_luck: bool
    """Whether the questions cannot tell the two apart."""


def check_alpha(alpha: float) -> None:
    """Raise `InvalidInput` for a level of significance that is not between 0 and 1."""
    if not 0 < alpha < 1:
        raise InvalidInput(f"The level of significance must be between 0 and 1, not {alpha!r}.")


def halves_of(ids: Sequence[str], seed: int) -> Halves:
    """The questions in two halves, drawn by the seed; the order in the file changes nothing.

    Raises `EvaluationError` for fewer than two questions.
    """
    if len(ids) < 2:
        raise EvaluationError(
            f"{len(ids)} question cannot be split into one half to choose builds by and one to"
            " tell of. Give more: 50 or so show differences of size."
        )
    drawn = sorted(ids)
    Random(seed).shuffle(drawn)
    half = len(drawn) // 2
    return Halves(tuple(sorted(drawn[:half])), tuple(sorted(drawn[half:])))


def best_builds(right: Mapping[Build, int], pieces: Mapping[Build, int]) -> dict[Technique, Build]:
    """Of each technique the build with most right, then with fewest pieces, then planned first."""
    best: dict[Technique, Build] = {}
    for build in right:
        before = best.get(build.technique)
        if before is None or (-right[build], pieces[build]) < (-right[before], pieces[before]):
            best[build.technique] = build
    return best


def ranked_techniques(
    outcomes: Mapping[Build, Sequence[bool]], pieces: Mapping[Build, int], alpha: float = ALPHA
) -> tuple[list[TechniqueRow], list[Pair]]:
    """The techniques, best first (equal ones by fewer pieces), and every pair of them.

    A difference with a corrected p-value of `alpha` or more could be luck.
    """
    rows = [
        TechniqueRow(build.technique, build, pieces[build], tuple(found))
        for build, found in outcomes.items()
    ]
    rows.sort(key=lambda row: (-row.right, row.pieces, row.technique))
    pairs = _pairs(rows, alpha)
    best = rows[0].technique
    ties = {pair.second for pair in pairs if pair.first == best and pair.could_be_luck}
    return [row._replace(is_tie=row.technique in ties) for row in rows], pairs


def _pairs(rows: Sequence[TechniqueRow], alpha: float) -> list[Pair]:
    compared = list(combinations(rows, 2))
    found = [mcnemar(first.outcomes, second.outcomes) for first, second in compared]
    corrected = holm([each.p for each in found])
    return [
        Pair(
            first.technique,
            second.technique,
            each.only_first,
            each.only_second,
            both := first.right - each.only_first,
            len(first.outcomes) - both - each.only_first - each.only_second,
            each.p,
            p_holm,
            could_be_luck=p_holm >= alpha,
        )
        for (first, second), each, p_holm in zip(compared, found, corrected, strict=True)
    ]
