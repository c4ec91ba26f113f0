"""What an MCP client sees of the server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from contextpull.server.instructions import MOST_CHARS, instructions
from contextpull.store import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import DISCIPLINE, TOOLS


def test_lists_the_four_tools_read_only_and_always_loaded(in_memory: Callable[..., Any]) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = in_memory(use)
    assert [tool.name for tool in tools] == ["search", "grep", "read", "index"]
    for listed, defined in zip(tools, TOOLS, strict=True):
        assert listed.description == defined.description
        assert listed.input_schema == defined.schema
        assert listed.output_schema is None
        assert listed.annotations.read_only_hint is True
        assert listed.annotations.open_world_hint is False
        assert listed.meta == {"anthropic/alwaysLoad": True}


def test_instructions_begin_with_the_discipline_and_hold_the_index(
    in_memory: Callable[..., Any],
) -> None:
    async def use(client: Client) -> Any:
        return client.instructions

    text = in_memory(use)
    assert text.startswith(DISCIPLINE)
    assert "guide/cache.md" in text
    assert len(text) <= MOST_CHARS


def test_instructions_of_a_large_corpus_stay_under_the_cut_and_say_how_to_see_more(
    tmp_path: Path,
) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    for number in range(400):
        root.joinpath(f"page-{number:03}.md").write_text(f"# Page {number}\n\nText of the page.\n")
    ingest(root, tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    for cap in (MOST_CHARS, 2_048):
        text = instructions(snapshot, cap)
        assert len(text) <= cap
        assert text.startswith(DISCIPLINE)
        assert "400 documents" in text
        assert text.endswith("call index.")


def test_a_call_returns_the_text_and_nothing_else(in_memory: Callable[..., Any]) -> None:
    async def use(client: Client) -> Any:
        return await client.call_tool("read", {"ids": ["guide/cache.md#clear-the-cache"]})

    result = in_memory(use)
    assert not result.is_error
    assert result.structured_content is None
    (content,) = result.content
    assert (
        "## Clear the cache\n\nRun `tool clean --no-cache` to remove every entry from the cache."
        in content.text
    )


def test_structured_content_comes_on_request_and_fits_its_schema(
    in_memory: Callable[..., Any],
) -> None:
    async def use(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("search", {"query": "cache"})
        return {tool.name: tool.output_schema for tool in tools}, result

    schemas, result = in_memory(use, structured=True)
    assert all(schemas.values())
    assert result.structured_content["hits"][0]["id"] == "guide/cache.md#clear-the-cache"
    import jsonschema

    jsonschema.validate(result.structured_content, schemas["search"])


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read", {"ids": ["guide/cache.md#clean"]}, "guide/cache.md#clear-the-cache"),
        ("search", {"query": "x", "top_k": 3}, "'top_k'"),
        ("grep", {"pattern": "(", "regex": True}, "leave regex out"),
        ("index", {"path": "guides/"}, "guide"),
        ("delete", {}, "There is no tool 'delete'"),
    ],
)
def test_errors_are_results_that_keep_their_text(
    in_memory: Callable[..., Any], tool: str, arguments: dict[str, Any], expected: str
) -> None:
    async def use(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = in_memory(use)
    assert result.is_error
    assert expected in result.content[0].text


def test_a_new_generation_is_seen_on_the_next_call_and_changed_text_is_announced(
    in_memory: Callable[..., Any], corpus: Path, tmp_path: Path
) -> None:
    async def use(client: Client) -> Any:
        arguments = {"ids": ["guide/install.md#install"]}
        before = await client.call_tool("read", arguments)
        corpus.joinpath("guide/install.md").write_text(
            "# Install\n\nUse the package manager of your system instead.\n"
        )
        ingest(corpus, tmp_path / "store")
        return before, await client.call_tool("read", arguments)

    before, after = in_memory(use)
    assert "Download the archive" in before.content[0].text
    assert "Use the package manager" in after.content[0].text
    assert "CHANGED" in after.content[0].text


def test_tools_and_discipline_stay_small() -> None:
    listed = json.dumps(
        [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
            for tool in TOOLS
        ]
    )
    # Four characters a token: well under 1,200 tokens together.
    assert len(listed) + len(DISCIPLINE) < 4_400
