"""Stand-ins for models on this machine: what they were asked, and what they answer by a script.

One server speaks Anthropic's Messages, OpenAI's Responses and OpenAI's chat completions, told
apart by the path, so that one script tests a caller with all three.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.vendor_wire import READ, WRITE, Used

VENDORS = ("anthropic", "openai", "openai-chat")
KEY = "dummy-key-of-a-test"
_PATHS = {
    "/v1/messages": "anthropic",
    "/v1/responses": "openai",
    "/v1/chat/completions": "openai-chat",
}


class Says(NamedTuple):
    """Answers with text."""

    text: str
    used: Used = Used()
    stop: str = ""
    """The vendor's word for why it stopped; its usual one by default."""


class Calls(NamedTuple):
    """Asks for tools, each a name with arguments: an object, or raw text that is none."""

    calls: Sequence[tuple[str, Any]]
    text: str = ""
    used: Used = Used()


class Refuses(NamedTuple):
    """Will not answer."""

    why: str = "Not that."


class IsCut(NamedTuple):
    """Breaks off at the most tokens it may write."""

    text: str = ""


class Fails(NamedTuple):
    """Answers with an error of HTTP."""

    status: int
    message: str = "Something is wrong."
    headers: dict[str, str] = {}  # noqa: RUF012 - it never changes
    code: str = ""


class Sends(NamedTuple):
    """Answers with whatever this is: bytes as they are, anything else as JSON."""

    body: Any
    status: int = 200


class Hangs(NamedTuple):
    """Does not answer before the stand-in is closed."""


class BreaksOff(NamedTuple):
    """Closes the connection in the middle of its answer."""


class Held(NamedTuple):
    """Answers by another step, when a call has returned."""

    step: "Step"
    wait: Callable[[], object]


Step = Says | Calls | Refuses | IsCut | Fails | Sends | Hangs | BreaksOff | Held


class Gate:
    """Holds whoever comes until it is opened, and tells that somebody came."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        self.opened.wait(timeout=60)


class Request(NamedTuple):
    """One request, with the parts that a script may want, whatever the vendor."""

    vendor: str
    path: str
    headers: dict[str, str]
    """By lower-case name."""
    body: dict[str, Any]
    system: str
    talk: list[tuple[str, str]]
    """Who said what, in order: `user`, `assistant`, `tool`. A call has no text here."""

    @property
    def question(self) -> str:
        """What the user said first."""
        return next(text for who, text in self.talk if who == "user")

    @property
    def last(self) -> str:
        """The newest text of a user or a tool."""
        return next(text for who, text in reversed(self.talk) if who != "assistant")

    @property
    def turn(self) -> int:
        """How often the model has answered in this talk, from 0."""
        return sum(who == "assistant" for who, _ in self.talk)


Script = Callable[[Request], Step] | Sequence[Step]
"""What to answer to a request, or the answers in order, the last of which repeats for ever."""


@dataclass
class StandIn:
    """A running stand-in."""

    address: str
    script: Script
    asked: list[Request] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    taken: int = 0
    under_way: int = 0
    most_under_way: int = 0
    """The most requests that waited for an answer at once."""

    def base_url(self, vendor: str) -> str:
        """What a client of the vendor takes for its base URL."""
        return self.address if vendor == "anthropic" else f"{self.address}/v1"

    @property
    def endpoint(self) -> str:
        """The spec of an endpoint of OpenAI's kind."""
        return f"{self.address}/v1#tiny"

    def next_step(self, request: Request) -> Step:
        with self.lock:
            self.asked.append(request)
            self.taken += 1
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            if callable(self.script):
                return self.script(request)
            return self.script[min(self.taken, len(self.script)) - 1]

    def is_answering(self) -> None:
        """Called before an answer, since whoever has it may ask again at once."""
        with self.lock:
            self.under_way -= 1


@contextmanager
def standing_in(script: Script) -> Iterator[StandIn]:
    """A stand-in that answers by the script until the block ends."""

    class Handler(_Handler):
        standin: StandIn

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        standin = StandIn(f"http://127.0.0.1:{server.server_port}", script)
        Handler.standin = standin
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield standin
        finally:
            standin.closing.set()
            server.shutdown()
            thread.join(timeout=10)


def nobodys_url() -> str:
    """A URL on this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


class Waits:
    """In place of sleeping: notes how long it should have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for its own head
    standin: StandIn

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vendor = _PATHS.get(self.path)
        if vendor is None:
            self._send(404, {"error": {"message": f"no {self.path} here"}}, {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(vendor, self.path, headers, body, *READ[vendor](body))
        step = self.standin.next_step(request)
        if isinstance(step, Held):
            step.wait()
            step = step.step
        self.standin.is_answering()
        with suppress(ConnectionError):  # who asked may have left
            self._answer(step, vendor)

    def _answer(self, step: Step, vendor: str) -> None:
        if isinstance(step, Hangs):
            self.standin.closing.wait(timeout=60)
            self.close_connection = True
        elif isinstance(step, BreaksOff):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"type": "mess')
            self.close_connection = True
        elif isinstance(step, Sends):
            self._send(step.status, step.body, {})
        elif isinstance(step, Fails):
            error = {"type": step.code or "some_error", "message": step.message}
            if vendor != "anthropic":
                error["code"] = step.code
            self._send(step.status, {"type": "error", "error": error}, step.headers)
        else:
            self._send(200, WRITE[vendor](step), {})

    def _send(self, status: int, content: Any, headers: dict[str, str]) -> None:
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        """Say nothing."""
