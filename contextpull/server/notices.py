"""Notices: clients are told when what they subscribed to has changed."""

import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from contextpull.errors import ContextPullError
from contextpull.server.callers import Caller, CallerOf, Context, connection_of
from contextpull.server.resources import parse_uri, state_of, state_of_list
from contextpull.store import Snapshot

LOOK_EVERY = 1.0
"""Seconds between two looks at the store, while somebody listens."""
MOST_URIS = 1_000
"""Resources that one client may subscribe to."""
MOST_LISTENERS = 1_024

_SEND_SECONDS = 5.0
"""A client that does not take its notices for so long misses them."""


class Notices:
    """Who listens, in either era of the protocol, and the task that looks for news."""

    def __init__(
        self, snapshot_of: Callable[[Caller], Snapshot | None], caller_of: CallerOf
    ) -> None:
        """Take what a caller may see from `snapshot_of`; None while there is nothing yet."""
        self._snapshot_of = snapshot_of
        self._caller_of = caller_of
        self._listeners: dict[object, _Listener] = {}
        self._streams: set[ListenHandler] = set()

    @asynccontextmanager
    async def watching(self, _server: Any) -> AsyncIterator[dict[str, Any]]:
        """Look at the store while somebody listens, for the life of a server."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, group)
            yield {}
            group.cancel_scope.cancel()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Answer `subscriptions/listen`, with a stream that lasts until the client leaves."""
        bus = InMemorySubscriptionBus()
        # A stream with a bus of its own: what one caller is told, another may not know.
        stream = ListenHandler(bus)
        uris = params.notifications.resource_subscriptions or ()
        listener = _Listener(self._caller_of(context), bus.publish)
        await self._begin(listener, uris)
        with self._listening(stream, listener):
            self._streams.add(stream)
            try:
                return await stream(context, params)
            finally:
                self._streams.discard(stream)

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/subscribe` of the older protocol; also for what is not there yet."""
        try:
            parse_uri(params.uri)
        except ContextPullError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": params.uri}) from error
        await self._begin(await self._of_connection(context), [params.uri])
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/unsubscribe` of the older protocol."""
        (await self._of_connection(context)).end(params.uri)
        return types.EmptyResult()

    async def initialized(self, context: Context, _params: Any) -> None:
        """Begin to tell a client of the older protocol when the list of resources changes."""
        await self._of_connection(context)

    def close(self) -> None:
        """End every stream, as the protocol has it, so that clients know that it is meant."""
        for stream in list(self._streams):
            stream.close()

    async def _of_connection(self, context: Context) -> "_Listener":
        connection = connection_of(context)
        if connection not in self._listeners:
            listener = _Listener(self._caller_of(context), partial(_tell_older, connection))
            await self._begin(listener, ())
            listening = self._listening(connection, listener)
            if connection not in self._listeners:
                connection.exit_stack.enter_context(listening)
        return self._listeners[connection]

    async def _begin(self, listener: "_Listener", uris: Iterable[str]) -> None:
        added = set(uris) - listener.uris
        if len(listener.uris) + len(added) > MOST_URIS:
            raise MCPError(
                types.INVALID_PARAMS,
                f"A client may subscribe to {MOST_URIS:,} resources. Unsubscribe from some.",
            )

        def begin() -> None:
            listener.begin(self._now(listener), added)

        await anyio.to_thread.run_sync(begin)

    def _now(self, listener: "_Listener") -> Snapshot | None:
        """What there is for a client; None also when that cannot be read: calls say why."""
        try:
            return self._snapshot_of(listener.caller)
        except ContextPullError:
            return None

    @contextmanager
    def _listening(self, key: object, listener: "_Listener") -> Iterator[None]:
        if len(self._listeners) >= MOST_LISTENERS:
            raise MCPError(types.INTERNAL_ERROR, "Too many clients listen. Try again later.")
        self._listeners[key] = listener
        try:
            yield
        finally:
            del self._listeners[key]

    async def _watch(self, group: TaskGroup) -> None:
        while True:
            await anyio.sleep(LOOK_EVERY)
            if self._listeners:
                for listener, events in await anyio.to_thread.run_sync(self._news):
                    group.start_soon(_send, listener, events)

    def _news(self) -> list[tuple["_Listener", list[ServerEvent]]]:
        news = []
        for listener in list(self._listeners.values()):
            try:
                events = listener.news(self._now(listener))
            except Exception:  # a fault of ours must not end the watch
                traceback.print_exc(file=sys.stderr)
                continue
            if events:
                news.append((listener, events))
        return news


class _Listener:
    """A client, what it subscribed to, and the state in which it knows that."""

    def __init__(self, caller: Caller, tell: Callable[[ServerEvent], Awaitable[None]]) -> None:
        self.caller = caller
        self.tell = tell
        self._list: int | None = None
        self._states: dict[str, int | None] = {}
        self._seen: Snapshot | None = None

    @property
    def uris(self) -> set[str]:
        return set(self._states)

    def begin(self, snapshot: Snapshot | None, uris: Iterable[str]) -> None:
        """Take these resources, as they are now, for known."""
        if self._list is None and snapshot is not None:
            self._list = state_of_list(snapshot)
        self._states |= {uri: _state(snapshot, uri) for uri in uris}
        self._seen = None  # another generation may have been looked at meanwhile

    def end(self, uri: str) -> None:
        self._states.pop(uri, None)

    def news(self, snapshot: Snapshot | None) -> list[ServerEvent]:
        """What is not as it was known any more."""
        if snapshot is None or snapshot is self._seen:
            return []
        self._seen = snapshot
        events: list[ServerEvent] = []
        listed = state_of_list(snapshot)
        if listed != self._list:
            self._list = listed
            events.append(ResourcesListChanged())
        for uri, known in list(self._states.items()):
            state = _state(snapshot, uri)
            if state != known and uri in self._states:
                self._states[uri] = state
                events.append(ResourceUpdated(uri))
        return events


def _state(snapshot: Snapshot | None, uri: str) -> int | None:
    """The state of a resource; None for one that is not there."""
    if snapshot is None:
        return None
    try:
        return state_of(snapshot, parse_uri(uri))
    except ContextPullError:
        return None


async def _send(listener: _Listener, events: Iterable[ServerEvent]) -> None:
    with anyio.move_on_after(_SEND_SECONDS):
        for event in events:
            await listener.tell(event)


async def _tell_older(connection: Connection, event: ServerEvent) -> None:
    if isinstance(event, ResourceUpdated):
        await connection.send_resource_updated(event.uri)
    else:
        await connection.send_resource_list_changed()
