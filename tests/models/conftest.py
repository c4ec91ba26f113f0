"""Tiny models in folders, and an endpoint on this machine that embeds as one of them does."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.tiny_models import write_embedder, write_reranker

Answer = tuple[int, Any]
"""A status, and what is sent with it as JSON (or as it is, when it is bytes)."""


@pytest.fixture
def embedder_folder(tmp_path: Path) -> Path:
    return write_embedder(tmp_path / "embedder")


@pytest.fixture
def reranker_folder(tmp_path: Path) -> Path:
    return write_reranker(tmp_path / "reranker")


@dataclass
class Endpoint:
    """A server of embeddings: what it was asked, and how it answers."""

    url: str
    answer: Callable[[dict[str, Any]], Answer]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Set when the test is over: an answer may wait for it."""


def counted(body: dict[str, Any]) -> Answer:
    """A vector of two numbers for each text: its letters "a" and its length, out of order."""
    data = [
        {"object": "embedding", "index": place, "embedding": [text.count("a"), len(text)]}
        for place, text in enumerate(body["input"])
    ]
    return 200, {"object": "list", "model": body["model"], "data": data[::-1]}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.asked.append({"path": self.path, **body})
            found.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, content = found.answer(body)
            sent = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.send_header("x-should-retry", "false")  # else the client waits between attempts
            with suppress(ConnectionError):  # who asked may have left
                self.end_headers()
                self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Endpoint(f"http://127.0.0.1:{server.server_port}/v1", counted)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield found
        found.released.set()
        server.shutdown()
        thread.join(timeout=10)
