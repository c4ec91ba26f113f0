"""What a recording of Claude Code holds: from its `stream-json` to a transcript.

A run counts as `ok` only where Claude Code says so in every place: the server was connected, a
result came, it is no error, and the run was completed. Results of tools are taken from what the
model was told, not from what the server sent.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contextpull.errors import EvaluationError
from contextpull.eval import stream_ending as ending
from contextpull.eval.measures import distinct
from contextpull.eval.seen import is_replaced, seen
from contextpull.eval.stream_events import (
    Block,
    Ended,
    Event,
    Init,
    Partial,
    Retry,
    Said,
    Told,
    Usage,
    read_events,
)
from contextpull.eval.transcripts import Tokens, ToolCall, Transcript, Turn, cited_ids

SERVER = "contextpull"

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_OURS = re.compile(r"mcp__(.+)__(?:search|grep|read|index)")
_ERROR_CHARS = 300


class Recording(BaseModel):
    """Everything that one run of Claude Code printed, as far as it counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: str
    """`ok`, or why there is no answer: `server_failed`, `api_error`, `max_turns`, `killed`, …"""
    answer: str = ""
    turns: tuple[Turn, ...] = ()
    """The model's answers in order; what they wrote is counted in full only in `tokens`."""
    api_calls: int = Field(default=0, ge=0)
    """Answers of the model with different ids; failed requests are none."""
    tokens: Tokens = Tokens()
    """Of all models that took part, as the result says, or else as far as answers say."""
    dollars: float | None = None
    """By Claude Code's own price list."""
    seconds: float = 0.0
    """Wall time by Claude Code's own clock, waits for rate limits apart."""
    waited: float = 0.0
    errors: tuple[str, ...] = ()
    """What went wrong on the way, in sentences."""
    server: str = SERVER
    server_status: str = ""
    """As the run's first event has it: `connected`, `failed`, `pending`, …; empty without one."""
    model: str = ""
    version: str = ""
    """Of Claude Code."""
    ignored_lines: int = 0
    """Lines that are no events."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls of tools, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def ids_read(self) -> tuple[str, ...]:
        """As in Transcript."""
        return self.transcript("", "").ids_read

    @property
    def ids_surfaced(self) -> tuple[str, ...]:
        """As in Transcript."""
        return self.transcript("", "").ids_surfaced

    @property
    def tool_calls(self) -> dict[str, int]:
        """How often each tool was called, by name; those of other servers keep their prefix."""
        return dict(sorted(Counter(call.name for call in self.calls).items()))

    def transcript(
        self, question_id: str, question: str, known_ids: Iterable[str] | None = None
    ) -> Transcript:
        """The same as the record of every kind of agent.

        `known_ids` are all ids that an answer may cite; without them, those that were seen.
        """
        found = Transcript(
            question_id=question_id,
            question=question,
            outcome=self.outcome,
            answer=self.answer,
            turns=self.turns,
            api_calls=self.api_calls,
            tokens=self.tokens,
            seconds=self.seconds,
            waited=self.waited,
            errors=self.errors,
        )
        known = found.ids_surfaced if known_ids is None else known_ids
        return found.model_copy(update={"cited": cited_ids(self.answer, known)})

    def as_dict(self) -> dict[str, object]:
        """The recording as JSON-ready values."""
        return {
            "outcome": self.outcome,
            "ids_read": list(self.ids_read),
            "ids_surfaced": list(self.ids_surfaced),
            "tool_calls": self.tool_calls,
            "api_calls": self.api_calls,
            "tokens": self.tokens.model_dump(),
            "answer": self.answer,
            "errors": list(self.errors),
            "dollars": self.dollars,
            "seconds": round(self.seconds, 3),
            "waited": round(self.waited, 3),
            "server": self.server,
            "server_status": self.server_status,
            "model": self.model,
            "version": self.version,
            "ignored_lines": self.ignored_lines,
        }


def parse_stream(lines: Iterable[str], server: str | None = None) -> Recording:
    """What the lines that Claude Code printed hold; lines may be cut off, or not its own.

    `server` is the name under which our server was attached; without it, the one that is called
    contextpull, or else the only one. Raises EvaluationError where there is no event at all.
    """
    events = read_events(lines)
    if not events.known:
        raise EvaluationError(
            "There is no event of Claude Code in it."
            " Record with: claude -p QUESTION --output-format stream-json --verbose"
        )
    heard = _Heard()
    for event in events.known:
        heard.add(event)
    return heard.recording(server or heard.only_server(), events.ignored)


class _Answer:
    """One answer of the model, while its blocks come in."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: list[Block] = []
        self.usage = Usage()
        self.stop_reason = ""
        self.is_by_sub_agent = False


class _Heard:
    """What was heard so far."""

    def __init__(self) -> None:
        self.init = Init()
        self.ended: list[Ended] = []
        self.retries: list[Retry] = []
        self.answers: dict[str, _Answer] = {}
        self.results: dict[str, Block] = {}
        self._partial: dict[str, str] = {}
        """The id of the answer that is under way, by the agent that gives it."""
        self._uuids: set[str] = set()
        self._called: set[str] = set()

    def add(self, event: Event) -> None:
        """Take in the next event, once."""
        if event.uuid and event.uuid in self._uuids:
            return
        self._uuids.add(event.uuid)
        if isinstance(event, Init):
            self.init = event if event.mcp_servers or not self.init.type else self.init
        elif isinstance(event, Said):
            self._add_said(event)
        elif isinstance(event, Told):
            self._add_results(event.message.content)
        elif isinstance(event, Retry):
            self.retries.append(event)
        elif isinstance(event, Partial):
            self._add_partial(event)
        elif isinstance(event, Ended):
            self.ended.append(event)

    def _add_said(self, event: Said) -> None:
        self._add_results(event.message.content)
        if event.is_synthetic:
            return
        message = event.message
        answer = self._answer(message.id or event.uuid, message.usage, event.parent_tool_use_id)
        answer.stop_reason = message.stop_reason or answer.stop_reason
        for block in message.content:
            if block.type == "text" and block.text:
                answer.texts.append(block.text)
            elif block.type in _CALLS and block.id not in self._called:
                self._called.update({block.id} if block.id else ())
                answer.calls.append(block)

    def _add_results(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.type.endswith("tool_result") and block.tool_use_id:
                self.results.setdefault(block.tool_use_id, block)

    def _add_partial(self, event: Partial) -> None:
        part = event.event
        if part.type == "message_start" and part.message.id:
            self._partial[event.parent_tool_use_id] = part.message.id
            self._answer(part.message.id, part.message.usage, event.parent_tool_use_id)
        elif part.type == "message_delta" and event.parent_tool_use_id in self._partial:
            answer = self.answers[self._partial[event.parent_tool_use_id]]
            answer.stop_reason = part.delta.stop_reason or answer.stop_reason
            answer.usage = ending.larger(answer.usage, part.usage or Usage())

    def _answer(self, message_id: str, usage: Usage, parent: str) -> _Answer:
        answer = self.answers.setdefault(message_id, _Answer())
        answer.usage = ending.larger(answer.usage, usage)
        answer.is_by_sub_agent = bool(parent)
        return answer

    def only_server(self) -> str:
        """The name of the server that must be meant."""
        names = [each.name for each in self.init.mcp_servers]
        if not names:
            calls = (call.name for each in self.answers.values() for call in each.calls)
            names = list(distinct(match[1] for call in calls if (match := _OURS.fullmatch(call))))
        return names[0] if len(names) == 1 else SERVER

    def recording(self, server: str, ignored: int) -> Recording:
        """All of it together."""
        known = next((each for each in self.init.mcp_servers if _is_named(each.name, server)), None)
        status = known.status if known else "missing" if self.init.type else ""
        prefix = f"mcp__{_as_prefix(known.name if known else server)}__"
        turns = [self._turn(each, prefix) for each in self.answers.values()]
        answer = self._final_answer()
        seconds = sum(each.duration_ms for each in self.ended) / 1000
        waits = (each.retry_delay_ms for each in self.retries if ending.is_overload(each))
        waited = sum(waits) / 1000
        spent = ending.spent(self.ended) or [each.usage for each in self.answers.values()]
        return Recording(
            outcome=ending.outcome(
                self.ended, "connected" if self._has_used(prefix) else status, answer
            ),
            answer=answer,
            turns=tuple(turns),
            api_calls=len(self.answers),
            tokens=ending.tokens(spent),
            dollars=ending.dollars(self.ended),
            seconds=max(0.0, seconds - waited),
            waited=waited,
            errors=tuple(self._errors(server, status, turns)),
            server=server,
            server_status=status,
            model=self.init.model,
            version=self.init.claude_code_version,
            ignored_lines=ignored,
        )

    def _has_used(self, prefix: str) -> bool:
        """Whether a tool of that server gave a result, whatever was said of the server before."""
        return any(
            call.name.startswith(prefix) and not self.results[call.id].is_error
            for each in self.answers.values()
            for call in each.calls
            if call.id in self.results
        )

    def _turn(self, answer: _Answer, prefix: str) -> Turn:
        return Turn(
            text="\n".join(answer.texts),
            calls=tuple(self._call(block, prefix) for block in answer.calls),
            tokens=ending.tokens([answer.usage]),
            stop_reason=answer.stop_reason,
        )

    def _call(self, block: Block, prefix: str) -> ToolCall:
        is_ours = block.name.startswith(prefix)
        name = block.name.removeprefix(prefix)
        result = self.results.get(block.id)
        text = _text(result.content) if result else ""
        is_error = result is None or result.is_error
        found = seen(name, text, block.input) if is_ours and not is_error else None
        return ToolCall(
            name=name,
            arguments=block.input,
            result=text,
            is_error=is_error,
            read=found.read if found else (),
            surfaced=found.surfaced if found else (),
        )

    def _final_answer(self) -> str:
        """What the run answered; what the model said before it was cut short is no answer."""
        ended = self.ended[-1] if self.ended else None
        if ended is None or ended.is_error:
            return ""
        if ended.result.strip():
            return ended.result
        if ended.structured_output is not None:
            return json.dumps(ended.structured_output, ensure_ascii=False)
        said = [each for each in self.answers.values() if not each.is_by_sub_agent]
        return "\n".join(said[-1].texts) if said and not said[-1].calls else ""

    def _errors(self, server: str, status: str, turns: Sequence[Turn]) -> Iterable[str]:
        if self.init.type and status != "connected":
            yield f"The server {server!r} was not connected when the run began: {status}."
        failed = Counter((each.error_status, each.error) for each in self.retries)
        for (code, error), times in failed.items():
            reason = " ".join(str(each) for each in (code, error) if each) or "no answer"
            often = "once" if times == 1 else f"{times} times"
            yield f"The API failed and was asked again {often}: {reason}."
        for call in (call for turn in turns for call in turn.calls):
            if call.is_error:
                yield f"{call.name} failed: {_short(call.result) or 'there is no result.'}"
            elif is_replaced(call.result):
                yield f"{call.name} gave more than the host shows a model: {_short(call.result)}"
        if not self.ended:
            yield "The recording ends without a result: the run was killed, or is not over."
        for ended in self.ended:
            yield from map(_short, ended.errors)
            if ended.is_error and ended.result:
                yield _short(ended.result)


def _as_prefix(name: str) -> str:
    """A server's name as it stands in the names of its tools."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


def _is_named(name: str, wanted: str) -> bool:
    """Whether a server is the one that is meant; plugins put their own name before it."""
    return _as_prefix(wanted) in {_as_prefix(name), _as_prefix(name.rpartition(":")[2])}


def _text(content: Any) -> str:
    """A tool's result as text; what is none stands as its kind in brackets."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content] if content else []
    blocks = [Block.model_validate(each) for each in parts if isinstance(each, dict)]
    return "\n".join(each.text if each.type == "text" else f"[{each.type}]" for each in blocks)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _ERROR_CHARS else f"{text[:_ERROR_CHARS]}…"
