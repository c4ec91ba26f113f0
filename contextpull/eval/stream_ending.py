"""How a run of Claude Code ended, and what it took, by the events that tell."""

from collections.abc import Iterable, Sequence

from contextpull.eval.stream_events import Ended, ModelUsage, Retry, Usage
from contextpull.eval.transcripts import OK, Tokens

_OVERLOAD = frozenset({429, 503, 529})


def outcome(ended: Sequence[Ended], status: str, answer: str) -> str:
    """`ok`, or the first reason why the run does not count as answered.

    `status` is that of our server; it is empty where nothing tells.
    """
    if status not in {"connected", "pending", ""}:
        return "server_failed"
    if not ended:
        return "killed"
    reason = _reason(ended[-1])
    if reason:
        return reason
    if status != "connected":
        return "server_failed" if status else "no_init"
    return OK if answer.strip() else "no_answer"


def _reason(ended: Ended) -> str:
    """Why a run did not get to its end; empty where it did."""
    said = f"{ended.subtype} {ended.terminal_reason} {ended.api_error}"
    for mark, outcome in (
        ("max_turns", "max_turns"),
        ("budget", "budget"),
        ("refus", "refused"),
        ("prompt_too_long", "context_length"),
        ("max_output_tokens", "output_limit"),
        ("error_during_execution", "interrupted"),
        ("aborted", "interrupted"),
    ):
        if mark in said:
            return outcome
    if ended.stop_reason == "refusal":
        return "refused"
    if ended.is_error:
        return "api_error"
    if ended.terminal_reason not in {"", "completed"}:
        return ended.terminal_reason
    return "" if ended.subtype in {"", "success"} else ended.subtype


def spent(ended: Sequence[Ended]) -> Sequence[ModelUsage | Usage]:
    """What the results say was used; each tells of what came before it, too."""
    since = [each.model_usage_since for each in ended]
    if all(since):
        return [usage for each in since if each for usage in each.values()]
    if ended and ended[-1].model_usage:
        return list(ended[-1].model_usage.values())
    return [each.usage for each in ended if each.usage and each.usage != Usage()]


def dollars(ended: Sequence[Ended]) -> float | None:
    """What the run cost by Claude Code's own price list; None where it did not come to its end."""
    priced = [each.dollars for each in spent(ended) if isinstance(each, ModelUsage)]
    if len(ended) > 1 and priced:
        return sum(priced)
    return ended[-1].total_cost_usd if ended else None


def tokens(usages: Iterable[Usage | ModelUsage]) -> Tokens:
    """Tokens in our meaning: what was sent includes what a cache held or took."""
    total = Tokens()
    for each in usages:
        read, written = each.cache_read_input_tokens, each.cache_creation_input_tokens
        total += Tokens(
            input=each.input_tokens + read + written,
            output=each.output_tokens,
            cached=read,
            cache_written=written,
        )
    return total


def larger(one: Usage, other: Usage) -> Usage:
    """Counts only grow while an answer comes in."""
    fields = Usage.model_fields
    return Usage(**{name: max(getattr(one, name), getattr(other, name)) for name in fields})


def is_overload(retry: Retry) -> bool:
    """Whether the API only wanted to be asked later."""
    return retry.error_status in _OVERLOAD or retry.error in {"rate_limit", "overloaded"}
