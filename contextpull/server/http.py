"""Serving over streamable HTTP, to many clients and callers, in both eras of the protocol."""

import asyncio
import ipaddress
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from contextpull.errors import ContextPullError, InvalidInput
from contextpull.server.access_log import log_libraries
from contextpull.server.app import ContextPullServer
from contextpull.server.auth import Door
from contextpull.server.callers import Caller
from contextpull.server.corpus import Corpus
from contextpull.server.gate import CALLER, ENTRY, LOOPBACK, MCP_PATH, Gate, Names, Page
from contextpull.server.limits import Limits
from contextpull.server.listening import listen, serve
from contextpull.server.metrics import CONTENT_TYPE, Metrics
from contextpull.server.telling import tell
from contextpull.server.tokens import TokensFile, permission_warning
from contextpull.store import Store
from contextpull.tools import TOOLS

if TYPE_CHECKING:
    from contextpull.server.oauth import OAuthSettings

METADATA_PATH = "/.well-known/oauth-protected-resource"
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where to listen, under which names, and what requests may cost."""

    host: str = "127.0.0.1"
    port: int = 8765
    """0 for any that is free."""
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    resource: str = ""
    """The address that clients use, for an identity provider's tokens."""
    limits: Limits = field(default_factory=Limits)
    log_queries: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def names(self) -> Names:
        """The names that requests may be meant for.

        Raises InvalidInput when no other machine could name one.
        """
        named = {host.lower() for host in self.allow_hosts}
        if self.resource:
            named.add(urlsplit(self.resource).hostname or "")
        if self.host in {"0.0.0.0", "::"}:
            if not named:
                raise InvalidInput(
                    f"{self.host} is every address of this machine, and no name. Say with"
                    " --allow-host under which name clients call it."
                )
        else:
            named.add(self.host.lower())
        return Names(LOOPBACK | named, frozenset(self.allow_origins))


class Provider(NamedTuple):
    """Whose tokens are taken, and what they must call this server."""

    resource: str
    issuer: str


class HttpServer:
    """A server of the protocol behind its gate, as an ASGI application."""

    def __init__(
        self,
        server: ContextPullServer,
        corpus: Corpus,
        door: Door | None,
        settings: HttpSettings,
        provider: "Provider | None" = None,
    ) -> None:
        """`door` is None where everybody may come in."""
        limits = settings.limits
        self._corpus = corpus
        self._door = door
        self._server = server
        # Threads of their own: probes are answered while all others are at work.
        self._probes = anyio.CapacityLimiter(2)
        self._manager = StreamableHTTPSessionManager(
            server, max_request_body_size=limits.body_bytes, max_sessions=limits.sessions
        )
        self.app = Gate(
            self._manager.handle_request,
            door,
            settings.names,
            limits,
            log_queries=settings.log_queries,
        )
        server.middleware.insert(0, _Observer(self.app.metrics, limits))
        server.get_tool_input_schema = {tool.name: tool.schema for tool in TOOLS}.get
        is_public = bool(not settings.is_local or settings.allow_hosts or settings.resource)
        self.app.pages["/healthz"] = Page(self._health, any_host=True)
        self.app.pages["/metrics"] = Page(self._metrics, needs_token=is_public)
        if provider:
            page = _metadata_page(provider)
            self.app.pages[METADATA_PATH] = page
            self.app.pages[METADATA_PATH + urlsplit(provider.resource).path.rstrip("/")] = page

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block lasts."""
        async with self._manager.run():
            yield

    def drain(self, seconds: float) -> None:
        """End the streams: in the way of the protocol where it has one, after `seconds` anyhow."""
        self.app.open_no_more_streams()
        self._server.notices.close()
        asyncio.get_running_loop().call_later(seconds, self.app.end_streams)

    async def _health(self) -> tuple[int, str, str]:
        generation = await self._generation()
        status = 200 if generation is not None else 503
        body = {"ready": generation is not None, "generation": generation}
        return status, "application/json", json.dumps(body) + "\n"

    async def _metrics(self) -> tuple[int, str, str]:
        gauges: dict[str, float] = {
            "contextpull_requests_in_flight": self.app.requests.taken,
            "contextpull_streams_open": self.app.streams.taken,
        }
        generation = await self._generation()
        if generation is not None:
            gauges["contextpull_generation"] = generation
        if self._door:
            gauges["contextpull_tokens_file_current"] = self._door.is_current
        return 200, CONTENT_TYPE, self.app.metrics.text(gauges)

    async def _generation(self) -> int | None:
        """The generation that answers now; None when there is none, or nobody can tell soon."""
        store = self._corpus.store_if_ready
        if store is None:
            return None
        with anyio.move_on_after(_PROBE_SECONDS), suppress(ContextPullError):
            return await anyio.to_thread.run_sync(
                _readable_generation, store, limiter=self._probes, abandon_on_cancel=True
            )
        return None


def _readable_generation(store: Store) -> int:
    """The generation that answers; raises StoreError when its database cannot be read."""
    snapshot = store.snapshot()
    snapshot.database.sections([1])
    return snapshot.generation


def caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """Who sent a request over HTTP, as the gate found; a request that passed none has nobody."""
    caller = context.request.scope[CALLER] if context.request is not None else None
    if not isinstance(caller, Caller):
        raise MCPError(types.INTERNAL_ERROR, "Nobody is known to have sent this request.")
    return caller


class _Observer:
    """Middleware of the protocol: ends what takes too long, and notes how tool calls went."""

    def __init__(self, metrics: Metrics, limits: Limits) -> None:
        self._metrics = metrics
        self._seconds = limits.call_seconds

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.method == "subscriptions/listen":
            return await call_next(ctx)
        started = time.perf_counter()
        outcome = "failed"
        try:
            with anyio.fail_after(self._seconds):
                result = await call_next(ctx)
            outcome = "error" if isinstance(result, dict) and result.get("isError") else "ok"
        except TimeoutError:
            outcome = "timeout"
            raise MCPError(
                types.INTERNAL_ERROR,
                f"Given up after {self._seconds:g} seconds. Ask for less at once: fewer paths, a"
                " smaller limit, another mode.",
            ) from None
        else:
            return result
        finally:
            if ctx.method == "tools/call":
                self._note(ctx, outcome, time.perf_counter() - started)

    def _note(self, context: ServerRequestContext[Any, Any], outcome: str, seconds: float) -> None:
        name = str((context.params or {}).get("name"))
        self._metrics.call(name, outcome, seconds)
        if context.request is not None:
            context.request.scope[ENTRY].outcome = outcome


def _metadata_page(provider: Provider) -> Page:
    """Where to get tokens for this server (RFC 9728)."""
    document = {
        "resource": provider.resource,
        "authorization_servers": [provider.issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "ContextPull",
    }
    text = json.dumps(document) + "\n"

    async def make() -> tuple[int, str, str]:
        return 200, "application/json", text

    return Page(make)


def serve_http(
    corpus: Corpus,
    build: Callable[[], ContextPullServer],
    settings: HttpSettings,
    *,
    tokens: Path | None = None,
    oauth: "OAuthSettings | None" = None,
    without_auth: bool = False,
) -> None:
    """Answer until a signal comes; then finish what is under way.

    `build` makes the server of the protocol, with `caller_of` as its hook, when the corpus is
    open. Raises ContextPullError for what cannot be served so, KeyboardInterrupt after one.
    """
    _check_auth(settings, guarded=bool(tokens or oauth), without_auth=without_auth)
    settings.names  # noqa: B018  # raises before anything is read
    tokens_file = TokensFile(tokens) if tokens else None
    corpus.start()
    listener = listen(settings.host, settings.port)
    address = _address(settings.host, listener.getsockname()[1])
    resource = settings.resource or address
    door = _door(tokens_file, oauth, resource)
    provider = Provider(resource, oauth.issuer) if oauth else None
    _announce(settings, address, tokens, door)
    log_libraries()
    corpus.follow()
    try:
        serve(HttpServer(build(), corpus, door, settings, provider), settings.limits, listener)
    finally:
        corpus.close()


def _check_auth(settings: HttpSettings, *, guarded: bool, without_auth: bool) -> None:
    if guarded and without_auth:
        raise InvalidInput("--no-auth lets everybody in: leave out it, or the tokens.")
    if not (settings.is_local or guarded or without_auth):
        raise InvalidInput(
            f"{settings.host} can be reached from other machines, and nothing says who may read"
            " the documents. Give --tokens FILE (contextpull tokens add makes one), name an"
            " identity provider with --oauth-issuer, or say --no-auth to let everybody in."
        )


def _door(tokens: TokensFile | None, oauth: "OAuthSettings | None", resource: str) -> Door | None:
    if oauth is None:
        return Door(tokens) if tokens else None
    from contextpull.server.oauth import JwtVerifier

    parts = urlsplit(resource)
    metadata = f"{parts.scheme}://{parts.netloc}{METADATA_PATH}{parts.path.rstrip('/')}"
    return Door(tokens, JwtVerifier(oauth), metadata)


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{MCP_PATH}"


def _announce(settings: HttpSettings, address: str, tokens: Path | None, door: Door | None) -> None:
    lines = [f"serving at {address}"]
    if tokens and (warning := permission_warning(tokens)):
        lines.append(warning)
    if not settings.is_local:
        lines.append(
            "tokens and documents travel in clear text: put a proxy with TLS in front."
            if door
            else "everybody who can reach this address may read every document."
        )
    for line in lines:
        tell(line)
