"""A chat model as a writer."""

import json
import re
import threading
from collections.abc import Callable
from typing import Any

from contextpull.models.chat import Chat, ChatFailed, Usage, UserMessage

SYSTEM = "You write questions for testing a search system. You answer with one JSON object only."
_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n\s*```\s*\Z", re.S)


class ChatWriter:
    """Asks a chat model, one prompt at a time, and counts the tokens; threads may share it."""

    def __init__(
        self,
        chat: Chat,
        system: str = SYSTEM,
        on_answer: Callable[[Usage, bool], None] = lambda _usage, _failed: None,
    ) -> None:
        """`on_answer` is called with the tokens of each call, and whether it brought no reply."""
        self._chat = chat
        self._system = system
        self._on_answer = on_answer
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
        self._on_answer(usage, failed)


def unfenced(text: str) -> str:
    """The text without the code fence that a model may put around its JSON."""
    fenced = _FENCE.match(text)
    return fenced[1] if fenced else text
