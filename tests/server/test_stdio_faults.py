"""What a broken or hostile client does to a server over stdio: nothing."""

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write_corpus
from tests.server.conftest import PATIENCE

CLIENT = {"name": "test", "version": "1"}
GARBAGE = {
    "binary": bytes(range(256)) * 40,
    "half a message": b'{"jsonrpc": "2.0", "id": 7, "method": "tools/ca',
    "no object": b"17",
    "a list": b"[]",
    "an unknown shape": b'{"hello": "world"}',
    "half a letter": b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": {"a": "\\ud800"}}',
    "a huge line": b'{"jsonrpc": "2.0", "id": 9, "method": "' + b"x" * 20_000_000,
    "deep": b'{"jsonrpc": "2.0", "id": 10, "method": ' + b"[" * 100_000,
    "an answer to nothing": b'{"jsonrpc": "2.0", "id": 11, "result": {}}',
    "an end to nothing": b'{"jsonrpc": "2.0", "method": "notifications/cancelled",'
    b' "params": {"requestId": 12}}',
}


def request(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call(number: int, name: str, **arguments: Any) -> bytes:
    return request(number, "tools/call", name=name, arguments=arguments)


HANDSHAKE = [
    request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=CLIENT),
    b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
]


class Server:
    """A server process, byte by byte."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def send(self, *lines: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request, whatever comes before it."""
        assert self.process.stdout
        for line in self.process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError(f"the server ended without an answer to {number}")

    def leave(self) -> None:
        """Close both pipes, as a client does that is killed."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()


@contextmanager
def serving(root: Path, cwd: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "contextpull", "serve", str(root)]
    with (
        (cwd / "errors").open("wb") as errors,
        subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        clock = threading.Timer(PATIENCE, process.kill)
        clock.start()
        try:
            yield Server(process)
        finally:
            clock.cancel()
            process.kill()


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after the handshake"])
def test_the_server_lives_on_after_garbage(
    corpus: Path, tmp_path: Path, name: str, is_first: bool
) -> None:
    with serving(corpus, tmp_path) as server:
        if is_first:
            server.send(GARBAGE[name], *HANDSHAKE)
        else:
            server.send(*HANDSHAKE, GARBAGE[name])
        server.send(request(2, "ping"), call(3, "read", ids="notes.txt#top"))
        assert server.answer(3)["result"]["content"][0]["text"]
        assert server.process.stdin
        server.process.stdin.close()
        assert server.process.wait(PATIENCE) == 0
    assert "Traceback" not in (tmp_path / "errors").read_text()


@pytest.mark.parametrize(
    "line",
    [
        request(5, "no/such/method"),
        request(5, "tools/call"),
        request(5, "tools/call", name="read", arguments="x"),
        request(5, "resources/read", uri=7),
        request(5, "completion/complete", ref={"type": "ref/x"}, argument={}),
        call(5, "read", ids="a" * 1_000_000),
        call(5, "search", query="\x00\x1b[2J" * 1000),
    ],
)
def test_a_request_that_makes_no_sense_is_answered(
    corpus: Path, tmp_path: Path, line: bytes
) -> None:
    with serving(corpus, tmp_path) as server:
        server.send(*HANDSHAKE, line, request(6, "ping"))
        answer = server.answer(5)
        assert "error" in answer or "content" in answer["result"]
        assert len(json.dumps(answer)) < 20_000


def test_what_ends_in_the_middle_of_a_message_ends_in_peace(corpus: Path, tmp_path: Path) -> None:
    with serving(corpus, tmp_path) as server:
        server.send(*HANDSHAKE)
        server.answer(1)
        assert server.process.stdin
        server.process.stdin.write(GARBAGE["half a message"])
        server.process.stdin.close()
        assert server.process.wait(PATIENCE) == 0
    assert "Traceback" not in (tmp_path / "errors").read_text()


def children_of(process: int) -> set[int]:
    return {
        int(child)
        for task in Path(f"/proc/{process}/task").iterdir()
        for child in (task / "children").read_text().split()
    }


def has_ended(process: int) -> bool:
    """Whether a process that is not ours ends before long."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], PATIENCE)[0])
    finally:
        os.close(handle)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")
def test_a_server_whose_client_is_killed_in_a_call_leaves_nothing_behind(tmp_path: Path) -> None:
    paragraph = "Words of which there are many, for a while of reading. " * 40
    text = "".join(f"# Heading {number}\n\n{paragraph}\n" for number in range(400))
    write_corpus(tmp_path / "docs", {f"{number}.md": text for number in range(40)})
    with serving(tmp_path / "docs", tmp_path) as server:
        server.send(*HANDSHAKE, call(2, "search", query="words"), call(3, "grep", pattern="many"))
        while not children_of(server.process.pid):
            os.sched_yield()
        children = children_of(server.process.pid)
        server.leave()
        assert server.process.wait(PATIENCE) == 0
        assert all(map(has_ended, children))
    assert "Traceback" not in (tmp_path / "errors").read_text()
