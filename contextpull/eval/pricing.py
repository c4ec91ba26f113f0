"""What tokens cost, by a table of published prices; no price is ever guessed."""

from collections.abc import Callable

from contextpull.errors import MissingExtra
from contextpull.eval.transcripts import Tokens

_PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai"}


def price_of(model: str) -> Callable[[Tokens], float | None]:
    """Dollars for tokens of a model, as published; None where the table does not know the model.

    It is named as `open_chat` takes it, or as Claude Code does, without its vendor. A model that
    is named by its endpoint has no price. Raises MissingExtra without the table.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError as error:
        raise MissingExtra("Prices of models", "eval") from error

    vendor, _, name = model.partition(":")
    provider = _PROVIDERS.get(vendor)

    def price(tokens: Tokens) -> float | None:
        if "://" in model:
            return None
        usage = Usage(
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cache_read_tokens=tokens.cached,
            cache_write_tokens=tokens.cache_written,
        )
        try:
            return float(
                calc_price(usage, name if provider else model, provider_id=provider).total_price
            )
        except LookupError:
            return None

    return price
