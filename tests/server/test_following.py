"""A server that follows its folder: clients hear of what is written, and find it."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from contextpull.errors import StoreBusy
from contextpull.models.embedding import open_embedder
from contextpull.server import corpus as corpora
from contextpull.server.corpus import Corpus, Watching
from contextpull.store import embedding
from contextpull.store.embedding import EmbedReport, keep_vectors
from contextpull.store.ingest import ingest, writing
from tests.embedders import assert_vectors_are_right
from tests.server.conftest import ERAS, PATIENCE, text_of, with_process
from tests.server.http_servers import serving, use

SECTION = "contextpull://section/guide%2Finstall.md%23install"
RENAMED = "contextpull://section/guide%2Fsetup.md%23install"
CHANGED = "# Install\n\nUse the zeppelin of your system instead.\n"

pytestmark = pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
FOLLOWING = [["--watch"], ["--watch-poll", "0.1"]]


@pytest.fixture
def heard() -> Iterator["Heard"]:
    heard = Heard()
    yield heard
    heard.close()


class Heard:
    """What a client of either protocol hears."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[Any](1_000)

    def close(self) -> None:
        self._send.close()
        self._receive.close()

    async def message(self, message: Any) -> None:
        match message:
            case ResourceListChangedNotification():
                await self._send.send(ResourcesListChanged())
            case ResourceUpdatedNotification(params=params):
                await self._send.send(ResourceUpdated(params.uri))

    async def subscribed(self, client: Client, uris: list[str], do: Any) -> Any:
        """Run a coroutine while the client is subscribed."""
        if client.protocol_version < "2026":
            for uri in uris:
                await client.subscribe_resource(uri)
            return await do()
        async with (
            client.listen(resources_list_changed=True, resource_subscriptions=uris) as events,
            anyio.create_task_group() as group,
        ):

            async def pass_on() -> None:
                async for event in events:
                    await self._send.send(event)

            group.start_soon(pass_on)
            result = await do()
            group.cancel_scope.cancel()
            return result

    async def until(self, *events: Any) -> None:
        missing = set(events)
        with anyio.fail_after(PATIENCE):
            while missing:
                missing.discard(await self._receive.receive())


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("following", FOLLOWING)
def test_what_is_written_while_a_server_runs_is_told_and_found(
    corpus: Path, tmp_path: Path, mode: str, following: list[str], heard: Heard
) -> None:
    async def use(client: Client) -> list[str]:
        assert "No section" in await text_of(client, "search", query="zeppelin")
        texts = []

        async def write() -> None:
            corpus.joinpath("guide/install.md").write_text(CHANGED)
            await heard.until(ResourceUpdated(SECTION))
            texts.append(await text_of(client, "search", query="zeppelin"))
            corpus.joinpath("guide/install.md").rename(corpus / "guide/setup.md")
            await heard.until(
                ResourceUpdated(SECTION), ResourceUpdated(RENAMED), ResourcesListChanged()
            )
            texts.append(await text_of(client, "search", query="zeppelin"))
            texts.append(await text_of(client, "read", ids="guide/install.md#install"))
            corpus.joinpath("guide/setup.md").unlink()
            await heard.until(ResourceUpdated(RENAMED), ResourcesListChanged())
            texts.append(await text_of(client, "search", query="zeppelin"))

        await heard.subscribed(client, [SECTION, RENAMED], write)
        return texts

    texts = with_process(
        [str(corpus), *following], use, cwd=tmp_path, mode=mode, message_handler=heard.message
    )
    assert texts[0].startswith("1. guide/install.md#install")
    assert texts[1].startswith("1. guide/setup.md#install")
    assert texts[2].startswith("No section has the id")
    assert texts[3].startswith("No section")


@pytest.mark.parametrize("mode", ERAS)
def test_over_http_a_client_that_only_listens_hears_of_what_is_written(
    corpus: Path, tmp_path: Path, mode: str, heard: Heard
) -> None:
    async def do(client: Client) -> str:
        async def write() -> None:
            corpus.joinpath("guide/install.md").write_text(CHANGED)
            await heard.until(ResourceUpdated(SECTION))

        await heard.subscribed(client, [SECTION], write)
        return str((await client.read_resource(SECTION)).contents[0].text)

    with serving(str(corpus), "--watch", cwd=tmp_path) as served:
        assert use(served.url, do, mode=mode, message_handler=heard.message) == CHANGED
        served.process.send_signal(signal.SIGTERM)
        assert served.ended() == 0


def test_a_server_tells_on_standard_error_what_changed(corpus: Path, tmp_path: Path) -> None:
    with serving(str(corpus), "--watch", cwd=tmp_path) as served:
        corpus.joinpath("new.md").write_text(CHANGED)
        served.line_with(r"generation 2: new\.md added; 4 documents, 5 sections \(\d+\.\d s\)$")
        served.process.send_signal(signal.SIGINT)
        assert served.ended() == 130
    assert not [line for line in served.written if "Traceback" in line or "panic" in line]


@pytest.mark.parametrize("options", [[], ["--watch"]])
def test_a_server_answers_on_while_the_drive_of_its_folder_is_away(
    corpus: Path, tmp_path: Path, options: list[str]
) -> None:
    ingest(corpus, tmp_path / ".contextpull")
    corpus.rename(tmp_path / "drive")
    corpus.mkdir()

    async def search(client: Client) -> str:
        return await text_of(client, "search", query="install")

    with serving(str(corpus), *options, "--store", ".contextpull", cwd=tmp_path) as served:
        assert use(served.url, search).startswith("1. guide/install.md#install")
        served.line_with("holds nothing to read any more; the store keeps what it read there")
        assert use(served.url, search).startswith("1. guide/install.md#install")


def test_a_process_ends_in_peace_when_its_client_leaves(corpus: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "contextpull", "serve", str(corpus), "--watch"]
    client = {"name": "test", "version": "1"}
    handshake = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        input=f"{json.dumps(greeting)}\n{json.dumps(ready)}\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_the_vectors_of_what_is_written_are_made_too(
    corpus: Path, tmp_path: Path, tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = tmp_path / "store"
    arguments = [str(corpus), "--watch", "--store", str(store), "--embedder", str(tiny_embedder)]
    with serving(*arguments, cwd=tmp_path) as served:
        served.line_with("4 sections embedded")
        corpus.joinpath("new.md").write_text(CHANGED)
        served.line_with("1 sections embedded")
    assert_vectors_are_right(store, open_embedder(str(tiny_embedder)))


def test_vectors_that_another_process_holds_up_are_made_later(
    corpus: Path, tmp_path: Path, tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: queue.Queue[EmbedReport | StoreBusy | None] = queue.Queue()

    def noted(*arguments: Any, **more: Any) -> EmbedReport | None:
        try:
            report = keep_vectors(*arguments, **more)
        except StoreBusy as error:
            outcomes.put(error)
            raise
        outcomes.put(report)
        return report

    monkeypatch.setattr(embedding, "keep_vectors", noted)
    monkeypatch.setattr(corpora, "_AGAIN", 0.01)
    store = tmp_path / "store"
    ingest(corpus, store)
    keep_vectors(store, model=str(tiny_embedder), cache=None)
    corpus.joinpath("new.md").write_text(CHANGED)
    ingest(corpus, store)
    source = Corpus(store, corpus, watching=Watching())
    source.start()
    try:
        with writing(store):
            source.follow()
            assert isinstance(outcomes.get(timeout=PATIENCE), StoreBusy)
        while isinstance(report := outcomes.get(timeout=PATIENCE), StoreBusy):
            pass
    finally:
        source.close()
    assert report is not None
    assert report.made == 1


def test_a_corpus_that_was_closed_follows_nothing_any_more(corpus: Path, tmp_path: Path) -> None:
    source = Corpus(tmp_path / "store", corpus, watching=Watching())
    source.start()
    source.store()
    source.close()
    assert not [each for each in threading.enumerate() if each.name == "ingest"]


@pytest.mark.parametrize("arguments", [[".contextpull"], ["docs", "--no-ingest"]])
@pytest.mark.parametrize("following", FOLLOWING)
def test_only_a_folder_that_is_read_can_be_followed(
    corpus: Path, tmp_path: Path, arguments: list[str], following: list[str]
) -> None:
    ingest(corpus, tmp_path / ".contextpull")
    done = subprocess.run(
        [sys.executable, "-m", "contextpull", "serve", *arguments, *following],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert "--watch follows a folder of documents: name that folder" in done.stderr
