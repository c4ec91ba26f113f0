"""The four tools as tools of LangChain and of LlamaIndex."""

import asyncio
import copy
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from contextpull import open_store
from contextpull.adapters.searching import in_thread
from contextpull.retrieval.work import Work
from contextpull.store import Store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession, to_openai
from tests.conftest import write_corpus

DEMO = Path(__file__).resolve().parents[2] / "demo" / "corpus"
LONG = {"ids": ["reference/error-codes.md", "manual/operation.md"]}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "warranty of a repaired gateway", "limit": 3}),
    ("grep", {"pattern": "HG-4419", "context": 1}),
    ("index", {}),
    ("index", {"path": "policies/"}),
    ("read", {"ids": "reference/modbus-registers.md"}),
    ("read", LONG),
    ("read", {"ids": "nowhere.md#x"}),
    ("search", {"query": "warranty", "top_k": 3}),
    ("search", {}),
    ("search", {"query": 5}),
    ("grep", {"pattern": "(", "regex": True}),
]
RESERVED = ("self", "input", "config", "run_manager", "callbacks", "func", "args", "kwargs", "tool")
"""Names that a model may make up, and that mean something in the libraries."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("tools") / "store"
    ingest(DEMO, folder)
    return open_store(folder)


@pytest.fixture
def tools(library: Any, store: Store) -> dict[str, Any]:
    """The tools by name."""
    made = library.adapter.tools(ToolSession(store))
    return {library.offered(each)["function"]["name"]: each for each in made}


def test_a_model_is_offered_the_tools_as_they_are(library: Any, tools: dict[str, Any]) -> None:
    assert [library.offered(each) for each in tools.values()] == to_openai(chat=True)


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_result_is_the_text_of_the_server_and_an_error_is_marked(
    library: Any, store: Store, tools: dict[str, Any], name: str, arguments: dict[str, Any]
) -> None:
    expected = ToolSession(store).call(name, arguments)
    for called in (
        library.call(tools[name], arguments),
        asyncio.run(library.call_async(tools[name], arguments)),
    ):
        assert (called.text, called.is_error) == (expected.text, expected.is_error)
        assert called.data in (expected.data, None if expected.is_error else expected.data)


@pytest.mark.parametrize("reserved", RESERVED)
def test_no_argument_that_a_model_makes_up_is_lost_or_breaks_a_call(
    library: Any, store: Store, tools: dict[str, Any], reserved: str
) -> None:
    arguments = {"query": "warranty", reserved: "x"}
    expected = ToolSession(store).call("search", arguments)
    assert f"there is no argument {reserved!r}" in expected.text
    for called in (
        library.call(tools["search"], arguments),
        asyncio.run(library.call_async(tools["search"], arguments)),
    ):
        assert (called.text, called.is_error) == (expected.text, True)


def test_a_result_that_was_cut_goes_on_where_it_says(library: Any, tools: dict[str, Any]) -> None:
    first = library.call(tools["read"], LONG).text
    more = re.search(r"offset=(\d+)", first.splitlines()[-1])
    assert more
    rest = library.call(tools["read"], {**LONG, "offset": int(more[1])}).text
    assert "an image that eighty" in rest
    assert "an image that eighty" not in first


def test_the_tools_of_a_talk_share_what_was_shown(library: Any, tmp_path: Path) -> None:
    docs = write_corpus(tmp_path / "docs", {"a.md": "# A\n\nThe old gateway.\n"})
    ingest(docs, tmp_path / "store")
    search, _, read, _ = library.adapter.tools(ToolSession(open_store(tmp_path / "store")))
    library.call(search, {"query": "gateway"})
    write_corpus(docs, {"a.md": "# A\n\nThe new gateway.\n"})
    ingest(docs, tmp_path / "store")
    text = library.call(read, {"ids": "a.md#a"}).text
    assert "CHANGED" in text
    assert "The new gateway." in text


def test_a_copy_of_a_tool_answers_alike(library: Any, tools: dict[str, Any]) -> None:
    arguments = {"query": "warranty"}
    copied = copy.deepcopy(tools["search"])
    assert library.call(copied, arguments) == library.call(tools["search"], arguments)


class HeldSession(ToolSession):
    """A session whose calls wait until somebody lets them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def call(self, *given: Any) -> Any:
        self.is_asked.set()
        assert self.may_answer.wait(timeout=60), "nobody let it answer: the loop was blocked"
        return super().call(*given)


def test_the_loop_is_free_while_a_tool_works(library: Any, store: Store) -> None:
    held = HeldSession(store)
    _, _, _, index = library.adapter.tools(held)

    async def ask() -> Any:
        task = asyncio.create_task(library.call_async(index, {}))
        await asyncio.to_thread(held.is_asked.wait, 60)
        held.may_answer.set()
        return await task

    assert asyncio.run(ask()).text == ToolSession(store).call("index", {}).text


def test_a_call_that_is_cancelled_ends_its_work() -> None:
    is_asked, may_go_on, has_ended = threading.Event(), threading.Event(), threading.Event()
    stopped: list[bool] = []

    def work_on(work: Work) -> None:
        is_asked.set()
        may_go_on.wait(timeout=60)
        stopped.append(work.is_stopped)
        has_ended.set()

    async def ask() -> None:
        task = asyncio.create_task(in_thread(work_on))
        await asyncio.to_thread(is_asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_go_on.set()

    asyncio.run(ask())
    assert has_ended.wait(timeout=60)
    assert stopped == [True]
