"""A stand-in for the Anthropic Messages API on 127.0.0.1 that says what a script says.

Which step of the script comes next is told by how many answers the conversation already holds, so
that a request that is made again gets the same answer.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Step:
    """One answer of the model, or a refusal to give one."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Names of tools, each with its arguments."""
    stop_reason: str = ""
    status: int = 200
    error: str = "api_error"
    waits: bool = False
    """Whether the answer only comes when the stand-in is closed."""


@dataclass
class ScriptedApi:
    """A running stand-in: where it is, and what it was asked."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests that continued the conversation, in order."""
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def scripted_api(*steps: Step) -> Iterator[ScriptedApi]:
    """Serve the steps until the block ends; the last one is repeated."""
    closed = threading.Event()

    class Handler(_Handler):
        script = steps
        is_closed = closed
        api: ScriptedApi

    server = _Server(("127.0.0.1", 0), Handler)
    Handler.api = ScriptedApi(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield Handler.api
    finally:
        closed.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_arguments: object) -> None:
        """Whoever asked may have been stopped before the answer came."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Sequence[Step]
    is_closed: threading.Event
    api: ScriptedApi

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send_json(200, {})

    def do_GET(self) -> None:
        self._send_json(404, _problem("not_found_error"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "count_tokens" in self.path:
            self._send_json(200, {"input_tokens": len(body) // 4})
            return
        request = json.loads(body)
        if not request.get("tools"):  # a title for the conversation, or the like
            self._answer(request, Step("Aside"), 0)
            return
        self.api.requests.append(request)
        self.api.headers.append(dict(self.headers))
        given = sum(message["role"] == "assistant" for message in request["messages"])
        step = self.script[min(given, len(self.script) - 1)]
        if step.waits:
            self.is_closed.wait()
        if step.status != 200:
            self._send_json(step.status, _problem(step.error))
        else:
            self._answer(request, step, given)

    def _answer(self, request: Mapping[str, Any], step: Step, given: int) -> None:
        content: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
        content += [
            {"type": "tool_use", "id": f"toolu_{given}_{at}", "name": name, "input": arguments}
            for at, (name, arguments) in enumerate(step.calls)
        ]
        message = {
            "id": f"msg_{given}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": content,
            "stop_reason": step.stop_reason or ("tool_use" if step.calls else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 0 if given else 200,
                "cache_read_input_tokens": 200 if given else 0,
                "output_tokens": 5,
            },
        }
        if request.get("stream"):
            self._send_events(message)
        else:
            self._send_json(200, message)

    def _send_json(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_events(self, message: dict[str, Any]) -> None:
        body = b"".join(
            f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode()
            for each in _events(message)
        )
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**message, "content": [], "stop_reason": None}
    begun["usage"] = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    for at, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _problem(kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": f"scripted: {kind}"}}
