"""Start a server as a host would, and look at what it shows: the work of `contextpull doctor`."""

import json
import logging
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import unquote

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import ValidationError

from contextpull.server.hosting.launching import Launch

PATIENCE = 60.0
"""Seconds until a server that does not answer is given up."""

_STDERR_CHARS = 2_000
_LINE_CHARS = 200
_DOCUMENTS = "contextpull://document/"


class HostView(NamedTuple):
    """What a host sees of a server that it started; empty from where the server failed."""

    command: tuple[str, ...]
    seconds: float = 0.0
    """From the start of the process to its greeting."""
    protocol: str = ""
    server: str = ""
    """Its name and version."""
    instructions: str = ""
    tools: tuple[tuple[str, int], ...] = ()
    """Names, each with the characters of the description."""
    tools_chars: int = 0
    """Names, descriptions and schemas of all tools, as compact JSON."""
    results: tuple[tuple[str, int], ...] = ()
    """Calls, each with the characters of its result."""
    resources: int = 0
    templates: int = 0
    prompts: int = 0
    stray: tuple[str, ...] = ()
    """Lines on standard output that are no messages of the protocol."""
    stderr: str = ""
    """The end of what it wrote there."""
    failure: str = ""
    """What went wrong, and what to try; empty when all went well."""


def look(launch: Launch, environment: Mapping[str, str], patience: float = PATIENCE) -> HostView:
    """Start a server, connect with the SDK's client, and list and call what there is.

    It runs in an empty folder with this environment. What the server does wrong is the view's
    `failure`; nothing is raised for it. `patience` is seconds, for all of it.
    """
    with tempfile.TemporaryDirectory(prefix="contextpull-doctor-") as folder, _quiet():
        return anyio.run(_Look(launch, environment, folder, patience).run)


class _Look:
    """One look, which keeps what it has seen when the server fails."""

    def __init__(
        self, launch: Launch, environment: Mapping[str, str], folder: str, patience: float
    ) -> None:
        self._view = HostView((launch.command, *launch.args))
        self._server = StdioServerParameters(
            command=launch.command, args=list(launch.args), env=dict(environment), cwd=folder
        )
        self._patience = patience
        self._stray: list[str] = []

    async def run(self) -> HostView:
        failure = ""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            begun = perf_counter()
            transport = stdio_client(self._server, errors)
            try:
                with anyio.fail_after(self._patience):
                    async with Client(transport, message_handler=self._hear) as client:
                        await self._see(client, perf_counter() - begun)
            except Exception as error:  # whatever a server can do to a client is to be told
                failure = self._why(_first(error))
            errors.seek(0)
            said = errors.read()[-_STDERR_CHARS:].strip()
        return self._view._replace(failure=failure, stderr=said, stray=tuple(self._stray))

    async def _hear(self, message: object) -> None:
        if isinstance(message, ValidationError):
            given = message.errors(include_url=False)[0]["input"]
            self._stray.append(str(given)[:_LINE_CHARS])

    async def _see(self, client: Client, seconds: float) -> None:
        info = client.server_info
        self._view = self._view._replace(
            seconds=seconds,
            protocol=client.protocol_version,
            server=f"{info.name} {info.version}" if info else "",
            instructions=client.instructions or "",
        )
        tools = (await client.list_tools()).tools
        self._view = self._view._replace(
            tools=tuple((tool.name, len(tool.description or "")) for tool in tools),
            tools_chars=len(_as_json(tools)),
        )
        index = await _chars(client, "index", {})
        resources = await _resources(client)
        self._view = self._view._replace(
            results=(("index", index), *await _largest(client, resources)),
            resources=len(resources),
            templates=len((await client.list_resource_templates()).resource_templates),
            prompts=len((await client.list_prompts()).prompts),
        )

    def _why(self, error: BaseException) -> str:
        program = self._view.command[0]
        if isinstance(error, TimeoutError):
            return (
                f"The server gave no answer in {self._patience:g} seconds. The first start reads"
                " the folder: run contextpull ingest on it, then try again."
            )
        if isinstance(error, OSError):
            return (
                f"The program {program!r} cannot be started ({error.strerror}): install contextpull"
                " anew, or print the entry with --uvx."
            )
        when = "after its greeting" if self._view.protocol else "before it answered"
        return (
            f"The server failed {when} ({error}). See what it says when you start it yourself:"
            f" {shlex.join(self._view.command)}"
        )


async def _resources(client: Client) -> list[types.Resource]:
    found: list[types.Resource] = []
    cursor = None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if not cursor:
            return found


async def _largest(client: Client, resources: list[types.Resource]) -> tuple[tuple[str, int], ...]:
    """What reading the largest document gives: as much as one result may hold, or all of it."""
    documents = [each for each in resources if str(each.uri).startswith(_DOCUMENTS)]
    if not documents:
        return ()
    uri = str(max(documents, key=lambda each: (each.size or 0, str(each.uri))).uri)
    path = unquote(uri.removeprefix(_DOCUMENTS))
    return ((f"read {path}", await _chars(client, "read", {"ids": path})),)


async def _chars(client: Client, tool: str, arguments: dict[str, Any]) -> int:
    result = await client.call_tool(tool, arguments)
    return sum(len(block.text) for block in result.content if isinstance(block, types.TextContent))


def _as_json(tools: list[types.Tool]) -> str:
    """What the model is told of the tools."""
    told = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in tools
    ]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@contextmanager
def _quiet() -> Iterator[None]:
    """The SDK logs each stray line with a traceback; the view holds them."""
    logger = logging.getLogger("mcp")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
