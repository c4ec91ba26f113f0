"""Chat through OpenAI's chat completions, which most servers of models speak too."""

import json
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


class CompletionsChat(VendorChat):
    """A model of OpenAI's, or behind any endpoint that speaks this protocol."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, "openai", openai_client)

    def reply(
        self,
        system: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """The model's next turn, or ChatFailed; see Chat."""
        options, spec = self._access.options, self._access.spec
        # The newer name is the only one that the vendor's thinking models take, the older one the
        # only one that some servers know.
        limit = "max_tokens" if spec.vendor == "endpoint" else "max_completion_tokens"
        told = [{"role": "system", "content": system}] if system else []
        request: dict[str, Any] = {
            "model": spec.model,
            "messages": [*told, *(item for each in messages for item in _messages(each))],
            limit: options.max_tokens,
        }
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        if schema is not None:
            named = {"name": "reply", "schema": schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": named}
        for name in ("temperature", "seed"):
            if getattr(options, name) is not None:
                request[name] = getattr(options, name)
        create = self._client.chat.completions.with_raw_response.create
        # The library walks through a talk to rename what needs it, which is nothing here, for a
        # third of what a turn costs; an extra body it takes as it is.
        given = {"model": spec.model, "messages": [], "extra_body": request}
        return self._reply(self._send(create, given), turn=len(messages))

    def _reply(self, sent: Sent, turn: int) -> Reply:
        usage = openai_usage(part(sent.payload, "usage"), "prompt", "completion")
        choice = next(records(sent.payload.get("choices")), {})
        message = choice.get("message")
        if not isinstance(message, dict):
            raise self._no_reply(sent, usage)
        stop_reason = text_of(choice, "finish_reason")
        filtered = stop_reason if stop_reason == "content_filter" else ""
        asked = records(message.get("tool_calls"))
        reply = Reply(
            text=_text(message.get("content")),
            calls=tuple(_call(each, f"call_{turn}_{at}") for at, each in enumerate(asked)),
            usage=usage,
            stop_reason=stop_reason,
            refusal=text_of(message, "refusal") or filtered,
            is_cut=stop_reason == "length",
        )
        return self._complete(reply, sent)


def openai_client(**options: Any) -> Any:
    """A client of the vendor's library that has nothing of the environment."""
    import openai

    client = openai.OpenAI(**options)
    client.organization = client.project = client.admin_api_key = client.webhook_secret = None
    return client


def openai_usage(usage: dict[str, Any], sent: str, written: str) -> Usage:
    """The vendor's counts, which its two protocols name by other words."""
    details = part(usage, f"{sent}_tokens_details")
    return Usage(
        input=count_of(usage, f"{sent}_tokens"),
        output=count_of(usage, f"{written}_tokens"),
        cached=count_of(details, "cached_tokens"),
        cache_written=count_of(details, "cache_write_tokens"),
    )


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(message: Message) -> Iterator[dict[str, Any]]:
    if isinstance(message, UserMessage):
        yield {"role": "user", "content": message.text}
    elif isinstance(message, Reply):
        # Made anew: what a server adds to its answers, it may refuse in a request.
        calls = [_called(call) for call in message.calls]
        content = message.text or (None if calls else "")
        yield {
            "role": "assistant",
            "content": content,
            **({"tool_calls": calls} if calls else {}),
        }
    else:
        for answer in message.answers:
            yield {"role": "tool", "tool_call_id": answer.call_id, "content": answer.text}


def _called(call: Call) -> dict[str, Any]:
    """A call as it is sent back; what is no JSON would break servers that read it again."""
    given = call.arguments if isinstance(call.arguments, dict) else {}
    function = {"name": call.name, "arguments": json.dumps(given, ensure_ascii=False)}
    return {"id": call.id, "type": "function", "function": function}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(text_of(each, "text") for each in records(content))


def _call(record: dict[str, Any], default_id: str) -> Call:
    function = part(record, "function")
    arguments = arguments_of(function.get("arguments") or "")
    return Call(text_of(record, "id") or default_id, text_of(function, "name"), arguments)
