"""Runs the calls of an agent, and notes what each one showed it."""

import json
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

from contextpull.eval.measures import distinct
from contextpull.eval.transcripts import ToolCall, cited_ids
from contextpull.models.folders import fingerprint_of
from contextpull.store import Snapshot
from contextpull.tools import TOOLS, ToolResult, ToolSession

_SHOWN_CHARS = 200


class ToolRunner:
    """The tools for one run of an agent."""

    def __init__(self, session: ToolSession) -> None:
        self._session = session

    def run(self, name: str, arguments: Mapping[str, Any] | str) -> ToolCall:
        """Run one call; what goes wrong is told in its result, as a server would tell it."""
        started = perf_counter()
        result = self._result(name, arguments)
        seconds = perf_counter() - started
        return ToolCall(
            name=name,
            arguments=arguments if isinstance(arguments, str) else dict(arguments),
            result=result.text,
            is_error=result.is_error,
            read=() if result.is_error else ids_read(result.data),
            surfaced=() if result.is_error else ids_surfaced(result),
            seconds=seconds,
        )

    def _result(self, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
        if isinstance(arguments, str) and any(tool.name == name for tool in TOOLS):
            text = f"{name}: the arguments must be one JSON object, not {_shortened(arguments)}."
            return ToolResult(text, {}, is_error=True)
        try:
            return self._session.call(name, {} if isinstance(arguments, str) else arguments)
        except Exception as error:  # a fault of ours must not end the run
            text = f"{name} failed inside the server: {type(error).__name__}: {error}"
            return ToolResult(text, {}, is_error=True)


def not_run(name: str, arguments: Mapping[str, Any] | str, why: str) -> ToolCall:
    """The note of a call that nobody ran."""
    given = arguments if isinstance(arguments, str) else dict(arguments)
    return ToolCall(name=name, arguments=given, result=why, is_error=True)


def ids_read(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The sections whose text a result of `read` holds, context included, in its order.

    A section that is longer than one result counts from its first part on.
    """
    return distinct(each["id"] for each in data.get("sections", ()) if each["text"])


def ids_surfaced(result: ToolResult) -> tuple[str, ...]:
    """The sections that a result of `search` or `grep` shows, copies that it names included."""
    ids: list[str] = []
    for hit in result.data.get("hits", ()):
        ids += [hit["id"], *(each for each in hit["copies"] if each in result.text)]
    ids += (match["id"] for match in result.data.get("matches", ()))
    return distinct(ids)


def same_call(name: str, arguments: object) -> str:
    """A string that is the same for calls that say the same."""
    return json.dumps([name, arguments], sort_keys=True, default=str)


def tools_fingerprint() -> str:
    """16 hexadecimal digits that change with anything that a model is told of the tools."""
    told = [[tool.name, tool.description, tool.schema] for tool in TOOLS]
    return fingerprint_of(json.dumps(told, sort_keys=True))


def cited_sections(answer: str, snapshot: Snapshot) -> tuple[str, ...]:
    """The sections of the store that an answer names, whether or not it was shown them."""
    return cited_ids(answer, _ids_of_named(answer, snapshot))


def _ids_of_named(answer: str, snapshot: Snapshot) -> Iterable[str]:
    """The ids of the documents whose paths the answer holds: few, where the store has many."""
    for path, document in snapshot.documents.items():
        if f"{path}#" in answer:
            addresses = snapshot.database.addresses(list(document.section_numbers))
            yield from (address.id for address in addresses.values())


def _shortened(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…")
