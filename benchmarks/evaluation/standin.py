"""A model that answers at once: it searches for the question, reads what it was shown, answers.

    python benchmarks/evaluation/standin.py

Prints the port at which it speaks OpenAI's chat completions, and serves until its input ends.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_HIT = re.compile(r"^\d+\. (\S+) \|", re.MULTILINE)
_READ = 5
_USED = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}


def next_turn(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model says after these messages."""
    newest = messages[-1]
    if newest["role"] == "user":
        return _call("search", query=newest["content"])
    shown = _HIT.findall(newest["content"])
    if shown:
        return _call("read", ids=shown[:_READ], context=1)
    return {"role": "assistant", "content": "As the documentation says."}


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"call_{name}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for its own head

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = next_turn(body["messages"])
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        sent = json.dumps({"choices": [choice], "usage": _USED}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        """Say nothing."""


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
