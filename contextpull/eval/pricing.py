"""What tokens cost, by a table of published prices; no price is ever guessed."""

from collections.abc import Callable

from contextpull.errors import MissingExtra
from contextpull.eval.transcripts import Tokens


def price_of(model: str) -> Callable[[Tokens], float | None]:
    """Dollars for tokens of a model, as published; None where the table does not know the model.

    A model of one's own machine, named by its endpoint, is not in it. Raises MissingExtra without
    the table.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError as error:
        raise MissingExtra("Prices of models", "eval") from error

    def price(tokens: Tokens) -> float | None:
        usage = Usage(
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cache_read_tokens=tokens.cached,
            cache_write_tokens=tokens.cache_written,
        )
        try:
            return float(calc_price(usage, model).total_price)
        except LookupError:
            return None

    return price
