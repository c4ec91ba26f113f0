"""How good one ranking is, and how the rankings of many questions make one figure.

The measures are those of trec_eval (Voorhees and Harman, TREC, 2005) with binary relevance:
a section is gold or it is not. A section that a ranking names twice counts once, at its first
place. Every figure lies between 0 and 1. `k` is a number of sections, at least 1.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log2

from contextpull.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Scores:
    """The measures of one question's ranking, cut at some k."""

    recall: float
    reciprocal_rank: float
    ndcg: float


MISS = Scores(recall=0.0, reciprocal_rank=0.0, ndcg=0.0)
"""What a ranking without gold scores, and a question that failed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A figure over many questions: the sum of `numerators` over that of `denominators`.

    One entry a question, in the order of the questions.
    """

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]


def recall_at(ranking: Iterable[str], gold: Collection[str], k: int) -> float:
    """recall@k = |gold among the first k| / |gold|."""
    places = _gold_places(ranking, gold, k)
    return len(places) / len(set(gold))


def reciprocal_rank_at(ranking: Iterable[str], gold: Collection[str], k: int) -> float:
    """RR@k = 1 / place of the first gold section; 0 where none is among the first k.

    Its mean over questions is MRR@k (Voorhees, TREC-8 question answering track, 1999).
    """
    places = _gold_places(ranking, gold, k)
    return 1 / places[0] if places else 0.0


def ndcg_at(ranking: Iterable[str], gold: Collection[str], k: int) -> float:
    """nDCG@k = sum of 1/log2(place + 1) over gold among the first k, over the best possible sum.

    The best ranking has gold in its first min(|gold|, k) places.
    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; linear gain, discount log2(place + 1).
    """
    places = _gold_places(ranking, gold, k)
    ideal = range(1, min(len(set(gold)), k) + 1)
    return _discounted(places) / _discounted(ideal)


def score(ranking: Iterable[str], gold: Collection[str], k: int) -> Scores:
    """All measures of one ranking, best first, at the cut-off k."""
    ids = tuple(ranking)
    return Scores(
        recall=recall_at(ids, gold, k),
        reciprocal_rank=reciprocal_rank_at(ids, gold, k),
        ndcg=ndcg_at(ids, gold, k),
    )


def headline(scores: Sequence[Scores], k: int) -> dict[str, Terms]:
    """The figures of a row by name: `recall@k`, `mrr@k`, `ndcg@k|hit`.

    The first two are means over all questions. `ndcg@k|hit` is the mean of nDCG@k over the
    questions with recall@k > 0: how well a hit is placed, whatever the number of hits.
    """
    check_cutoff(k)
    everyone = (1.0,) * len(scores)
    hits = tuple(float(each.recall > 0) for each in scores)
    return {
        f"recall@{k}": Terms(tuple(each.recall for each in scores), everyone),
        f"mrr@{k}": Terms(tuple(each.reciprocal_rank for each in scores), everyone),
        f"ndcg@{k}|hit": Terms(tuple(each.ndcg for each in scores), hits),
    }


def distinct(ranking: Iterable[str]) -> tuple[str, ...]:
    """The ids of a ranking in order, each at its first place only."""
    return tuple(dict.fromkeys(ranking))


def check_cutoff(k: int) -> None:
    """Raise `InvalidInput` unless k is at least 1."""
    if k < 1:
        raise InvalidInput(f"k must be 1 or more, not {k}.")


def _gold_places(ranking: Iterable[str], gold: Collection[str], k: int) -> list[int]:
    """The places, from 1 to k, where the ranking names gold."""
    check_cutoff(k)
    if not gold:
        raise InvalidInput("A question without gold cannot be scored. Give at least one gold id.")
    return [place for place, each in enumerate(distinct(ranking)[:k], start=1) if each in gold]


def _discounted(places: Iterable[int]) -> float:
    return sum(1 / log2(place + 1) for place in places)
