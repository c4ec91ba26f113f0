"""The value of a top result below which to decline, from answers and near misses.

Separation is the area under the ROC curve by the rank-sum statistic (Mann and Whitney, Annals of
Mathematical Statistics 18(1), 1947): how often an answer has a higher value than a near miss, ties
counting one half. The cut-off maximises Youden's J, the share of answers that are kept plus that
of near misses that are declined, less 1 (Youden, Cancer 3(1), 1950).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple

from contextpull.errors import InvalidInput
from contextpull.eval.statistics import CELLS_AT_ONCE, LEVEL, ROUNDS, Interval, require_numpy

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

LEAST = 5
"""Fewer answers or near misses than this are no measurement."""
MOST_ROWS = 15
FOLDS = 5
REPEATS = 20


class Cost(NamedTuple):
    """What it costs to answer only where the top result has this value or more."""

    cutoff: float
    precision: float
    """The share of answers among the top results that are kept; depends on how many of the
    questions have an answer. Not a number (nan) where nothing is kept."""
    answered: float
    """The share of answers that are kept."""
    declined: float
    """The share of near misses that are declined."""

    @property
    def youden(self) -> float:
        """J = answered + declined - 1: 0 for a coin, 1 for no mistake."""
        return self.answered + self.declined - 1

    def as_dict(self) -> dict[str, float | None]:
        """The fields and J by name, None where undefined."""
        values = {**self._asdict(), "youden": self.youden}
        return {name: value if isfinite(value) else None for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A cut-off, or the reason why these values support none."""

    answers: int
    near_misses: int
    separation: Interval
    """Undefined where there are too few values."""
    reason: str
    """Why there is no cut-off; empty where there is one."""
    interval: Interval
    """The cut-off with its interval; undefined where there is none."""
    chosen: Cost | None
    """What the cut-off costs on the values that it was chosen by, which flatters it."""
    held_out: Cost | None
    """What a cut-off costs on values that it was not chosen by; its `cutoff` is the mean one."""
    table: tuple[Cost, ...]
    """At most `MOST_ROWS` candidates, lowest first; the chosen one is among them."""
    rounds: int
    seed: int


def find_cutoff(
    answers: Sequence[float], misses: Sequence[float], *, rounds: int = ROUNDS, seed: int = 0
) -> Cutoff:
    """The cut-off between the values of answers and those of near misses; more is better.

    Candidates are the lowest value and the middle between neighbouring ones; of equal J the lowest
    wins. Intervals are percentiles of a bootstrap that draws answers and near misses apart, each
    round with a cut-off of its own. The held-out figures are those of a cross-validation with
    `FOLDS` stratified parts, `REPEATS` times.
    No cut-off is named for fewer than `LEAST` values on either side, or where the interval of the
    separation reaches 0.5, a coin. Raises `InvalidInput` for values that are not finite.
    """
    if not all(map(isfinite, (*answers, *misses))):
        raise InvalidInput("Only finite values can be cut off. Leave out what was not measured.")
    require_numpy()
    counted = {"answers": len(answers), "near_misses": len(misses)}
    nothing = Interval(nan, nan, nan)
    reason = _too_few(len(answers), len(misses))
    if reason:
        return Cutoff(
            **counted,
            separation=nothing,
            reason=reason,
            interval=nothing,
            chosen=None,
            held_out=None,
            table=(),
            rounds=rounds,
            seed=seed,
        )
    steps = _Steps.of(answers, misses)
    separations, cutoffs = _bootstrapped(steps, rounds, seed)
    separation = _interval(separation_of(answers, misses), separations)
    reason = _undecided(separation)
    best = float(steps.cutoffs(steps.answers[None], steps.misses[None])[0])
    return Cutoff(
        **counted,
        separation=separation,
        reason=reason,
        interval=nothing if reason else _interval(best, cutoffs),
        chosen=None if reason else steps.cost(best),
        held_out=None if reason else _held_out(answers, misses, seed),
        table=_table(steps, best),
        rounds=rounds,
        seed=seed,
    )


def separation_of(answers: Sequence[float], misses: Sequence[float]) -> float:
    """How often an answer's value is above a near miss's, ties one half; n log n steps.

    Undefined (nan) without any of either.
    """
    if not answers or not misses:
        return nan
    steps = _Steps.of(answers, misses)
    return float(steps.separations(steps.answers[None], steps.misses[None])[0])


@dataclass(frozen=True, slots=True)
class _Steps:
    """The distinct values in ascending order, with how many answers and near misses have each."""

    values: "NDArray[float64]"
    answers: "NDArray[int64]"
    misses: "NDArray[int64]"

    @classmethod
    def of(cls, answers: Sequence[float], misses: Sequence[float]) -> "_Steps":
        import numpy as np

        every = np.array([*answers, *misses], dtype=float)
        values, at = np.unique(every, return_inverse=True)
        size = len(values)
        return cls(
            values,
            np.bincount(at[: len(answers)], minlength=size),
            np.bincount(at[len(answers) :], minlength=size),
        )

    def separations(
        self, answers: "NDArray[int64]", misses: "NDArray[int64]"
    ) -> "NDArray[float64]":
        """The separation of each row of counts."""
        below = misses.cumsum(axis=1) - misses
        wins = (answers * (2 * below + misses)).sum(axis=1)
        found: NDArray[float64] = wins / (2 * answers.sum(axis=1) * misses.sum(axis=1))
        return found

    def cutoffs(self, answers: "NDArray[int64]", misses: "NDArray[int64]") -> "NDArray[float64]":
        """The cut-off of each row of counts; only values that the row counts take part."""
        import numpy as np

        size = len(self.values)
        declined = misses.cumsum(axis=1) - misses
        kept = answers[:, ::-1].cumsum(axis=1)[:, ::-1]
        merit = kept * misses.sum(axis=1)[:, None] + declined * answers.sum(axis=1)[:, None]
        best = merit.argmax(axis=1)
        # The first of equal ones stands behind a value that is counted, but may not be one itself.
        counted = np.where(answers + misses > 0, np.arange(size), size - 1)
        following = np.minimum.accumulate(counted[:, ::-1], axis=1)[:, ::-1]
        upper = self.values[following[np.arange(len(best)), best]]
        lower = self.values[np.maximum(best - 1, 0)]
        middle = (lower + upper) / 2
        between = (best > 0) & (middle > lower)
        chosen: NDArray[float64] = np.where(between, middle, upper)
        return chosen

    def candidates(self) -> list[float]:
        """Every cut-off that tells the values apart in another way, lowest first."""
        middles = (self.values[:-1] + self.values[1:]) / 2
        pairs = zip(self.values[:-1], middles, self.values[1:], strict=True)
        between = (middle if middle > lower else upper for lower, middle, upper in pairs)
        return [float(self.values[0]), *map(float, between)]

    def cost(self, cutoff: float) -> Cost:
        """What a cut-off costs over these values."""
        kept = self.values >= cutoff
        right, wrong = int(self.answers[kept].sum()), int(self.misses[kept].sum())
        return _cost(cutoff, right, wrong, int(self.answers.sum()), int(self.misses.sum()))


def _cost(cutoff: float, right: int, wrong: int, answers: int, misses: int) -> Cost:
    precision = right / (right + wrong) if right + wrong else nan
    return Cost(cutoff, precision, right / answers, 1 - wrong / misses)


def _too_few(answers: int, misses: int) -> str:
    if answers >= LEAST and misses >= LEAST:
        return ""
    return (
        f"{answers} answers and {misses} near misses are too few: {LEAST} of each are needed. "
        "Ask more labelled questions, or give more that the documents do not answer."
    )


def _undecided(separation: Interval) -> str:
    bounds = f"{separation.mean:.3f} [{separation.low:.3f}, {separation.high:.3f}]"
    if separation.low > 0.5:
        return ""
    if separation.high < 0.5:
        return f"near misses have higher values than answers: separation {bounds}, below 0.5."
    return f"answers cannot be told from near misses: separation {bounds}, where 0.5 is a coin."


def _bootstrapped(
    steps: _Steps, rounds: int, seed: int
) -> tuple["NDArray[float64]", "NDArray[float64]"]:
    """The separations and the cut-offs of so many rounds."""
    import numpy as np

    generator = np.random.default_rng(seed)
    answers, misses = int(steps.answers.sum()), int(steps.misses.sum())
    block = max(1, CELLS_AT_ONCE // len(steps.values))
    separations, cutoffs = [], []
    for done in range(0, rounds, block):
        size = min(block, rounds - done)
        drawn = (
            generator.multinomial(answers, steps.answers / answers, size=size),
            generator.multinomial(misses, steps.misses / misses, size=size),
        )
        separations.append(steps.separations(*drawn))
        cutoffs.append(steps.cutoffs(*drawn))
    return np.concatenate(separations), np.concatenate(cutoffs)


def _interval(figure: float, drawn: "NDArray[float64]") -> Interval:
    import numpy as np

    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(figure, min(float(low), figure), max(float(high), figure))


def _held_out(answers: Sequence[float], misses: Sequence[float], seed: int) -> Cost:
    """The mean cost over the repeats; in each every value is held out once."""
    import numpy as np

    generator = np.random.default_rng(seed)
    costs = []
    for _ in range(REPEATS):
        parts = [
            np.array_split(generator.permutation(np.array(values, dtype=float)), FOLDS)
            for values in (answers, misses)
        ]
        right = wrong = 0
        cutoffs = []
        for fold in range(FOLDS):
            kept = [np.concatenate(of[:fold] + of[fold + 1 :]).tolist() for of in parts]
            steps = _Steps.of(*kept)
            cutoff = float(steps.cutoffs(steps.answers[None], steps.misses[None])[0])
            cutoffs.append(cutoff)
            right += int((parts[0][fold] >= cutoff).sum())
            wrong += int((parts[1][fold] >= cutoff).sum())
        costs.append(_cost(sum(cutoffs) / FOLDS, right, wrong, len(answers), len(misses)))
    return Cost(*(sum(each) / REPEATS for each in zip(*costs, strict=True)))


def _table(steps: _Steps, best: float) -> tuple[Cost, ...]:
    """Candidates evenly spread over the values, with the best one among them."""
    every = steps.candidates()
    spread = every
    if len(every) > MOST_ROWS:
        others = MOST_ROWS - 1
        spread = [every[at * (len(every) - 1) // (others - 1)] for at in range(others)]
    return tuple(steps.cost(each) for each in sorted({*spread, best}))
