"""Clients hear of changes of the store, made elsewhere, and read the new text."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from contextpull.retrieval.scope import Scope
from contextpull.server import notices
from contextpull.server.app import build_server
from contextpull.server.callers import Caller
from contextpull.server.corpus import Corpus
from contextpull.store.ingest import ingest
from tests.server.conftest import PATIENCE, with_process

SECTION = "contextpull://section/guide%2Finstall.md%23install"
DOCUMENT = "contextpull://document/guide%2Finstall.md"
OTHER = "contextpull://document/notes.txt"
ABSENT = "contextpull://section/new.md%23news"
SUBSCRIBED = [SECTION, DOCUMENT, OTHER, ABSENT, "contextpull://index"]
CHANGED = "# Install\n\nUse the package manager of your system instead.\n"


# The client of today says so of what it still sends to servers of yesterday.
pytestmark = pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "LOOK_EVERY", 0.01)


def change(corpus: Path) -> None:
    """Change a document, add one, and ingest in another process."""
    corpus.joinpath("guide/install.md").write_text(CHANGED)
    corpus.joinpath("new.md").write_text("# News\n\nThe zeppelin has landed safely.\n")
    command = [sys.executable, "-m", "contextpull", "ingest", str(corpus)]
    subprocess.run(command, cwd=corpus.parent, check=True, capture_output=True, timeout=PATIENCE)


def test_a_subscriber_of_today_s_protocol_hears_of_an_ingest_elsewhere(
    corpus: Path, tmp_path: Path
) -> None:
    async def use(client: Client) -> Any:
        await client.call_tool("index", {})
        heard = set()
        async with client.listen(
            resources_list_changed=True, resource_subscriptions=SUBSCRIBED
        ) as events:
            await anyio.to_thread.run_sync(change, corpus)
            with anyio.fail_after(PATIENCE):
                while len(heard) < 5:
                    heard.add(await anext(aiter(events)))
        return heard, (await client.read_resource(SECTION)).contents[0].text

    heard, text = with_process([str(corpus)], use, cwd=tmp_path)
    expected = [SECTION, DOCUMENT, ABSENT, "contextpull://index"]
    assert heard == {ResourcesListChanged(), *map(ResourceUpdated, expected)}
    assert text == CHANGED


def test_a_subscriber_of_the_older_protocol_hears_of_an_ingest_elsewhere(
    corpus: Path, tmp_path: Path
) -> None:
    send, receive = anyio.create_memory_object_stream[Any](100)

    async def use(client: Client) -> Any:
        assert client.server_capabilities.resources.list_changed
        assert client.server_capabilities.resources.subscribe
        await client.call_tool("index", {})
        for uri in [*SUBSCRIBED, "contextpull://outline/notes.txt"]:
            await client.subscribe_resource(uri)
        await client.unsubscribe_resource("contextpull://index")
        await anyio.to_thread.run_sync(change, corpus)
        heard = set()
        with anyio.fail_after(PATIENCE):
            while len(heard) < 4:
                match await receive.receive():
                    case ResourceListChangedNotification():
                        heard.add("list")
                    case ResourceUpdatedNotification(params=params):
                        heard.add(params.uri)
        return heard, (await client.read_resource(SECTION)).contents[0].text

    with send, receive:
        heard, text = with_process(
            [str(corpus)], use, cwd=tmp_path, mode="legacy", message_handler=send.send
        )
    assert heard == {"list", SECTION, DOCUMENT, ABSENT}
    assert text == CHANGED


def test_nobody_hears_of_documents_outside_their_scope(
    in_memory: Callable[..., Any], corpus: Path, tmp_path: Path
) -> None:
    async def use(client: Client) -> Any:
        await client.call_tool("index", {})
        if client.protocol_version < "2026":
            return None
        async with client.listen(
            resources_list_changed=True, resource_subscriptions=[OTHER, DOCUMENT]
        ) as events:
            corpus.joinpath("notes.txt").write_text("Other words for the same error.\n")
            corpus.joinpath("more.txt").write_text("Words of another document.\n")
            ingest(corpus, tmp_path / "store")
            corpus.joinpath("guide/install.md").write_text(CHANGED)
            ingest(corpus, tmp_path / "store")
            return await anext(aiter(events))

    scoped = Caller("guide", Scope(("guide/**",)))
    assert in_memory(use, caller_of=lambda _: scoped) in (ResourceUpdated(DOCUMENT), None)


async def subscribe(client: Client, uris: list[str]) -> None:
    """Subscribe as the protocol of the client has it."""
    if client.protocol_version < "2026":
        for uri in uris:
            await client.subscribe_resource(uri)
    else:
        async with client.listen(resource_subscriptions=uris):
            pass


def test_too_many_subscriptions_are_refused(in_memory: Callable[..., Any]) -> None:
    uris = [f"contextpull://document/{number}" for number in range(notices.MOST_URIS + 1)]

    async def use(client: Client) -> None:
        with pytest.raises(MCPError, match="may subscribe to 1,000 resources"):
            await subscribe(client, uris)

    in_memory(use)


def test_a_uri_that_no_resource_can_have_cannot_be_subscribed_to(
    in_memory: Callable[..., Any],
) -> None:
    async def use(client: Client) -> None:
        if client.protocol_version < "2026":
            with pytest.raises(MCPError, match="There is no resource 'file:///x'"):
                await client.subscribe_resource("file:///x")

    in_memory(use)


def test_streams_that_the_server_ends_end_in_peace(corpus: Path, tmp_path: Path) -> None:
    async def session() -> list[Any]:
        source = Corpus(tmp_path / "store", corpus)
        source.start()
        server = build_server(source)
        with anyio.fail_after(PATIENCE):
            async with Client(server) as client, client.listen(tools_list_changed=True) as events:
                server.notices.close()
                return [event async for event in events]

    assert anyio.run(session) == []
