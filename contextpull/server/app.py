"""The MCP server: four tools, the index as a resource, the discipline as instructions."""

import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from contextpull import __version__
from contextpull.config import Mode, Snippets
from contextpull.errors import ContextPullError
from contextpull.retrieval.listing import list_contents
from contextpull.retrieval.models import Models
from contextpull.retrieval.rendering import index_text
from contextpull.server.corpus import Corpus
from contextpull.server.instructions import instructions
from contextpull.store import Store
from contextpull.tools import TOOLS, Tool, ToolResult, ToolSession

NAME = "contextpull"
INDEX_URI = "contextpull://index"

_ALWAYS_LOADED = {"anthropic/alwaysLoad": True}
"""Keeps the tools in the model's view in hosts that hide tools behind a search."""


def build_server(
    corpus: Corpus,
    *,
    snippets: Snippets = "short",
    mode: Mode | None = None,
    models: Models | None = None,
    structured: bool = False,
) -> Server[Any]:
    """A server over one corpus, for one connection.

    `snippets`, `mode` and `models` are those of a ToolSession. `structured` adds structured
    content for programs; a model's host would then show the model that instead of the text.
    """
    session = partial(ToolSession, snippets=snippets, mode=mode, models=models)
    handlers = _Handlers(corpus, session, structured)
    ready = corpus.store_if_ready
    return Server(
        NAME,
        version=__version__,
        title="ContextPull",
        description="Pull exact, citable sections out of a folder of documents.",
        instructions=instructions(ready.snapshot() if ready else None),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    def __init__(
        self, corpus: Corpus, new_session: Callable[[Store], ToolSession], structured: bool
    ) -> None:
        self._corpus = corpus
        self._new_session = new_session
        self._structured = structured
        self._session: ToolSession | None = None

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        self._corpus.refresh()
        return types.ListToolsResult(tools=[_described(tool, self._structured) for tool in TOOLS])

    async def call_tool(
        self, _context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        result = await anyio.to_thread.run_sync(
            self._call, params.name, params.arguments or {}, abandon_on_cancel=True
        )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            structured_content=result.data if self._structured and not result.is_error else None,
            is_error=result.is_error,
        )

    def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool; every error becomes a result that keeps its text."""
        try:
            store = self._corpus.store()
            if self._session is None:
                self._session = self._new_session(store)
            return self._session.call(name, arguments)
        except ContextPullError as error:
            return ToolResult(str(error), {}, is_error=True)
        except Exception as error:  # a fault of ours must not end the connection
            traceback.print_exc(file=sys.stderr)
            text = f"{name} failed inside the server: {type(error).__name__}: {error}"
            return ToolResult(text, {}, is_error=True)

    async def list_resources(self, _context: Any, _params: Any) -> types.ListResourcesResult:
        index = types.Resource(
            name="index",
            title="Table of contents",
            uri=INDEX_URI,
            description="Every document with its title and size.",
            mime_type="text/plain",
        )
        return types.ListResourcesResult(resources=[index])

    async def list_templates(
        self, _context: Any, _params: Any
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(
        self, _context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if params.uri != INDEX_URI:
            raise MCPError(types.INVALID_PARAMS, f"There is no resource {params.uri!r}.")
        text = await anyio.to_thread.run_sync(self._index_text)
        content = types.TextResourceContents(uri=INDEX_URI, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[content])

    def _index_text(self) -> str:
        try:
            return index_text(list_contents(self._corpus.store().snapshot()))
        except ContextPullError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error


def _described(tool: Tool, structured: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=tool.output_schema if structured else None,
        annotations=types.ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
        _meta=_ALWAYS_LOADED,
    )
