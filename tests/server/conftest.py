"""A small corpus behind a server, in memory and as a real process."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from contextpull.server.app import build_server
from contextpull.server.corpus import Corpus

DOCUMENTS = {
    "guide/cache.md": "# Cache\n\nWhat the cache is for, in one paragraph of some length.\n\n"
    "## Clear the cache\n\nRun `tool clean --no-cache` to remove every entry from the cache.\n",
    "guide/install.md": "# Install\n\nDownload the archive, unpack it and run the installer.\n",
    "notes.txt": "Error TX-4419 means that the link to the server is down. Restart it.\n",
}
Use = Callable[[Client], Awaitable[Any]]
ERAS = ["auto", "legacy"]
"""Modes of a client: the protocol of today, and the one with a handshake."""
PATIENCE = 60
"""Seconds after which a test gives a server up."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name, text in DOCUMENTS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture(params=ERAS)
def in_memory(request: pytest.FixtureRequest, corpus: Path, tmp_path: Path) -> Callable[..., Any]:
    """Run a coroutine with a client of an in-memory server, in both eras of the protocol."""

    def run(use: Use, **options: Any) -> Any:
        source = Corpus(tmp_path / "store", corpus)
        return converse(source, use, mode=request.param, **options)

    return run


def converse(source: Corpus, use: Use, *, mode: str = "auto", **options: Any) -> Any:
    """Run a coroutine with a client of an in-memory server over this corpus."""

    async def session() -> Any:
        source.start()
        with anyio.fail_after(PATIENCE):
            async with Client(build_server(source, **options), mode=mode) as client:
                return await use(client)

    return anyio.run(session)


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    """The text that a tool answers."""
    result = await client.call_tool(tool, arguments)
    return str(result.content[0].text)


def with_process(
    arguments: list[str], use: Use, *, cwd: Path, mode: str = "auto", **client_options: Any
) -> Any:
    """Run a coroutine with a client of `contextpull serve` as a process of its own."""

    async def session() -> Any:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "contextpull", "serve", *arguments], cwd=cwd
        )
        async with Client(stdio_client(server), mode=mode, **client_options) as client:
            return await use(client)

    return anyio.run(session)
