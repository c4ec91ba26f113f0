"""What tokens cost."""

import pytest

from contextpull.eval.pricing import price_of
from contextpull.eval.transcripts import Tokens

pytest.importorskip("genai_prices")

USED = Tokens(input=1_000_000, output=100_000, cached=500_000)


@pytest.mark.parametrize("name", ["anthropic:claude-haiku-4-5", "claude-haiku-4-5"])
def test_a_model_of_the_table_has_its_price_however_it_is_named(name: str) -> None:
    assert price_of(name)(USED) == pytest.approx(0.5 * 1.0 + 0.5 * 0.1 + 0.1 * 5.0)


def test_both_ways_to_ask_a_vendor_cost_the_same() -> None:
    cost = price_of("openai:gpt-5-mini")(USED)
    assert cost == price_of("openai-chat:gpt-5-mini")(USED)
    assert cost


@pytest.mark.parametrize(
    "name", ["", "anthropic:m", "openai:claude-haiku-4-5", "http://127.0.0.1:1/v1#gpt-5-mini"]
)
def test_no_price_is_guessed(name: str) -> None:
    assert price_of(name)(USED) is None
