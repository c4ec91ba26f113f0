"""The server's cold start beside the smallest server on the same SDK, and its calls."""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from measuring import cpu_s, run, table

_SMALLEST = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="ping", input_schema={"type": "object"})])

async def call_tool(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="pong")])

server = Server("smallest", on_list_tools=list_tools, on_call_tool=call_tool)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
_ROUNDS = 9
_CALLS = 200


class ColdStart(NamedTuple):
    """From starting the process to the answer of tools/list."""

    wall_ms: float
    cpu_ms: float


def report(corpus: Path, work: Path) -> str:
    """Cold starts taken in turns, so that both see the same machine; then CPU per call."""
    store = work / "server-store"
    run([sys.executable, "-m", "contextpull", "ingest", corpus, "--store", store])
    smallest = work / "smallest.py"
    smallest.write_text(_SMALLEST)
    commands = {
        "smallest server on the SDK": [sys.executable, str(smallest)],
        "contextpull serve": [
            *(sys.executable, "-m", "contextpull", "serve", str(corpus)),
            *("--store", str(store)),
        ],
    }
    starts: dict[str, list[ColdStart]] = {name: [] for name in commands}
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            starts[name].append(_cold_start(command))
    medians = {
        name: ColdStart(*(statistics.median(column) for column in zip(*taken, strict=True)))
        for name, taken in starts.items()
    }
    rows = [(name, f"{each.wall_ms:.0f}", f"{each.cpu_ms:.0f}") for name, each in medians.items()]
    ours, theirs = medians["contextpull serve"], medians["smallest server on the SDK"]
    calls = _cpu_per_call(commands["contextpull serve"])
    return (
        f"## Server: cold start to tools/list, median of {_ROUNDS}\n\n"
        + table(("", "wall ms", "CPU ms"), rows)
        + f"\n\nRatio: wall {ours.wall_ms / theirs.wall_ms:.2f}, CPU"
        f" {ours.cpu_ms / theirs.cpu_ms:.2f}.\n\nServer CPU per call, mean of {_CALLS}: "
        + ", ".join(f"{name} {taken:.2f} ms" for name, taken in calls.items())
        + ".\n"
    )


class _Peer:
    """A server process that is spoken to in raw JSON-RPC."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._id = 0
        client = {"name": "benchmark", "version": "1"}
        self.ask(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        )
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._id += 1
        self._write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._id:
                return answer

    def cpu_ms(self) -> float:
        """CPU time of the process so far."""
        return cpu_s(self._process.pid) * 1000

    def close(self) -> None:
        """End the connection and wait for the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def _cold_start(command: list[str]) -> ColdStart:
    start = time.perf_counter()
    peer = _Peer(command)
    peer.ask("tools/list", {})
    wall = (time.perf_counter() - start) * 1000
    cpu = peer.cpu_ms()
    peer.close()
    return ColdStart(wall, cpu)


def _cpu_per_call(command: list[str]) -> dict[str, float]:
    peer = _Peer(command)
    calls: dict[str, dict[str, Any]] = {
        "read": {"ids": ["concepts/cache.md#cache-directory"]},
        "search": {"query": "how do I clear the cache"},
        "grep": {"pattern": "no-cache"},
    }
    taken = {}
    for name, arguments in calls.items():
        request = {"name": name, "arguments": arguments}
        peer.ask("tools/call", request)
        before = peer.cpu_ms()
        for _ in range(_CALLS):
            peer.ask("tools/call", request)
        taken[name] = (peer.cpu_ms() - before) / _CALLS
    peer.close()
    return taken
