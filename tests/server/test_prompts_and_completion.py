"""Prompts with their arguments filled in, and what is offered while they are typed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from contextpull.retrieval.scope import Scope
from contextpull.server.callers import Caller
from contextpull.server.corpus import Corpus
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.server.conftest import ERAS, converse, with_process

SECTION = ResourceTemplateReference(type="ref/resource", uri="contextpull://section/{id}{?offset}")
OUTLINE = ResourceTemplateReference(
    type="ref/resource", uri="contextpull://outline/{path}{?offset}"
)
COMPARE = PromptReference(type="ref/prompt", name="compare")
ASKS = {
    "answer": {"question": "How is {the} cache cleared?"},
    "compare": {"a": "guide/cache.md", "b": "guide/install.md#install"},
    "mentions": {"term": "TX-4419"},
}


@pytest.mark.parametrize("mode", ERAS)
def test_every_prompt_holds_its_arguments_and_asks_to_read_and_cite(
    corpus: Path, tmp_path: Path, mode: str
) -> None:
    async def use(client: Client) -> Any:
        listed = (await client.list_prompts()).prompts
        return listed, {
            name: (await client.get_prompt(name, given)).messages for name, given in ASKS.items()
        }

    listed, got = with_process([str(corpus)], use, cwd=tmp_path, mode=mode)
    assert {each.name: [arg.name for arg in each.arguments] for each in listed} == {
        name: list(given) for name, given in ASKS.items()
    }
    for name, given in ASKS.items():
        (message,) = got[name]
        assert message.role == "user"
        text = message.content.text
        assert all(value in text for value in given.values())
        assert "read" in text.lower()
        assert "[guide/setup.md#install]" in text


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("summarise", {}, "The prompts are answer, compare, mentions."),
        ("answer", {}, "needs 'question': what you want to know."),
        ("answer", {"question": " "}, "needs 'question'"),
        ("answer", {"question": "x", "k": "3"}, "has no argument 'k'. It takes question."),
        ("answer", {"question": "x" * 10_001}, "longer than 10,000 characters"),
        ("compare", {"a": "guide/cache.md"}, "needs 'b'"),
        ("compare", {"a": "guide/cash.md", "b": "notes.txt"}, "guide/cache.md"),
    ],
)
def test_a_prompt_that_cannot_be_filled_in_says_why(
    in_memory: Callable[..., Any], name: str, arguments: dict[str, str], sentence: str
) -> None:
    async def use(client: Client) -> Any:
        with pytest.raises(MCPError) as error:
            await client.get_prompt(name, arguments)
        return error.value.error

    error = in_memory(use)
    assert error.code == -32602
    assert sentence in error.message


@pytest.mark.parametrize("mode", ERAS)
def test_what_begins_so_is_offered_before_what_holds_it(
    corpus: Path, tmp_path: Path, mode: str
) -> None:
    async def use(client: Client) -> Any:
        asked = [
            (OUTLINE, "path", ""),
            (OUTLINE, "path", "GUIDE/"),
            (COMPARE, "b", "install"),
            (SECTION, "id", "guide/cache.md#cl"),
            (SECTION, "id", "n"),
            (SECTION, "id", "nowhere"),
            (SECTION, "offset", "1"),
            (PromptReference(type="ref/prompt", name="answer"), "question", "How"),
        ]
        return [
            (await client.complete(ref, {"name": name, "value": value})).completion
            for ref, name, value in asked
        ]

    every, *some = with_process([str(corpus)], use, cwd=tmp_path, mode=mode)
    assert every.values == ["guide/cache.md", "guide/install.md", "notes.txt"]
    assert (every.total, every.has_more) == (3, False)
    assert [each.values for each in some] == [
        ["guide/cache.md", "guide/install.md"],
        ["guide/install.md"],
        ["guide/cache.md#clear-the-cache"],
        ["notes.txt#top", "guide/install.md#install"],
        [],
        [],
        [],
    ]


def test_of_many_a_hundred_are_offered_and_the_number_is_told(tmp_path: Path) -> None:
    text = "".join(
        f"# Heading {n}\n\nText that is long enough to stand alone.\n" for n in range(250)
    )
    ingest(write_corpus(tmp_path / "docs", {"many.md": text}), tmp_path / "store")

    async def use(client: Client) -> Any:
        return (await client.complete(SECTION, {"name": "id", "value": "heading"})).completion

    found = converse(Corpus(tmp_path / "store", None), use)
    assert len(found.values) == 100
    assert (found.total, found.has_more) == (250, True)


@pytest.mark.parametrize(
    ("reference", "name", "sentence"),
    [
        (ResourceTemplateReference(type="ref/resource", uri="x://{y}"), "y", "no template"),
        (SECTION, "path", "no variable 'path'"),
        (PromptReference(type="ref/prompt", name="nothing"), "a", "The prompts are"),
        (COMPARE, "c", "It takes a, b."),
    ],
)
def test_what_cannot_be_completed_is_refused_with_a_sentence(
    in_memory: Callable[..., Any], reference: Any, name: str, sentence: str
) -> None:
    async def use(client: Client) -> Any:
        with pytest.raises(MCPError) as error:
            await client.complete(reference, {"name": name, "value": ""})
        return error.value.error

    error = in_memory(use)
    assert error.code == -32602
    assert sentence in error.message


def test_nothing_outside_the_caller_s_scope_is_offered(in_memory: Callable[..., Any]) -> None:
    async def use(client: Client) -> Any:
        paths = await client.complete(OUTLINE, {"name": "path", "value": ""})
        ids = await client.complete(SECTION, {"name": "id", "value": "o"})
        with pytest.raises(MCPError, match="No section has the id 'notes"):
            await client.get_prompt("compare", {"a": "guide/cache.md", "b": "notes.txt"})
        return paths.completion, ids.completion

    scoped = Caller("guide", Scope(("guide/**",)))
    paths, ids = in_memory(use, caller_of=lambda _: scoped)
    assert paths.values == ["guide/cache.md", "guide/install.md"]
    assert paths.total == 2
    assert all(each.startswith("guide/") for each in ids.values)
