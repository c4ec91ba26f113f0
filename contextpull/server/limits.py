"""What one request, one caller and all of them together may cost the server."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

import anyio

_MOST_CALLERS = 10_000
"""Callers whose pace is remembered; whoever was silent longest starts afresh."""
_ROUNDING = 1e-6
"""Seconds that sums of fractions may be off: whoever waits as told must not be refused again."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Each is refused with a status and a sentence when it is passed."""

    head_bytes: int = 16 * 1024
    """Names and values of a request's headers together; 431."""
    head_fields: int = 64
    """Headers of a request; 431."""
    head_seconds: float = 10
    """From the first byte of a request, or from connecting, to the end of its headers; closed."""
    body_bytes: int = 1024 * 1024
    """413."""
    body_seconds: float = 10
    """From the end of the headers to the end of the body; 408."""
    requests: int = 256
    """At work at once; 503."""
    streams: int = 1_024
    """Open at once, for notices; 503."""
    connections: int = 2_048
    """Open at once; more are closed."""
    sessions: int = 2_048
    """Of the protocol that has sessions, open at once; 503."""
    per_minute: int = 1_200
    """Requests of one token, of which a tenth may come at once; 429. 0 for any number."""
    call_seconds: float = 60
    """Until a call is given up, with an error; an answer may take as long again to be taken."""
    recheck_seconds: float = 15
    """How often an open stream asks whether its token still holds."""
    drain_seconds: float = 20
    """What is under way may take, once the server was told to end."""


class Refused(Exception):
    """A request that is answered with a status and a sentence instead of being served."""

    def __init__(
        self, status: int, reason: str, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.reason = reason
        """One word for logs and metrics."""
        self.headers = dict(headers or {})


def check_head(headers: list[tuple[bytes, bytes]], limits: Limits) -> None:
    """Raise Refused when a request has too many headers, or too long ones."""
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > limits.head_fields or size > limits.head_bytes:
        raise Refused(
            431,
            "headers",
            f"The request has more than {limits.head_fields} headers, or {limits.head_bytes:,}"
            " bytes of them. Send fewer.",
        )


async def read_body(
    headers: Mapping[bytes, bytes], receive: Callable[[], Any], limits: Limits
) -> bytes:
    """The whole body of a request.

    Raises Refused when it is too long or comes too slowly, and when the client went away.
    """
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limits.body_bytes:
        raise _too_long(limits)
    body = bytearray()
    with anyio.move_on_after(limits.body_seconds):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(499, "gone", "The client went away.")
            body += message.get("body", b"")
            if len(body) > limits.body_bytes:
                raise _too_long(limits)
            if not message.get("more_body", False):
                return bytes(body)
    raise Refused(
        408,
        "slow_body",
        f"The body did not come within {limits.body_seconds:g} seconds. Try again.",
    )


def _too_long(limits: Limits) -> Refused:
    return Refused(
        413, "body", f"The body is longer than {limits.body_bytes:,} bytes. Send a shorter one."
    )


class Places:
    """A number of places, each held while something is under way."""

    def __init__(self, most: int, noun: str) -> None:
        self._most = most
        self._noun = noun
        self.taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a place; raises Refused when all are taken."""
        if self.taken >= self._most:
            raise Refused(
                503,
                "busy",
                f"{self._most:,} {self._noun} are under way. Try again in a second.",
                {"Retry-After": "1"},
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


class Pace:
    """A token bucket for each caller (Turner 1986): refilled evenly, a tenth of a minute deep."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._depth = max(1.0, per_minute / 10)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request of a caller; raises Refused when it comes too early."""
        if not self._per_second:
            return
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._depth, now))
        left = min(self._depth, left + (now - then) * self._per_second)
        self._buckets[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = ceil((1 - left) / self._per_second + _ROUNDING)
            raise Refused(
                429,
                "pace",
                f"This token may send {self._per_second * 60:g} requests a minute."
                f" Try again in {wait} s.",
                {"Retry-After": str(wait)},
            )
