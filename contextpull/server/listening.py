"""Listening for HTTP: the socket, its connections, and the end of a server in good order."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from types import FrameType
from typing import Any, Protocol

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from contextpull.errors import InvalidInput
from contextpull.server.limits import Limits

_KEEP_ALIVE_SECONDS = 15
_BACKLOG = 1_024
_STREAM_END_SECONDS = 0.5
"""From telling clients that a stream ends to cutting it."""
_LAST_SECONDS = 2.0
"""For what is left when the limit for draining is over."""


class Application(Protocol):
    """What is served: an ASGI application that can be told to end its streams."""

    @property
    def app(self) -> Callable[..., Any]:
        """The application."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Serve while the block lasts."""

    def drain(self, seconds: float) -> None:
        """End the streams, after `seconds` anyhow."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; raises InvalidInput when the place is taken or is none of ours."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        # With the protocol named, asyncio sends small packets at once; without, after 40 ms.
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"Cannot listen at {host}, port {port}: {reason}. Take another --host or --port."
        ) from error
    return listener


def serve(http: Application, limits: Limits, listener: socket.socket) -> None:
    """Answer until a signal comes, then finish what is under way.

    Raises KeyboardInterrupt after one.
    """
    config = uvicorn.Config(
        http.app,
        http=_connections(limits),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=limits.head_bytes,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.drain_seconds),
    )
    uvicorn_server = _Uvicorn(config, http)

    async def run() -> None:
        async with http.running():
            await uvicorn_server.serve(sockets=[listener])

    asyncio.run(run())
    if uvicorn_server.was_interrupted:
        raise KeyboardInterrupt


class _Uvicorn(uvicorn.Server):
    """Drains when told to end, and ends with success, where uvicorn would die of the signal."""

    def __init__(self, config: uvicorn.Config, http: Application) -> None:
        super().__init__(config)
        self._http = http
        self.was_interrupted = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in good order at the first signal, at once at the second."""
        before = {each: signal.signal(each, self._on_signal) for each in _SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(1)
        self.was_interrupted = number == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end the streams, wait for the rest up to the limit."""
        self._http.drain(_STREAM_END_SECONDS)
        limit = (self.config.timeout_graceful_shutdown or 0) + _LAST_SECONDS
        # Work in a thread that hears no request to end would keep the process for ever.
        end = threading.Timer(limit, os._exit, (130 if self.was_interrupted else 0,))
        end.daemon = True
        end.start()
        await super().shutdown(sockets)


_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _connections(limits: Limits) -> type[H11Protocol]:
    """Connections that end when their request's headers do not come in time.

    uvicorn waits for them for ever.
    """

    class Protocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.close()
            self._mind()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._mind()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _mind(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self._forget()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(limits.head_seconds, self.transport.close)

        def _forget(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Protocol
