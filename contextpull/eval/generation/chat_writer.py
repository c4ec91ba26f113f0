"""A chat model as a writer."""

import json
import re
import threading
from typing import Any

from contextpull.eval.metered import Meter
from contextpull.eval.transcripts import Tokens
from contextpull.models.chat import Chat, ChatFailed, Usage, UserMessage

SYSTEM = "You write questions for testing a search system. You answer with one JSON object only."
_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n\s*```\s*\Z", re.S)


class ChatWriter:
    """Asks a chat model, one prompt at a time, and counts the tokens; threads may share it."""

    def __init__(self, chat: Chat, system: str = SYSTEM, meter: Meter | None = None) -> None:
        """`meter` counts each call; one that brought no reply is a failure to it."""
        self._chat = chat
        self._system = system
        self._meter = meter
        self._lock = threading.Lock()
        self._usage = Usage()

    @property
    def name(self) -> str:
        """The model and everything that may change its answers."""
        return f"{self._chat.name} {self._chat.fingerprint}"

    @property
    def usage(self) -> Usage:
        """The tokens of all answers so far."""
        return self._usage

    def __call__(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The model's answer.

        Raises `ModelUnavailable` when there is none, and `ValueError` for one that is refused, cut
        off, or no JSON.
        """
        try:
            reply = self._chat.reply(self._system, [UserMessage(prompt)], schema=schema)
        except ChatFailed as error:
            self._count(error.usage, failed=True)
            raise
        self._count(reply.usage, failed=bool(reply.refusal) or reply.is_cut)
        if reply.refusal:
            raise ValueError(f"refused: {reply.refusal}")
        if reply.is_cut:
            raise ValueError("the answer is cut off: too many tokens")
        answer: dict[str, Any] = json.loads(unfenced(reply.text))
        return answer

    def _count(self, usage: Usage, *, failed: bool) -> None:
        with self._lock:
            self._usage = Usage(*map(sum, zip(self._usage, usage, strict=True)))
        if self._meter is not None:
            self._meter.count(Tokens(**usage._asdict()), failed=failed)


def unfenced(text: str) -> str:
    """The text without the code fence that a model may put around its JSON."""
    fenced = _FENCE.match(text)
    return fenced[1] if fenced else text
