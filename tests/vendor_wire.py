"""What the three protocols say: requests read, and answers written as each vendor writes them.

A step is one of those in `tests.standins`, told by its kind.
"""

import json
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple


class Used(NamedTuple):
    """Tokens of an answer, cached ones included in `input`; each vendor tells them its own way."""

    input: int = 100
    output: int = 20
    cached: int = 64
    written: int = 8


_numbers = count(1)
Read = tuple[str, list[tuple[str, str]]]


def _is(step: Any, kind: str) -> bool:
    return type(step).__name__ == kind


def read_anthropic(body: dict[str, Any]) -> Read:
    talk = []
    for message in body["messages"]:
        if message["role"] == "assistant":
            said = "".join(block.get("text", "") for block in message["content"])
            talk.append(("assistant", said))
            continue
        for block in _blocks(message["content"]):
            if block["type"] == "tool_result":
                talk.append(("tool", block["content"]))
            else:
                talk.append(("user", block["text"]))
    return "".join(block["text"] for block in _blocks(body.get("system", []))), talk


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Anthropic takes as text or as blocks, as blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def read_responses(body: dict[str, Any]) -> Read:
    talk: list[tuple[str, str]] = []
    previous = ""
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            talk.append(("tool", item["output"]))
        elif item.get("role") == "user":
            talk.append(("user", item["content"]))
        elif previous != "assistant":  # all items of one answer make one turn
            content = item.get("content", "")
            said = content if isinstance(content, str) else content[0]["text"]
            talk.append(("assistant", said))
        previous = "" if kind == "function_call_output" else item.get("role", "assistant")
    return body.get("instructions", ""), talk


def read_completions(body: dict[str, Any]) -> Read:
    system = "".join(each["content"] for each in body["messages"] if each["role"] == "system")
    spoken = [each for each in body["messages"] if each["role"] != "system"]
    return system, [(each["role"], each["content"] or "") for each in spoken]


def write_anthropic(step: Any) -> dict[str, Any]:
    text = "" if _is(step, "Refuses") else step.text
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    stop = {"Refuses": "refusal", "IsCut": "max_tokens", "Calls": "tool_use"}
    for name, given in getattr(step, "calls", ()):
        call = {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": given}
        content.append(call)
    used = getattr(step, "used", Used())
    return {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": "a-model",
        "content": content,
        "stop_reason": getattr(step, "stop", "") or stop.get(type(step).__name__, "end_turn"),
        "stop_details": {"type": "refusal", "explanation": step.why}
        if _is(step, "Refuses")
        else None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": used.input - used.cached - used.written,
            "output_tokens": used.output,
            "cache_read_input_tokens": used.cached,
            "cache_creation_input_tokens": used.written,
        },
    }


def write_responses(step: Any) -> dict[str, Any]:
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "id": f"rs_{next(_numbers)}", "summary": [], "encrypted_content": "x"}
    ]
    if _is(step, "Refuses"):
        parts = [{"type": "refusal", "refusal": step.why}]
    else:
        parts = [{"type": "output_text", "text": step.text, "annotations": []}]
    if _is(step, "Refuses") or step.text:
        message = {"type": "message", "role": "assistant", "status": "completed", "content": parts}
        output.append({"id": f"msg_{next(_numbers)}", **message})
    for name, given in getattr(step, "calls", ()):
        number = next(_numbers)
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
                "status": "completed",
            }
        )
    why = "max_output_tokens" if _is(step, "IsCut") else getattr(step, "stop", "")
    return {
        "id": f"resp_{next(_numbers)}",
        "object": "response",
        "created_at": 1,
        "model": "a-model",
        "status": "incomplete" if why else "completed",
        "incomplete_details": {"reason": why} if why else None,
        "output": output,
        "usage": _usage_of_responses(getattr(step, "used", Used())),
    }


def _usage_of_responses(used: Used) -> dict[str, Any]:
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.written},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": used.input + used.output,
    }


def write_completions(step: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": getattr(step, "text", "") or None}
    finish = {"IsCut": "length", "Calls": "tool_calls"}
    if _is(step, "Refuses"):
        message["refusal"] = step.why
    if _is(step, "Calls"):
        message["tool_calls"] = [
            {
                "id": f"call_{next(_numbers)}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for name, given in step.calls
        ]
    reason = getattr(step, "stop", "") or finish.get(type(step).__name__, "stop")
    used = getattr(step, "used", Used())
    return {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": "chat.completion",
        "created": 1,
        "model": "a-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": used.input,
            "completion_tokens": used.output,
            "total_tokens": used.input + used.output,
            "prompt_tokens_details": {
                "cached_tokens": used.cached,
                "cache_write_tokens": used.written,
            },
        },
    }


READ: dict[str, Callable[[dict[str, Any]], Read]] = {
    "anthropic": read_anthropic,
    "openai": read_responses,
    "openai-chat": read_completions,
}
WRITE: dict[str, Callable[[Any], dict[str, Any]]] = {
    "anthropic": write_anthropic,
    "openai": write_responses,
    "openai-chat": write_completions,
}
