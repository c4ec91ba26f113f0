"""Pull through a model's API: the tools in this process, one question after the other."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Literal, get_args

from contextpull import __version__
from contextpull.config import Mode, Snippets
from contextpull.errors import EvaluationError, InvalidInput, MissingExtra
from contextpull.eval.actions import ACTIONS, ActionTalk, last_turn
from contextpull.eval.behaviour import behaviour
from contextpull.eval.measures import check_cutoff
from contextpull.eval.pricing import price_of
from contextpull.eval.talks import NO_ANSWER, STRICT, NativeTalk, Step, Talk
from contextpull.eval.tool_calls import ToolRunner, cited_sections, tools_fingerprint
from contextpull.eval.transcripts import Tokens, Transcript, Turn, total_tokens
from contextpull.models.chat import Chat, ChatFailed, Reply, Usage
from contextpull.models.folders import fingerprint_of
from contextpull.retrieval.models import Models
from contextpull.store import Store
from contextpull.tools import ToolSession, instructions
from contextpull.types import Question

Actions = Literal["native", "json"]
"""How the model acts: by its vendor's own calls of tools, or by replies bound to a schema."""
Failures = Literal["raise", "miss"]

API_ERROR = "api_error"
_RECIPE = "api loop 2"
"""Goes up when the same settings come to mean another talk."""
_OUTCOMES = {
    "context_length": "context_length",
    "rate_limited": "rate_limited",
    "key": "key_refused",
    "not_found": "model_not_found",
    "unreachable": "unreachable",
    "empty": NO_ANSWER,
}
"""What a reason for no reply makes of a run; every other is an API error."""


class ApiLoopRetriever:
    """An agent over a store: a model with the four tools, told what an MCP client is told.

    Any number of threads may share it. `run` gives a transcript; the methods of a retriever
    (`retrieve`, `generate`, and `surfaced` for the other view) ask each question once and serve
    all of them from that run.
    """

    def __init__(
        self,
        store: Store,
        chat: Chat,
        *,
        strict: bool = False,
        snippets: Snippets = "short",
        k: int = 5,
        max_turns: int = 8,
        actions: Actions = "native",
        mode: Mode | None = None,
        models: Models | None = None,
        concurrency: int = 4,
        failures: Failures = "raise",
    ) -> None:
        """`strict` forbids answers from snippets; `snippets`, `mode` and `models` are search's.

        `k` is how many ids `retrieve` gives unless it is told. A question that was not answered
        raises in `retrieve`, or with `failures="miss"` has no ids: for harnesses that leave out of
        the mean what raises.
        """
        _check(snippets, k, max_turns, actions, concurrency, failures)
        self.concurrency = concurrency
        self._store = store
        self._chat = chat
        self._strict = strict
        self._snippets: Snippets = snippets
        self._k = k
        self._max_turns = max_turns
        self._actions: Actions = actions
        self._mode = mode
        self._models = models or Models()
        self._failures = failures
        self.system = _system(instructions(store.snapshot()), strict, actions)
        """What the model is told first: an MCP server's instructions, and what a variant adds."""
        self._lock = threading.Lock()
        self._runs: list[Transcript] = []
        self._kept: dict[str, Future[Transcript]] = {}

    @property
    def row_name(self) -> str:
        """`pull`, `pull-strict`, `pull-json`, with `/heading` or `/hybrid` where search differs."""
        name = "pull" + ("-json" if self._actions == "json" else "")
        name += "-strict" if self._strict else ""
        return name + _variant(self._snippets, self._mode)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with everything that changes an answer.

        What the store holds shows in it only as far as the index in the prompt does.
        """
        return fingerprint_of(json.dumps(self.settings(), sort_keys=True))

    def settings(self) -> dict[str, Any]:
        """Everything beside the question and the corpus that changes an answer, for a record."""
        return {
            "agent": _RECIPE,
            "contextpull": __version__,
            "model": self._chat.settings(),
            "prompt": fingerprint_of(self.system),
            "tools": tools_fingerprint(),
            "strict": self._strict,
            "actions": self._actions,
            "snippets": self._snippets,
            "mode": self._mode,
            "max_turns": self._max_turns,
        }

    def run(self, question: Question | str) -> Transcript:
        """Ask a question anew; what goes wrong is the outcome of the transcript."""
        asked = question if isinstance(question, Question) else Question("", question, "", ())
        run = _Run(asked, self._talk(asked.text), self._chat, self.system, self._max_turns)
        transcript = run.finish()
        cited = cited_sections(transcript.answer, self._store.snapshot())
        both = tuple(dict.fromkeys((*transcript.cited, *cited)))
        transcript = transcript.model_copy(update={"cited": both})
        with self._lock:
            self._runs.append(transcript)
        return transcript

    def retrieve(self, query: str, k: int | None = None) -> list[str]:
        """The ids of the first k sections that were read, in that order."""
        return self._ranked(query, k, surfaced=False)

    def generate(self, query: str, chunk_ids: object = None) -> str:  # noqa: ARG002 - as ragbisect calls it
        """The answer of the run that `retrieve` tells of; nothing where there is none."""
        transcript = self._once(query)
        return transcript.answer if transcript.is_ok else ""

    @property
    def surfaced(self) -> "Surfaced":
        """The same runs, scored by what was read or only shown."""
        return Surfaced(self)

    def stats(self) -> dict[str, Any]:
        """What all runs so far did; see `behaviour`. `usd` is absent where the price is unknown."""
        with self._lock:
            runs = tuple(self._runs)
        return {**behaviour(runs), **_usd(str(self._chat.settings().get("model", "")), runs)}

    def _talk(self, question: str) -> Talk:
        session = ToolSession(self._store, self._snippets, self._mode, self._models)
        runner = ToolRunner(session)
        if self._actions == "json":
            return ActionTalk(question, runner, self._store.snapshot())
        return NativeTalk(question, runner)

    def _ranked(self, query: str, k: int | None, *, surfaced: bool) -> list[str]:
        k = self._k if k is None else k
        check_cutoff(k)
        transcript = self._once(query)
        if not transcript.is_ok:
            if self._failures == "miss":
                return []
            why = " ".join(transcript.errors) or "There is no answer."
            raise EvaluationError(f"{transcript.outcome}: {why}")
        return list((transcript.ids_surfaced if surfaced else transcript.ids_read)[:k])

    def _once(self, query: str) -> Transcript:
        """The run for a query, which is made when it is first asked for."""
        with self._lock:
            kept = self._kept.get(query)
            if kept is None:
                mine = self._kept[query] = Future[Transcript]()
        if kept is not None:
            return kept.result()
        try:
            transcript = self.run(query)
        except BaseException as error:
            self._forget(query)
            mine.set_exception(error)
            raise
        if not transcript.is_ok:
            self._forget(query)
        mine.set_result(transcript)
        return transcript

    def _forget(self, query: str) -> None:
        """What failed may go better the next time."""
        with self._lock:
            self._kept.pop(query, None)


class Surfaced:
    """The other view of the same runs: ids read, then ids that search and grep showed."""

    def __init__(self, agent: ApiLoopRetriever) -> None:
        self._agent = agent
        self.concurrency = agent.concurrency

    @property
    def row_name(self) -> str:
        """The agent's, as `pull-surfaced` and so on."""
        name, mark, variant = self._agent.row_name.partition("/")
        return f"{name}-surfaced{mark}{variant}"

    def retrieve(self, query: str, k: int | None = None) -> list[str]:
        """The ids of the first k sections that were read or, behind those, shown."""
        return self._agent._ranked(query, k, surfaced=True)

    def generate(self, query: str, chunk_ids: object = None) -> str:
        """The answer of the same run."""
        return self._agent.generate(query, chunk_ids)

    def stats(self) -> dict[str, Any]:
        """Those of the agent: the runs are the same."""
        return self._agent.stats()


class _Run:
    """One question on its way."""

    def __init__(
        self, question: Question, talk: Talk, chat: Chat, system: str, max_turns: int
    ) -> None:
        self._question = question
        self._talk = talk
        self._chat = chat
        self._system = system
        self._max_turns = max_turns
        self._turns: list[Turn] = []
        self._errors: list[str] = []
        self._failure: ChatFailed | None = None
        self._attempts = 0

    def finish(self) -> Transcript:
        """Go on until there is an outcome."""
        step = Step()
        while not step.outcome:
            step = self._turn(is_last=len(self._turns) == self._max_turns - 1)
            if step.error:
                self._errors.append(step.error)
        return self._transcript(step)

    def _turn(self, is_last: bool) -> Step:
        schema = self._talk.schema(is_last)
        messages = self._talk.messages
        if is_last and schema is not None:
            messages = last_turn(messages)
        try:
            reply = self._chat.reply(self._system, messages, tools=self._talk.tools, schema=schema)
        except ChatFailed as error:
            self._failure = error
            self._attempts += error.attempts
            return Step(outcome=_OUTCOMES.get(error.reason, API_ERROR), error=str(error))
        step = self._talk.take(reply, is_last)
        self._attempts += reply.attempts
        self._turns.append(_turn(reply, step))
        return step

    def _transcript(self, step: Step) -> Transcript:
        turns, failure = self._turns, self._failure
        tokens, seconds, waited = total_tokens(turns), 0.0, 0.0
        if failure is not None:
            tokens += _tokens(failure.usage)
            seconds, waited = failure.seconds, failure.waited
        seconds += sum(turn.seconds + sum(call.seconds for call in turn.calls) for turn in turns)
        return Transcript(
            question_id=self._question.id,
            question=self._question.text,
            outcome=step.outcome,
            answer=step.answer,
            cited=step.cited,
            turns=tuple(turns),
            api_calls=self._attempts,
            tokens=tokens,
            seconds=seconds,
            waited=waited + sum(turn.waited for turn in turns),
            errors=tuple(self._errors),
        )


def _turn(reply: Reply, step: Step) -> Turn:
    return Turn(
        text=reply.text,
        calls=step.calls,
        tokens=_tokens(reply.usage),
        stop_reason=reply.stop_reason,
        seconds=reply.seconds,
        waited=reply.waited,
    )


def _tokens(usage: Usage) -> Tokens:
    return Tokens(**usage._asdict())


def _usd(model: str, runs: Sequence[Transcript]) -> dict[str, float]:
    try:
        price = price_of(model)
    except MissingExtra:
        return {}
    costs = [price(run.tokens) for run in runs]
    known = [cost for cost in costs if cost is not None]
    return {"usd": sum(known)} if len(known) == len(costs) else {}


def _system(told: str, strict: bool, actions: Actions) -> str:
    parts = [told, STRICT if strict else "", ACTIONS if actions == "json" else ""]
    return "\n\n".join(each for each in parts if each)


def _variant(snippets: Snippets, mode: Mode | None) -> str:
    parts = [snippets if snippets != "short" else "", mode or ""]
    return "".join(f"/{each}" for each in parts if each)


def _check(
    snippets: str, k: int, max_turns: int, actions: str, concurrency: int, failures: str
) -> None:
    check_cutoff(k)
    if max_turns < 1 or concurrency < 1:
        raise InvalidInput("max_turns and concurrency must be 1 or more.")
    choices = (("snippets", snippets, Snippets), ("actions", actions, Actions))
    for name, given, known in (*choices, ("failures", failures, Failures)):
        if given not in get_args(known):
            listed = " or ".join(map(repr, get_args(known)))
            raise InvalidInput(f"{name} must be {listed}, not {given!r}.")
