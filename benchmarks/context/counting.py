"""Requests as the Anthropic Messages API takes them, and what of them is whose."""

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from talking import Told, Turn

Count = Callable[[str], int]
WRITTEN, READ = 1.25, 0.1
"""Anthropic's prices of a token that goes into the cache, for five minutes, and of one that comes
from it, by the price of a token without a cache."""
_RECOGNISED = 80
"""Characters by which instructions are found in a text of the host."""


class Spread(NamedTuple):
    """The middle of some figures, and what nine of ten do not exceed."""

    median: float
    p90: float


class Bill(NamedTuple):
    """Input tokens of the requests of one conversation."""

    requests: int
    total: int
    """Summed over the requests, as an API bills them without a cache."""
    told: int
    """What of that is instructions and tools, as the server gave them."""
    cached: float
    """The total in tokens without a cache, when each request ends in a mark for the cache."""
    warm: float
    """The same, when a conversation before has left tools and instructions in the cache."""
    by_owner: Mapping[str, int]
    """The total by `host`, `server` and `question`."""


def tokens_by(tokenizer: Path) -> Count:
    """Tokens of a text by a Hugging Face tokenizer.json."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    return cache(lambda text: len(loaded.encode(text, add_special_tokens=False).ids))


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    ordered = sorted(values)
    return Spread(
        statistics.median(ordered), ordered[min(int(len(ordered) * 0.9), len(ordered) - 1)]
    )


def requests_of(told: Told, question: str, talk: Sequence[Turn]) -> list[dict[str, Any]]:
    """The requests of a plain loop: instructions as the system prompt, tools, messages so far."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    requests = []
    for number in range(len(talk) + 1):
        requests.append(
            {"system": told.instructions, "tools": told.tools, "messages": list(messages)}
        )
        if number < len(talk):
            messages += _messages(number, talk[number])
    return requests


def _messages(number: int, turn: Turn) -> list[dict[str, Any]]:
    uses: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for place, (call, result) in enumerate(turn):
        use = f"toolu_{number}_{place}"
        uses.append({"type": "tool_use", "id": use, "name": call.tool, "input": call.arguments})
        results.append({"type": "tool_result", "tool_use_id": use, "content": result})
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]


def bill(
    requests: Sequence[Mapping[str, Any]],
    question: str,
    told: Told,
    tools: tuple[str, ...],
    count: Count,
) -> Bill:
    """What the requests of a conversation hold; the names of its tools begin with `tools`."""
    owned = [Counter[str]() for _ in requests]
    for each, request in zip(owned, requests, strict=True):
        for owner, text in _parts(request, question, told, tools):
            each[owner] += count(text)
    sizes = [each.total() for each in owned]
    begun = count(told.instructions) + sum(count(compact(tool)) for tool in told.tools)
    cached = WRITTEN * sizes[-1] + READ * sum(sizes[:-1])
    warm = cached - (WRITTEN - READ) * begun
    return Bill(len(sizes), sum(sizes), len(sizes) * begun, cached, warm, sum(owned, Counter()))


def output_tokens(talk: Sequence[Turn], count: Count) -> int:
    """What the model writes to call the tools; its answer is left out."""
    return sum(count(call.tool + compact(call.arguments)) for turn in talk for call, _ in turn)


def _parts(
    request: Mapping[str, Any], question: str, told: Told, tools: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """The texts of a request, each with whose it is. What only an API adds is not there."""
    for tool in request["tools"]:
        if tool["name"] != "DeferredToolPlaceholder":  # deferred, and never looked up
            shown = {key: tool[key] for key in ("name", "description", "input_schema")}
            yield ("server" if tool["name"].startswith(tools) else "host"), compact(shown)
    callers: dict[str, str] = {}
    for block in _blocks(request):
        if block["type"] == "text":
            yield from _split(block["text"], question, told.instructions)
            continue
        if block["type"] == "tool_use":
            callers[block["id"]] = block["name"]
            name, text = block["name"], block["name"] + compact(block["input"])
        else:
            name, text = callers[block["tool_use_id"]], _text_of(block["content"])
        yield ("server" if name.startswith(tools) else "host"), text


def _blocks(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for content in (request["system"], *(each["content"] for each in request["messages"])):
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from content


def _split(text: str, question: str, instructions: str) -> Iterator[tuple[str, str]]:
    """The instructions, as far as the host has left them whole, apart from what is around them."""
    if text.strip() == question.strip():
        yield "question", text
        return
    at = text.find(instructions[:_RECOGNISED]) if instructions else -1
    if at < 0:
        yield "host", text
        return
    pairs = zip(text[at:], instructions, strict=False)
    ours = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    yield "server", ours
    yield from (("host", part) for part in (text[:at], text[at + len(ours) :]) if part)


def _text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(each.get("text") or each.get("tool_name", "") for each in content)


def compact(value: object) -> str:
    """A value as JSON on the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
