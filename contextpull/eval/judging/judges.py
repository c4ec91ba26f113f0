"""Who judges: a model that chats, a function, or anything else that keeps the protocol."""

import json
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple, Protocol

from contextpull.errors import EvaluationError
from contextpull.eval.generation.chat_writer import unfenced
from contextpull.eval.judging.items import Item
from contextpull.eval.judging.prompts import SCHEMA, SYSTEM, prompt_of
from contextpull.eval.transcripts import Tokens
from contextpull.models.chat import Chat, ChatFailed, UserMessage
from contextpull.models.folders import fingerprint_of

INVALID = "invalid"
"""The judge gave a score that is none."""
JUNK = "junk"
"""The judge replied something else than a verdict."""
REFUSED = "refused"
TIMEOUT = "timeout"
FAILED = "failed"
"""The judge itself broke."""
_SHOWN_CHARS = 200


class Verdict(NamedTuple):
    """What a judge said."""

    score: float
    """0 to 1."""
    reason: str = ""
    tokens: Tokens = Tokens()


class JudgeFailed(EvaluationError):
    """There is no verdict; `outcome` says why in one word that can be counted."""

    def __init__(self, message: str, outcome: str, tokens: Tokens = Tokens()) -> None:  # noqa: B008 - it never changes
        self.outcome = outcome
        self.tokens = tokens
        """What was spent all the same."""
        super().__init__(message)


class Judge(Protocol):
    """Whatever gives a verdict on an item; any number of threads may share it."""

    @property
    def name(self) -> str:
        """Who it is, as a report shows it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with everything that may change a verdict, but for the prompts of `prompts`."""
        ...

    def judge(self, item: Item) -> Verdict:
        """The verdict, or JudgeFailed."""
        ...


class ChatJudge:
    """A model that is told one rubric and shown one answer at a time."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.name = chat.name
        self.fingerprint = chat.fingerprint

    def judge(self, item: Item) -> Verdict:
        """Ask the model once."""
        try:
            reply = self._chat.reply(SYSTEM, [UserMessage(prompt_of(item))], schema=SCHEMA)
        except ChatFailed as error:
            spent = Tokens(**error.usage._asdict())
            raise JudgeFailed(str(error), error.reason, spent) from error
        tokens = Tokens(**reply.usage._asdict())
        if reply.refusal:
            raise JudgeFailed(f"The judge refused: {reply.refusal}", REFUSED, tokens)
        if reply.is_cut:
            raise JudgeFailed("The judge wrote more than it may before its verdict.", JUNK, tokens)
        try:
            return verdict_of_text(unfenced(reply.text))._replace(tokens=tokens)
        except JudgeFailed as error:
            raise JudgeFailed(str(error), error.outcome, tokens) from None


class FunctionJudge:
    """A function that takes an Item and returns a score, or a mapping with `score` and `reason`.

    What it raises is a counted failure. Nothing can stop it: a timeout is its own affair.
    """

    def __init__(self, function: Callable[[Item], object], name: str) -> None:
        """Verdicts are used again under this name: give another one when the function changes."""
        self._function = function
        self.name = name
        self.fingerprint = fingerprint_of("function", name)

    def judge(self, item: Item) -> Verdict:
        """Call the function."""
        try:
            said = self._function(item)
        except JudgeFailed:
            raise
        except Exception as error:  # whatever a judge raises, the other answers go on
            outcome = TIMEOUT if isinstance(error, TimeoutError) else FAILED
            raise JudgeFailed(f"{type(error).__name__}: {error}", outcome) from error
        return verdict_of(said)


def verdict_of_text(text: str) -> Verdict:
    """The verdict that a judge wrote as JSON, or JudgeFailed."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise JudgeFailed(f"The judge's reply is no JSON: {_shown(text)}", JUNK) from None
    return verdict_of(said)


def verdict_of(said: object) -> Verdict:
    """The verdict in what a judge returned: a score, or a mapping that holds one. Or JudgeFailed.

    A score is a number from 0 to 1 and nothing else: neither true, nor "0.5", nor not a number.
    """
    fields: Mapping[Any, Any] = said if isinstance(said, Mapping) else {"score": said}
    if "score" not in fields:
        raise JudgeFailed(f"The judge's reply has no score: {_shown(said)}", JUNK)
    score = fields["score"]
    is_number = isinstance(score, (Real, int, float)) and not isinstance(score, bool)
    if not is_number or not 0 <= score <= 1:  # a comparison that not a number fails, as all
        raise JudgeFailed(
            f"A score must be a number from 0 to 1, and the judge gave {_shown(score)}.", INVALID
        )
    reason = fields.get("reason", "")
    return Verdict(float(score), reason if isinstance(reason, str) else _shown(reason))


def _shown(value: object) -> str:
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
