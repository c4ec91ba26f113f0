"""MCP servers over standard input and output, spoken to with the official client."""

import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from protocol import Answer, Driver, cpu_of_descendants, run

_LONGEST_CALL = 60.0


class Reply(NamedTuple):
    """What a tool call came back with."""

    text: str
    structured: dict[str, Any] | None
    wall_ms: float


class ToolError(Exception):
    """The tool said that it cannot."""


class McpDriver(Driver):
    """A server that a command starts, over an index that a command builds.

    The round trip is timed in the client; the CPU time is the server's alone.
    """

    folder: Path

    def commands(self, corpus: Path, folder: Path) -> list[list[str | Path]]:
        """The commands that build the index, in order."""
        raise NotImplementedError

    def server(self) -> list[str | Path]:
        """The command that serves it."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Variables for both; nothing else but PATH is handed on."""
        return {}

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Run the commands, each in the folder."""
        self.open(corpus, folder)
        for command in self.commands(corpus, folder):
            run(command, env=self._variables(), cwd=folder)

    def open(self, corpus: Path, folder: Path) -> None:
        """Remember where they are; the server starts with the first call."""
        self.corpus, self.folder = corpus, folder

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        """One round trip. Raises `ToolError` with the server's own words."""
        if not hasattr(self, "_stack"):
            self._start()
        reply: Reply = self._portal.call(self._call, tool, arguments)
        return reply

    def cpu_s(self) -> float:
        """The server's."""
        return cpu_of_descendants()

    def close(self) -> None:
        """End the connection, and the server with it."""
        if hasattr(self, "_stack"):
            self._stack.close()
            del self._stack

    def _start(self) -> None:
        command, *rest = map(str, self.server())
        parameters = StdioServerParameters(
            command=command, args=rest, env=self._variables(), cwd=self.folder
        )
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        client = self._portal.wrap_async_context_manager(Client(parameters))
        self._client = self._stack.enter_context(client)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        start = time.perf_counter()
        result = await self._client.call_tool(tool, arguments, _LONGEST_CALL)
        wall = (time.perf_counter() - start) * 1000
        text = "\n".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise ToolError(text)
        return Reply(text, result.structured_content, wall)

    def _variables(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environment()}


def answer(ids: list[str], reply: Reply) -> Answer:
    """The answer that a reply amounts to."""
    structured = json.dumps(reply.structured, ensure_ascii=False) if reply.structured else ""
    return Answer(ids, reply.text, structured, reply.wall_ms)
