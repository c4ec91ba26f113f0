"""What one agentic run did for one question: the same record for every kind of agent."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contextpull.eval.measures import distinct

OK = "ok"
"""The outcome of a run that ended with an answer; every other outcome is a reason."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(_Record):
    """Tokens as every vendor's usage is brought to one meaning; sums over all calls."""

    input: int = Field(default=0, ge=0)
    """All that the model was sent, what came from a cache included."""
    output: int = Field(default=0, ge=0)
    """All that it wrote, reasoning included."""
    cached: int = Field(default=0, ge=0)
    """The part of `input` that was read from a cache."""
    cache_written: int = Field(default=0, ge=0)
    """The part of `input` that was put into a cache, where the vendor tells."""

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            cache_written=self.cache_written + other.cache_written,
        )


class ToolCall(_Record):
    """One call of a tool, with the result as the model saw it."""

    name: str
    """Without a host's prefix: `read`, not `mcp__contextpull__read`."""
    arguments: Any = None
    """As the model gave them; a string where they were no JSON object."""
    result: str = ""
    is_error: bool = False
    read: tuple[str, ...] = ()
    """Ids of sections that the call returned in full, in order; none for a failed call."""
    surfaced: tuple[str, ...] = ()
    """Ids that a search or a grep showed, in order."""
    seconds: float = Field(default=0.0, ge=0)


class Turn(_Record):
    """One answer of the model, and the calls that it asked for."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: Tokens = Tokens()
    stop_reason: str = ""
    """The vendor's own word."""
    seconds: float = Field(default=0.0, ge=0)
    """Wall time until the model had answered, waits for rate limits apart."""
    waited: float = Field(default=0.0, ge=0)
    """Seconds lost to rate limits and overload."""


class Transcript(_Record):
    """Everything that one run did for one question."""

    question_id: str
    question: str
    outcome: str
    """`ok`, or why there is no answer: `max_turns`, `api_error`, `refused`, `killed`, …"""
    answer: str = ""
    cited: tuple[str, ...] = ()
    """Ids of sections that the answer names, in order."""
    turns: tuple[Turn, ...] = ()
    api_calls: int = Field(default=0, ge=0)
    tokens: Tokens = Tokens()
    seconds: float = Field(default=0.0, ge=0)
    """Wall time of the whole run, waits for rate limits apart."""
    waited: float = Field(default=0.0, ge=0)
    errors: tuple[str, ...] = ()
    """What went wrong on the way, in sentences; an answer may still have come."""

    @property
    def is_ok(self) -> bool:
        """Whether the run ended with an answer."""
        return self.outcome == OK

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls of tools, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def ids_read(self) -> tuple[str, ...]:
        """The sections that were read, in order, each once; a failed read is none."""
        return distinct(each for call in self.calls if not call.is_error for each in call.read)

    @property
    def ids_surfaced(self) -> tuple[str, ...]:
        """The sections that were read, then those that were only shown, in order, each once."""
        shown = (each for call in self.calls if not call.is_error for each in call.surfaced)
        return distinct((*self.ids_read, *shown))

    @property
    def calls_by_name(self) -> dict[str, int]:
        """How often each tool was called, failed calls included, by name."""
        return dict(sorted(Counter(call.name for call in self.calls).items()))


def cited_ids(answer: str, known: Iterable[str]) -> tuple[str, ...]:
    """The ids that an answer names, in the order of their first mention.

    An id counts where it stands whole: `a.md#b` is not named by `a.md#b-1`, nor by `aa.md#b`.
    """
    found: list[tuple[int, int, str]] = []
    for each in known:
        at = answer.find(each)
        while at >= 0 and not _stands_whole(answer, at, at + len(each)):
            at = answer.find(each, at + 1)
        if at >= 0:
            found.append((at, -len(each), each))
    return tuple(each for _, _, each in sorted(found))


def total_tokens(turns: Iterable[Turn]) -> Tokens:
    """The tokens of all turns together."""
    return total_of(turn.tokens for turn in turns)


def total_of(parts: Iterable[Tokens]) -> Tokens:
    """Tokens together."""
    return sum(parts, Tokens())


def _stands_whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    # A full stop may end the sentence, so only what goes on behind it makes the id longer.
    goes_on = after in {"-", "_", "~"} or after.isalnum()
    return not (before.isalnum() or before in {"-", "_", "/", "."} or goes_on)
