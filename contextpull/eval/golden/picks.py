"""Three settings to choose between: what finds most, and what finds nearly as much in less time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from contextpull.eval.comparing import Comparison, Verdict, verdict
from contextpull.eval.families import Paired, compare_family
from contextpull.eval.runs import Row, clusters_of

MOST = "finds the most"
MAY_LACK: Mapping[str, float] = {MOST: 0.0, "best for balance": 0.03, "best for time": 0.10}
"""By the name of a pick how much less than the best it may find, for less time."""
_ROUNDING = 1e-9


class Pick(NamedTuple):
    """A setting that the rule chose."""

    name: str
    """What it is good for."""
    setting: str


@dataclass(frozen=True, slots=True)
class Between:
    """Two settings, the better one first, compared question by question."""

    better: str
    other: str
    comparison: Comparison
    p_holm: float
    """The p-value, corrected for the number of all pairs of settings."""

    @property
    def verdict(self) -> Verdict:
        """What can be said of the better one."""
        return verdict(self.comparison, self.p_holm)

    @property
    def could_be_luck(self) -> bool:
        """Whether other questions of the kind could as well have shown the opposite."""
        return self.verdict != "better"


@dataclass(frozen=True, slots=True)
class Choice:
    """The picks, by what rule, and how sure the order of the settings is."""

    measure: str
    rules: tuple[str, ...]
    picks: tuple[Pick, ...]
    frontier: tuple[str, ...]
    """The settings that no other beats in both, what is found and time; best first."""
    comparisons: tuple[Between, ...]
    """Every pair of settings, those with the one that finds the most first."""

    @property
    def beside_best(self) -> tuple[Between, ...]:
        """The comparisons of the setting that finds the most with each other one, best first."""
        return tuple(each for each in self.comparisons if each.better == self.picks[0].setting)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name as JSON-ready values."""
        return {
            "measure": self.measure,
            "rules": list(self.rules),
            "picks": {each.name: each.setting for each in self.picks},
            "frontier": list(self.frontier),
            "comparisons": [
                {
                    "better": each.better,
                    "other": each.other,
                    **each.comparison.as_dict(),
                    "p_holm": each.p_holm,
                    "verdict": each.verdict,
                    "could_be_luck": each.could_be_luck,
                }
                for each in self.comparisons
            ],
        }


def choose(rows: Sequence[Row], k: int, *, rounds: int, seed: int) -> Choice:
    """Pick among the rows by recall@k and median time, and compare every pair of them.

    All pairs are one family of comparisons, since which of them count is only known afterwards.
    A row with a failed question is picked only where every row has one.
    """
    measure = f"recall@{k}"
    ranked = sorted(rows, key=lambda row: _merit(row, measure, f"ndcg@{k}"))
    sound = [row for row in ranked if not row.failures] or ranked
    best = sound[0]
    ranked = [best, *(row for row in ranked if row is not best)]
    least = {name: _mean(best, measure) - lack - _ROUNDING for name, lack in MAY_LACK.items()}
    picks = [Pick(MOST, best.name)]
    for name in list(MAY_LACK)[1:]:
        enough = [row for row in sound if _mean(row, measure) >= least[name]]
        picks.append(Pick(name, min(enough, key=lambda row: row.median_seconds).name))
    pairs = list(combinations(ranked, 2))
    between = compared_pairs(pairs, measure, rounds=rounds, seed=seed)
    frontier = tuple(row.name for row in sound if not _is_beaten(row, sound, measure))
    return Choice(measure, _rules(measure, k), tuple(picks), frontier, between)


def _merit(row: Row, measure: str, then: str) -> tuple[float, float, float]:
    """Smaller is better."""
    return -_mean(row, measure), -_mean(row, then), row.median_seconds


def _is_beaten(row: Row, others: Sequence[Row], measure: str) -> bool:
    """Whether another row finds as much in as little time, and more or in less."""
    own = _mean(row, measure), -row.median_seconds
    every = ((_mean(other, measure), -other.median_seconds) for other in others)
    return any(found >= own[0] and time >= own[1] and (found, time) != own for found, time in every)


def _mean(row: Row, measure: str) -> float:
    return row.overall.measures[measure].mean


def _rules(measure: str, k: int) -> tuple[str, ...]:
    most, *others = MAY_LACK.items()
    return (
        f"{most[0]}: the highest {measure}, then the highest ndcg@{k}, then the fastest.",
        *(
            f"{name}: the fastest by median of those whose {measure} is at most {lack:.2f} lower."
            for name, lack in others
        ),
        f"frontier: no other has a higher {measure} without being slower, nor is faster without a"
        " lower one.",
    )


def compared_pairs(
    pairs: Sequence[tuple[Row, Row]], measure: str, *, rounds: int, seed: int
) -> tuple[Between, ...]:
    """Pairs of rows over the same questions, the better one first, as one family (Holm)."""
    if not pairs:
        return ()
    clusters = clusters_of(each.question for each in pairs[0][0].outcomes)
    paired = [
        Paired(better.name, "", _values(better, measure), _values(other, measure), clusters)
        for better, other in pairs
    ]
    compared = compare_family(paired, rounds=rounds, seed=seed)
    return tuple(
        Between(better.name, other.name, each.comparison, each.p_holm)
        for (better, other), each in zip(pairs, compared, strict=True)
    )


def _values(row: Row, measure: str) -> list[float]:
    return [outcome.scores[measure] for outcome in row.outcomes]
