"""Chat through OpenAI's Responses API: the whole talk is sent each time, nothing stored there."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from contextpull.models.chat import (
    Access,
    Call,
    ChatFailed,
    Message,
    Reply,
    ToolDefinition,
    UserMessage,
)
from contextpull.models.chat_calls import (
    Sent,
    VendorChat,
    arguments_of,
    part,
    records,
    text_of,
)
from contextpull.models.chat_completions import openai_client, openai_usage

_REASONING = "reasoning.encrypted_content"
"""What a model thought, in a form that it can be sent back in; not every model has it."""


class ResponsesChat(VendorChat):
    """A model of OpenAI's."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, "openai", openai_client)
        self._keeps_reasoning = True

    def reply(
        self,
        system: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """The model's next turn, or ChatFailed; see Chat."""
        request = self._request(system, messages, tools, schema)
        if not self._keeps_reasoning:
            return self._reply(self._post(request))
        try:
            sent = self._post({**request, "include": [_REASONING]})
        except ChatFailed as error:
            if "encrypted content" not in str(error).lower():
                raise
            self._keeps_reasoning = False
            sent = self._post(request)
        return self._reply(sent)

    def _post(self, request: dict[str, Any]) -> Sent:
        # Given as arguments, every item would be held against dozens of types: 5 ms a request.
        create = self._client.responses.with_raw_response.create
        return self._send(create, {"extra_body": request})

    def _request(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        schema: dict[str, Any] | None,
    ) -> dict[str, Any]:
        options = self._access.options
        request: dict[str, Any] = {
            "model": self._access.spec.model,
            "input": [item for message in messages for item in _items(message)],
            "max_output_tokens": options.max_tokens,
            "store": False,
        }
        if system:
            request["instructions"] = system
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        if schema is not None:
            named = {"type": "json_schema", "name": "reply", "schema": schema, "strict": True}
            request["text"] = {"format": named}
        if options.temperature is not None:
            request["temperature"] = options.temperature
        return request

    def _reply(self, sent: Sent) -> Reply:
        payload = sent.payload
        usage = openai_usage(part(payload, "usage"), "input", "output")
        if not isinstance(payload.get("output"), list) or payload.get("status") == "failed":
            raise self._no_reply(sent, usage)
        items = list(records(payload["output"]))
        parts = [list(records(each.get("content"))) for each in items]
        refused = "".join(text_of(each, "refusal") for content in parts for each in content)
        incomplete = text_of(part(payload, "incomplete_details"), "reason")
        texts = ("".join(_texts(content)) for content in parts)
        reply = Reply(
            text="\n\n".join(text for text in texts if text),
            calls=tuple(_call(each) for each in items if each.get("type") == "function_call"),
            usage=usage,
            stop_reason=incomplete or text_of(payload, "status"),
            refusal=refused or (incomplete if incomplete == "content_filter" else ""),
            is_cut=incomplete == "max_output_tokens",
            raw=items,
        )
        return self._complete(reply, sent)


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    # Strict schemas would have no arguments that may be left out.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if isinstance(message, UserMessage):
        yield {"role": "user", "content": message.text}
    elif isinstance(message, Reply):
        yield from (each for each in message.raw or _said(message) if _can_be_sent(each))
    else:
        for answer in message.answers:
            yield {
                "type": "function_call_output",
                "call_id": answer.call_id,
                "output": answer.text,
            }


def _can_be_sent(item: dict[str, Any]) -> bool:
    """Not so the mere name of a thought: the vendor has stored none under it."""
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _said(reply: Reply) -> Iterator[dict[str, Any]]:
    """A reply that came from elsewhere."""
    if reply.text:
        yield {"role": "assistant", "content": reply.text}
    for call in reply.calls:
        given = call.arguments
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": given if isinstance(given, str) else json.dumps(given),
        }


def _texts(content: list[dict[str, Any]]) -> Iterator[str]:
    return (text_of(each, "text") for each in content if each.get("type") == "output_text")


def _call(item: dict[str, Any]) -> Call:
    arguments = arguments_of(item.get("arguments"))
    return Call(text_of(item, "call_id"), text_of(item, "name"), arguments)
