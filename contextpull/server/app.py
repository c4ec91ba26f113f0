"""The MCP server: tools, resources, prompts and completion over one corpus, for any transport."""

import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError

from contextpull import __version__
from contextpull.config import Mode, Snippets
from contextpull.errors import ContextPullError, InvalidInput, PathNotFound, SectionNotFound
from contextpull.retrieval.models import Models
from contextpull.retrieval.work import Stopped, Work
from contextpull.server.callers import (
    Caller,
    CallerOf,
    Context,
    Views,
    connection_of,
    everyone,
)
from contextpull.server.completion import Completer
from contextpull.server.corpus import Corpus
from contextpull.server.instructions import instructions
from contextpull.server.notices import Notices
from contextpull.server.prompts import get_prompt, list_prompts
from contextpull.server.resources import TEMPLATES, list_resources, read_resource
from contextpull.server.threads import MOST_THREADS, Threads
from contextpull.store import Snapshot
from contextpull.tools import TOOLS, Tool, ToolResult, ToolSession

NAME = "contextpull"

_ALWAYS_LOADED = {"anthropic/alwaysLoad": True}
"""Keeps the tools in the model's view in hosts that hide tools behind a search."""
_GREETINGS = frozenset({"initialize", "server/discover"})
_Result = TypeVar("_Result")


class ContextPullServer(Server[dict[str, Any]]):
    """The SDK's server, with what its constructor does not take."""

    notices: Notices

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> Any:
        """As the SDK does, but say that changes of the list of resources are told."""
        options = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(options, *more, **named)


def build_server(
    corpus: Corpus,
    *,
    snippets: Snippets = "short",
    mode: Mode | None = None,
    models: Models | None = None,
    structured: bool = False,
    caller_of: CallerOf = everyone,
    most_threads: int = MOST_THREADS,
) -> ContextPullServer:
    """A server over one corpus, for one connection or for any number of them.

    `snippets`, `mode` and `models` are those of a ToolSession. `structured` adds structured
    content for programs; a model's host would then show the model that instead of the text.
    `caller_of` tells who sent a request, and with that what they may see. At most `most_threads`
    requests are worked on at once; others wait.
    """
    session = partial(ToolSession, snippets=snippets, mode=mode, models=models or Models())
    views = Views(session)
    handlers = _Handlers(corpus, views, caller_of, Threads(most_threads), structured)
    notices = Notices(handlers.snapshot_for_listener, caller_of)
    server = ContextPullServer(
        NAME,
        version=__version__,
        title="ContextPull",
        description="Pull exact, citable sections out of a folder of documents.",
        lifespan=notices.watching,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
        on_subscribe_resource=notices.subscribe,
        on_unsubscribe_resource=notices.unsubscribe,
        on_subscriptions_listen=notices.listen,
    )
    server.notices = notices
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, notices.initialized
    )
    server.middleware.append(handlers.instruct)
    return server


class _Handlers:
    def __init__(
        self,
        corpus: Corpus,
        views: Views,
        caller_of: CallerOf,
        threads: Threads,
        structured: bool,
    ) -> None:
        self._corpus = corpus
        self._views = views
        self._caller_of = caller_of
        self._threads = threads
        self._structured = structured
        self._completer = Completer()

    def snapshot_if_ready(self, caller: Caller) -> Snapshot | None:
        """What a caller may see; None while the folder is read for the first time."""
        store = self._corpus.store_if_ready
        return self._views.snapshot(store, caller) if store else None

    def snapshot_for_listener(self, caller: Caller) -> Snapshot | None:
        """As above; a client that only listens hears of changes, too."""
        self._corpus.follow()
        return self.snapshot_if_ready(caller)

    async def instruct(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add to a greeting the instructions, which are for its caller alone."""
        result = await call_next(ctx)
        if ctx.method not in _GREETINGS or not isinstance(result, dict):
            return result
        caller = self._caller_of(ctx)
        return {**result, "instructions": await anyio.to_thread.run_sync(self._told, caller)}

    def _told(self, caller: Caller) -> str:
        try:
            return instructions(self.snapshot_if_ready(caller))
        except ContextPullError:
            return instructions(None)  # every call says what is wrong

    async def list_tools(self, _context: Context, _params: Any) -> types.ListToolsResult:
        self._corpus.refresh()
        return types.ListToolsResult(tools=[_described(tool, self._structured) for tool in TOOLS])

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = self._caller_of(context)
        session_id = connection_of(context).session_id
        result = await self._threads.run(context, partial(self._call, caller, session_id, params))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            structured_content=result.data if self._structured and not result.is_error else None,
            is_error=result.is_error,
        )

    def _call(
        self,
        caller: Caller,
        session_id: str | None,
        params: types.CallToolRequestParams,
        work: Work,
    ) -> ToolResult:
        """Run a tool; every error becomes a result that keeps its text."""
        try:
            store = self._corpus.store(work)
            session = self._views.session(store, caller, session_id)
            return session.call(params.name, params.arguments or {}, work)
        except Stopped:
            raise
        except ContextPullError as error:
            return ToolResult(str(error), {}, is_error=True)
        except Exception as error:  # a fault of ours must not end the connection
            traceback.print_exc(file=sys.stderr)
            text = f"{params.name} failed inside the server: {type(error).__name__}: {error}"
            return ToolResult(text, {}, is_error=True)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        return await self._from_snapshot(context, lambda found: list_resources(found, cursor))

    async def list_templates(
        self, _context: Context, _params: Any
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list(TEMPLATES.values()))

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = params.uri
        return await self._from_snapshot(context, lambda found: read_resource(found, uri), uri)

    async def list_prompts(self, _context: Context, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list_prompts())

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        arguments = params.arguments or {}
        return await self._from_snapshot(
            context, lambda found: get_prompt(found, params.name, arguments)
        )

    async def complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        completion = await self._from_snapshot(
            context, lambda found: self._completer.complete(found, params.ref, params.argument)
        )
        return types.CompleteResult(completion=completion)

    async def _from_snapshot(
        self, context: Context, make: Callable[[Snapshot], _Result], uri: str | None = None
    ) -> _Result:
        """What `make` gives of what the caller may see; every error keeps its text."""
        caller = self._caller_of(context)
        data = {"uri": uri} if uri is not None else None

        def run(work: Work) -> _Result:
            try:
                return make(self._views.snapshot(self._corpus.store(work), caller))
            except (InvalidInput, PathNotFound, SectionNotFound) as error:
                raise MCPError(types.INVALID_PARAMS, str(error), data) from error
            except ContextPullError as error:
                raise MCPError(types.INTERNAL_ERROR, str(error), data) from error

        return await self._threads.run(context, run)


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
