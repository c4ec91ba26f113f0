"""When a passage holds a quote, and what comes closest."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.eval.golden.quotes import closest, holds, tokens_in
from tests.properties import same_every_time

BANK = "In May, the net income of the bank rose to 9 billion dollars, as told on page 4."


@pytest.mark.parametrize(
    "quote",
    [
        "net income of the bank rose to 9 billion dollars",
        "Net  Income of\nthe BANK rose",
        "“net income”, of the bank",
        "the net income … 9 billion dollars",
        "the net income of [...] rose to 9 billion",
    ],
)
def test_case_punctuation_and_white_space_do_not_count(quote: str) -> None:
    assert holds(BANK, quote)


@pytest.mark.parametrize(
    "quote",
    [
        "net income of the bank rose to 8 billion dollars",
        "net income of the bank fell to 9 billion dollars",
        "come of the bank rose",
        "9 billion dollars … the net income",
        "the … dollars",
        "",
        "—!?",
    ],
)
def test_other_words_are_not_held(quote: str) -> None:
    assert not holds(BANK, quote)


@pytest.mark.parametrize(
    ("passage", "quote", "held"),
    [
        ("a fee of 9,000 dollars", "fee of 9000 dollars", True),
        ("a fee of 9,5 dollars", "fee of 95 dollars", False),
        ("a fee of 9.5 dollars", "fee of 9 dollars", False),
        ("a fee of 15 dollars", "fee of 5 dollars", False),
        ("a change of -5 points", "change of 5 points", False),
        ("a change of −5 points", "change of -5 points", True),
        ("pages 4-5 of it", "pages 4–5 of it", True),
        ("rose by 5 percent points", "rose by 5%", False),
        ("a fee of €5 each", "a fee of $5 each", False),
        ("a fee of ٤١ riyals", "a fee of 41 riyals", True),
        ("version 3.12.1 of it", "version 3.12 of it", False),
    ],
)
def test_numbers_are_exact(passage: str, quote: str, held: bool) -> None:
    assert holds(passage, quote) is held


@pytest.mark.parametrize(
    ("passage", "quote"),
    [
        ("客户可以在灾区推迟还款，没有滞纳金。", "推迟还款，没有"),
        ("お客様は災害地域で支払いを延期できます。", "支払いを延期"),
        ("ลูกค้าสามารถเลื่อนการชำระเงินได้โดยไม่มีค่าธรรมเนียม", "เลื่อนการชำระเงินได้"),
        ("ຂ້ອຍມັກກິນເຂົ້າ", "ມັກກິນ"),
        ("고객은 납부를 연기할 수 있습니다.", "납부를 연기할 수"),
        ("ग्राहक भुगतान स्थगित कर सकते हैं।", "भुगतान स्थगित कर"),
        ("Das Straßenfest beginnt um zehn.", "STRASSENFEST beginnt"),
        ("An in\u00advis\u200bible hyphen is here.", "invisible hyphen"),
    ],
)
def test_every_script_is_found_in_its_own_text(passage: str, quote: str) -> None:
    assert holds(passage, quote)
    assert holds(unicodedata.normalize("NFD", passage), unicodedata.normalize("NFC", quote))


def test_a_vowel_sign_makes_another_word() -> None:
    assert not holds("เขากินข้าวแล้ว", "เขากันข้าว")
    assert not holds("वह किताब पढ़ता है", "वह कताब पढ़ता")


@pytest.mark.parametrize(
    ("passage", "held"),
    [
        ("It said: the net income of the bank rose", True),
        ("of the bank rose to 9 billion dollars. Then it fell.", True),
        ("of the bank rose to 9 billion", True),
        ("the net income of the bank rose to 5 million", False),
        ("The net income of the bank rose. Then it fell.", False),
        ("It said: the net income", False),
    ],
)
def test_a_part_counts_where_the_passage_cuts_the_quote(passage: str, held: bool) -> None:
    assert holds(passage, "the net income of the bank rose to 9 billion dollars") is held


def test_a_short_part_proves_nothing() -> None:
    assert not holds("This is the", "the bank")


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.lists(
    st.sampled_from(["bank", "9,000", "-5", "款", "เงิน", "é", "e\u0301", "…", "%", "\n", "a_b"]),
    max_size=30,
).map(" ".join)


@given(TEXTS, TEXTS, TEXTS)
@same_every_time(200)
def test_a_text_between_others_is_held(before: str, quote: str, behind: str) -> None:
    assert holds(f"{before}\n{quote}\n{behind}", quote) is (tokens_in(quote) > 0)


@given(TEXTS, TEXTS)
@same_every_time(200)
def test_the_closest_text_lies_at_its_span(passage: str, quote: str) -> None:
    match = closest(passage, quote)
    assert passage[match.span.start : match.span.end] == match.text
    assert 0 <= match.likeness <= 1


@pytest.mark.parametrize(
    ("passage", "quote", "found"),
    [
        (
            BANK,
            "net incom of the bank rose to 8 billion dollars",
            "net income of the bank rose to 9",
        ),
        (
            "别的。客户可以在灾区推迟还款，没有滞纳金。其他",
            "客户可在灾区推迟还款，无滞纳金",
            "灾区推迟还款",
        ),
        ("ก่อน ลูกค้าสามารถเลื่อนการชำระเงินได้ หลัง", "ลูกค้าอาจเลื่อนการชำระเงินได้", "เลื่อนการชำระเงินได้"),
    ],
)
def test_the_closest_text_is_the_one_that_was_meant(passage: str, quote: str, found: str) -> None:
    match = closest(passage, quote)
    assert found in match.text
    assert match.likeness > 0.7


def test_nothing_is_closest_to_nothing() -> None:
    assert closest("", "words").text == closest("words", "").text == ""
