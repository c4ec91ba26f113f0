"""Chat through Anthropic's Messages API, with its prompt cache."""

from collections.abc import Iterator, Sequence
from typing import Any

from contextpull.models.chat import Access, Call, Message, Reply, ToolDefinition, Usage, UserMessage
from contextpull.models.chat_calls import (
    Sent,
    VendorChat,
    arguments_of,
    count_of,
    part,
    records,
    text_of,
)

_CACHED = {"cache_control": {"type": "ephemeral"}}
"""Put where a later call will begin with the same: behind the tools, the system prompt, and the
talk so far."""


class AnthropicChat(VendorChat):
    """A model of Anthropic's, or of whoever speaks its protocol."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, "anthropic", _client)

    def reply(
        self,
        system: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """The model's next turn, or ChatFailed; see Chat."""
        options = self._access.options
        request: dict[str, Any] = {
            "model": self._access.spec.model,
            "max_tokens": options.max_tokens,
            "messages": _messages(messages),
        }
        if system:
            request["system"] = [{"type": "text", "text": system, **_CACHED}]
        if tools:
            request["tools"] = _tools(tools)
        if schema is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if options.temperature is not None:  # the library has no argument for it
            request["extra_body"] = {"temperature": options.temperature}
        return self._reply(self._send(self._client.messages.with_raw_response.create, request))

    def _reply(self, sent: Sent) -> Reply:
        payload = sent.payload
        usage = _usage(part(payload, "usage"))
        if not isinstance(payload.get("content"), list):
            raise self._no_reply(sent, usage)
        blocks = [_sound(each) for each in records(payload["content"])]
        stop_reason = text_of(payload, "stop_reason")
        details = part(payload, "stop_details")
        why = text_of(details, "explanation") or text_of(details, "category") or "no reason given"
        reply = Reply(
            text="".join(text_of(each, "text") for each in blocks if each.get("type") == "text"),
            calls=tuple(_calls(payload["content"])),
            usage=usage,
            stop_reason=stop_reason,
            refusal=why if stop_reason == "refusal" else "",
            is_cut=stop_reason == "max_tokens",
            raw=blocks,
        )
        return self._complete(reply, sent)


def _tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in tools
    ]
    return [*told[:-1], {**told[-1], **_CACHED}]


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    told = [_message(each) for each in messages]
    if told and told[-1]["role"] == "user":
        content = told[-1]["content"]
        content[-1] = {**content[-1], **_CACHED}
    return told


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, UserMessage):
        return {"role": "user", "content": [{"type": "text", "text": message.text}]}
    if isinstance(message, Reply):
        return {"role": "assistant", "content": message.raw or _blocks(message)}
    results = [
        {
            "type": "tool_result",
            "tool_use_id": answer.call_id,
            "content": answer.text,
            **({"is_error": True} if answer.is_error else {}),
        }
        for answer in message.answers
    ]
    return {"role": "user", "content": results}


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    """A reply that came from elsewhere."""
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    calls = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": call.arguments if isinstance(call.arguments, dict) else {},
        }
        for call in reply.calls
    ]
    return [*text, *calls]


def _calls(blocks: object) -> Iterator[Call]:
    for block in records(blocks):
        if block.get("type") == "tool_use":
            arguments = arguments_of(block.get("input"))
            yield Call(text_of(block, "id"), text_of(block, "name"), arguments)


def _sound(block: dict[str, Any]) -> dict[str, Any]:
    """A block as it can be sent back: a call's input must be an object."""
    if block.get("type") != "tool_use" or isinstance(block.get("input"), dict):
        return block
    return {**block, "input": {}}


def _client(**options: Any) -> Any:
    import anthropic

    # Without this the library may send what it is asked to the user's own tracing.
    return anthropic.Anthropic(open_telemetry=False, **options)


def _usage(usage: dict[str, Any]) -> Usage:
    """The vendor counts what it read from the cache, and put there, apart from the input."""
    cached = count_of(usage, "cache_read_input_tokens")
    written = count_of(usage, "cache_creation_input_tokens")
    return Usage(
        input=count_of(usage, "input_tokens") + cached + written,
        output=count_of(usage, "output_tokens"),
        cached=cached,
        cache_written=written,
    )
