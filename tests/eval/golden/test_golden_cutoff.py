"""Where to stop answering: the cut-off that values support, and when none is named."""

from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.errors import EvaluationError, InvalidInput, StoreError
from contextpull.eval.golden.cutoff import MOST_ROWS, find_cutoff, separation_of
from contextpull.eval.golden.declining import answer_cutoff, cutoff_record
from contextpull.eval.golden.settings import parse_settings
from contextpull.retrieval.models import Models
from contextpull.store.opening import Snapshot
from tests.eval.golden.stores import asks, store_of

VALUES = st.lists(st.integers(0, 8).map(float), min_size=5, max_size=25)
WORDS = ("anchor", "bollard", "capstan", "davit", "eyelet", "fender", "gangway", "halyard")
UNANSWERABLE = [
    f"which {each} lives on a ship" for each in ("zebra", "tiger", "mole", "ant", "owl")
]


@given(VALUES, VALUES)
def test_separation_is_the_share_of_pairs_with_ties_one_half(
    answers: list[float], misses: list[float]
) -> None:
    halves = sum(2 * (a > b) + (a == b) for a in answers for b in misses)
    assert separation_of(answers, misses) == halves / (2 * len(answers) * len(misses))


@given(VALUES, VALUES)
def test_the_cutoff_is_the_lowest_candidate_with_the_highest_j(
    answers: list[float], misses: list[float]
) -> None:
    found = find_cutoff(answers, misses, rounds=100)
    values = sorted({*answers, *misses})
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    candidates = [values[0], *middles]

    def merit(cutoff: float) -> Fraction:
        kept = sum(each >= cutoff for each in answers)
        declined = sum(each < cutoff for each in misses)
        return Fraction(kept, len(answers)) + Fraction(declined, len(misses))

    best = max(candidates, key=lambda each: (merit(each), -each))
    assert best in [each.cutoff for each in found.table]
    if found.chosen:
        assert found.chosen.cutoff == best
        assert found.chosen.youden == pytest.approx(float(merit(best)) - 1)
        assert found.interval.low <= best <= found.interval.high
    else:
        assert found.reason


@given(VALUES, VALUES)
def test_the_table_never_keeps_more_at_a_higher_cutoff(
    answers: list[float], misses: list[float]
) -> None:
    table = find_cutoff(answers, misses, rounds=100).table
    assert 1 <= len(table) <= MOST_ROWS
    for lower, higher in pairwise(table):
        assert lower.cutoff < higher.cutoff
        assert lower.answered >= higher.answered
        assert lower.declined <= higher.declined
    assert table[0].answered == 1


def test_many_values_make_fifteen_rows_with_the_chosen_one_among_them() -> None:
    generator = np.random.default_rng(1)
    answers, misses = generator.normal(1, 1, 300).tolist(), generator.normal(0, 1, 200).tolist()
    found = find_cutoff(answers, misses, rounds=200)
    assert found.chosen in found.table
    assert len(found.table) == MOST_ROWS
    assert found.held_out is not None
    assert found.chosen is not None
    assert found.held_out.youden < found.chosen.youden
    again = find_cutoff(answers, misses, rounds=200)
    assert again == found


def test_the_intervals_hold_the_truth_for_normal_values() -> None:
    generator = np.random.default_rng(2)
    answers, misses = generator.normal(1, 1, 400).tolist(), generator.normal(0, 1, 400).tolist()
    found = find_cutoff(answers, misses, rounds=1_000)
    assert found.separation.low < 0.7602 < found.separation.high  # the normal integral of 1/sqrt 2
    assert found.interval.low < 0.5 < found.interval.high


def test_values_far_apart_are_told_apart_without_a_mistake() -> None:
    found = find_cutoff([0.9] * 5, [0.1] * 5, rounds=100)
    assert found.separation.mean == found.separation.low == 1
    assert found.chosen == found.held_out
    assert (found.interval.mean, found.reason) == (0.5, "")


def test_neighbouring_floats_are_told_apart() -> None:
    low = 0.5
    high = float(np.nextafter(low, 1))
    found = find_cutoff([high] * 6, [low] * 6, rounds=100)
    assert found.chosen is not None
    assert (found.chosen.cutoff, found.chosen.youden) == (high, 1)


@pytest.mark.parametrize(("answers", "misses"), [(4, 9), (9, 4), (0, 0)])
def test_too_few_values_name_no_cutoff(answers: int, misses: int) -> None:
    found = find_cutoff([1.0] * answers, [0.0] * misses, rounds=100)
    assert found.chosen is None
    assert f"{answers} answers and {misses} near misses are too few" in found.reason


def test_a_coin_names_no_cutoff() -> None:
    values = [float(each) for each in range(20)]
    found = find_cutoff(values, values, rounds=200)
    assert found.separation.mean == 0.5
    assert found.chosen is None
    assert found.held_out is None
    assert "answers cannot be told from near misses" in found.reason


def test_answers_below_near_misses_name_no_cutoff() -> None:
    found = find_cutoff([0.0] * 9, [1.0] * 9, rounds=100)
    assert found.chosen is None
    assert "near misses have higher values than answers" in found.reason


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_a_value_that_is_no_number_is_an_error(value: float) -> None:
    with pytest.raises(InvalidInput, match="Only finite values"):
        find_cutoff([value, *[1.0] * 9], [0.0] * 9)


@pytest.fixture(scope="module")
def ship(tmp_path_factory: pytest.TempPathFactory, tiny_embedder: Path) -> Snapshot:
    files = {
        f"{word}.md": f"# {word.title()}\n\nWhat the {word} of a ship is for, and where it is.\n"
        for word in WORDS
    }
    return store_of(tmp_path_factory.mktemp("ship"), files, tiny_embedder)


QUESTIONS = [asks(f"what is the {word} for", f"{word}.md", named=word) for word in WORDS]


def test_labelled_questions_are_answers_or_near_misses_and_others_near_misses(
    ship: Snapshot,
) -> None:
    wrong = asks("where is the anchor", "davit.md", named="wrong")
    found = answer_cutoff(
        ship, [*QUESTIONS, wrong], unanswerable=UNANSWERABLE, measure="score", rounds=100
    )
    kinds = {each.id or each.question: each.kind for each in found.tops}
    assert [kinds[word] for word in WORDS] == ["answer"] * len(WORDS)
    assert kinds["wrong"] == "near miss"
    assert kinds[UNANSWERABLE[0]] == "near miss"
    assert found.found.near_misses == 6
    assert found.found.chosen is not None


def test_similarity_is_the_cosine_of_the_top_result_by_vectors(ship: Snapshot) -> None:
    found = answer_cutoff(ship, QUESTIONS, unanswerable=UNANSWERABLE, rounds=100)
    models = Models()
    for top in found.tops:
        vector = models.query_vector(ship.dense.manifest, top.question)
        assert top.value == max(each.cosine for each in ship.dense.search(vector, 99))
    assert found.setting == "dense"


def test_relevance_is_the_logit_of_the_cross_encoder(ship: Snapshot, tiny_reranker: Path) -> None:
    models = Models(reranker=str(tiny_reranker))
    found = answer_cutoff(ship, QUESTIONS, measure="relevance", models=models, rounds=100)
    assert found.setting == "rerank"
    assert all(each.value is not None for each in found.tops)


def test_a_question_that_finds_nothing_is_reported_and_counts_on_no_side(ship: Snapshot) -> None:
    found = answer_cutoff(ship, QUESTIONS, unanswerable=["xylophone"], measure="score", rounds=100)
    (unmeasured,) = cutoff_record(found)["unmeasured"]
    assert unmeasured["question"] == "xylophone"
    assert (unmeasured["section"], unmeasured["value"]) == (None, None)
    assert found.found.near_misses == 0


class NotANumber(Models):
    """Embeds one question as what is no number."""

    def query_vector(self, made_of: Any, query: str, work: Any = None) -> Any:
        vector = super().query_vector(made_of, query, work)
        return vector * nan if "anchor" in query else vector


def test_a_similarity_that_is_no_number_is_reported_and_no_answer(ship: Snapshot) -> None:
    found = answer_cutoff(ship, QUESTIONS, models=NotANumber(), rounds=100)
    assert [each.id for each in found.unmeasured] == ["anchor"]
    assert found.found.answers + found.found.near_misses == len(WORDS) - 1


@pytest.mark.parametrize("unanswerable", ["How do zebras sleep?", None, 3])
def test_unanswerable_questions_that_are_no_list_are_an_error(
    ship: Snapshot, unanswerable: Any
) -> None:
    with pytest.raises(InvalidInput, match="must be a list of questions"):
        answer_cutoff(ship, QUESTIONS, unanswerable=unanswerable)


@pytest.mark.parametrize("question", ["", " ", None])
def test_an_unanswerable_question_that_is_none_is_an_error(ship: Snapshot, question: Any) -> None:
    with pytest.raises(InvalidInput, match="which is no question"):
        answer_cutoff(ship, QUESTIONS, unanswerable=["How do zebras sleep?", question])


def test_a_measure_that_is_none_is_an_error(ship: Snapshot) -> None:
    with pytest.raises(InvalidInput, match="similarity or relevance or score, not 'luck'"):
        answer_cutoff(ship, QUESTIONS, measure="luck")  # type: ignore[arg-type]


def test_a_question_on_both_sides_is_an_error(ship: Snapshot) -> None:
    with pytest.raises(EvaluationError, match="is question 'anchor' of the golden file"):
        answer_cutoff(ship, QUESTIONS, unanswerable=["What is  the ANCHOR for"])


def test_an_unanswerable_question_counts_once_however_often_it_stands_there(
    ship: Snapshot,
) -> None:
    found = answer_cutoff(
        ship, QUESTIONS, unanswerable=[*UNANSWERABLE * 3, "Which ZEBRA lives on a ship"], rounds=100
    )
    assert found.unanswerable == len(UNANSWERABLE)


def test_a_setting_belongs_to_the_score_alone(ship: Snapshot) -> None:
    (hybrid,) = parse_settings("hybrid")
    with pytest.raises(InvalidInput, match="only score takes a setting"):
        answer_cutoff(ship, QUESTIONS, setting=hybrid)
    found = answer_cutoff(ship, QUESTIONS, measure="score", setting=hybrid, rounds=100)
    assert found.setting == "hybrid"


def test_similarity_needs_vectors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="keeps no vectors"):
        answer_cutoff(store_of(tmp_path), [asks("oil", "lamp.md")])
