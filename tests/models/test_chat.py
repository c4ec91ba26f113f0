"""Models that chat: how they are named, what they reply, and what is said when they do not."""

import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from contextpull.errors import InvalidInput, MissingExtra, ModelUnavailable
from contextpull.models.chat import (
    Call,
    Chat,
    ChatFailed,
    Patience,
    Reply,
    Usage,
    UserMessage,
    open_chat,
    parse_chat_spec,
)
from contextpull.tools import TOOLS
from tests.standins import (
    KEY,
    VENDORS,
    BreaksOff,
    Calls,
    Fails,
    Hangs,
    IsCut,
    Refuses,
    Says,
    Sends,
    StandIn,
    Step,
    Used,
    Waits,
    nobodys_url,
    standing_in,
)

pytest.importorskip("openai")
pytest.importorskip("anthropic")

ASKED = [UserMessage("Where is the cache?")]
vendors = pytest.mark.parametrize("vendor", VENDORS)


def chat_with(standin: StandIn, vendor: str, waits: Waits | None = None, **options: Any) -> Chat:
    return open_chat(
        f"{vendor}:tiny",
        api_key=options.pop("api_key", KEY),
        base_url=standin.base_url(vendor),
        wait=waits or Waits(),
        **options,
    )


def reply_to(vendor: str, *steps: Step, waits: Waits | None = None, **options: Any) -> Reply:
    with standing_in(steps) as standin:
        return chat_with(standin, vendor, waits, **options).reply("Be brief.", ASKED, tools=TOOLS)


def failure(vendor: str, *steps: Step, waits: Waits | None = None, **options: Any) -> ChatFailed:
    with pytest.raises(ChatFailed) as caught:
        reply_to(vendor, *steps, waits=waits, **options)
    assert isinstance(caught.value, ModelUnavailable)
    return caught.value


@pytest.mark.parametrize(
    ("text", "vendor", "normal", "model"),
    [
        (" anthropic:claude-x\n", "anthropic", "anthropic:claude-x", "claude-x"),
        ("openai: gpt-x", "openai", "openai:gpt-x", "gpt-x"),
        ("openai-chat:ft:gpt-x:y", "openai-chat", "openai-chat:ft:gpt-x:y", "ft:gpt-x:y"),
        ("http://localhost:1/v1/#org/m", "endpoint", "http://localhost:1/v1#org/m", "org/m"),
    ],
)
def test_a_spec_has_one_normal_form(text: str, vendor: str, normal: str, model: str) -> None:
    spec = parse_chat_spec(text)
    assert (spec.vendor, spec.text, spec.model) == (vendor, normal, model)
    assert parse_chat_spec(spec.text) == spec


@pytest.mark.parametrize(
    "text",
    ["", "gpt-x", "openai", "openai:", "mistral:m", "http://localhost/v1", "ftp://localhost/v1#m"],
)
def test_anything_else_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_chat(text, api_key=KEY)
    for form in ("anthropic:MODEL", "openai:MODEL", "openai-chat:MODEL", "/v1#MODEL"):
        assert form in str(caught.value)


@vendors
def test_a_vendor_needs_a_key_that_can_be_one(vendor: str) -> None:
    with pytest.raises(InvalidInput, match="needs a key"):
        open_chat(f"{vendor}:m")
    with pytest.raises(InvalidInput) as caught:
        open_chat(f"{vendor}:m", api_key="hidden\nX-Header: 1")
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_a_seed_is_refused_where_the_vendor_takes_none(vendor: str) -> None:
    with pytest.raises(InvalidInput, match="takes no seed"):
        open_chat(f"{vendor}:m", api_key=KEY, seed=1)


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        open_chat("openai:m", api_key=KEY, max_tokens=0)


@pytest.mark.parametrize(("vendor", "library"), [("anthropic", "anthropic"), ("openai", "openai")])
def test_a_missing_library_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, vendor: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[eval\]'"):
        open_chat(f"{vendor}:m", api_key=KEY)


@vendors
def test_a_library_is_imported_for_the_first_reply_alone(vendor: str) -> None:
    program = (
        "import sys; from contextpull.models.chat import open_chat;"
        f"chat = open_chat('{vendor}:m', api_key='{KEY}'); chat.fingerprint;"
        "print(sys.modules.keys() & {'openai', 'anthropic', 'httpx2'})"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.strip() == b"set()"


@vendors
def test_nothing_of_the_environment_is_sent(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = "of-the-environment"
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", mine)
    for name in ("API_KEY", "AUTH_TOKEN", "PROFILE", "WORKSPACE_ID", "WEBHOOK_SIGNING_KEY"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", mine)
    for library in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{library}_CUSTOM_HEADERS", f"X-Own: {mine}\nAuthorization: {mine}")
        monkeypatch.setenv(f"{library}_BASE_URL", nobodys_url())
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nobodys_url())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for key, expected in ((KEY, KEY), ("", "none")):
        with standing_in([Says("Here.")]) as standin:
            chat_with(standin, vendor, api_key=key).reply("", ASKED)
            (request,) = standin.asked
        assert mine not in str(request)
        sent = request.headers.get("x-api-key") or request.headers["authorization"]
        assert sent.removeprefix("Bearer ") == expected


@vendors
def test_a_reply_has_text_calls_and_usage(vendor: str) -> None:
    calls = [("search", {"query": "cache"}), ("read", {"ids": ["a.md#b"]})]
    reply = reply_to(vendor, Calls(calls, "Looking.", Used(300, 30, 200, 50)))
    assert reply.text == "Looking."
    assert [(call.name, call.arguments) for call in reply.calls] == calls
    assert len({call.id for call in reply.calls}) == 2
    assert reply.usage == Usage(input=300, output=30, cached=200, cache_written=50)
    assert (reply.refusal, reply.is_cut, reply.waited, reply.attempts) == ("", False, 0.0, 1)
    assert reply.stop_reason
    assert reply.seconds > 0


@vendors
def test_arguments_that_are_no_object_stay_as_they_were_written(vendor: str) -> None:
    written = ['{"ids": ["a', "[1]", "NaN", '"x"']
    reply = reply_to(vendor, Calls([("read", each) for each in written]))
    raw = [call.arguments for call in reply.calls]
    assert all(isinstance(each, str) for each in raw)
    if vendor != "anthropic":  # which sends values, not what was written
        assert raw == written


@vendors
def test_half_a_character_does_not_come_through(vendor: str) -> None:
    reply = reply_to(vendor, Calls([("search", {"query": "\ud83d cache"})], "\udc00 so"))
    assert reply.text == "� so"
    assert reply.calls[0].arguments == {"query": "� cache"}


@vendors
def test_a_refusal_and_a_cut_reply_are_told_apart(vendor: str) -> None:
    assert reply_to(vendor, Refuses("Not that.")).refusal == "Not that."
    cut = reply_to(vendor, IsCut("The cache is"))
    assert cut.is_cut
    assert cut.text == "The cache is"
    assert reply_to(vendor, IsCut()).is_cut


@pytest.mark.parametrize("vendor", ["openai", "openai-chat"])
def test_what_a_filter_holds_back_is_a_refusal(vendor: str) -> None:
    assert reply_to(vendor, Says("", stop="content_filter")).refusal == "content_filter"


@vendors
@pytest.mark.parametrize(
    ("step", "reason", "expected"),
    [
        (Fails(400, f"bad {KEY}"), "status", r"\(HTTP 400\) failed: bad …\."),
        (Fails(401, f"wrong key {KEY}"), "key", r"\(HTTP 401\) refuses the key: wrong key …"),
        (Fails(403, "forbidden"), "key", r"\(HTTP 403\) refuses the key: forbidden"),
        (Fails(404, "no model tiny"), "not_found", "no model tiny.*check the model's name"),
        (Fails(302, "elsewhere"), "status", r"\(HTTP 302\) failed"),
        (Fails(413, "large"), "context_length", "more than it can hold"),
        (Fails(400, "x", code="context_length_exceeded"), "context_length", "than it can hold: x"),
        (Fails(400, "prompt is too long: 9 > 8"), "context_length", "prompt is too long: 9 > 8"),
        (Fails(418, "y" * 5_000), "status", "failed: y{200}…"),
        (Sends(b"<html>who are you?</html>", 401), "key", "who are you"),
        (Sends(b"", 400), "status", "no reason given"),
        (Sends([1], 400), "status", r"\[1\]"),
        (Sends({"error": "flat"}, 400), "status", "flat"),
        (Sends({"detail": "of a framework"}, 400), "status", "of a framework"),
        (Sends(b"no json"), "junk", "something that is no JSON"),
        (Sends(b"[" * 100_000), "junk", "something that is no JSON"),
        (Sends([]), "junk", "JSON that is no object"),
        (Sends({}), "junk", "JSON that is no reply"),
        (Sends({"error": {"message": "all wrong"}}), "status", "failed: all wrong"),
        (Says(""), "empty", "gave an empty reply"),
        (Says(" \n"), "empty", "gave an empty reply"),
    ],
)
def test_what_is_no_reply_is_a_sentence_without_the_key(
    vendor: str, step: Step, reason: str, expected: str
) -> None:
    waits = Waits()
    error = failure(vendor, step, waits=waits)
    assert error.reason == reason
    assert re.search(expected, str(error)), str(error)
    assert KEY not in str(error)
    assert f"{vendor}:tiny" in str(error)
    assert waits.seconds == []
    assert error.attempts == 1


@vendors
def test_an_empty_reply_has_cost_what_it_did(vendor: str) -> None:
    assert failure(vendor, Says("", Used(50, 5, 0, 0))).usage == Usage(50, 5)


def test_a_window_that_is_full_is_told_by_the_stop_reason() -> None:
    error = failure("anthropic", Says("Half", stop="model_context_window_exceeded"))
    assert error.reason == "context_length"
    assert error.usage.input == 100


@vendors
def test_a_missing_key_is_told_from_a_wrong_one(vendor: str) -> None:
    assert "none was given" in str(failure(vendor, Fails(401), api_key=""))


@vendors
@pytest.mark.parametrize("status", [429, 529, 503])
def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(vendor: str, status: int) -> None:
    waits = Waits()
    busy = Fails(status, headers={"retry-after": "7"})
    reply = reply_to(vendor, busy, busy, Says("Here."), waits=waits)
    assert reply.text == "Here."
    assert waits.seconds == [7.0, 7.0]
    assert (reply.waited, reply.attempts) == (14.0, 3)
    assert reply.seconds < 5


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 2.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "soon"}, 2.0),
        ({"retry-after": formatdate(time() - 60)}, 0.0),
    ],
)
def test_a_server_may_say_how_long_in_several_ways(
    headers: dict[str, str], expected: float
) -> None:
    waits = Waits()
    reply_to("openai", Fails(429, headers=headers), Says("Here."), waits=waits)
    assert waits.seconds == [expected]


def test_without_a_hint_each_wait_is_longer_than_the_last_and_they_end() -> None:
    waits = Waits()
    error = failure("openai", Fails(429, "too fast"), waits=waits)
    assert waits.seconds == [2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert (error.reason, error.attempts, error.waited) == ("rate_limited", 10, 302)
    assert "too fast. That was after waiting 302 seconds." in str(error)


@pytest.mark.parametrize(
    ("step", "patience"),
    [
        (Fails(429, headers={"retry-after": "601"}), Patience()),
        (Fails(429, headers={"retry-after": "1"}), Patience(tries=1)),
        (Fails(429, "out of money", code="insufficient_quota"), Patience()),
        (Fails(429, headers={"x-should-retry": "false"}), Patience()),
    ],
)
def test_what_no_patience_helps_against_is_not_waited_out(step: Step, patience: Patience) -> None:
    waits = Waits()
    assert failure("openai", step, waits=waits, patience=patience).reason == "rate_limited"
    assert waits.seconds == []


@vendors
@pytest.mark.parametrize("step", [Fails(500), Fails(503), BreaksOff()])
def test_a_fault_that_may_pass_gets_two_more_tries(vendor: str, step: Step) -> None:
    waits = Waits()
    reply = reply_to(vendor, step, step, Says("Here."), waits=waits)
    assert (reply.text, reply.attempts, reply.waited) == ("Here.", 3, 6.0)
    error = failure(vendor, step)
    assert error.attempts == 3
    assert error.reason == ("cut" if isinstance(step, BreaksOff) else "status")


@vendors
def test_a_model_that_does_not_answer_is_left(vendor: str) -> None:
    error = failure(vendor, Hangs(), seconds=0.1)
    assert (error.reason, error.attempts) == ("timeout", 1)
    assert "did not answer within 0.1 seconds" in str(error)


@vendors
def test_a_server_that_is_not_there_is_said_to_be(vendor: str) -> None:
    url = nobodys_url()
    chat = open_chat(f"{vendor}:m", api_key=KEY, base_url=url, wait=Waits())
    with pytest.raises(ChatFailed, match=r"cannot be reached \(.*refused\)") as caught:
        chat.reply("", ASKED)
    assert caught.value.reason == "unreachable"
    assert url in str(caught.value)


@vendors
def test_threads_may_share_a_chat(vendor: str) -> None:
    with standing_in(lambda request: Says(request.question[::-1])) as standin:
        chat = chat_with(standin, vendor)

        def ask(number: int) -> str:
            return chat.reply("", [UserMessage(f"question {number}")]).text

        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(ask, range(40)))
    assert replies == [f"question {number}"[::-1] for number in range(40)]


@vendors
def test_the_fingerprint_covers_model_address_and_options(vendor: str) -> None:
    def of(model: str = "m", url: str = "http://127.0.0.1:1", **options: Any) -> str:
        opened = open_chat(f"{vendor}:{model}", base_url=url, **options)
        assert opened.name == f"{vendor}:{model}"
        return opened.fingerprint

    assert of() == of(api_key=KEY, seconds=1, patience=Patience(tries=1))
    changed = [of("n"), of(url="http://127.0.0.1:2"), of(temperature=0), of(max_tokens=1)]
    assert len({of(), *changed}) == 5


def test_calls_without_ids_get_some() -> None:
    function = {"name": "index", "arguments": ""}
    message = {"role": "assistant", "tool_calls": [{"function": function}, {"function": function}]}
    reply = reply_to("openai-chat", Sends({"choices": [{"message": message}]}))
    assert reply.calls == (Call("call_1_0", "index", {}), Call("call_1_1", "index", {}))
    assert reply.usage == Usage()


@vendors
@pytest.mark.parametrize(
    "odd",
    [
        {"content": [{"type": "text"}, 3, None, {"type": "tool_use"}]},
        {"output": [{"type": "message", "content": 3}, {"type": "function_call"}, 7]},
        {"choices": [{"message": {"content": [{"text": "x"}], "tool_calls": [{}, 1]}}]},
        {"choices": [{"message": {"content": None, "tool_calls": None}}], "usage": 3},
        {"content": [], "output": [], "choices": [], "usage": {"input_tokens": "many"}},
    ],
)
def test_odd_answers_raise_nothing_but_chat_failures(vendor: str, odd: dict[str, Any]) -> None:
    try:
        reply = reply_to(vendor, Sends(odd))
    except ChatFailed:
        return
    assert isinstance(reply.calls, Sequence)
