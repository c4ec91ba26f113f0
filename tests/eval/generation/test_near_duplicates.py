"""Near-duplicates, against what comparing every text with every other finds."""

from itertools import combinations
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.eval.generation.near_duplicates import Pair, near_duplicates
from contextpull.eval.generation.words import words
from tests.properties import same_every_time

VOCABULARY = [*("red green blue tide rock boat wind sail rope mast"), "東", "京", "42"]
WORDS = [f"word{number}" for number in range(2_000)]
BASE = " ".join(WORDS[:40])


def shingles(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return set(zip(found, found[1:], found[2:], strict=False))


def by_brute_force(
    texts: list[str], least: float, most_holders: int
) -> dict[tuple[int, int], float]:
    sets = [shingles(text) for text in texts]
    found = {}
    for first, second in combinations(range(len(texts)), 2):
        shared = sets[first] & sets[second]
        whole = sets[first] | sets[second]
        rare = any(sum(each in other for other in sets) <= most_holders for each in shared)
        likeness = len(shared) / len(whole) if whole else 0.0
        if rare and least <= likeness < 1:
            found[first, second] = likeness
    return found


@st.composite
def alike_texts(draw: st.DrawFn) -> list[str]:
    """Texts of a small vocabulary, some of them with a few words changed."""
    texts = draw(
        st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=30), min_size=1, max_size=6)
    )
    for original in list(texts):
        for _ in range(draw(st.integers(0, 3))):
            changed = list(original)
            for at in draw(st.lists(st.integers(0, max(0, len(changed) - 1)), max_size=3)):
                if changed:
                    changed[at] = draw(st.sampled_from(VOCABULARY))
            texts.append(changed)
    return [" ".join(each) for each in texts]


@same_every_time(300)
@given(
    texts=alike_texts(),
    least=st.sampled_from([0.1, 0.25, 0.4, 0.5, 0.75, 0.9]),
    most_holders=st.integers(2, 12),
)
def test_finds_what_comparing_all_pairs_finds(
    texts: list[str], least: float, most_holders: int
) -> None:
    found = near_duplicates(texts, least=least, fewest_words=3, most_holders=most_holders)
    expected = by_brute_force(texts, least, most_holders)
    assert {pair[:2]: pytest.approx(pair.likeness) for pair in found} == expected
    assert found == sorted(found)


def test_a_changed_number_makes_a_pair_and_its_likeness_is_exact() -> None:
    [pair] = near_duplicates([BASE, "something else " * 20, BASE.replace("word20", "word99")])
    assert pair == Pair(0, 2, 35 / 41)  # 3 of 38 runs of three words are lost on either side


def test_the_same_text_is_no_pair_whatever_its_signs() -> None:
    assert near_duplicates([BASE, BASE.upper().replace(" ", ", ")]) == []


def test_short_texts_are_passed_over() -> None:
    assert near_duplicates(["one two three four", "one two three five"]) == []


def test_boilerplate_brings_no_texts_together() -> None:
    texts = [f"{BASE} end{number}" for number in range(60)]
    assert near_duplicates(texts) == []
    assert len(near_duplicates(texts, most_holders=60)) == 60 * 59 / 2


def test_no_texts_have_no_pairs() -> None:
    assert near_duplicates([]) == []
    assert near_duplicates(["", "word"]) == []


def test_thousands_of_texts_take_seconds() -> None:
    chance = Random(0)
    texts = [" ".join(chance.choices(WORDS, k=60)) for _ in range(6_000)]
    texts[4_000] = f"{texts[17]} and one more"
    started = process_time()
    pairs = near_duplicates(texts)
    assert process_time() - started < 20  # comparing all with all takes minutes
    assert [pair[:2] for pair in pairs] == [(17, 4_000)]
