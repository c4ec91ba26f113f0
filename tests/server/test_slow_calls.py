"""Slow calls: they report, they stop when nobody waits any more, they hold nothing up."""

import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from contextpull.retrieval.models import Models
from contextpull.retrieval.work import Stopped, Work
from contextpull.server import corpus as corpora
from contextpull.server.corpus import Corpus
from contextpull.store import Store
from contextpull.store.embedding import keep_vectors
from contextpull.store.ingest import ingest
from tests.server.conftest import ERAS, PATIENCE, converse


class Held(Corpus):
    """A corpus whose calls wait until they are let go, or are to end."""

    def __init__(self, store: Path) -> None:
        super().__init__(store, None)
        self.let_go = threading.Event()
        self.waiting = threading.Semaphore(0)
        self.stopped = threading.Event()

    def store(self, work: Work | None = None) -> Store:
        assert work is not None
        self.waiting.release()
        try:
            while not self.let_go.wait(0.01):
                work.check()
        except Stopped:
            self.stopped.set()
            raise
        return super().store(work)

    async def is_reached(self) -> None:
        """Wait until one more call waits."""
        assert await anyio.to_thread.run_sync(self.waiting.acquire, True, PATIENCE)


@pytest.fixture
def held(corpus: Path, tmp_path: Path) -> Held:
    ingest(corpus, tmp_path / "store")
    return Held(tmp_path / "store")


@pytest.mark.filterwarnings("ignore:ping is removed")
@pytest.mark.parametrize("mode", ERAS)
def test_other_requests_are_answered_while_a_call_is_slow(held: Held, mode: str) -> None:
    async def use(client: Client) -> str:
        texts = []

        async def call() -> None:
            texts.append((await client.call_tool("index", {})).content[0].text)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await held.is_reached()
            await client.list_tools()
            if mode == "legacy":
                await client.send_ping()
            assert not texts
            held.let_go.set()
        return texts[0]

    assert "3 documents" in converse(held, use, mode=mode)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("request_", ["call_tool", "read_resource"])
def test_a_cancelled_request_ends_its_work(held: Held, mode: str, request_: str) -> None:
    async def use(client: Client) -> None:
        async with anyio.create_task_group() as group:
            if request_ == "call_tool":
                group.start_soon(client.call_tool, "index", {})
            else:
                group.start_soon(client.read_resource, "contextpull://index")
            await held.is_reached()
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(held.stopped.wait, PATIENCE)
        held.let_go.set()
        assert not (await client.call_tool("index", {})).is_error

    converse(held, use, mode=mode)


@pytest.mark.parametrize("mode", ERAS)
def test_work_of_a_client_that_leaves_ends_too(held: Held, mode: str) -> None:
    async def use(client: Client) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "index", {})
                await held.is_reached()
                scope.cancel()

    converse(held, use, mode=mode)
    assert held.stopped.wait(PATIENCE)


@pytest.mark.parametrize("mode", ERAS)
def test_only_so_many_calls_are_worked_on_at_once(held: Held, mode: str) -> None:
    async def use(client: Client) -> int:
        done = []

        async def call() -> None:
            done.append(await client.call_tool("index", {}))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(call)
            await held.is_reached()
            await held.is_reached()
            await client.list_tools()
            assert not held.waiting.acquire(blocking=False)
            held.let_go.set()
        return len(done)

    assert converse(held, use, mode=mode, most_threads=2) == 5


@pytest.mark.parametrize("mode", ERAS)
def test_a_slow_search_says_what_it_does(
    corpus: Path, tmp_path: Path, tiny_embedder: Path, tiny_reranker: Path, mode: str
) -> None:
    ingest(corpus, tmp_path / "store")
    keep_vectors(tmp_path / "store", model=str(tiny_embedder), cache=None)
    expected = [
        f"Loading the model {str(tiny_embedder)!r}.",
        f"Loading the model {str(tiny_reranker)!r}.",
        "Reranked 4 of 4.",
    ]

    async def use(client: Client) -> Any:
        told: list[tuple[float, str]] = []
        is_told = anyio.Event()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            assert total is None
            told.append((progress, message or ""))
            if len(told) == len(expected):
                is_told.set()

        await client.call_tool(
            "search", {"query": "cache", "mode": "rerank"}, progress_callback=tell
        )
        await is_told.wait()
        return told

    models = Models(reranker=str(tiny_reranker))
    told = converse(Corpus(tmp_path / "store", None), use, mode=mode, models=models)
    assert told == list(enumerate(expected, start=1))


class Slow(Corpus):
    """A corpus whose folder is read only when it is let go."""

    let_go = threading.Event()

    def _refresh(self) -> None:
        self.let_go.wait(PATIENCE)
        super()._refresh()


@pytest.mark.parametrize("mode", ERAS)
def test_a_call_that_waits_for_the_folder_says_so(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(corpora, "_WAIT", 0.01)
    monkeypatch.setattr(corpora, "_CALL_WAITS", 100 * PATIENCE)
    monkeypatch.setattr(corpora, "FIRST_WAIT", 0.0)
    source = Slow(tmp_path / "store", corpus)
    source.let_go.clear()

    async def use(client: Client) -> Any:
        assert "still being read" in client.instructions

        async def tell(_progress: float, _total: float | None, message: str | None) -> None:
            assert message == "Waiting until the folder has been read."
            source.let_go.set()

        return await client.call_tool("index", {}, progress_callback=tell)

    assert "3 documents" in converse(source, use, mode=mode).content[0].text
