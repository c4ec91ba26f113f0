"""The measures of one ranking, against hand-made cases and against trec_eval."""

import random
from collections.abc import Mapping
from math import isclose, log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpull.errors import InvalidInput
from contextpull.eval.measures import (
    JUDGED,
    Scores,
    at_cutoff,
    average_precision_at,
    headline,
    miss,
    ndcg_at,
    recall_at,
    reciprocal_rank_at,
    score,
)

CUTOFFS = (1, 3, 5, 10)
same_every_time = settings(derandomize=True, database=None, deadline=None, max_examples=200)
ids = st.sampled_from([f"s{number}" for number in range(12)])
graded = st.dictionaries(ids, st.integers(-1, 4), min_size=1).filter(
    lambda grades: any(grade > 0 for grade in grades.values())
)

Case = tuple[list[str], Mapping[str, int]]


def at(ranking: list[str], gold: object, k: int) -> dict[str, float]:
    return score(ranking, gold, at_cutoff(k))  # type: ignore[arg-type]  # both kinds of gold


def random_case(seed: int) -> Case:
    """A ranking without repeats and its gold, some of it out of the ranking."""
    chance = random.Random(seed)
    sections = [f"s{number}" for number in range(30)]
    ranking = chance.sample(sections, chance.randint(0, 20))
    return ranking, dict.fromkeys(chance.sample(sections, chance.randint(1, 8)), 1)


def of_trec_eval(measure: object, cases: Mapping[str, Case], depth: int) -> dict[str, float]:
    """What trec_eval says of the first `depth` of each ranking, by query."""
    qrels = [
        ir_measures.Qrel(query, each, grade)
        for query, (_, grades) in cases.items()
        for each, grade in grades.items()
    ]
    run = [
        ir_measures.ScoredDoc(query, each, -float(place))
        for query, (ranking, _) in cases.items()
        for place, each in enumerate(ranking[:depth])
    ]
    calculated = ir_measures.pytrec_eval.iter_calc([measure], qrels, run)
    return {metric.query_id: metric.value for metric in calculated}


@pytest.mark.parametrize("k", CUTOFFS)
def test_measures_equal_those_of_trec_eval_to_six_digits(k: int) -> None:
    cases = {f"q{seed}": random_case(seed) for seed in range(300)}
    theirs = {
        f"recall@{k}": of_trec_eval(ir_measures.R @ k, cases, 20),
        f"mrr@{k}": of_trec_eval(ir_measures.RR, cases, k),  # it knows no cut-off of its own
        f"ndcg@{k}|hit": of_trec_eval(ir_measures.nDCG @ k, cases, 20),
    }
    for query, (ranking, gold) in cases.items():
        expected = {name: values[query] for name, values in theirs.items()}
        assert at(ranking, list(gold), k) == pytest.approx(expected, abs=5e-7)


@given(st.lists(st.tuples(st.lists(ids, max_size=12, unique=True), graded), min_size=1, max_size=9))
@same_every_time
def test_graded_measures_equal_those_of_trec_eval(listed: list[Case]) -> None:
    cases = {f"q{number}": case for number, case in enumerate(listed)}
    theirs = {
        "nDCG@10": of_trec_eval(ir_measures.nDCG @ 10, cases, 100),
        "R@100": of_trec_eval(ir_measures.R @ 100, cases, 100),
        "RR@10": of_trec_eval(ir_measures.RR, cases, 10),
        "AP@100": of_trec_eval(ir_measures.AP @ 100, cases, 100),
    }
    for query, (ranking, grades) in cases.items():
        expected = {name: values[query] for name, values in theirs.items()}
        assert score(ranking, grades, JUDGED) == pytest.approx(expected, abs=5e-7)


def test_higher_grades_are_worth_more_and_best_placed_first() -> None:
    grades = {"good": 1, "better": 3, "bad": 0, "awful": -1}
    best = 3 / log2(2) + 1 / log2(3)
    assert ndcg_at(["better", "good"], grades, 10) == 1
    assert ndcg_at(["good", "bad", "better"], grades, 10) == pytest.approx(
        (1 / log2(2) + 3 / log2(4)) / best
    )
    assert ndcg_at(["bad", "awful"], grades, 10) == 0


def test_grades_of_0_and_below_are_no_gold() -> None:
    grades = {"a": 2, "b": 0, "c": -2}
    assert recall_at(["b", "c", "a"], grades, 3) == 1
    assert reciprocal_rank_at(["b", "c", "a"], grades, 3) == pytest.approx(1 / 3)
    with pytest.raises(InvalidInput, match="without gold"):
        recall_at(["b"], {"b": 0}, 3)


def test_average_precision_counts_gold_beyond_the_cutoff_as_missed() -> None:
    gold = ["a", "b", "c"]
    assert average_precision_at(["a", "x", "b"], gold, 3) == pytest.approx((1 + 2 / 3) / 3)
    assert average_precision_at(["a", "x", "b"], gold, 2) == pytest.approx(1 / 3)
    assert average_precision_at(gold, gold, 3) == 1


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
    assert at(["a"] * 5, ["a"], 5) == at(["a"], ["a"], 5)
    assert at(["x", "x", "x", "a"], ["a"], 2) == at(["x", "a"], ["a"], 2)


@given(st.lists(ids, max_size=20), graded, st.integers(1, 25))
@same_every_time
def test_every_measure_stays_between_0_and_1(
    ranking: list[str], gold: Mapping[str, int], k: int
) -> None:
    for value in {**at(ranking, gold, k), **score(ranking, gold, JUDGED)}.values():
        assert 0 <= value <= 1 or isclose(value, 1)


@given(st.lists(ids, max_size=20), st.sets(ids, min_size=1), st.integers(1, 25))
@same_every_time
def test_all_measures_agree_on_what_a_miss_is(ranking: list[str], gold: set[str], k: int) -> None:
    zero = [value == 0 for value in at(ranking, gold, k).values()]
    assert all(zero) or not any(zero)


def test_gold_named_twice_counts_once() -> None:
    assert at(["a"], ["a", "a"], 5) == at(["a"], ["a"], 5)


def test_empty_ranking_is_a_miss() -> None:
    assert at([], ["a"], 5) == miss(at_cutoff(5))


@pytest.mark.parametrize("k", [0, -1])
def test_cutoff_below_one_is_refused(k: int) -> None:
    with pytest.raises(InvalidInput, match="k must be 1 or more"):
        at_cutoff(k)
    with pytest.raises(InvalidInput, match="k must be 1 or more"):
        ndcg_at(["a"], ["a"], k)


def test_question_without_gold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="without gold"):
        at(["a"], [], 5)


def test_ndcg_given_a_hit_averages_over_the_hits_only() -> None:
    measures = at_cutoff(5)

    def scores(*values: float) -> Scores:
        return dict(zip((each.name for each in measures), values, strict=True))

    none = miss(measures)
    terms = headline([scores(1.0, 1.0, 1.0), none, scores(0.5, 0.5, 0.6), none], measures)
    assert list(terms) == ["recall@5", "mrr@5", "ndcg@5|hit"]
    figures = {name: sum(each.numerators) / sum(each.denominators) for name, each in terms.items()}
    assert figures == pytest.approx({"recall@5": 0.375, "mrr@5": 0.375, "ndcg@5|hit": 0.8})


def test_other_measures_average_over_all_questions() -> None:
    terms = headline([miss(JUDGED), dict.fromkeys(miss(JUDGED), 1.0)], JUDGED)
    assert list(terms) == ["nDCG@10", "R@100", "RR@10", "AP@100"]
    assert all(each.denominators == (1.0, 1.0) for each in terms.values())
