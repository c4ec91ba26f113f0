"""Bootstrap intervals: what they contain, how wide they are, when they are undefined."""

import json
import random
import sys
import tracemalloc
from math import isnan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpull.errors import InvalidInput, MissingExtra
from contextpull.eval.statistics import (
    UNDEFINED,
    Interval,
    bootstrap_interval,
    bootstrap_mean_of_means,
    bootstrap_ratio,
    wilson_interval,
)

same_every_time = settings(derandomize=True, database=None, deadline=None, max_examples=100)
shares = st.floats(0, 1)


def coin_tosses(n: int, seed: int = 0) -> list[float]:
    chance = random.Random(seed)
    return [float(chance.random() < 0.8) for _ in range(n)]


def width(interval: Interval) -> float:
    return interval.high - interval.low


@given(st.lists(shares, min_size=2, max_size=40))
@same_every_time
def test_interval_contains_the_mean(values: list[float]) -> None:
    interval = bootstrap_interval(values, rounds=500)
    assert interval.low <= interval.mean <= interval.high
    assert interval.mean == pytest.approx(sum(values) / len(values))


@given(st.lists(st.tuples(shares, st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
@same_every_time
def test_ratio_contains_its_figure(rows: list[tuple[float, bool, int]]) -> None:
    numerators = [value * hit for value, hit, _ in rows]
    denominators = [float(hit) for _, hit, _ in rows]
    clusters = [cluster for _, _, cluster in rows]
    interval = bootstrap_ratio(numerators, denominators, clusters, rounds=500)
    if not isnan(interval.low):
        assert interval.low <= interval.mean <= interval.high


def test_interval_agrees_with_the_normal_one_where_that_holds() -> None:
    values = coin_tosses(400)
    mean = sum(values) / len(values)
    half = 1.96 * sqrt(mean * (1 - mean) / len(values))
    interval = bootstrap_interval(values)
    assert interval.low == pytest.approx(mean - half, abs=0.004)
    assert interval.high == pytest.approx(mean + half, abs=0.004)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    intervals = [bootstrap_interval(coin_tosses(150, seed), rounds=1_000) for seed in range(300)]
    covered = sum(each.low <= 0.8 <= each.high for each in intervals)
    assert 0.91 <= covered / len(intervals) <= 0.98


def test_more_questions_make_it_narrower() -> None:
    few, many = coin_tosses(50), coin_tosses(50) * 16
    assert width(bootstrap_interval(many)) == pytest.approx(
        width(bootstrap_interval(few)) / 4, rel=0.15
    )


def test_higher_level_makes_it_wider() -> None:
    values = coin_tosses(100)
    assert width(bootstrap_interval(values, level=0.99)) > width(bootstrap_interval(values))


def test_same_seed_repeats_and_another_differs() -> None:
    values = [random.Random(1).random() for _ in range(3)] + coin_tosses(60)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


def test_order_of_the_questions_does_not_matter() -> None:
    values = coin_tosses(60)
    assert bootstrap_interval(values) == bootstrap_interval(values[::-1])


def test_clusters_that_agree_make_it_wider() -> None:
    documents = coin_tosses(40)
    values = [value for value in documents for _ in range(5)]
    clusters = [number for number in range(40) for _ in range(5)]
    alone = bootstrap_interval(values)
    together = bootstrap_interval(values, clusters)
    assert together.mean == alone.mean
    assert width(together) == pytest.approx(width(alone) * sqrt(5), rel=0.15)


def test_clusters_of_one_change_nothing() -> None:
    values = coin_tosses(50)
    assert bootstrap_interval(values, range(50)) == bootstrap_interval(values)


def test_ratio_varies_with_its_denominator() -> None:
    """The mean over hits, resampled by question, not by hit."""
    hits = [1.0, 0.0] * 30
    ndcg = [1.0, 0.0, 0.5, 0.0] * 15
    interval = bootstrap_ratio(ndcg, hits)
    assert interval.mean == 0.75
    only_hits = bootstrap_interval([1.0, 0.5] * 15)
    assert width(interval) == pytest.approx(width(only_hits), rel=0.2)


def test_no_question_has_no_figure() -> None:
    interval = bootstrap_interval([])
    assert isnan(interval.mean)
    assert interval.as_dict() == {"mean": None, "low": None, "high": None}
    assert "NaN" not in json.dumps(interval.as_dict())


def test_no_hit_has_no_figure() -> None:
    assert isnan(bootstrap_ratio([0.0, 0.0], [0.0, 0.0]).mean)


def test_one_question_has_a_mean_but_no_interval() -> None:
    assert bootstrap_interval([0.5]).as_dict() == {"mean": 0.5, "low": None, "high": None}


def test_one_document_has_a_mean_but_no_interval() -> None:
    interval = bootstrap_interval([0.0, 1.0], ["a.md", "a.md"])
    assert interval.as_dict() == {"mean": 0.5, "low": None, "high": None}


def test_one_hit_among_many_questions_has_a_mean_but_no_interval() -> None:
    interval = bootstrap_ratio([0.5, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert interval.as_dict() == {"mean": 0.5, "low": None, "high": None}


def test_rounds_without_a_hit_are_left_out() -> None:
    interval = bootstrap_ratio([0.5, 1.0] + [0.0] * 50, [1.0, 1.0] + [0.0] * 50)
    assert (interval.low, interval.mean, interval.high) == (0.5, 0.75, 1.0)


def test_too_few_rounds_for_any_hit_leave_the_mean_alone() -> None:
    numerators, denominators = [0.5, 1.0] + [0.0] * 50, [1.0, 1.0] + [0.0] * 50
    intervals = [
        bootstrap_ratio(numerators, denominators, rounds=1, seed=seed) for seed in range(40)
    ]
    assert all(each.mean == 0.75 for each in intervals)
    assert 0 < sum(isnan(each.low) for each in intervals) < 20


def test_equal_values_have_an_interval_of_no_width() -> None:
    interval = bootstrap_interval([0.3] * 7)
    assert [interval.low, interval.mean, interval.high] == pytest.approx([0.3] * 3)


def test_hundred_thousand_questions_stay_within_memory() -> None:
    chance = random.Random(0)
    values = [chance.choice([0.0, 1.0, 1 / 2, 1 / 3]) for _ in range(100_000)]
    distinct = [chance.random() for _ in range(100_000)]
    tracemalloc.start()
    bootstrap_interval(values)
    bootstrap_interval(distinct, rounds=40)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150_000_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"numerators": [1.0], "denominators": []}, "1 numerators, but 0 denominators"),
        ({"clusters": ["a"]}, "2 values, but 1 cluster keys"),
        ({"numerators": [1.0, float("nan")]}, "Only finite values"),
        ({"denominators": [1.0, -1.0]}, "not negative"),
        ({"rounds": 0}, "rounds must be 1 or more"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"numerators": [1.0, 0.0], "denominators": [1.0, 1.0]}
    with pytest.raises(InvalidInput, match=message):
        bootstrap_ratio(**{**good, **arguments})  # type: ignore[arg-type]


def test_missing_numpy_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[eval\]'"):
        bootstrap_interval([0.0, 1.0])


@pytest.mark.parametrize(
    ("yes", "n", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17(8), 1998, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # By hand, z = 1.96: 20 yes of 20 are 20 / (20 + z^2).
        (20, 20, 0.8389, 1.0),
    ],
)
def test_interval_of_a_share_is_the_published_one(
    yes: int, n: int, low: float, high: float
) -> None:
    interval = wilson_interval(yes, n)
    assert [interval.mean, interval.low, interval.high] == pytest.approx(
        [yes / n, low, high], abs=6e-5
    )


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@same_every_time
def test_bounds_of_a_share_are_the_shares_that_it_just_would_not_surprise(
    case: tuple[int, int],
) -> None:
    yes, n = case
    interval = wilson_interval(yes, n)
    assert 0 <= interval.low <= interval.mean <= interval.high <= 1
    for bound in (interval.low, interval.high):
        distance = (interval.mean - bound) ** 2
        assert distance == pytest.approx(1.959964**2 * bound * (1 - bound) / n, abs=1e-6)
    mirrored = wilson_interval(n - yes, n)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low))


def test_share_of_nothing_is_undefined() -> None:
    assert wilson_interval(0, 0) is UNDEFINED


@pytest.mark.parametrize(("yes", "n"), [(-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(yes: int, n: int) -> None:
    with pytest.raises(InvalidInput, match=f"{yes} of {n} is no share"):
        wilson_interval(yes, n)
    with pytest.raises(InvalidInput, match="level must lie between 0 and 1"):
        wilson_interval(1, 2, level=95)


def test_groups_weigh_the_same_and_are_drawn_apart() -> None:
    # Between the groups lies a world, within each nothing: only within is drawn.
    interval = bootstrap_mean_of_means([[0.0] * 5, [1.0] * 500])
    assert (interval.low, interval.mean, interval.high) == (0.5, 0.5, 0.5)


def test_mean_of_means_has_the_width_that_its_groups_give_it() -> None:
    groups = [coin_tosses(100, 1), coin_tosses(400, 2)]
    widths = [width(bootstrap_interval(group)) for group in groups]
    expected = sqrt(sum(each**2 for each in widths)) / 2
    assert width(bootstrap_mean_of_means(groups)) == pytest.approx(expected, rel=0.08)


def test_mean_of_means_needs_values_in_every_group() -> None:
    assert bootstrap_mean_of_means([]) is UNDEFINED
    assert bootstrap_mean_of_means([[1.0], []]) is UNDEFINED
    single = bootstrap_mean_of_means([[1.0], [0.5]])
    assert single.mean == 0.75
    assert isnan(single.low)
    with pytest.raises(InvalidInput, match="finite"):
        bootstrap_mean_of_means([[1.0, float("nan")]])
