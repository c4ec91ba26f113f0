"""What only LlamaIndex does with a retriever and with tools, and what docs/embedding.md shows."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contextpull import open_store
from contextpull.store import Store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession, call, instructions
from tests.adapters.libraries import ELSEWHERE
from tests.documented import run_code_of

pytest.importorskip("llama_index.core", reason=ELSEWHERE)

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

from contextpull.adapters.llama_index import ContextPullRetriever, tools

DEMO = Path(__file__).resolve().parents[2] / "demo" / "corpus"
QUERY = "warranty of a repaired gateway"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo's corpus was ingested."""
    folder = tmp_path_factory.mktemp("llama-index")
    ingest(DEMO, folder / ".contextpull")
    return folder


@pytest.fixture(scope="module")
def store(folder: Path) -> Store:
    return open_store(folder / ".contextpull")


class Model:
    """A model that gives its answers in order, and keeps what it was asked."""

    def __init__(self, *answers: ChatMessage) -> None:
        self.answers = list(answers)
        self.asked: list[Sequence[ChatMessage]] = []
        self.llm = MockFunctionCallingLLM(response_generator=self._next, is_chat_model=True)

    def _next(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.asked.append(list(messages))
        return self.answers.pop(0)


def calls_of(calls: list[tuple[str, Any]]) -> ChatMessage:
    return ChatMessage(
        role="assistant",
        blocks=[
            ToolCallBlock(tool_call_id=f"call_{number}", tool_name=name, tool_kwargs=arguments)
            for number, (name, arguments) in enumerate(calls)
        ],
    )


def test_a_model_is_shown_what_it_needs_to_cite_and_an_embedder_the_text(store: Store) -> None:
    (hit,) = ContextPullRetriever(store, k=1).retrieve("HG-4419")
    assert hit.node.get_content(MetadataMode.LLM) == (
        "id: reference/error-codes.md#hg-4419-uplink-retries-exhausted\n"
        "headings: ['Event and error codes', 'Uplink', 'HG-4419: uplink retries exhausted']\n\n"
        + hit.text.strip()
    )
    assert hit.node.get_content(MetadataMode.EMBED) == hit.text


def test_a_query_engine_answers_from_the_sections(store: Store) -> None:
    model = Model(ChatMessage(role="assistant", content="Two years."))
    retriever = ContextPullRetriever(store, k=2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=model.llm)
    answer = engine.query(QUERY)
    assert str(answer) == "Two years."
    assert [each.node_id for each in answer.source_nodes] == [
        each.node_id for each in retriever.retrieve(QUERY)
    ]


@pytest.mark.parametrize("given", [{"query": QUERY}, '{"query": "warranty of a repaired gateway"}'])
def test_arguments_may_come_as_one_object(store: Store, given: Any) -> None:
    search, *_ = tools(ToolSession(store))
    assert search(given).content == call(store, "search", {"query": QUERY}).text


def test_a_text_that_is_no_object_is_told_so(store: Store) -> None:
    search, *_ = tools(ToolSession(store))
    output = search(QUERY)
    assert output.is_error
    assert "the arguments must be one JSON object, not" in output.content


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its agents look at every attribute
def test_the_agent_of_the_page_answers(store: Store) -> None:
    calls: list[tuple[str, Any]] = [
        ("search", {"query": QUERY, "limit": 3}),
        ("read", {"ids": "nowhere.md#x"}),
    ]
    model = Model(calls_of(calls), ChatMessage(role="assistant", content="Two years."))
    ask = run_code_of("embedding.md", "ask_llama_index.py").ask
    assert asyncio.run(ask(model.llm, store, QUERY)) == "Two years."
    told, *_ = model.asked[0]
    assert told.content == instructions(store.snapshot())
    results = [each.content for each in model.asked[-1] if each.role == "tool"]
    assert sorted(results) == sorted(call(store, *each).text for each in calls)


def test_the_retriever_of_the_page_finds(
    folder: Path, store: Store, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    run_code_of("embedding.md", "push_llama_index.py")
    found = ContextPullRetriever(store, k=3, paths="policies/").retrieve(QUERY)
    assert len(found) == 3
    shown = [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert shown == [each.node_id for each in found]
