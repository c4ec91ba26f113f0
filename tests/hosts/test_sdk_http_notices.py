"""The SDK's own client, with a token, hears of changes over HTTP; and of no others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceUpdatedNotification

from contextpull.server.tokens import add_token, revoke_token
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.server.http_servers import PATIENCE, Served, serving_with_limits, use

BUILD, PAY = "contextpull://document/eng%2Fbuild.md", "contextpull://document/hr%2Fpay.md"
DOCUMENTS = {"eng/build.md": "# Build\n\nRun make.\n", "hr/pay.md": "# Pay\n\nNothing.\n"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server that looks at the tokens often; alice may see eng/ only."""
    ingest(write_corpus(tmp_path / "docs", DOCUMENTS), tmp_path / "store")
    file = tmp_path / "tokens.jsonl"
    token = add_token(file, "alice", ["eng/**"], None)
    (tmp_path / "token").write_text(token)
    limits = {"recheck_seconds": 0.1}
    with serving_with_limits(tmp_path / "store", cwd=tmp_path, tokens=file, **limits) as served:
        yield served


def change(folder: Path, path: str, text: str) -> None:
    write_corpus(folder / "docs", {path: text})
    ingest(folder / "docs", folder / "store")


def change_both(folder: Path) -> None:
    """First what the token hides, then what it shows: who hears only the second hears in time."""
    change(folder, "hr/pay.md", "# Pay\n\nMore than nothing.\n")
    change(folder, "eng/build.md", "# Build\n\nRun ninja.\n")


def test_a_token_hears_of_its_scope_alone(served: Served, tmp_path: Path) -> None:
    async def do(client: Client) -> tuple[Any, str]:
        async with client.listen(resource_subscriptions=[PAY, BUILD]) as events:
            await anyio.to_thread.run_sync(change_both, tmp_path)
            with anyio.fail_after(PATIENCE):
                heard = await anext(aiter(events))
        return heard, (await client.read_resource(BUILD)).contents[0].text

    heard, text = use(served.url, do, token=(tmp_path / "token").read_text())
    assert heard == ResourceUpdated(BUILD)
    assert "Run ninja." in text


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
def test_a_token_hears_of_its_scope_alone_in_the_older_protocol(
    served: Served, tmp_path: Path
) -> None:
    send, receive = anyio.create_memory_object_stream[Any](100)

    async def do(client: Client) -> list[str]:
        for uri in (PAY, BUILD):
            await client.subscribe_resource(uri)
        await anyio.to_thread.run_sync(change_both, tmp_path)
        with anyio.fail_after(PATIENCE):
            while True:
                match await receive.receive():
                    case ResourceUpdatedNotification(params=params):
                        return params.uri

    token = (tmp_path / "token").read_text()
    with send, receive:
        heard = use(served.url, do, token=token, mode="legacy", message_handler=send.send)
    assert heard == BUILD


def test_a_revoked_token_ends_the_stream_and_opens_no_other(served: Served, tmp_path: Path) -> None:
    async def do(client: Client) -> str:
        async with client.listen(resource_subscriptions=[BUILD]) as events:
            revoke_token(tmp_path / "tokens.jsonl", "alice")
            with anyio.fail_after(PATIENCE), pytest.raises(SubscriptionLost):
                await anext(aiter(events))
        with pytest.raises(MCPError) as refused:
            async with client.listen(resource_subscriptions=[BUILD]):
                pass
        return str(refused.value)

    told = use(served.url, do, token=(tmp_path / "token").read_text())
    assert "not known here" in told
