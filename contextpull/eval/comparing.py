"""Whether one row is better than another, asked the same questions.

The p-value is that of a sign-flip permutation test on the differences question by question
(Fisher, The Design of Experiments, 1935; for rankings Smucker, Allan and Carterette, CIKM 2007),
the interval around the mean difference a paired bootstrap.
Outcomes of yes or no are compared by the exact test of McNemar, Psychometrika 12(2), 1947.
"""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from math import fsum, isfinite, nan, sqrt
from typing import TYPE_CHECKING, Literal

from contextpull.errors import InvalidInput
from contextpull.eval.statistics import (
    CELLS_AT_ONCE,
    ROUNDS,
    Interval,
    bootstrap_interval,
    bootstrap_mean_of_means,
    cluster_totals,
    require_numpy,
)

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Pair = tuple[Sequence[float], Sequence[float]]
"""The values of two rows, question by question."""

_EXACT_UP_TO = 16
"""With so many differences all 65,536 ways to flip their signs are tried."""
_ROUNDING = 1e-9
"""Sums of floats that differ by less than this share of their terms are equal."""
_SIGNIFICANT = 0.05
_TWO_SIDED_AT_5_PERCENT = 1.96
_POWER_OF_80_PERCENT = 0.84


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two rows differ; `first` minus `second`; not a number (nan) where undefined."""

    n: int
    """Questions."""
    difference: Interval
    """The mean difference and its interval."""
    p: float
    """How likely a mean difference at least this far from 0 is, if the rows were alike."""
    sd: float
    """Standard deviation of the differences, with n - 1; undefined over several collections."""
    detectable: float
    """The smallest true difference that this sample would have shown at the 5% level in 80 of
    100 cases: (1.96 + 0.84) standard errors (Miller, arXiv 2411.00640, 2024). Undefined where
    all differences are equal, as they show no spread to go by, and below 6 questions or clusters,
    as p is then 2 / 2^5 or more whatever they show."""

    def as_dict(self) -> dict[str, object]:
        """The fields by name, `None` where undefined, as JSON has no nan."""
        values = {**asdict(self), "difference": self.difference.as_dict()}
        return {
            name: None if isinstance(value, float) and not isfinite(value) else value
            for name, value in values.items()
        }


@dataclass(frozen=True, slots=True)
class Discordance:
    """How two rows differ in outcomes of yes or no."""

    only_first: int
    """Questions with yes in the first row alone."""
    only_second: int
    p: float
    """How likely a split at least this uneven is, if neither row were better."""


Verdict = Literal["better", "worse", "none differs", "cannot tell"]
"""`none differs`: the rows have the same value for every question."""


def verdict(comparison: Comparison, p: float) -> Verdict:
    """What a comparison says of its first row, given the (corrected) p-value; the level is 5%.

    A difference that is not significant is no sign that the rows are alike: `cannot tell`, and
    `Comparison.detectable` is what the sample could have shown.
    """
    if p <= _SIGNIFICANT:
        return "better" if comparison.difference.mean > 0 else "worse"
    spread = comparison.sd > 0 or comparison.difference.mean != 0
    return "cannot tell" if spread else "none differs"


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> Discordance:
    """Compare two rows by outcomes of yes or no, question by question; exact and two-sided.

    Only the b and c questions with yes in one row alone count. The p-value is
    min(1, 2 P(X <= min(b, c))) for X binomial with b + c draws and chance 1/2.
    Each question counts as independent of the others.
    Raises `InvalidInput` for outcomes that do not pair.
    """
    _check_pairs(first, second)
    only_first = sum(one and not other for one, other in zip(first, second, strict=True))
    only_second = sum(other and not one for one, other in zip(first, second, strict=True))
    draws = only_first + only_second
    ways, term = 0, 1
    for each in range(min(only_first, only_second) + 1):
        ways += term
        term = term * (draws - each) // (each + 1)
    return Discordance(only_first, only_second, min(1.0, 2 * ways / 2**draws))


def paired_permutation(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Comparison:
    """Compare two rows by their values, question by question; two-sided.

    With `clusters` (one key a question) whole clusters are flipped and drawn.
    Up to 16 differences that are not 0, the p-value is exact; beyond, it is
    (1 + rounds at least as extreme) / (1 + rounds), which is never too small
    (Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology 9(1), 2010).
    The standard error behind `detectable` is sd / sqrt(n), or the clustered one.
    Raises `InvalidInput` for values that do not pair, and `MissingExtra` without numpy.
    """
    differences = _differences(first, second)
    interval = bootstrap_interval(differences, clusters, rounds=rounds, seed=seed)
    totals = cluster_totals(differences, [1.0] * len(differences), clusters)
    return Comparison(
        n=len(differences),
        difference=interval,
        p=_p_value(totals[:, 0], rounds, seed),
        sd=_deviation(differences),
        detectable=_detectable(_standard_error(totals), len(totals)),
    )


def paired_permutation_of_means(
    groups: Sequence[Pair], *, rounds: int = ROUNDS, seed: int = 0
) -> Comparison:
    """Compare two rows over several collections; each collection weighs the same.

    What is compared is the mean over collections of the mean difference in each; the signs of
    single questions are flipped, as in `paired_permutation`. No collection may be empty.
    """
    differences = [_differences(first, second) for first, second in groups]
    if not all(differences):
        raise InvalidInput("A collection without questions cannot be compared. Leave it out.")
    weighted = [each / len(values) / len(differences) for values in differences for each in values]
    interval = bootstrap_mean_of_means(differences, rounds=rounds, seed=seed)
    totals = [cluster_totals(values, [1.0] * len(values), None) for values in differences]
    errors = [_standard_error(each) for each in totals]
    return Comparison(
        n=len(weighted),
        difference=interval,
        p=_p_value(weighted, rounds, seed),
        sd=nan,
        detectable=_detectable(
            sqrt(fsum(each**2 for each in errors)) / max(1, len(errors)), len(weighted)
        ),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number, in the order given.

    The i-th smallest of m is multiplied by m - i + 1, is never smaller than those before it,
    and at most 1 (Holm, Scandinavian Journal of Statistics 6(2), 1979).
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise InvalidInput("p-values lie between 0 and 1.")
    corrected = [0.0] * len(p_values)
    largest = 0.0
    smallest_first = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, index in enumerate(smallest_first):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = largest
    return corrected


def _differences(first: Sequence[float], second: Sequence[float]) -> list[float]:
    require_numpy()
    _check_pairs(first, second)
    return [one - other for one, other in zip(first, second, strict=True)]


def _check_pairs(first: Sequence[float], second: Sequence[float]) -> None:
    if len(first) != len(second):
        raise InvalidInput(
            f"{len(first)} values cannot be paired with {len(second)}. "
            "Ask both rows the same questions."
        )


def _p_value(sums: "Sequence[float] | NDArray[float64]", rounds: int, seed: int) -> float:
    """The share of sign flips whose total is at least as far from 0 as that of `sums`."""
    import numpy

    moving = numpy.asarray(sums, dtype=float)
    moving = moving[moving != 0]
    if not len(moving):
        return 1.0
    # Only magnitudes matter from here on: the test is the same for both orders of the rows.
    observed = abs(fsum(moving)) - _ROUNDING * fsum(abs(moving))
    magnitudes, counts = numpy.unique(abs(moving), return_counts=True)
    if len(moving) <= _EXACT_UP_TO:
        totals = _every_total(abs(moving))
        return float((abs(totals) >= observed).mean())
    extreme = 0
    generator = numpy.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // len(magnitudes))
    for done in range(0, rounds, block):
        # How many of each magnitude stay positive says all: far fewer numbers than one per sign.
        size = (min(block, rounds - done), len(magnitudes))
        positive = generator.binomial(counts, 0.5, size=size)
        extreme += int((abs((2 * positive - counts) @ magnitudes) >= observed).sum())
    return (1 + extreme) / (1 + rounds)


def _every_total(magnitudes: "NDArray[float64]") -> "NDArray[float64]":
    """The totals of all ways to give these numbers signs."""
    import numpy

    totals = numpy.zeros(1)
    for each in magnitudes:
        totals = numpy.concatenate([totals + each, totals - each])
    return totals


def _deviation(values: Sequence[float]) -> float:
    if len(values) < 2:
        return nan
    mean = fsum(values) / len(values)
    return sqrt(fsum((each - mean) ** 2 for each in values) / (len(values) - 1))


def _standard_error(totals: "NDArray[float64]") -> float:
    """That of the mean, from the sums and sizes of clusters: sd / sqrt(n) for single questions."""
    clusters = len(totals)
    if clusters < 2:
        return nan
    sums, sizes = totals[:, 0], totals[:, 1]
    residuals = sums - sizes * (fsum(sums) / fsum(sizes))
    return sqrt(clusters / (clusters - 1) * fsum(residuals**2)) / fsum(sizes)


def _detectable(standard_error: float, flips: int) -> float:
    if standard_error < _ROUNDING or 2 / 2**flips > _SIGNIFICANT:
        return nan
    return (_TWO_SIDED_AT_5_PERCENT + _POWER_OF_80_PERCENT) * standard_error
