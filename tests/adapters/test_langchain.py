"""What only LangChain does with a retriever and with tools, and what docs/embedding.md shows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from contextpull import open_store
from contextpull.errors import InvalidInput
from contextpull.store import Store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession, call, instructions, to_openai
from tests.adapters.libraries import ELSEWHERE
from tests.documented import run_code_of
from tests.standins import KEY, Calls, Says, standing_in

pytest.importorskip("langchain_core", reason=ELSEWHERE)

from langchain_core.runnables import ConfigurableField
from langchain_core.tools import create_retriever_tool
from pydantic import ValidationError

from contextpull.adapters.langchain import ContextPullRetriever, tools

DEMO = Path(__file__).resolve().parents[2] / "demo" / "corpus"
QUERY = "warranty of a repaired gateway"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo's corpus was ingested."""
    folder = tmp_path_factory.mktemp("langchain")
    ingest(DEMO, folder / ".contextpull")
    return folder


@pytest.fixture(scope="module")
def store(folder: Path) -> Store:
    return open_store(folder / ".contextpull")


def test_one_call_may_say_anew_what_is_searched(store: Store) -> None:
    retriever = ContextPullRetriever(store=store)
    assert len(retriever.invoke(QUERY, k=2)) == 2
    assert len(asyncio.run(retriever.ainvoke(QUERY, k=2))) == 2
    found = retriever.invoke(QUERY, paths="manual/")
    assert {each.metadata["path"].partition("/")[0] for each in found} == {"manual"}
    with pytest.raises(InvalidInput, match="k must be a whole number"):
        retriever.invoke(QUERY, k=0)
    with pytest.raises(TypeError, match="top_k"):
        retriever.invoke(QUERY, top_k=2)


def test_fields_may_be_configured_as_those_of_any_runnable(store: Store) -> None:
    retriever = ContextPullRetriever(store=store)
    configured = retriever.configurable_fields(k=ConfigurableField(id="k"))
    assert len(configured.invoke(QUERY, config={"configurable": {"k": 1}})) == 1
    retriever.k = 2
    assert len(retriever.invoke(QUERY)) == 2
    assert len(retriever.model_copy(update={"k": 3}).invoke(QUERY)) == 3


def test_it_is_a_part_of_chains_and_batches(store: Store) -> None:
    retriever = ContextPullRetriever(store=store, k=1)
    chain = retriever | (lambda documents: documents[0].metadata["path"])
    assert chain.batch([QUERY, "HG-4419"]) == [
        retriever.invoke(QUERY)[0].metadata["path"],
        "reference/error-codes.md",
    ]
    tool = create_retriever_tool(retriever, "lookup", "Looks it up.")
    assert tool.invoke({"query": "HG-4419"}).startswith("### HG-4419: uplink retries exhausted")


@pytest.mark.parametrize("options", [{}, {"top_k": 3}])
def test_a_field_that_is_missing_or_unknown_is_refused(store: Store, options: Any) -> None:
    with pytest.raises(ValidationError, match=r"Field required|not permitted"):
        ContextPullRetriever(**({"store": store, **options} if options else {}))


def test_a_plain_call_of_a_tool_gives_the_text(store: Store) -> None:
    search, *_ = tools(ToolSession(store))
    for arguments in ({"query": QUERY}, {"query": QUERY, "top_k": 1}):
        assert search.invoke(arguments) == call(store, "search", arguments).text


def test_the_agent_of_the_page_answers(store: Store) -> None:
    pytest.importorskip("langchain")
    chat = pytest.importorskip("langchain_openai")
    calls: list[tuple[str, Any]] = [
        ("search", {"query": QUERY, "limit": 3}),
        ("read", {"ids": "nowhere.md#x"}),
    ]
    with standing_in([Calls(calls), Says("Two years.")]) as standin:
        model = chat.ChatOpenAI(
            model="a-model", base_url=standin.base_url("openai-chat"), api_key=KEY, max_retries=0
        )
        assert run_code_of("embedding.md", "ask_langchain.py").ask(model, store, QUERY) == (
            "Two years."
        )
    first, last = standin.asked
    assert first.body["tools"] == to_openai(chat=True)
    assert first.system == instructions(store.snapshot())
    results = [text for who, text in last.talk if who == "tool"]
    assert results == [call(store, *each).text for each in calls]


def test_the_retriever_of_the_page_finds(
    folder: Path, store: Store, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    run_code_of("embedding.md", "push_langchain.py")
    found = ContextPullRetriever(store=store, k=3, paths="policies/").invoke(QUERY)
    assert len(found) == 3
    shown = [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert shown == [each.id for each in found]
