"""Servers over a store of several corpora, and over one that another process writes to."""

import queue
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from contextpull.errors import StoreBusy
from contextpull.server import corpus as serving_corpora
from contextpull.server.corpus import Corpus
from contextpull.server.tokens import add_token
from contextpull.store import ingest as ingesting
from contextpull.store.ingest import IngestReport, ingest, writer_lock
from tests.conftest import write_corpus
from tests.server.conftest import text_of, with_process
from tests.server.http_servers import serving, use
from tests.store import test_readers_and_writer as states

PATIENCE = 240
"""Seconds after which a test gives a server up."""
REPOSITORY = Path(__file__).resolve().parents[2]
HR = {"leave.md": "# Leave\n\nFive days may be carried over to the next year.\n"}
SPECS = {"pump.md": "# Pump\n\nThe pump runs at 4419 rpm when it is hot.\n"}
NEWS = {"new.md": "# News\n\nThe zeppelin has landed safely this morning.\n"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(write_corpus(tmp_path / "hr", HR), tmp_path / ".contextpull", name="hr")
    ingest(write_corpus(tmp_path / "specs", SPECS), tmp_path / ".contextpull", name="specs")
    return tmp_path / ".contextpull"


@pytest.mark.parametrize("arguments", [[], ["--store", ".contextpull"]])
def test_every_corpus_is_brought_up_to_date(
    store: Path, tmp_path: Path, arguments: list[str]
) -> None:
    write_corpus(tmp_path / "hr", NEWS)
    write_corpus(tmp_path / "specs", NEWS)

    async def index(client: Client) -> str:
        return await text_of(client, "index")

    shown = with_process(arguments, index, cwd=tmp_path)
    assert "hr/new.md (1)" in shown
    assert "specs/new.md (1)" in shown


@pytest.mark.parametrize("arguments", [[".contextpull"], ["--no-ingest"]])
def test_a_store_may_be_served_as_it_is(store: Path, tmp_path: Path, arguments: list[str]) -> None:
    write_corpus(tmp_path / "hr", NEWS)

    async def index(client: Client) -> str:
        return await text_of(client, "index")

    assert "new.md" not in with_process(arguments, index, cwd=tmp_path)


def test_a_folder_that_is_gone_goes_on_answering_and_is_told(store: Path, tmp_path: Path) -> None:
    (tmp_path / "specs").rename(tmp_path / "elsewhere")
    write_corpus(tmp_path / "hr", NEWS)

    async def read(client: Client) -> list[str]:
        found = await text_of(client, "search", query="zeppelin")
        return [found, await text_of(client, "read", ids="specs/pump.md#pump")]

    with serving(cwd=tmp_path) as served:
        found, old = use(served.url, read)
        served.line_with(rf"'{tmp_path}/specs' of the corpus 'specs' is gone")
        assert found.startswith("1. hr/new.md#news")
        assert "4419 rpm" in old


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> "queue.Queue[IngestReport | StoreBusy]":
    """What becomes of each ingest of a server, none of which waits long for others."""
    outcomes: queue.Queue[IngestReport | StoreBusy] = queue.Queue()

    def observed(*given: Any) -> IngestReport:
        try:
            report = ingest(*given)
        except StoreBusy as error:
            outcomes.put(error)
            raise
        outcomes.put(report)
        return report

    monkeypatch.setattr(ingesting, "ingest", observed)
    monkeypatch.setattr(ingesting, "WAIT_FOR_READERS", 0.01)
    monkeypatch.setattr(serving_corpora, "FIRST_WAIT", 0.0)
    return outcomes


def test_a_store_that_another_process_writes_to_is_answered_from_as_it_is(
    tmp_path: Path, attempts: "queue.Queue[IngestReport | StoreBusy]"
) -> None:
    root, store = write_corpus(tmp_path / "hr", HR), tmp_path / "store"
    ingest(root, store)
    write_corpus(root, NEWS)
    source = Corpus(store, root)
    with writer_lock(store).acquire():
        source.start()
        assert list(source.store().snapshot().documents) == ["leave.md"]
        assert isinstance(attempts.get(timeout=PATIENCE), StoreBusy)
    ingest(root, store)
    assert "new.md" in source.store().snapshot().documents


def test_a_folder_that_another_process_reads_for_the_first_time_is_served_after_that(
    tmp_path: Path, attempts: "queue.Queue[IngestReport | StoreBusy]"
) -> None:
    root, store = write_corpus(tmp_path / "hr", HR), tmp_path / "store"
    store.mkdir()
    source = Corpus(store, root)
    with writer_lock(store).acquire():
        source.start()
        for _ in range(2):
            assert isinstance(attempts.get(timeout=PATIENCE), StoreBusy)
        assert source.store_if_ready is None
    assert list(source.store().snapshot().documents) == ["leave.md"]


def test_with_watch_all_are_followed(store: Path, tmp_path: Path) -> None:
    async def read(client: Client) -> str:
        return await text_of(client, "index")

    with serving("--watch", cwd=tmp_path) as served:
        use(served.url, read)
        write_corpus(tmp_path / "hr", NEWS)
        served.line_with(r"hr/new\.md added")
        write_corpus(tmp_path / "specs", NEWS)
        served.line_with(r"specs/new\.md added")
        (tmp_path / "specs").rename(tmp_path / "elsewhere")
        served.line_with("of the corpus 'specs' is gone")
        assert "specs/new.md (1)" in use(served.url, read)


def test_a_token_for_a_corpus_sees_that_alone(store: Path, tmp_path: Path) -> None:
    token = add_token(tmp_path / "tokens.jsonl", "alice", ["hr/**"], None)

    async def look(client: Client) -> list[str]:
        return [
            await text_of(client, "index"),
            await text_of(client, "search", query="pump"),
            await text_of(client, "read", ids="specs/pump.md#pump"),
            await text_of(client, "grep", pattern="carried over"),
        ]

    with serving("--no-ingest", "--tokens", str(tmp_path / "tokens.jsonl"), cwd=tmp_path) as served:
        index, search, read, grep = use(served.url, look, token=token)
    assert "1 document, 1 section" in index
    assert "specs" not in index
    assert search.startswith("No section")
    assert read.startswith("No section has the id")
    assert "hr/leave.md#leave" in grep


def write_generations(root: Path, store: Path) -> None:
    """The writer: a generation for each state, from the second on."""
    for state in range(2, states.GENERATIONS + 1):
        states.write_state(root, state)
        ingest(None, store, name="docs")


async def history_of(client: Client) -> list[int]:
    """The one state that each answer shows, in order, up to the last."""
    seen: list[int] = []
    while states.GENERATIONS not in seen:
        text = await text_of(client, "grep", pattern="stateword", limit=states.PAGES)
        found = states.STATE.findall(text)
        assert len(found) == states.PAGES, text
        (state,) = set(found)
        seen.append(int(state))
        assert "Five days" in await text_of(client, "read", ids="beside/leave.md#leave")
    return seen


def test_two_servers_answer_from_whole_generations_while_a_third_process_writes(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    ingest(write_corpus(tmp_path / "beside", HR), store, name="beside")
    states.write_state(tmp_path / "docs", 1)
    ingest(tmp_path / "docs", store, name="docs")
    code = "import sys, pathlib; from tests.server import test_served_corpora as module; "
    code += "module.write_generations(*map(pathlib.Path, sys.argv[1:]))"
    writing = [sys.executable, "-c", code, str(tmp_path / "docs"), str(store)]
    serve = ["-m", "contextpull", "serve", "--store", str(store), "--no-ingest"]
    server = StdioServerParameters(command=sys.executable, args=serve, cwd=tmp_path)

    async def follow_both() -> list[list[int]]:
        histories: list[list[int]] = []

        async def follow(client: Client) -> None:
            histories.append(await history_of(client))

        with anyio.fail_after(PATIENCE):
            async with Client(stdio_client(server)) as one, Client(stdio_client(server)) as other:
                await text_of(one, "index")
                await text_of(other, "index")
                async with anyio.create_task_group() as group:
                    group.start_soon(partial(anyio.run_process, writing, cwd=REPOSITORY))
                    group.start_soon(follow, one)
                    group.start_soon(follow, other)
        return histories

    for history in anyio.run(follow_both):
        assert history == sorted(history)
        assert len(set(history)) > 1
