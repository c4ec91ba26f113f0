"""A talk in which each reply is bound to one action as JSON: for models too small to call tools.

Left free, a small model seldom reads what it found. Here a schema offers only what makes sense at
the time: to read, as long as something was found and nothing read; to answer, once something was
read; and an action that was done already is not done again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from contextpull.eval.measures import distinct
from contextpull.eval.talks import MAX_TURNS, REFUSED, Step, answered
from contextpull.eval.tool_calls import ToolRunner, not_run, same_call
from contextpull.eval.transcripts import ToolCall
from contextpull.models.chat import Message, Reply, ToolDefinition, UserMessage
from contextpull.models.chat_calls import load_json
from contextpull.store import Snapshot
from contextpull.tools import TOOLS

_ANSWER = "answer"
_LOOKUPS = {"search": "query", "grep": "pattern", "index": "path"}
"""What finds sections, each with its argument."""
_MOST_CHOICES = 40
"""Ids that one schema offers: vendors bound its size."""
_VAIN_LOOKUPS = 3
"""After so many lookups without anything to read, the model may answer that there is nothing."""
_DONE = "You did that already, and its result stands above. Do something else."
_NO_ACTION = "That was none of the actions offered. Reply with one of them, as JSON."
_LAST = "This is the last turn: answer now, from what you have read."
_TEXT = {"type": "string"}

ACTIONS = "\n".join(
    [
        "Each of your replies is one action, as a JSON object. The result comes in the next turn.",
        *(f"- {tool.name}: {tool.description}" for tool in TOOLS),
        "- answer: Answer the question from what you have read, in one to three sentences, with the"
        " id of the section that the answer rests on most. Cite others in the text, like [id].",
    ]
)
"""What this variant adds to the instructions; without examples, which small models copy."""


class ActionTalk:
    """One question, put to a model whose replies are bound to actions."""

    tools: Sequence[ToolDefinition] = ()

    def __init__(self, question: str, runner: ToolRunner, snapshot: Snapshot) -> None:
        self.messages: list[Message] = [UserMessage(question)]
        self._question = question
        self._runner = runner
        self._documents = snapshot.documents
        self._database = snapshot.database
        self._found: tuple[str, ...] = ()
        self._read: tuple[str, ...] = ()
        self._done: set[str] = set()
        self._lookups = 0
        self._repeated: set[str] = set()
        """Lookups that were asked for twice with the same words: nothing new comes of them."""

    def schema(self, is_last: bool) -> dict[str, Any]:
        """An object whose `action` is one of those that make sense now."""
        choices = [_action(name, facts) for name, facts in self._offered(is_last)]
        return _object({"action": {"anyOf": choices}})

    def take(self, reply: Reply, is_last: bool) -> Step:
        """Do the action, unless it was done or not offered, and tell what came of it."""
        if reply.refusal:
            return Step(outcome=REFUSED, error=f"The model refuses: {reply.refusal}")
        name, arguments = _chosen(reply.text)
        if name not in dict(self._offered(is_last)):
            return self._without_action(reply, is_last)
        if name == _ANSWER:
            cited = arguments.get("id")
            ids = (cited,) if isinstance(cited, str) and cited else ()
            return answered(reply, str(arguments.get("text", "")), ids)
        call = self._call(name, arguments)
        self._tell(reply, f"Result of {name}:\n{call.result}\n\nThe question: {self._question}")
        return Step((call,))

    def _without_action(self, reply: Reply, is_last: bool) -> Step:
        if reply.is_cut:
            return answered(reply, "")
        error = "A reply held none of the actions offered."
        if is_last:
            return Step(outcome=MAX_TURNS, error=error)
        self._tell(reply, _NO_ACTION)
        return Step(error=error)

    def _tell(self, reply: Reply, text: str) -> None:
        self.messages += [reply, UserMessage(text)]

    def _call(self, name: str, given: dict[str, Any]) -> ToolCall:
        # The model chooses one section at a time; the tool takes a list.
        arguments = {"ids": [str(given.get("id", ""))]} if name == "read" else given
        key = same_call(name, arguments)
        if key in self._done:
            self._repeated.add(name)
            return not_run(name, arguments, _DONE)
        self._done.add(key)
        call = self._runner.run(name, arguments)
        self._lookups += name in _LOOKUPS
        self._read = distinct((*self._read, *call.read))
        self._found = distinct((*self._found, *call.surfaced, *self._outlined(call)))
        return call

    def _outlined(self, call: ToolCall) -> Iterable[str]:
        """The sections that an outline shows, by their slugs alone."""
        if call.name != "index" or call.is_error:
            return ()
        document = self._documents.get(str(call.arguments.get("path", "")).strip("/"))
        if document is None:
            return ()
        addresses = self._database.addresses(list(document.section_numbers))
        return (address.id for address in addresses.values())

    def _offered(self, is_last: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        """The actions that make sense now, with their arguments."""
        unread = [each for each in self._found if each not in self._read][:_MOST_CHOICES]
        # One id, not a list: nothing would bound a list, and small models write on and on.
        read = self._read[:_MOST_CHOICES]
        answer = {"text": _TEXT, **({"id": _one_of(read)} if read else {})}
        if is_last:
            yield _ANSWER, answer
            return
        if unread:
            yield "read", {"id": _one_of(unread)}
        lookups = [name for name in _LOOKUPS if name not in self._repeated]
        if self._read or not unread:
            yield from ((name, {_LOOKUPS[name]: _TEXT}) for name in lookups)
        in_vain = self._lookups >= _VAIN_LOOKUPS or not lookups
        if self._read or (not unread and in_vain):
            yield _ANSWER, answer


def last_turn(messages: Sequence[Message]) -> list[Message]:
    """The talk as it is sent when only an answer is offered."""
    newest = messages[-1]
    assert isinstance(newest, UserMessage)
    return [*messages[:-1], UserMessage(f"{newest.text}\n\n{_LAST}")]


def _chosen(text: str) -> tuple[str, dict[str, Any]]:
    """The action that a reply holds; no name where it holds none.

    A server that binds to no schema may let words or a fence stand around the object.
    """
    try:
        action = load_json(text[text.find("{") : text.rfind("}") + 1])["action"]
        name, arguments = action["name"], action["arguments"]
    except (ValueError, KeyError, TypeError):
        return "", {}
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else ("", {})


def _action(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return _object({"name": {"type": "string", "enum": [name]}, "arguments": _object(arguments)})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices)}
