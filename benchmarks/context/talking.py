"""What a client is told, what each call brings, and what a scripted model does with it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcp import Client
from mcp.shared.exceptions import MCPError
from sides import Call, Side, document_of

from contextpull.types import Question

_READ_UNSURE = 2
"""Hits that the model reads when none of them is gold."""
Turn = list[tuple[Call, str]]
"""The calls that the model makes at once, each with what came back."""


class Told(NamedTuple):
    """What a server says before the first call."""

    instructions: str
    tools: list[dict[str, Any]]
    """As the Anthropic Messages API takes them."""
    listings: dict[str, str]
    """The results of the list requests as JSON, by method; empty where there is no such method."""


class Asked(NamedTuple):
    """What one server gave back for one question."""

    question: Question
    results: dict[str, str]
    """By what was asked for."""
    found_gold: bool
    talk: list[Turn]
    """Search, then read."""
    reads: int


async def told(client: Client) -> Told:
    """Ask for everything that a host asks for when it connects."""
    listings = {}
    for method in ("tools", "resources", "resource_templates", "prompts"):
        try:
            listed = await getattr(client, f"list_{method}")()
        except MCPError:
            listings[method] = ""
            continue
        listings[method] = listed.model_dump_json(by_alias=True, exclude_none=True)
    tools = [
        {"name": each.name, "description": each.description, "input_schema": each.input_schema}
        for each in (await client.list_tools()).tools
    ]
    return Told(client.instructions or "", tools, listings)


async def ask(
    side: Side, client: Client, question: Question, gold: Mapping[str, Sequence[str]]
) -> Asked:
    """Every kind of call for one question, and the conversation about it.

    `gold` has the ids of this side for each gold id. The scripted model searches for the question,
    reads the first hit that is gold, else the first two hits, and answers.
    """
    search = side.search(question.text)
    found = await _call(client, search)
    hits = side.hits(found)
    wanted = {each for ids in question.gold for each in gold[ids]}
    right = [hit for hit in hits if hit in wanted][:1]
    chosen = right or hits[:_READ_UNSURE]
    calls = side.read(chosen) if chosen else []
    read = [(call, await _call(client, call)) for call in calls]
    results = {"search": found, **await _single_calls(side, client, question, gold)}
    talk = [[(search, found)], *([read] if read else [])]
    return Asked(question, results, bool(right), talk, len(chosen))


async def _single_calls(
    side: Side, client: Client, question: Question, gold: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    first = question.gold[0]
    document = document_of(first)
    calls = {
        "grep": side.grep(question.identifier or longest_word(question.text)),
        "index, everything": side.index(""),
        "index, one document": side.index(document),
        "error: no such section": side.read([f"{document}#9999"])[0],
        "error: no query": Call("search", {}),
    }
    if gold[first]:
        calls["read"] = side.read(gold[first][:1])[0]
    return {name: await _call(client, call) for name, call in calls.items()}


def longest_word(text: str) -> str:
    """What one would grep for in a question that names nothing exactly."""
    return max((word.strip(".,:;?!()\"'`") for word in text.split()), key=len)


async def _call(client: Client, call: Call) -> str:
    result = await client.call_tool(call.tool, call.arguments)
    return "\n".join(block.text for block in result.content if block.type == "text")
