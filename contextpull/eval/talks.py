"""How an agent's turns are put to a model: what it is told, and what becomes of its replies."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from contextpull.eval.tool_calls import ToolRunner, not_run, same_call
from contextpull.eval.transcripts import OK, ToolCall
from contextpull.models.chat import (
    Message,
    Reply,
    ToldTool,
    ToolAnswer,
    ToolAnswers,
    ToolDefinition,
    UserMessage,
)
from contextpull.tools import TOOLS

MAX_TURNS = "max_turns"
LOOP = "loop"
REFUSED = "refused"
NO_ANSWER = "no_answer"
OUTPUT_LIMIT = "output_limit"
"""The model was still writing when it had written the most that it may."""

_SAME_TURNS = 3
"""So many turns with the same calls, one after the other, are a loop: nothing new can come."""
_TOLD = tuple(ToldTool(tool.name, tool.description, tool.schema) for tool in TOOLS)
_TOO_LATE = "Not run: this was the last turn."

STRICT = """\
Rules for this task, which go before everything else:
1. What search and grep show is there to choose by. It is never evidence, also where it seems to \
answer the question.
2. Before you answer, read every section that the answer rests on.
3. Cite only ids that you have read in this conversation. An answer that rests on anything else is \
wrong, even if it is true."""
"""What the strict variant adds to the instructions."""


class Step(NamedTuple):
    """What became of one reply."""

    calls: tuple[ToolCall, ...] = ()
    outcome: str = ""
    """Nothing as long as the talk goes on."""
    answer: str = ""
    cited: tuple[str, ...] = ()
    """Ids that the model named apart from its answer's text."""
    error: str = ""


class Talk(Protocol):
    """One question, put to a model turn by turn."""

    messages: list[Message]

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools that the model is told of, in the vendor's own way."""
        ...

    def schema(self, is_last: bool) -> dict[str, Any] | None:
        """What the next reply's text is bound to."""
        ...

    def take(self, reply: Reply, is_last: bool) -> Step:
        """Run what the reply asks for, and add both to the messages."""
        ...


class NativeTalk:
    """A talk in which the model calls the tools in its vendor's own way."""

    tools: Sequence[ToolDefinition] = _TOLD

    def __init__(self, question: str, runner: ToolRunner) -> None:
        self.messages: list[Message] = [UserMessage(question)]
        self._runner = runner
        self._turns: list[tuple[str, ...]] = []

    def schema(self, is_last: bool) -> dict[str, Any] | None:  # noqa: ARG002 - see Talk
        """None: the text is free."""
        return None

    def take(self, reply: Reply, is_last: bool) -> Step:
        """Run the calls in their order; without any, the text is the answer."""
        if reply.refusal:
            return Step(outcome=REFUSED, error=f"The model refuses: {reply.refusal}")
        if not reply.calls:
            return answered(reply, reply.text)
        if is_last:
            late = (not_run(call.name, call.arguments, _TOO_LATE) for call in reply.calls)
            return Step(tuple(late), MAX_TURNS, error="The last turn asked for tools.")
        calls = tuple(self._runner.run(call.name, call.arguments) for call in reply.calls)
        answers = (
            ToolAnswer(asked.id, call.result, call.is_error)
            for asked, call in zip(reply.calls, calls, strict=True)
        )
        self.messages += [reply, ToolAnswers(tuple(answers))]
        self._turns.append(tuple(same_call(call.name, call.arguments) for call in calls))
        newest = self._turns[-_SAME_TURNS:]
        if len(newest) == _SAME_TURNS and len(set(newest)) == 1:
            return Step(calls, LOOP, error=f"{_SAME_TURNS} turns asked for the same.")
        return Step(calls)


def answered(reply: Reply, text: str, cited: tuple[str, ...] = ()) -> Step:
    """The end of a talk whose last reply holds this answer."""
    if reply.is_cut:
        error = "The answer was cut at the most tokens that a reply may have."
        return Step(outcome=OUTPUT_LIMIT, answer=text, cited=cited, error=error)
    if not text.strip():
        return Step(outcome=NO_ANSWER, error="The last reply says nothing.")
    return Step(outcome=OK, answer=text, cited=cited)
