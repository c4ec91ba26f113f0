"""What stands before the protocol: checks, limits, log and metrics of every HTTP request."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import mcp_types as types

from contextpull.server import access_log
from contextpull.server.access_log import Entry
from contextpull.server.auth import Door, Identity
from contextpull.server.callers import EVERYONE
from contextpull.server.limits import Limits, Pace, Places, Refused, check_head, read_body
from contextpull.server.metrics import Metrics, tool_label

ASGIScope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[ASGIScope, Receive, Send], Awaitable[None]]
Headers = Mapping[bytes, bytes]

CALLER = "contextpull.caller"
ENTRY = "contextpull.entry"
"""Where a request's scope keeps who sent it, and its line of the log."""

MCP_PATH = "/mcp"
_LISTEN = b"subscriptions/listen"
_ONCE = (b"host", b"origin", b"authorization", b"content-length")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Names:
    """The names under which the server may be called; against DNS rebinding."""

    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()
    """More origins than those of the hosts: `https://app.example.com`."""

    def check_host(self, headers: Headers) -> None:
        """Raise Refused when a request was meant for another host."""
        value = headers.get(b"host", b"").decode("latin-1")
        if "@" in value or _hostname(f"//{value}") not in self.hosts:
            raise Refused(
                421,
                "host",
                f"Nothing is served under the name {value[:100]!r}. Start the server with"
                " --allow-host to serve under another one.",
            )

    def check_origin(self, headers: Headers) -> None:
        """Raise Refused when a web page of another place sent a request."""
        value = headers.get(b"origin", b"").decode("latin-1")
        if value and value not in self.origins and _hostname(value) not in self.hosts:
            raise Refused(
                403,
                "origin",
                f"Pages of {value[:100]!r} may not call this server. Start it with"
                " --allow-origin to let them.",
            )


@dataclass(frozen=True, slots=True)
class Page:
    """What a path other than the protocol's answers to a GET."""

    make: Callable[[], Awaitable[tuple[int, str, str]]]
    """Gives status, content type and text."""
    needs_token: bool = False
    any_host: bool = False


class Gate:
    """An ASGI application: the protocol at /mcp behind everything that a request must pass."""

    def __init__(
        self,
        protocol: App,
        door: Door | None,
        names: Names,
        limits: Limits,
        *,
        log_queries: bool = False,
    ) -> None:
        """`door` is None where everybody may come in."""
        self.metrics = Metrics()
        self.requests = Places(limits.requests, "requests")
        self.streams = Places(limits.streams, "streams")
        self.pages: dict[str, Page] = {}
        self._protocol = protocol
        self._door = door
        self._names = names
        self._limits = limits
        self._log_queries = log_queries
        self._pace = Pace(limits.per_minute)
        self._open_streams: set[anyio.CancelScope] = set()
        self._is_draining = False

    def open_no_more_streams(self) -> None:
        """Refuse streams from now on: the server is about to end."""
        self._is_draining = True

    def end_streams(self) -> None:
        """End the streams that are open, which would never end by themselves."""
        for stream in self._open_streams:
            stream.cancel()

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever becomes of it, and write its line of the log."""
        if scope["type"] != "http":
            return
        client = (scope.get("client") or ("",))[0]
        entry = Entry(client, scope["method"], scope["path"][:200])
        answer = _Answer(send, entry)
        try:
            await self._serve(scope, receive, answer, entry)
        except Refused as refusal:
            await self._refuse(refusal, answer, entry)
        except Exception:
            logging.getLogger(__name__).exception("a request failed inside the server")
            await self._refuse(
                Refused(500, "fault", "The server failed. Its log says where."), answer, entry
            )
        finally:
            self.metrics.request(entry.status)
            access_log.write(entry)

    async def _serve(
        self, scope: ASGIScope, receive: Receive, answer: "_Answer", entry: Entry
    ) -> None:
        check_head(scope["headers"], self._limits)
        headers = _headers(scope)
        page = self.pages.get(scope["path"])
        if not (page and page.any_host):
            self._names.check_host(headers)
        self._names.check_origin(headers)
        if page:
            await self._show(page, headers, scope["method"], answer)
        elif scope["path"].removesuffix("/") == MCP_PATH:
            await self._speak(scope, headers, receive, answer, entry)
        else:
            raise Refused(
                404, "path", f"There is nothing here. The server speaks MCP at {MCP_PATH}."
            )

    async def _show(self, page: Page, headers: Headers, method: str, answer: "_Answer") -> None:
        if method not in {"GET", "HEAD"}:
            raise Refused(405, "method", "Only GET is answered here.", {"Allow": "GET, HEAD"})
        if page.needs_token and self._door:
            await self._door.admit(headers)
        status, content_type, text = await page.make()
        await answer.whole(status, text.encode(), {"Content-Type": content_type})

    async def _speak(
        self,
        scope: ASGIScope,
        headers: Headers,
        receive: Receive,
        answer: "_Answer",
        entry: Entry,
    ) -> None:
        if scope["method"] not in {"GET", "POST", "DELETE"}:
            allowed = {"Allow": "GET, POST, DELETE"}
            raise Refused(405, "method", "MCP takes POST, GET and DELETE.", allowed)
        is_stream = scope["method"] == "GET" or headers.get(b"mcp-method") == _LISTEN
        places = self.streams if is_stream else self.requests
        with places.one():
            identity = await self._identity(headers, entry)
            scope[CALLER] = identity.caller if identity else EVERYONE
            scope[ENTRY] = entry
            if identity:
                scope["user"] = identity.user
            body = await read_body(headers, receive, self._limits)
            self._note(body, entry)
            inner = _replayed(body, receive)
            if is_stream:
                await self._stream(scope, headers, identity, inner, answer)
            else:
                await self._answer(scope, inner, answer, entry)

    async def _identity(self, headers: Headers, entry: Entry) -> Identity | None:
        if self._door is None:
            return None
        identity = await self._door.admit(headers)
        entry.caller = identity.caller.name
        self._pace.take(entry.caller)
        return identity

    async def _answer(
        self, scope: ASGIScope, receive: Receive, answer: "_Answer", entry: Entry
    ) -> None:
        with anyio.move_on_after(2 * self._limits.call_seconds) as deadline:
            await self._protocol(scope, receive, answer)
        if deadline.cancelled_caught:
            if not answer.has_begun:
                raise Refused(504, "timeout", "The answer took too long. Ask for less at once.")
            entry.rejected = "timeout"
            await answer.end()

    async def _stream(
        self,
        scope: ASGIScope,
        headers: Headers,
        identity: Identity | None,
        receive: Receive,
        answer: "_Answer",
    ) -> None:
        """Serve a stream until its client or the server ends it, or its token holds no longer."""
        if self._is_draining:
            raise Refused(503, "draining", "The server is about to end.", {"Retry-After": "5"})
        async with anyio.create_task_group() as tasks:
            with ExitStack() as stack:
                self._open_streams.add(tasks.cancel_scope)
                stack.callback(self._open_streams.discard, tasks.cancel_scope)
                if identity:
                    tasks.start_soon(self._watch, headers, identity, tasks.cancel_scope)
                await self._protocol(scope, receive, answer)
                tasks.cancel_scope.cancel()
        if not answer.has_begun:
            raise Refused(
                503,
                "ended",
                "The stream was ended before it began. Ask again.",
                {"Retry-After": "1"},
            )
        await answer.end()

    async def _watch(self, headers: Headers, identity: Identity, stream: anyio.CancelScope) -> None:
        """End a stream when its token is revoked, expires, or lets see something else."""
        assert self._door is not None
        still = True
        while still:
            await anyio.sleep(self._limits.recheck_seconds)
            try:
                still = await self._door.admit(headers) == identity
            except Refused:
                still = False
        stream.cancel()

    def _note(self, body: bytes, entry: Entry) -> None:
        """Note for the log what a message asks; one that cannot be read the protocol refuses."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return
        entry.method = message["method"][:100]
        params = message.get("params")
        if entry.method == "tools/call" and isinstance(params, dict):
            entry.tool = tool_label(str(params.get("name")))
            if self._log_queries:
                entry.arguments = params.get("arguments")

    async def _refuse(self, refusal: Refused, answer: "_Answer", entry: Entry) -> None:
        entry.rejected = refusal.reason
        self.metrics.rejected(refusal.reason)
        if answer.has_begun:
            await answer.end()
            return
        # The shape that clients of the protocol look for in an answer without success.
        error = {"code": types.INVALID_REQUEST, "message": str(refusal)}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        headers = {"Content-Type": "application/json", "Connection": "close", **refusal.headers}
        await answer.whole(refusal.status, body, headers)


class _Answer:
    """The way back to a client: knows what went along it."""

    def __init__(self, send: Send, entry: Entry) -> None:
        self._send = send
        self._entry = entry
        self.has_begun = False
        self._is_whole = False

    async def __call__(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._entry.status = message["status"]
        else:
            self._entry.sent += len(message.get("body", b""))
            self._is_whole = not message.get("more_body", False)
        await self._send(message)

    async def whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a short answer at once."""
        fields = {**headers, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        raw = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        await self({"type": "http.response.start", "status": status, "headers": raw})
        await self({"type": "http.response.body", "body": body})

    async def end(self) -> None:
        """End an answer that was begun, in good order, where it stands."""
        if self.has_begun and not self._is_whole:
            await self({"type": "http.response.body", "body": b""})


def _headers(scope: ASGIScope) -> Headers:
    """The headers by name; raises Refused where two could be read in two ways."""
    names = [name for name, _ in scope["headers"]]
    for name in _ONCE:
        if names.count(name) > 1:
            raise Refused(400, "headers", f"The header {name.decode()} stands there twice.")
    return dict(scope["headers"])


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A way to receive that gives the body first, then waits for the client to go away."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return messages.pop() if messages else await receive()

    return replay
