"""Ways to cut a text: what must hold of them all, whatever the text."""

from collections.abc import Sequence
from itertools import pairwise
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.eval.golden.chunking.cutters import (
    Plain,
    cut_at,
    cut_plainly,
    cut_semantically,
    paragraphs_of,
    units_of,
)
from contextpull.eval.golden.quotes import Span
from tests.properties import same_every_time

WORDS = st.sampled_from(
    [
        *("harbour", "a", "lamp. ", "oil! ", "# Oil\n", "x" * 40, "\n\n", "\r\n", "\r\n\r\n"),
        *("\t", " ", "\u2028", "e\u0301", "灯。塔", "👩\u200d👩\u200d👧", "👍🏽", "क्षि", "\ufe0f"),
    ]
)
TEXTS = st.lists(WORDS | st.characters(codec="utf-8"), max_size=60).map("".join)
SIZES = st.integers(4, 60)
PLAIN: tuple[Plain, ...] = ("recursive", "sentence", "fixed")


def lengths(texts: Sequence[str]) -> list[float]:
    """A likeness that is as good as any."""
    return [1 / (1 + abs(len(a) - len(b))) for a, b in pairwise(texts)]


def parts_character(text: str, at: int) -> bool:
    """Whether what a reader sees as one character is parted here."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if before.isspace():  # what stands behind white space may begin a piece
        return (before, behind) == ("\r", "\n")
    if behind.isascii():  # a joiner joins pictures and letters of some scripts, none of these
        return False
    return category(behind)[0] == "M" or "\u200d" in (before, behind) or behind in "🏻🏼🏽🏾🏿"


def longest_at(text: str, at: int) -> int:
    """The length of the character around a place that parts it."""
    start = end = at
    while parts_character(text, start):
        start -= 1
    while parts_character(text, end):
        end += 1
    return end - start


def assert_sound(text: str, spans: Sequence[Span], size: int | None) -> None:
    at = 0
    for span in spans:
        assert at <= span.start < span.end
        assert not text[at : span.start].strip()
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        at = span.end
        if size is not None:
            assert span.end - span.start <= size
            # Only a character that is longer than a piece may be is ever parted.
            assert all(
                longest_at(text, edge) > size for edge in span if parts_character(text, edge)
            )
    assert not text[at:].strip()


@given(TEXTS, SIZES, st.sampled_from(PLAIN))
@same_every_time(300)
def test_plain_cuts_lose_nothing_and_keep_their_size(text: str, size: int, how: Plain) -> None:
    assert_sound(text, cut_plainly(text, size, how), size)


@given(TEXTS, SIZES)
@same_every_time(200)
def test_semantic_cuts_lose_nothing_and_keep_their_size(text: str, size: int) -> None:
    assert_sound(text, cut_semantically(text, size, lengths), size)


@given(TEXTS, SIZES, st.lists(st.integers(-5, 200), max_size=6))
@same_every_time(200)
def test_cuts_at_given_places_lose_nothing_and_keep_their_size(
    text: str, size: int, starts: list[int]
) -> None:
    whole = [each for each in starts if not parts_character(text, each)]
    assert_sound(text, cut_at(text, size, whole), size)


@given(TEXTS, SIZES)
@same_every_time(100)
def test_paragraphs_and_sentences_lose_nothing(text: str, size: int) -> None:
    assert_sound(text, paragraphs_of(text), None)
    assert_sound(text, units_of(text, size), size)


def pieces(text: str, spans: Sequence[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


TEXT = "One two three. Four five.\n\nSix seven eight nine. Ten."


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("recursive", ["One two three. Four five.", "Six seven eight nine. Ten."]),
        ("sentence", ["One two three. Four five.", "Six seven eight nine. Ten."]),
        ("fixed", ["One two three. Four five.\n\nSix", "seven eight nine. Ten."]),
    ],
)
def test_each_cuts_at_its_own_boundary(how: Plain, expected: list[str]) -> None:
    assert pieces(TEXT, cut_plainly(TEXT, 31, how)) == expected


def test_a_piece_that_fits_exactly_is_not_cut() -> None:
    text = "abcd efgh.\n\nijkl"
    assert pieces(text, cut_plainly(text, 10, "recursive")) == ["abcd efgh.", "ijkl"]


def test_semantic_cuts_where_neighbours_are_least_alike() -> None:
    text = "Oil burns. Oil is dear. Boats sail. Boats sink."
    spans = cut_semantically(text, 24, lambda _texts: [0.9, 0.1, 0.8])
    assert pieces(text, spans) == ["Oil burns. Oil is dear.", "Boats sail. Boats sink."]


def test_semantic_avoids_scraps_where_it_can() -> None:
    text = "A. " + "Boats sail far away. " * 3 + "B."
    alike = [0.0, 0.5, 0.5, 0.0]
    spans = cut_semantically(text, 40, lambda _texts: alike)
    assert min(span.end - span.start for span in spans) >= 10


@pytest.mark.parametrize("text", ["", " \n\t", "\u2028"])
def test_what_holds_nothing_gives_nothing(text: str) -> None:
    assert cut_plainly(text, 10, "fixed") == []
    assert cut_semantically(text, 10, lengths) == []
    assert cut_at(text, 10, [0, 1]) == []
