"""What all vendors' chats share: the connection, patience, and errors as sentences."""

import json
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from email.utils import mktime_tz, parsedate_tz
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter, time
from typing import Any, NamedTuple

from contextpull.errors import MissingExtra
from contextpull.models.chat import Access, ChatFailed, Reason, Reply, Usage
from contextpull.models.folders import fingerprint_of

_RECIPE = "chat 1"
"""Goes up when the same settings come to mean another request."""
_NO_KEY = "none"
"""Sent where there is no key: with nothing to send, a library would look for one by itself."""
_CONNECT_SECONDS = 5.0
_MESSAGE_CHARS = 200
_FIRST_WAIT = 2.0
_LONGEST_STEP = 60.0
_OVERLOADED = {429, 529}
_PASSING = {408, 409, 500, 502, 503, 504}
_TOO_LONG = (
    "context_length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "exceed_context",
)
"""What vendors write where a talk is longer than the model can hold."""
_SPENT = ("insufficient_quota", "spend_limit", "billing_hard_limit")
"""Limits that no waiting lifts."""


class Sent(NamedTuple):
    """The answer to a request, and what it took."""

    payload: dict[str, Any]
    seconds: float
    waited: float
    attempts: int


class _Fault(NamedTuple):
    reason: Reason
    sentence: str
    passes: bool = False
    """Whether another attempt may do better."""
    retry_after: float | None = None
    """Seconds, where the server asks to wait that long."""


class VendorChat:
    """A chat over one vendor's library, which is imported for the first reply.

    It takes a second, which a run that is replayed has no use for.
    """

    def __init__(self, access: Access, library: str, make: Callable[..., Any]) -> None:
        """`make` makes the library's client. Raises MissingExtra where it is not installed."""
        if find_spec(library) is None:
            raise _missing()
        self._access = access
        self._library_name = library
        self._make = make
        self._lock = threading.Lock()
        self._opened: Any = None

    @property
    def _library(self) -> Any:
        try:
            return import_module(self._library_name)
        except ImportError as error:
            raise _missing() from error

    @property
    def _client(self) -> Any:
        """The library's client, one for all threads."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> Any:
        access, library = self._access, self._library
        http = library.DefaultHttpxClient(trust_env=False, follow_redirects=False)
        weakref.finalize(self, http.close)
        # `max_retries`: a library's own waits could not be told from the time of an answer.
        client = self._make(
            api_key=access.key or _NO_KEY,
            base_url=access.spec.url,
            max_retries=0,
            http_client=http,
        )
        # It took these from the environment, where they are meant for another use than this.
        client._custom_headers = {}
        return client

    @property
    def name(self) -> str:
        """The spec that opens this model again, without its key."""
        return self._access.spec.text

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits for model, address and options.

        A model that changes behind its name is not noticed.
        """
        return fingerprint_of(_RECIPE, json.dumps(self.settings(), sort_keys=True))

    def settings(self) -> dict[str, Any]:
        """The spec, the address and the options."""
        spec = self._access.spec
        return {"model": spec.text, "url": spec.url, **self._access.options._asdict()}

    def _send(self, create: Callable[..., Any], request: Mapping[str, Any]) -> Sent:
        """The JSON object that the vendor answers with; waits out what passes."""
        seconds = waited = 0.0
        attempts = 0
        while True:
            attempts += 1
            started = perf_counter()
            answer = self._attempt(create, request)
            seconds += perf_counter() - started
            if not isinstance(answer, _Fault):
                return Sent(answer, seconds, waited, attempts)
            pause = self._pause(answer, attempts, waited)
            if pause is None:
                raise ChatFailed(
                    self._at_last(answer, waited),
                    answer.reason,
                    seconds=seconds,
                    waited=waited,
                    attempts=attempts,
                )
            self._access.wait(pause)
            waited += pause

    def _attempt(
        self, create: Callable[..., Any], request: Mapping[str, Any]
    ) -> dict[str, Any] | _Fault:
        import httpx2

        seconds = self._access.seconds
        timeout = self._library.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            response = create(**request, timeout=timeout).http_response
            content = response.read()
        except self._library.APIError as error:
            return self._fault(error)
        except httpx2.HTTPError as error:
            return _Fault("cut", f"{self._where} broke off its answer ({error}).", passes=True)
        try:
            payload = load_json(content)
        except ValueError:
            return _Fault("junk", f"{self._where} answered with something that is no JSON.")
        if not isinstance(payload, dict):
            return _Fault("junk", f"{self._where} answered with JSON that is no object.")
        return payload

    def _pause(self, fault: _Fault, attempts: int, waited: float) -> float | None:
        """Seconds to wait before the next attempt; None where there is to be none."""
        patience = self._access.patience
        overloaded = fault.reason == "rate_limited"
        if not fault.passes or attempts >= (patience.tries if overloaded else patience.other_tries):
            return None
        step = min(_FIRST_WAIT * 2 ** (attempts - 1), _LONGEST_STEP)
        pause = step if fault.retry_after is None else fault.retry_after
        return pause if waited + pause <= patience.most_seconds else None

    def _at_last(self, fault: _Fault, waited: float) -> str:
        if not waited:
            return fault.sentence
        return f"{fault.sentence} That was after waiting {waited:g} seconds."

    def _fault(self, error: Any) -> _Fault:
        """What went wrong, in a sentence that says what to try and never holds the key."""
        library, where = self._library, self._where
        if isinstance(error, library.APITimeoutError):
            seconds = self._access.seconds
            said = f"did not answer within {seconds:g} seconds: check that it runs."
            return _Fault("timeout", f"{where} {said}")
        if isinstance(error, library.APIConnectionError):
            return self._broken(error.__cause__ or error)
        if isinstance(error, library.APIStatusError):
            return self._refused(error.response)
        said = self._masked(str(error))
        return _Fault("junk", f"{where} answered with something that is no reply: {said}.")

    def _broken(self, cause: BaseException) -> _Fault:
        import httpx2

        reason = self._masked(str(cause) or type(cause).__name__)
        if isinstance(cause, (httpx2.ConnectError, httpx2.UnsupportedProtocol)):
            sentence = f"{self._where} cannot be reached ({reason}): check that it runs, and its"
            return _Fault("unreachable", f"{sentence} URL {self._access.spec.url}.")
        if isinstance(cause, httpx2.TransportError):
            return _Fault("cut", f"{self._where} broke off its answer ({reason}).", passes=True)
        return _Fault("junk", f"{self._where} could not be asked: {reason}.")

    def _refused(self, response: Any) -> _Fault:
        status = response.status_code
        said, codes = _said(response.content)
        said, where = self._masked(said), f"{self._where} (HTTP {status})"
        told = f"{codes} {said}".lower()
        if status in {401, 403}:
            key = "refuses the key" if self._access.key else "asks for a key, and none was given"
            return _Fault("key", f"{where} {key}: {said}.")
        if status == 413 or (status < 500 and any(words in told for words in _TOO_LONG)):
            return _Fault("context_length", f"{where} was sent more than it can hold: {said}.")
        if status == 404:
            hint = "check the model's name and the URL"
            return _Fault("not_found", f"{where} is not there ({said}): {hint}.")
        hint = response.headers.get("x-should-retry")
        after = _retry_after(response.headers)
        if status in _OVERLOADED or (status == 503 and after is not None):
            passes = hint != "false" and not any(words in told for words in _SPENT)
            asks = "" if after is None else f" and asks to wait {after:g} seconds"
            sentence = f"{where} refuses more requests for now{asks}: {said}."
            return _Fault("rate_limited", sentence, passes, after)
        passes = hint == "true" or (status in _PASSING and hint != "false")
        return _Fault("status", f"{where} failed: {said}.", passes, after)

    def _complete(self, reply: Reply, sent: Sent) -> Reply:
        """The reply with what it took. Raises ChatFailed for one that says nothing at all."""
        if reply.stop_reason == "model_context_window_exceeded":
            sentence = f"{self._where} was given more than it can hold."
            raise self._failed(sentence, "context_length", sent, reply.usage)
        says = reply.text.strip() or reply.calls or reply.refusal or reply.is_cut
        if not says:
            reason = f" ({reply.stop_reason})" if reply.stop_reason else ""
            raise self._failed(
                f"{self._where} gave an empty reply{reason}.", "empty", sent, reply.usage
            )
        return reply._replace(seconds=sent.seconds, waited=sent.waited, attempts=sent.attempts)

    def _no_reply(self, sent: Sent, usage: Usage = Usage()) -> ChatFailed:  # noqa: B008 - constant
        """The error for JSON that holds no reply; some servers send an error as if all was well."""
        if sent.payload.get("error"):
            said = self._masked(_said(json.dumps(sent.payload).encode())[0])
            return self._failed(f"{self._where} failed: {said}.", "status", sent, usage)
        sentence = f"{self._where} answered with JSON that is no reply."
        return self._failed(sentence, "junk", sent, usage)

    def _failed(self, sentence: str, reason: Reason, sent: Sent, usage: Usage) -> ChatFailed:
        return ChatFailed(
            sentence,
            reason,
            usage=usage,
            seconds=sent.seconds,
            waited=sent.waited,
            attempts=sent.attempts,
        )

    @property
    def _where(self) -> str:
        return f"The model {self._access.spec.text}"

    def _masked(self, text: str) -> str:
        """At most a line of somebody else's message, without the key should it hold it."""
        key = self._access.key
        line = " ".join((text.replace(key, "…") if key else text).split()).rstrip(".")
        return line if len(line) <= _MESSAGE_CHARS else f"{line[:_MESSAGE_CHARS]}…"


def _missing() -> MissingExtra:
    return MissingExtra("Asking a model", "eval")


def arguments_of(text: object) -> dict[str, Any] | str:
    """The arguments that a model wrote: an object, or what it wrote where that is none."""
    if isinstance(text, dict):
        return text
    if not isinstance(text, str):
        return json.dumps(text)
    try:
        found = load_json(text or "{}")
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def load_json(content: str | bytes) -> Any:
    """The value that JSON holds, with no number or character in it that JSON cannot write again.

    Raises ValueError for anything else.
    """
    try:
        found = json.loads(content, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    escape = b"\\ud" if isinstance(content, bytes) else "\\ud"
    return _whole(found) if escape in content.lower() else found  # type: ignore[operator]


def records(value: object) -> Iterator[dict[str, Any]]:
    """The JSON objects of a list; servers put what they like into an answer."""
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def part(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The JSON object under a name, empty where there is none."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def text_of(record: Mapping[str, Any], name: str) -> str:
    """The string under a name, empty where there is none."""
    found = record.get(name)
    return found if isinstance(found, str) else ""


def count_of(record: Mapping[str, Any], name: str) -> int:
    """The count under a name, 0 where there is none."""
    found = record.get(name)
    return max(found, 0) if isinstance(found, int) else 0


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _whole(value: Any) -> Any:
    """The value with every half of a character, which no file can hold, replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return value


def _said(content: bytes) -> tuple[str, str]:
    """The message of an error, and the words that it is classed by."""
    try:
        body = load_json(content)
    except ValueError:
        return content.decode("utf-8", "replace") or "no reason given", ""
    if not isinstance(body, dict):
        return str(body), ""
    error = body.get("error", body)
    if not isinstance(error, dict):
        return str(error), ""
    message = error.get("message") or error.get("detail") or error
    details = part(error, "details")
    codes = (error.get("type"), error.get("code"), error.get("param"), details.get("error_code"))
    return str(message), " ".join(str(code) for code in codes if code)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, however it says so."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(float(headers[name]) * unit, 0.0)
        except (KeyError, ValueError):
            continue
    date = parsedate_tz(headers.get("retry-after", ""))
    return max(mktime_tz(date) - time(), 0.0) if date else None
