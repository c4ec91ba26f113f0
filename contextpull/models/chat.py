"""Chat with tools: one small protocol, whatever vendor's model answers.

A chat remembers nothing: each call is given the whole talk, and gives back the next reply.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.models.specs import parse_endpoint

Reason = Literal[
    "unreachable",
    "timeout",
    "cut",
    "key",
    "not_found",
    "rate_limited",
    "context_length",
    "status",
    "junk",
    "empty",
]
"""Why there is no reply, in one word that can be counted."""

Vendor = Literal["anthropic", "openai", "openai-chat", "endpoint"]

FORMS = (
    "Give anthropic:MODEL, openai:MODEL (Responses API), openai-chat:MODEL (chat completions), or"
    " http://HOST:PORT/v1#MODEL for any endpoint that speaks OpenAI's chat completions."
)
"""How a model that chats can be named."""

_URLS: dict[str, tuple[Vendor, str]] = {
    "anthropic": ("anthropic", "https://api.anthropic.com"),
    "openai": ("openai", "https://api.openai.com/v1"),
    "openai-chat": ("openai-chat", "https://api.openai.com/v1"),
}


class ToolDefinition(Protocol):
    """A tool as a model is told of it; `contextpull.tools.Tool` is one."""

    @property
    def name(self) -> str:
        """What the model calls it by."""
        ...

    @property
    def description(self) -> str:
        """What it is good for."""
        ...

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        ...


class ToldTool(NamedTuple):
    """A tool definition whose schema was worked out once."""

    name: str
    description: str
    schema: dict[str, Any]


class Usage(NamedTuple):
    """Tokens of one reply, with one meaning for all vendors."""

    input: int = 0
    """All that was sent, what came from a cache or went into one included."""
    output: int = 0
    """All that was written, reasoning included."""
    cached: int = 0
    """The part of `input` that was read from a cache."""
    cache_written: int = 0
    """The part of `input` that was put into a cache, where the vendor tells."""


class Call(NamedTuple):
    """A tool that the model wants to be run."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    """The raw string where the model wrote no JSON object."""


class UserMessage(NamedTuple):
    """What a person says, or a program in a person's place."""

    text: str


class ToolAnswer(NamedTuple):
    """What came of one call."""

    call_id: str
    text: str
    is_error: bool = False


class ToolAnswers(NamedTuple):
    """What came of all the calls of one reply, in their order."""

    answers: tuple[ToolAnswer, ...]


class Reply(NamedTuple):
    """One turn of the model."""

    text: str
    calls: tuple[Call, ...]
    usage: Usage
    stop_reason: str
    """The vendor's own word."""
    refusal: str = ""
    """Why the model, or who guards it, will not answer; nothing where it does."""
    is_cut: bool = False
    """Whether it broke off because the most tokens that it may write were written."""
    seconds: float = 0.0
    """Wall time of all attempts, waits apart."""
    waited: float = 0.0
    """Seconds that were waited for rate limits and overload."""
    attempts: int = 1
    raw: Any = None
    """The vendor's own form of this turn, which later calls send back as it came."""


Message = UserMessage | ToolAnswers | Reply
"""One turn of a talk."""


class ChatFailed(ModelUnavailable):
    """The model gave no reply; the sentence never holds the key."""

    def __init__(
        self,
        message: str,
        reason: Reason,
        *,
        usage: Usage = Usage(),  # noqa: B008 - it never changes
        seconds: float = 0.0,
        waited: float = 0.0,
        attempts: int = 1,
    ) -> None:
        self.reason: Reason = reason
        self.usage = usage
        """What was spent all the same."""
        self.seconds = seconds
        self.waited = waited
        self.attempts = attempts
        super().__init__(message)


class Chat(Protocol):
    """A model that answers; any number of threads may share it."""

    @property
    def name(self) -> str:
        """The spec that opens this model again, in its normal form, without its key."""
        ...

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with every setting that may change a reply."""
        ...

    def settings(self) -> dict[str, Any]:
        """What the fingerprint is made of: model, address and options, as JSON-ready values."""
        ...

    def reply(
        self,
        system: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """The model's next turn, or ChatFailed.

        `schema` binds its text to a JSON schema. To suit all vendors its root is an object, every
        property is required and nothing else allowed; choices stand in `anyOf` below the root.
        """
        ...


class Options(NamedTuple):
    """What a model is asked to keep to; None leaves it to the vendor."""

    max_tokens: int = 8_192
    """The most that one reply may write, reasoning included."""
    temperature: float | None = None
    seed: int | None = None


class Patience(NamedTuple):
    """How long faults that pass are waited out."""

    tries: int = 10
    """For one reply, while the vendor says that it has too much to do."""
    most_seconds: float = 600.0
    """The most that is waited for one reply, all waits together."""
    other_tries: int = 3
    """For one reply, where the server failed or the connection broke."""


class ChatSpec(NamedTuple):
    """The name of a model that chats, taken apart."""

    vendor: Vendor
    text: str
    """The spec in its one normal form."""
    url: str
    model: str


class Access(NamedTuple):
    """How a model is reached."""

    spec: ChatSpec
    key: str
    options: Options
    seconds: float
    """The longest wait for one reply."""
    patience: Patience
    wait: Callable[[float], object]


def open_chat(
    spec: str,
    *,
    api_key: str = "",
    base_url: str = "",
    max_tokens: int = 8_192,
    temperature: float | None = None,
    seed: int | None = None,
    seconds: float = 300.0,
    patience: Patience = Patience(),  # noqa: B008 - it never changes
    wait: Callable[[float], object] = time.sleep,
) -> Chat:
    """Open the model that a spec names; nothing is sent before its first reply is asked for.

    A spec is `anthropic:MODEL`, `openai:MODEL` (Responses API), `openai-chat:MODEL` (chat
    completions), or `http://HOST:PORT/v1#MODEL` for an endpoint that speaks chat completions.
    `base_url` replaces the vendor's own address. Neither it nor the key, nor a header or a proxy
    is ever taken from the environment. `wait` is called with the seconds to wait.

    Raises InvalidInput for another spec or for options that the vendor does not have, MissingExtra
    where its library is not installed.
    """
    parsed = parse_chat_spec(spec)
    if base_url:
        parsed = parsed._replace(url=parse_endpoint(f"{base_url}#{parsed.model}", FORMS).target)
    elif parsed.vendor != "endpoint" and not api_key.strip():
        raise InvalidInput(f"{parsed.text} needs a key, and none was given.")
    options = _checked_options(parsed, Options(max_tokens, temperature, seed))
    access = Access(parsed, _checked_key(api_key), options, seconds, patience, wait)
    if parsed.vendor == "anthropic":
        from contextpull.models.chat_anthropic import AnthropicChat

        return AnthropicChat(access)
    if parsed.vendor == "openai":
        from contextpull.models.chat_responses import ResponsesChat

        return ResponsesChat(access)
    from contextpull.models.chat_completions import CompletionsChat

    return CompletionsChat(access)


def parse_chat_spec(text: str) -> ChatSpec:
    """What a spec names. Raises InvalidInput with the forms that there are."""
    text = text.strip()
    if text.startswith(("http://", "https://")):
        endpoint = parse_endpoint(text, FORMS)
        return ChatSpec("endpoint", endpoint.text, endpoint.target, endpoint.model)
    prefix, _, model = text.partition(":")
    model = model.strip()
    if prefix not in _URLS or not model:
        raise InvalidInput(f"{text!r} names no model that chats. {FORMS}")
    vendor, url = _URLS[prefix]
    return ChatSpec(vendor, f"{prefix}:{model}", url, model)


def _checked_options(spec: ChatSpec, options: Options) -> Options:
    if options.max_tokens < 1:
        raise InvalidInput(f"max_tokens must be 1 or more, not {options.max_tokens}.")
    if options.seed is not None and spec.vendor in {"anthropic", "openai"}:
        raise InvalidInput(f"{spec.text} takes no seed. Leave it out, or use chat completions.")
    return options


def _checked_key(key: str) -> str:
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("The key for the model holds characters that no key can have.")
    return key
