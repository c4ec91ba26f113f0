"""The measures of one ranking, against hand-made cases and against trec_eval."""

import random
from math import isclose, log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpull.errors import InvalidInput
from contextpull.eval.measures import (
    MISS,
    Scores,
    headline,
    ndcg_at,
    recall_at,
    reciprocal_rank_at,
    score,
)

CUTOFFS = (1, 3, 5, 10)
same_every_time = settings(derandomize=True, database=None, deadline=None, max_examples=200)
ids = st.sampled_from([f"s{number}" for number in range(12)])


def random_case(seed: int) -> tuple[list[str], list[str]]:
    """A ranking without repeats and its gold, some of it out of the ranking."""
    chance = random.Random(seed)
    sections = [f"s{number}" for number in range(30)]
    ranking = chance.sample(sections, chance.randint(0, 20))
    return ranking, chance.sample(sections, chance.randint(1, 8))


@pytest.mark.parametrize("k", CUTOFFS)
def test_measures_equal_those_of_trec_eval_to_six_digits(k: int) -> None:
    cases = {f"q{seed}": random_case(seed) for seed in range(300)}
    qrels = [
        ir_measures.Qrel(query, each, 1) for query, (_, gold) in cases.items() for each in gold
    ]
    run = [
        ir_measures.ScoredDoc(query, each, -float(place))
        for query, (ranking, _) in cases.items()
        for place, each in enumerate(ranking)
    ]
    cut = [each for each in run if -each.score < k]  # its reciprocal rank knows no cut-off
    theirs = {
        "recall": (ir_measures.R @ k, run),
        "ndcg": (ir_measures.nDCG @ k, run),
        "reciprocal_rank": (ir_measures.RR, cut),
    }
    compared = 0
    for name, (measure, scored) in theirs.items():
        for metric in ir_measures.pytrec_eval.iter_calc([measure], qrels, scored):
            ranking, gold = cases[metric.query_id]
            assert getattr(score(ranking, gold, k), name) == pytest.approx(metric.value, abs=5e-7)
            compared += 1
    assert compared == len(theirs) * len(cases)


def test_recall_is_the_share_of_gold_among_the_first_k() -> None:
    assert recall_at(["a", "x", "b"], ["a", "b", "c", "d"], 2) == 0.25
    assert recall_at(["a", "x", "b"], ["a", "b", "c", "d"], 3) == 0.5


def test_reciprocal_rank_looks_no_further_than_k() -> None:
    assert reciprocal_rank_at(["x", "y", "a"], ["a"], 3) == pytest.approx(1 / 3)
    assert reciprocal_rank_at(["x", "y", "a"], ["a"], 2) == 0


def test_ndcg_compares_with_the_best_ranking_that_k_allows() -> None:
    gold = [f"g{number}" for number in range(8)]
    assert ndcg_at(gold, gold, 5) == 1
    assert ndcg_at(["x", "g0"], ["g0"], 5) == pytest.approx(1 / log2(3))


def test_repeated_id_counts_once_at_its_first_place() -> None:
    assert score(["a"] * 5, ["a"], 5) == score(["a"], ["a"], 5)
    assert score(["x", "x", "x", "a"], ["a"], 2) == score(["x", "a"], ["a"], 2)


@given(st.lists(ids, max_size=20), st.sets(ids, min_size=1), st.integers(1, 25))
@same_every_time
def test_every_measure_stays_between_0_and_1(ranking: list[str], gold: set[str], k: int) -> None:
    scores = score(ranking, gold, k)
    for value in (scores.recall, scores.reciprocal_rank, scores.ndcg):
        assert 0 <= value <= 1 or isclose(value, 1)


@given(st.lists(ids, max_size=20), st.sets(ids, min_size=1), st.integers(1, 25))
@same_every_time
def test_all_measures_agree_on_what_a_miss_is(ranking: list[str], gold: set[str], k: int) -> None:
    scores = score(ranking, gold, k)
    zero = [value == 0 for value in (scores.recall, scores.reciprocal_rank, scores.ndcg)]
    assert all(zero) or not any(zero)


def test_gold_named_twice_counts_once() -> None:
    assert score(["a"], ["a", "a"], 5) == score(["a"], ["a"], 5)


def test_empty_ranking_is_a_miss() -> None:
    assert score([], ["a"], 5) == MISS


@pytest.mark.parametrize("k", [0, -1])
def test_cutoff_below_one_is_refused(k: int) -> None:
    with pytest.raises(InvalidInput, match="k must be 1 or more"):
        score(["a"], ["a"], k)
    with pytest.raises(InvalidInput, match="k must be 1 or more"):
        headline([MISS], k)


def test_question_without_gold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="without gold"):
        score(["a"], [], 5)


def test_ndcg_given_a_hit_averages_over_the_hits_only() -> None:
    hit, late = Scores(1.0, 1.0, 1.0), Scores(0.5, 0.5, 0.6)
    terms = headline([hit, MISS, late, MISS], 5)
    assert list(terms) == ["recall@5", "mrr@5", "ndcg@5|hit"]
    figures = {name: sum(each.numerators) / sum(each.denominators) for name, each in terms.items()}
    assert figures == pytest.approx({"recall@5": 0.375, "mrr@5": 0.375, "ndcg@5|hit": 0.8})
