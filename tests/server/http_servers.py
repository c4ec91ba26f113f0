"""Real server processes over HTTP, and clients for them."""

import json
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import hear_interrupts
from tests.server.conftest import text_of

PATIENCE = 60.0
"""Seconds after which a test gives a server up."""
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MODERN = {**JSON, "MCP-Protocol-Version": "2026-07-28"}

_WITH_LIMITS = """
import json, sys
from pathlib import Path
from contextpull.server.app import build_server
from contextpull.server.corpus import Corpus
from contextpull.server.http import HttpSettings, caller_of, serve_http
from contextpull.server.limits import Limits
store, limits, fifo = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
tokens = Path(sys.argv[4]) if sys.argv[4] else None
corpus = Corpus(store, None)

async def wait(ctx, call_next):
    import anyio
    if fifo and ctx.method == "tools/call":
        await anyio.to_thread.run_sync(lambda: open(fifo).read(), abandon_on_cancel=True)
    return await call_next(ctx)

def build():
    server = build_server(corpus, caller_of=caller_of)
    server.middleware.append(wait)
    return server

serve_http(corpus, build, HttpSettings(port=0, limits=Limits(**limits)), tokens=tokens)
"""


class Served:
    """A server that runs: where it is, and what it writes on standard error."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.written: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.line_with(r"serving at (http\S+)")[1]
        self.base = self.url.removesuffix("/mcp")

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as lines:  # closed where it is read, and only then
            for line in lines:
                self.written.append(line)
                self._lines.put(line)
        self._lines.put("")

    def line_with(self, pattern: str) -> re.Match[str]:
        """The next line that matches, when it is written."""
        while line := self._lines.get(timeout=PATIENCE):
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"the server ended: {''.join(self.written)}")

    def entries(self) -> list[dict[str, Any]]:
        """The lines of the log so far."""
        return [json.loads(line) for line in self.written if line.startswith("{")]

    def ended(self) -> int:
        """The exit code, when there is one, and all has been read that was written."""
        code = self.process.wait(timeout=PATIENCE)
        self._reader.join(timeout=PATIENCE)
        return code


@contextmanager
def serving(*arguments: str, cwd: Path, prefix: tuple[str, ...] = ()) -> Iterator[Served]:
    """`contextpull serve … --http` at a free port, until the block ends."""
    command = [*prefix, sys.executable, "-m", "contextpull", "serve", *arguments, "--http"]
    with _running([*command, "--port", "0"], cwd) as served:
        yield served


@contextmanager
def serving_with_limits(
    store: Path, *, cwd: Path, fifo: Path | None = None, tokens: Path | None = None, **limits: float
) -> Iterator[Served]:
    """A server with limits of its own, whose tool calls wait until somebody wrote to `fifo`."""
    options = [str(store), json.dumps(limits), str(fifo or ""), str(tokens or "")]
    with _running([sys.executable, "-c", _WITH_LIMITS, *options], cwd) as served:
        yield served


@contextmanager
def _running(command: list[str], cwd: Path) -> Iterator[Served]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        process.wait(timeout=PATIENCE)


def use(
    url: str,
    do: Callable[[Client], Awaitable[Any]],
    *,
    token: str = "",
    mode: str = "auto",
    **client_options: Any,
) -> Any:
    """What a coroutine gives with a client of the SDK."""

    async def session() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http,
            Client(
                streamable_http_client(url, http_client=http), mode=mode, **client_options
            ) as client,
        ):
            return await do(client)

    return anyio.run(session)


def call(url: str, tool: str, arguments: dict[str, Any], **options: Any) -> str:
    """The text that a tool answers."""

    async def do(client: Client) -> str:
        return await text_of(client, tool, **arguments)

    return str(use(url, do, **options))


def request(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body and headers of a request of the current protocol, as arguments of a client."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    given = params or {}
    headers = {**MODERN, "Mcp-Method": method}
    if "name" in given:
        headers["Mcp-Name"] = given["name"]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**given, "_meta": meta}}
    return {"json": body, "headers": headers}
