"""Many clients that call the four tools at once."""

import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from served import Served

from contextpull import open_store

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""
_KINDS = 400
_SAMPLES = 20
_PATIENCE = 300
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{4,}")
_VERSION = "2026-07-28"


@dataclass
class Load:
    """What came of a load."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    """By tool, one a call."""
    errors: int = 0
    server_cpu_s: float = 0.0
    wall_s: float = 0.0
    memory: list[tuple[int, float]] = field(default_factory=list)
    """Calls made, and the server's resident MB then."""

    @property
    def done(self) -> int:
        """Calls made so far."""
        return sum(map(len, self.milliseconds.values()))


def mixed_calls(store: Path, draw: random.Random) -> list[Call]:
    """Calls of what is there: four searches and four reads to one grep and one index."""
    snapshot = open_store(store).snapshot()
    documents = sorted(snapshot.documents)
    numbers = [n for each in snapshot.documents.values() for n in each.section_numbers]
    sections = snapshot.database.sections(draw.sample(numbers, _KINDS))
    calls: list[Call] = []
    for section in sections:
        words = _WORD.findall(section.text) or ["class"]
        kind = draw.randrange(10)
        if kind < 4:
            calls.append(("search", {"query": " ".join(draw.sample(words, min(4, len(words))))}))
        elif kind < 8:
            calls.append(("read", {"ids": section.id}))
        elif kind < 9:
            calls.append(("grep", {"pattern": max(words, key=len), "limit": 10}))
        else:
            calls.append(("index", {"path": draw.choice(documents)}))
    return calls


def under_load(
    served: Served, calls: Sequence[Call], clients: int, total: int, *, sdk: bool
) -> Load:
    """Make `total` calls, `clients` at a time, each by the SDK's client or by plain requests."""
    load = Load()
    cpu, start = served.cpu_s(), time.perf_counter()
    anyio.run(_all, served, calls, clients, total, load, _by_sdk if sdk else _by_request)
    load.server_cpu_s = served.cpu_s() - cpu
    load.wall_s = time.perf_counter() - start
    return load


_Worker = Callable[[str, Callable[[], "Call | None"], Load], Awaitable[None]]


async def _all(
    served: Served, calls: Sequence[Call], clients: int, total: int, load: Load, worker: _Worker
) -> None:
    given, turns = count(1), cycle(calls)

    def take() -> Call | None:
        number = next(given)
        if number > total:
            return None
        if number % (total // _SAMPLES or 1) == 0:
            load.memory.append((number, served.resident_mb()))
        return next(turns)

    async with anyio.create_task_group() as group:
        for _ in range(clients):
            group.start_soon(worker, served.url, take, load)


async def _by_sdk(url: str, take: Callable[[], Call | None], load: Load) -> None:
    async with (
        httpx2.AsyncClient(timeout=_PATIENCE, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):

        async def call(tool: str, arguments: dict[str, Any]) -> bool:
            return not (await client.call_tool(tool, arguments)).is_error

        await _work(take, load, call)


async def _by_request(url: str, take: Callable[[], Call | None], load: Load) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
        "Mcp-Method": "tools/call",
    }
    async with httpx2.AsyncClient(timeout=_PATIENCE, trust_env=False) as http:

        async def call(tool: str, arguments: dict[str, Any]) -> bool:
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = await http.post(url, json=body, headers={**headers, "Mcp-Name": tool})
            return answer.status_code == 200 and '"isError":true' not in answer.text

        await _work(take, load, call)


async def _work(
    take: Callable[[], Call | None],
    load: Load,
    call: Callable[[str, dict[str, Any]], Awaitable[bool]],
) -> None:
    while (given := take()) is not None:
        tool, arguments = given
        start = time.perf_counter()
        good = await call(tool, arguments)
        load.milliseconds.setdefault(tool, []).append((time.perf_counter() - start) * 1000)
        load.errors += not good
