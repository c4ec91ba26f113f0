"""How good one ranking is, and how the rankings of many questions make one figure.

The measures are those of trec_eval (Voorhees and Harman, TREC, 2005). `gold` is either a
collection of ids, each worth 1, or a mapping from id to grade, where only grades above 0 count.
A section that a ranking names twice counts once, at its first place.
Every figure lies between 0 and 1. `k` is a number of sections, at least 1.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from contextpull.errors import InvalidInput

Gold = Collection[str] | Mapping[str, int]

Scores = dict[str, float]
"""The figures of one question's ranking, by name."""


Copies = Mapping[str, str]
"""By the id of a section the id of the one that stands for all sections of the same text."""
NO_COPIES: Copies = {}
"""Every section stands for itself."""


class Measure(NamedTuple):
    """A figure of a row: the mean over questions of what `of(ranking, gold)` gives."""

    name: str
    of: Callable[[Sequence[str], Gold], float]
    given_hit: bool = False
    """The mean is over the questions that score above 0 only: how well a hit is placed,
    whatever the number of hits."""
    is_share: bool = False
    """Each question scores 0 or 1: the mean is a share, with Wilson's interval around it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A figure over many questions: the sum of `numerators` over that of `denominators`.

    One entry a question, in the order of the questions.
    """

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]


def recall_at(ranking: Iterable[str], gold: Gold, k: int) -> float:
    """recall@k = |gold among the first k| / |gold|."""
    relevant = _relevant(gold)
    return len(_places(ranking, relevant, k)) / len(relevant)


def hit_rate_at(ranking: Iterable[str], gold: Gold, k: int) -> float:
    """hit_rate@k = 1 where any gold is among the first k, else 0; its mean is a share.

    Success@k of ir_measures. It says less than recall@k where a question has several gold ids.
    """
    return float(bool(_places(ranking, _relevant(gold), k)))


def reciprocal_rank_at(ranking: Iterable[str], gold: Gold, k: int) -> float:
    """RR@k = 1 / place of the first gold section; 0 where none is among the first k.

    Its mean over questions is MRR@k (Voorhees, TREC-8 question answering track, 1999).
    """
    places = _places(ranking, _relevant(gold), k)
    return 1 / next(iter(places)) if places else 0.0


def ndcg_at(ranking: Iterable[str], gold: Gold, k: int) -> float:
    """nDCG@k = sum of grade/log2(place + 1) over gold among the first k, over the best such sum.

    The best ranking begins with the gold of the highest grades.
    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; linear gain, discount log2(place + 1).
    """
    relevant = _relevant(gold)
    found = _places(ranking, relevant, k)
    ideal = sorted(relevant.values(), reverse=True)[:k]
    return _discounted(found) / _discounted(dict(enumerate(ideal, start=1)))


def average_precision_at(ranking: Iterable[str], gold: Gold, k: int) -> float:
    """AP@k = sum of |gold among the first p| / p over the places p <= k of gold, over |gold|.

    trec_eval's map_cut_k: gold that is not among the first k counts in the divisor all the same.
    """
    relevant = _relevant(gold)
    places = _places(ranking, relevant, k)
    return sum(found / place for found, place in enumerate(places, start=1)) / len(relevant)


def at_cutoff(k: int) -> tuple[Measure, ...]:
    """The measures of an eval set: `recall@k`, `mrr@k`, `ndcg@k|hit`."""
    check_cutoff(k)
    return (
        Measure(f"recall@{k}", lambda ranking, gold: recall_at(ranking, gold, k)),
        Measure(f"mrr@{k}", lambda ranking, gold: reciprocal_rank_at(ranking, gold, k)),
        Measure(f"ndcg@{k}|hit", lambda ranking, gold: ndcg_at(ranking, gold, k), given_hit=True),
    )


JUDGED = (
    Measure("nDCG@10", lambda ranking, gold: ndcg_at(ranking, gold, 10)),
    Measure("R@100", lambda ranking, gold: recall_at(ranking, gold, 100)),
    Measure("RR@10", lambda ranking, gold: reciprocal_rank_at(ranking, gold, 10)),
    Measure("AP@100", lambda ranking, gold: average_precision_at(ranking, gold, 100)),
)
"""The measures of a judged collection, under the names that ir_measures gives them."""
JUDGED_DEPTH = 100
"""How many ids they look at."""


def score(ranking: Iterable[str], gold: Gold, measures: Sequence[Measure]) -> Scores:
    """The figures of one ranking, best first."""
    ids = distinct(ranking)
    return {measure.name: measure.of(ids, gold) for measure in measures}


def miss(measures: Sequence[Measure]) -> Scores:
    """What a ranking without gold scores, and a question that failed."""
    return dict.fromkeys((measure.name for measure in measures), 0.0)


def headline(scores: Sequence[Scores], measures: Sequence[Measure]) -> dict[str, Terms]:
    """The figures of a row by name, in the order of the measures."""
    terms = {}
    for measure in measures:
        values = tuple(each[measure.name] for each in scores)
        counted = (float(value > 0 or not measure.given_hit) for value in values)
        terms[measure.name] = Terms(values, tuple(counted))
    return terms


def distinct(ranking: Iterable[str]) -> tuple[str, ...]:
    """The ids of a ranking in order, each at its first place only."""
    return tuple(dict.fromkeys(ranking))


def as_one(ids: Iterable[str], copies: Copies) -> tuple[str, ...]:
    """The ids in order, each copy named by the section that stands for it, each name once."""
    return distinct(copies.get(each, each) for each in ids)


def check_cutoff(k: int) -> None:
    """Raise `InvalidInput` unless k is at least 1."""
    if k < 1:
        raise InvalidInput(f"k must be 1 or more, not {k}.")


def _relevant(gold: Gold) -> dict[str, int]:
    """The grade of each id that is relevant; there must be one."""
    grades = gold if isinstance(gold, Mapping) else dict.fromkeys(gold, 1)
    relevant = {each: grade for each, grade in grades.items() if grade > 0}
    if not relevant:
        raise InvalidInput("A question without gold cannot be scored. Give at least one gold id.")
    return relevant


def _places(ranking: Iterable[str], relevant: Mapping[str, int], k: int) -> dict[int, int]:
    """The places, from 1 to k in order, where the ranking names gold, with its grade."""
    check_cutoff(k)
    first = enumerate(distinct(ranking)[:k], start=1)
    return {place: relevant[each] for place, each in first if each in relevant}


def _discounted(grades: Mapping[int, int]) -> float:
    """The sum of the grades by place, each divided by log2(place + 1)."""
    return sum(grade / log2(place + 1) for place, grade in grades.items())
