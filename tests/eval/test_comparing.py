"""Paired comparisons: exact cases, symmetry, size, and the correction for their number."""

import itertools
import json
import random
import sys
import tracemalloc
from math import isnan, nan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpull.errors import InvalidInput, MissingExtra
from contextpull.eval.comparing import (
    holm,
    mcnemar,
    paired_permutation,
    paired_permutation_of_means,
    verdict,
)

same_every_time = settings(derandomize=True, database=None, deadline=None, max_examples=100)
shares = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.631, 1.0])
pairs = st.lists(st.tuples(shares, shares), min_size=1, max_size=9)
p_values = st.lists(st.floats(0, 1), max_size=12)


def p_by_enumeration(differences: list[float]) -> float:
    """The two-sided p-value, from every way to give the differences signs."""
    observed = abs(sum(differences))
    totals = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(total >= observed - 1e-9 for total in totals) / len(totals)


def noisy(n: int, gain: float, seed: int = 0) -> tuple[list[float], list[float]]:
    """Two rows of n questions; the first is better by `gain` on average."""
    chance = random.Random(seed)
    second = [chance.random() for _ in range(n)]
    return [each + gain + chance.gauss(0, 0.2) for each in second], second


@given(pairs)
@same_every_time
def test_small_samples_are_enumerated(values: list[tuple[float, float]]) -> None:
    first, second = [one for one, _ in values], [other for _, other in values]
    differences = [one - other for one, other in values]
    comparison = paired_permutation(first, second, rounds=100)
    assert comparison.p == pytest.approx(p_by_enumeration(differences))


def test_five_gains_out_of_five_are_one_in_sixteen() -> None:
    comparison = paired_permutation([0.9, 0.8, 0.7, 0.6, 0.5], [0.4, 0.4, 0.4, 0.4, 0.4])
    assert comparison.p == 2 / 2**5
    assert comparison.difference.mean == pytest.approx(0.3)


def test_differences_of_zero_change_nothing_but_the_mean() -> None:
    with_ties = paired_permutation([0.9, 0.8, 0.7] + [0.5] * 60, [0.4, 0.2, 0.1] + [0.5] * 60)
    assert with_ties.p == 2 / 2**3
    assert with_ties.n == 63


def test_larger_samples_come_close_to_the_exact_value() -> None:
    first, second = noisy(16, 0.05)
    exact = paired_permutation(first, second).p
    # A tiny difference that decides nothing takes the sample past what is enumerated.
    sampled = paired_permutation([*first, 1e-12], [*second, 0.0]).p
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.015)


@given(pairs, st.integers(0, 3))
@same_every_time
def test_order_of_the_rows_turns_the_sign_only(values: list[tuple[float, float]], n: int) -> None:
    first, second = [one for one, _ in values] * 2**n, [other for _, other in values] * 2**n
    one, other = (
        paired_permutation(*each, rounds=200) for each in ((first, second), (second, first))
    )
    assert one.p == other.p
    assert one.difference.mean == pytest.approx(-other.difference.mean)
    assert (one.sd, one.detectable) == pytest.approx((other.sd, other.detectable), nan_ok=True)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_equal_rows_have_p_1_and_no_difference(n: int) -> None:
    values = [random.Random(n).random() for _ in range(n)]
    comparison = paired_permutation(values, list(values))
    assert comparison.p == 1
    assert comparison.difference.mean == 0


def test_p_is_small_for_a_clear_gain_and_never_zero() -> None:
    comparison = paired_permutation(*noisy(200, 0.2), rounds=1_000)
    assert comparison.p == 1 / 1_001
    assert comparison.difference.low > 0


def test_rows_that_do_not_differ_are_called_different_about_as_often_as_promised() -> None:
    found = [paired_permutation(*noisy(60, 0, seed), rounds=400).p <= 0.05 for seed in range(300)]
    assert 0.02 <= sum(found) / len(found) <= 0.08


def test_detectable_difference_is_that_of_the_deviation() -> None:
    first, second = noisy(100, 0.05)
    comparison = paired_permutation(first, second)
    differences = [one - other for one, other in zip(first, second, strict=True)]
    mean = sum(differences) / 100
    sd = sqrt(sum((each - mean) ** 2 for each in differences) / 99)
    assert comparison.sd == pytest.approx(sd)
    assert comparison.detectable == pytest.approx(2.8 * sd / 10)


def test_detectable_difference_is_found_in_four_of_five_samples() -> None:
    detectable = paired_permutation(*noisy(80, 0)).detectable
    found = [
        paired_permutation(*noisy(80, detectable, seed), rounds=400).p <= 0.05
        for seed in range(300)
    ]
    assert 0.7 <= sum(found) / len(found) <= 0.9


def test_questions_of_one_cluster_are_flipped_together() -> None:
    first, second = [1.0] * 20, [0.0] * 20
    clusters = [number // 5 for number in range(20)]
    assert paired_permutation(first, second, clusters).p == 2 / 2**4
    assert paired_permutation(first, second).p < 0.001


def test_clusters_widen_what_can_be_detected() -> None:
    chance = random.Random(4)
    first = [value for value in (chance.random() for _ in range(20)) for _ in range(5)]
    second = [0.5] * 100
    alone = paired_permutation(first, second)
    shared = paired_permutation(first, second, [number // 5 for number in range(100)])
    assert shared.sd == alone.sd
    assert shared.detectable == pytest.approx(alone.detectable * sqrt(5), rel=0.05)


def test_single_question_says_nothing_about_others() -> None:
    comparison = paired_permutation([1.0], [0.0])
    assert comparison.p == 1
    assert comparison.difference.mean == 1
    assert isnan(comparison.detectable)
    record = json.loads(json.dumps(comparison.as_dict(), allow_nan=False))
    assert record == {
        "n": 1,
        "difference": {"mean": 1.0, "low": None, "high": None},
        "p": 1.0,
        "sd": None,
        "detectable": None,
    }


def test_same_seed_repeats_in_any_order_of_questions() -> None:
    first, second = noisy(60, 0.03)
    backwards = paired_permutation(first[::-1], second[::-1], seed=3)
    assert paired_permutation(first, second, seed=3) == backwards
    assert paired_permutation(first, second, seed=4).p != backwards.p


def test_memory_stays_bounded() -> None:
    first, second = noisy(5_000, 0.001)
    paired_permutation(first[:50], second[:50])  # what is loaded once is not counted
    tracemalloc.start()
    try:
        paired_permutation(first, second, rounds=1_200)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_values_that_do_not_pair_are_refused() -> None:
    with pytest.raises(InvalidInput, match="2 values cannot be paired with 1"):
        paired_permutation([0.5, 0.5], [0.5])
    with pytest.raises(InvalidInput, match="2 values cannot be paired with 1"):
        mcnemar([True, True], [True])


def of_counts(only_first: int, only_second: int, alike: int = 0) -> tuple[list[bool], list[bool]]:
    """Two rows of outcomes with so many questions that only one of them hits."""
    pairs = [(True, False)] * only_first + [(False, True)] * only_second
    pairs += [(True, True), (False, False)] * alike
    return [one for one, _ in pairs], [other for _, other in pairs]


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (6, 0, 2 / 64),
        (5, 1, 2 * (1 + 6) / 64),
        (2, 8, 2 * (1 + 10 + 45) / 1024),
        (3, 3, 1.0),
    ],
)
def test_exact_mcnemar_by_hand(only_first: int, only_second: int, p: float) -> None:
    found = mcnemar(*of_counts(only_first, only_second, alike=4))
    assert (found.only_first, found.only_second) == (only_first, only_second)
    assert found.p == p


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 5))
@same_every_time
def test_exact_mcnemar_counts_the_splits_that_are_as_uneven(b: int, c: int, alike: int) -> None:
    splits = [sum(each) for each in itertools.product((0, 1), repeat=b + c)]
    uneven = [abs(2 * each - (b + c)) >= abs(b - c) for each in splits]
    found = mcnemar(*of_counts(b, c, alike))
    assert found.p == pytest.approx(sum(uneven) / len(uneven))
    assert mcnemar(*reversed(of_counts(b, c, alike))).p == found.p


def test_exact_mcnemar_of_many_questions_is_that_of_the_binomial() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    expected = scipy_stats.binomtest(1_900, 4_000).pvalue
    assert mcnemar(*of_counts(1_900, 2_100)).p == pytest.approx(expected)


def test_differences_without_spread_show_no_size_to_look_for() -> None:
    assert isnan(paired_permutation([0.5] * 30, [0.5] * 30).detectable)
    assert isnan(paired_permutation([1.0] * 30, [0.5] * 30).detectable)


def test_five_documents_can_show_nothing_however_large() -> None:
    first, second = noisy(60, 0.5)
    for documents, shows in ((5, False), (6, True)):
        clusters = [number % documents for number in range(60)]
        comparison = paired_permutation(first, second, clusters)
        assert comparison.p == 2 / 2**documents
        assert (comparison.p <= 0.05) == shows == (not isnan(comparison.detectable))


def test_verdict_never_calls_rows_alike_for_want_of_evidence() -> None:
    better = paired_permutation(*noisy(100, 0.2))
    assert verdict(better, better.p) == "better"
    assert verdict(paired_permutation(*reversed(noisy(100, 0.2))), 0.05) == "worse"
    assert verdict(better, 0.051) == "cannot tell"
    assert verdict(paired_permutation([1.0, 0.0], [0.0, 1.0]), 1.0) == "cannot tell"
    assert verdict(paired_permutation([1.0], [0.0]), 1.0) == "cannot tell"
    assert verdict(paired_permutation([0.2, 0.7], [0.2, 0.7]), 1.0) == "none differs"


def test_missing_numpy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match="eval"):
        paired_permutation([1.0], [0.0])


def test_collections_weigh_the_same_whatever_their_size() -> None:
    small, large = ([1.0] * 4, [0.0] * 4), ([0.0] * 400, [0.5] * 400)
    comparison = paired_permutation_of_means([small, large])
    assert comparison.n == 404
    assert comparison.difference.mean == pytest.approx(0.25)
    assert isnan(comparison.sd)


def test_one_collection_compares_as_its_questions_do() -> None:
    pair = noisy(12, 0.1)
    alone, grouped = paired_permutation(*pair), paired_permutation_of_means([pair])
    assert (grouped.n, grouped.p) == (alone.n, alone.p)
    assert grouped.difference.mean == pytest.approx(alone.difference.mean)
    assert grouped.difference.low == pytest.approx(alone.difference.low, abs=0.01)
    assert grouped.detectable == pytest.approx(alone.detectable)


def test_several_collections_show_smaller_differences_than_each() -> None:
    groups = [noisy(60, 0.06, seed) for seed in range(4)]
    together = paired_permutation_of_means(groups)
    each = [paired_permutation(*group) for group in groups]
    assert together.p < min(one.p for one in each)
    assert together.detectable == pytest.approx(
        sqrt(sum(one.detectable**2 for one in each)) / len(each)
    )
    assert together.difference.low < together.difference.mean < together.difference.high


def test_empty_collection_is_refused() -> None:
    with pytest.raises(InvalidInput, match="without questions"):
        paired_permutation_of_means([([], [])])


def test_holm_corrects_step_by_step() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


@given(p_values)
@same_every_time
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(values: list[float]) -> None:
    corrected = holm(values)
    for p, q in zip(values, corrected, strict=True):
        assert p <= q <= min(1.0, p * len(values)) or q == pytest.approx(p)
    by_p = sorted(zip(values, corrected, strict=True))
    assert [q for _, q in by_p] == sorted(corrected)


@pytest.mark.parametrize("p", [-0.1, 1.1, nan])
def test_holm_refuses_what_is_no_probability(p: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        holm([0.5, p])
