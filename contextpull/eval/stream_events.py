"""The events that Claude Code prints with `--output-format stream-json`, as far as they matter.

What is unknown is passed over, and a field that is not as expected counts as absent: the program
changes every week, and a recording may be cut off or mixed with the output of others.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Tolerant(BaseModel):
    """A part of an event; unknown fields are left out, and wrong ones become their default."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @field_validator("*", mode="wrap")
    @classmethod
    def _default_where_wrong(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        try:
            return handler(value)
        except ValidationError:
            field = cls.model_fields[info.field_name or ""]
            return field.get_default(call_default_factory=True, validated_data={})


def _objects(value: Any) -> Any:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _blocks(value: Any) -> Any:
    return [{"type": "text", "text": value}] if isinstance(value, str) else _objects(value)


class Server(Tolerant):
    """An MCP server, and how it stood when the run began."""

    name: str = ""
    status: str = ""


class Usage(Tolerant):
    """Tokens of one answer, or of several; `input_tokens` leaves out what a cache is part of."""

    input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    output_tokens: Count = 0


class ModelUsage(Tolerant):
    """Tokens and dollars that one model took, for whatever purpose."""

    input_tokens: Count = Field(default=0, alias="inputTokens")
    cache_creation_input_tokens: Count = Field(default=0, alias="cacheCreationInputTokens")
    cache_read_input_tokens: Count = Field(default=0, alias="cacheReadInputTokens")
    output_tokens: Count = Field(default=0, alias="outputTokens")
    dollars: Amount = Field(default=0.0, alias="costUSD")


class Block(Tolerant):
    """A piece of a message: text, a call of a tool, the result of one, or something else."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool = False


Blocks = Annotated[tuple[Block, ...], BeforeValidator(_blocks)]


class Message(Tolerant):
    """What the model said, or what it was told."""

    id: str = ""
    model: str = ""
    content: Blocks = ()
    stop_reason: str = ""
    usage: Usage = Usage()


class Event(Tolerant):
    """Any line that has a type."""

    type: str = ""
    uuid: str = ""


class Init(Event):
    """The beginning of a run, or of another turn of it."""

    mcp_servers: Annotated[tuple[Server, ...], BeforeValidator(_objects)] = ()
    model: str = ""
    session_id: str = ""
    claude_code_version: str = ""


class Said(Event):
    """One block of what the model said; blocks of the same answer share the message's id."""

    message: Message = Message()
    parent_tool_use_id: str = ""
    """Set for what a sub-agent says."""
    error: str = ""
    is_api_error_message: bool = False

    @property
    def is_synthetic(self) -> bool:
        """Whether Claude Code wrote it in place of the model."""
        return self.message.model == "<synthetic>" or self.is_api_error_message


class Told(Event):
    """What the model was told: results of tools, as it saw them."""

    message: Message = Message()


class Retry(Event):
    """A request that failed and is made again."""

    error_status: Count = 0
    error: str = ""
    retry_delay_ms: Amount = 0.0


class Delta(Tolerant):
    """What a part of an answer changes at its end."""

    stop_reason: str = ""


class Part(Tolerant):
    """An event of the API itself."""

    type: str = ""
    message: Message = Message()
    delta: Delta = Delta()
    usage: Usage | None = None


class Partial(Event):
    """A part of an answer, printed with `--include-partial-messages`."""

    event: Part = Part()
    parent_tool_use_id: str = ""


class Ended(Event):
    """The end of a run, or of one turn of it."""

    subtype: str = ""
    is_error: bool = False
    result: str = ""
    structured_output: Any = None
    stop_reason: str = ""
    terminal_reason: str = ""
    api_error: str = ""
    api_error_status: Count = 0
    errors: Annotated[tuple[str, ...], BeforeValidator(lambda value: _texts(value))] = ()
    duration_ms: Amount = 0.0
    total_cost_usd: Amount | None = None
    usage: Usage | None = None
    model_usage: dict[str, ModelUsage] | None = Field(default=None, alias="modelUsage")
    model_usage_since: dict[str, ModelUsage] | None = Field(
        default=None, alias="model_usage_since_last_result"
    )


def _texts(value: Any) -> Any:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


_EVENTS: dict[str, type[Event]] = {
    "assistant": Said,
    "user": Told,
    "result": Ended,
    "stream_event": Partial,
    "system": Event,
    "system/init": Init,
    "system/api_retry": Retry,
}


class Events(NamedTuple):
    """What the lines of a recording hold, in order."""

    known: tuple[Event, ...]
    ignored: int
    """Lines that are no events, or only the beginning of one."""


def read_events(lines: Iterable[str]) -> Events:
    """The events among the lines; also those of a single JSON list, on one line or on many."""
    kept = [line for line in (line.strip("\ufeff\0 \t\r\n") for line in lines) if line]
    events: list[Event] = []
    ignored = 0
    for line in kept:
        found = list(_objects_on(line))
        events += (event for each in found if (event := _event(each)))
        ignored += not found
    if not events and len(kept) > 1:
        whole = list(_objects_on("\n".join(kept)))
        events = [event for each in whole if (event := _event(each))]
        ignored = 0 if events else ignored
    return Events(tuple(events), ignored)


def _objects_on(line: str) -> Iterator[dict[str, Any]]:
    """The JSON objects on a line, behind whatever another program may have printed there."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while (at := _begin(line, at)) >= 0:
        try:
            value, at = decoder.raw_decode(line, at)
        except (ValueError, RecursionError):
            return
        if "\\ud" in line or "\\uD" in line:
            value = _without_halves(value)
        yield from (each for each in _flat(value) if isinstance(each.get("type"), str))


def _begin(line: str, at: int) -> int:
    if line[at : at + 1] == "[":
        return at
    return line.find("{", at)


def _flat(value: Any) -> Sequence[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict)]


def _without_halves(value: Any) -> Any:
    """The value without halves of characters, which no file could take."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_halves(each) for each in value]
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(each) for key, each in value.items()}
    return value


def _event(value: dict[str, Any]) -> Event | None:
    kind = value["type"]
    model = _EVENTS.get(f"{kind}/{value.get('subtype')}") or _EVENTS.get(kind)
    return model.model_validate(value) if model else None
