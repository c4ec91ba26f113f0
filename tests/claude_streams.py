"""Events as Claude Code prints them with `--output-format stream-json`, one JSON line each."""

import json
from typing import Any

READ = "[a.md#b] A > B (lines 3-5)\n## B\n\nThe limit is 7.\n[previous: a.md#a]"
"""A result of read."""
HITS = "1. a.md#b | A > B\n   The limit is 7.\n2. a.md#a | A"
"""A result of search."""


def line(**fields: Any) -> str:
    return json.dumps(fields)


def init(*servers: tuple[str, str], **fields: Any) -> str:
    """The first event; contextpull is connected unless other servers are given."""
    listed = servers or (("contextpull", "connected"),)
    entries = [{"name": name, "status": status} for name, status in listed]
    return line(
        type="system", subtype="init", mcp_servers=entries, model="m", session_id="s", **fields
    )


def said(message_id: str, *blocks: dict[str, Any], **fields: Any) -> str:
    """Blocks of one answer; its usage is that of the answer's beginning."""
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens": 1,
    }
    message = {"id": message_id, "model": "m", "role": "assistant", "usage": usage}
    return line(type="assistant", message={**message, "content": list(blocks)}, **fields)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(call_id: str, name: str, server: str = "contextpull", **arguments: Any) -> dict[str, Any]:
    name = f"mcp__{server}__{name}" if server else name
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def told(call_id: str, content: Any, **fields: Any) -> str:
    """The result of a call, as the model was told it."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    message = {"role": "user", "content": [block]}
    return line(type="user", message=message, tool_use_result="what the model never saw")


def ended(result: str | None = "It is 7 [a.md#b].", **fields: Any) -> str:
    usage = {
        "m": {
            "inputTokens": 30,
            "cacheCreationInputTokens": 60,
            "cacheReadInputTokens": 90,
            "outputTokens": 25,
            "costUSD": 0.5,
        }
    }
    event: dict[str, Any] = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "result": result,
        "duration_ms": 3_000,
        "total_cost_usd": 0.5,
        "modelUsage": usage,
    }
    return line(**{**event, **fields})


def answered() -> list[str]:
    """A run that searches, reads and answers."""
    return [
        init(claude_code_version="2.0"),
        said("m1", text("I look.")),
        said("m1", call("c1", "search", query="limit")),
        told("c1", [text(HITS)]),
        said("m2", call("c2", "read", ids=["a.md#b"])),
        told("c2", READ),
        said("m3", text("It is 7 [a.md#b].")),
        ended(),
    ]
