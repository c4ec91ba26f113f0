"""How sure a figure is: percentile bootstrap intervals over questions or over documents.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13; resampling whole
clusters where questions share a document: Davison and Hinkley, 1997, section 3.8.
Shares of yes or no have the interval of Wilson, Journal of the American Statistical
Association 22(158), 1927.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum, isfinite, nan, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from contextpull.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ROUNDS = 10_000
LEVEL = 0.95
CELLS_AT_ONCE = 2_000_000
"""Counts that are held in memory together: 32 MB with their copy as floats."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the bounds of its interval; not a number (nan) where undefined."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float | None]:
        """The fields by name, `None` where undefined, as JSON has no nan."""
        fields = {"mean": self.mean, "low": self.low, "high": self.high}
        return {name: value if isfinite(value) else None for name, value in fields.items()}


UNDEFINED = Interval(mean=nan, low=nan, high=nan)


def require_numpy() -> None:
    """Raise `MissingExtra` where numpy is absent; call it before work that would be lost."""
    try:
        import numpy  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtra("Confidence intervals", "eval") from error


def bootstrap_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    rounds: int = ROUNDS,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """The mean of the values and its percentile bootstrap interval; see `bootstrap_ratio`."""
    ones = [1.0] * len(values)
    return bootstrap_ratio(values, ones, clusters, rounds=rounds, level=level, seed=seed)


def bootstrap_mean_of_means(
    groups: Sequence[Sequence[float]],
    *,
    rounds: int = ROUNDS,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """The mean over groups of the mean of each, and its percentile bootstrap interval.

    Each group weighs the same, whatever its size. Each round draws within every group as many
    values as it has (stratified: Davison and Hinkley, 1997, chapter 3). Undefined without
    groups or with an empty one; without bounds where every group has one value only.
    """
    for values in groups:
        _check(values, [1.0] * len(values), None, rounds, level)
    require_numpy()
    if not groups or not all(groups):
        return UNDEFINED
    mean = fsum(fsum(values) / len(values) for values in groups) / len(groups)
    if all(len(values) < 2 for values in groups):
        return Interval(mean=mean, low=nan, high=nan)
    draws = [
        _resampled(cluster_totals(values, [1.0] * len(values), None), rounds, [seed, number])
        for number, values in enumerate(groups)
    ]
    low, high = _percentiles(sum(draws[1:], start=draws[0]) / len(draws), level)
    return Interval(mean=mean, low=min(low, mean), high=max(high, mean))


def bootstrap_ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    rounds: int = ROUNDS,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """sum(numerators) / sum(denominators) and its percentile bootstrap interval.

    Each round draws as many questions as there are, with replacement; with `clusters` (one key a
    question) it draws clusters, each with all its questions. A round without any denominator has
    no ratio and is left out. Nothing to divide by: all undefined. Fewer than two clusters to
    divide by: the mean alone, since one cluster cannot show how much clusters differ.
    The same seed gives the same interval, in whatever order the questions come.
    """
    _check(numerators, denominators, clusters, rounds, level)
    require_numpy()
    whole = fsum(denominators)
    if not whole:
        return UNDEFINED
    mean = fsum(numerators) / whole
    totals = cluster_totals(numerators, denominators, clusters)
    if (totals[:, 1] > 0).sum() < 2:
        return Interval(mean=mean, low=nan, high=nan)
    low, high = _percentiles(_resampled(totals, rounds, seed), level)
    # Where all ratios are equal, rounding alone could put the mean outside.
    return Interval(mean=mean, low=min(low, mean), high=max(high, mean))


def wilson_interval(yes: int, n: int, *, level: float = LEVEL) -> Interval:
    """The share yes / n, and the true shares that it would not surprise.

    With z the normal quantile of (1 + level) / 2 and p = yes / n, the bounds are
    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n).
    They are sound for few questions and for shares of 0 and 1, where a bootstrap has no width.
    Each question counts as independent of the others. Undefined for n = 0.
    Raises `InvalidInput` unless yes lies between 0 and n.
    """
    if not 0 <= yes <= n:
        raise InvalidInput(f"{yes} of {n} is no share.")
    if not 0 < level < 1:
        raise InvalidInput(f"level must lie between 0 and 1, not {level}.")
    if not n:
        return UNDEFINED
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, widened = yes / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / widened
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / widened
    # At 0 and 1 a bound is the share itself, and rounding alone could put it elsewhere.
    return Interval(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)))


def _check(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable] | None,
    rounds: int,
    level: float,
) -> None:
    if len(denominators) != len(numerators):
        raise InvalidInput(f"{len(numerators)} numerators, but {len(denominators)} denominators.")
    if clusters is not None and len(clusters) != len(numerators):
        raise InvalidInput(f"{len(numerators)} values, but {len(clusters)} cluster keys.")
    if not all(map(isfinite, numerators)):
        raise InvalidInput("Only finite values have a mean. Score a failed question as 0.")
    if not all(isfinite(each) and each >= 0 for each in denominators):
        raise InvalidInput("Denominators must be finite and not negative.")
    if rounds < 1:
        raise InvalidInput(f"rounds must be 1 or more, not {rounds}.")
    if not 0 < level < 1:
        raise InvalidInput(f"level must lie between 0 and 1, not {level}.")


def cluster_totals(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable] | None,
) -> "NDArray[float64]":
    """The sums of each cluster, one row (numerator, denominator) a cluster."""
    import numpy

    terms = numpy.column_stack([numerators, denominators]).astype(float)
    if clusters is None:
        return terms
    number_of = {key: number for number, key in enumerate(dict.fromkeys(clusters))}
    totals = numpy.zeros((len(number_of), 2))
    numpy.add.at(totals, [number_of[key] for key in clusters], terms)
    return totals


def _resampled(
    totals: "NDArray[float64]", rounds: int, seed: int | Sequence[int]
) -> "NDArray[float64]":
    """The ratio of each round that has one.

    A round's sums depend only on how often each distinct row of `totals` was drawn, and those
    counts are multinomial: far fewer numbers than one per draw, with the same distribution.
    """
    import numpy

    distinct, counts = numpy.unique(totals, axis=0, return_counts=True)
    draws = len(totals)
    generator = numpy.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // len(distinct))
    ratios = []
    for done in range(0, rounds, block):
        size = min(block, rounds - done)
        sums = generator.multinomial(draws, counts / draws, size=size) @ distinct
        defined = sums[sums[:, 1] > 0]
        ratios.append(defined[:, 0] / defined[:, 1])
    return numpy.concatenate(ratios)


def _percentiles(ratios: "NDArray[float64]", level: float) -> tuple[float, float]:
    import numpy

    if not len(ratios):  # a few rounds over rare hits may all lack one
        return nan, nan
    tail = (1 - level) / 2
    low, high = numpy.quantile(ratios, [tail, 1 - tail])
    return float(low), float(high)
