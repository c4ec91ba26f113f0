"""What goes to each vendor and comes from it, held against the types of its own library."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from contextpull.models.chat import (
    Call,
    Chat,
    Message,
    Reply,
    ToolAnswer,
    ToolAnswers,
    Usage,
    UserMessage,
    open_chat,
)
from contextpull.tools import TOOLS, to_anthropic, to_openai
from tests.standins import (
    KEY,
    Calls,
    Fails,
    IsCut,
    Refuses,
    Request,
    Says,
    Sends,
    StandIn,
    Waits,
    standing_in,
)
from tests.vendor_wire import write_anthropic, write_completions, write_responses

anthropic_types = pytest.importorskip("anthropic.types")
openai_types = pytest.importorskip("openai.types")

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}
CACHED = {"cache_control": {"type": "ephemeral"}}
TWO_CALLS = Calls([("search", {"query": "cache"}), ("read", {"ids": "a.md"})], "Looking.")
STEPS = [Says("Here."), TWO_CALLS, Refuses("No."), IsCut("The")]


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with standing_in([TWO_CALLS, Says("Here.")]) as found:
        yield found


def opened(standin: StandIn, vendor: str, **options: Any) -> Chat:
    if vendor == "endpoint":
        return open_chat(standin.endpoint, api_key=KEY, wait=Waits(), **options)
    url = standin.base_url(vendor)
    return open_chat(f"{vendor}:tiny", api_key=KEY, base_url=url, wait=Waits(), **options)


def two_turns(standin: StandIn, vendor: str, **options: Any) -> tuple[Request, Request]:
    """What is sent for a question, and then for what came of its two calls."""
    chat = opened(standin, vendor, **options)
    talk: list[Message] = [UserMessage("Where is the cache?")]
    first = chat.reply("Be brief.", talk, tools=TOOLS)
    results = [ToolAnswer(first.calls[0].id, "1. a.md#b"), ToolAnswer(first.calls[1].id, "", True)]
    talk += [first, ToolAnswers(tuple(results))]
    assert chat.reply("Be brief.", talk, tools=TOOLS).text == "Here."
    asked, told = standin.asked
    return asked, told


def test_anthropic_gets_tools_and_marks_for_its_cache(standin: StandIn) -> None:
    asked, told = two_turns(standin, "anthropic")
    *others, last = to_anthropic()
    tools = [*others, {**last, **CACHED}]
    system = [{"type": "text", "text": "Be brief.", **CACHED}]
    question = {"type": "text", "text": "Where is the cache?"}
    start = {"model": "tiny", "max_tokens": 8_192, "system": system, "tools": tools}
    assert asked.body == {
        **start,
        "messages": [{"role": "user", "content": [{**question, **CACHED}]}],
    }
    first, second = (block["id"] for block in told.body["messages"][1]["content"][1:])
    results = [
        {"type": "tool_result", "tool_use_id": first, "content": "1. a.md#b"},
        {"type": "tool_result", "tool_use_id": second, "content": "", "is_error": True, **CACHED},
    ]
    said = [
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": first, "name": "search", "input": {"query": "cache"}},
        {"type": "tool_use", "id": second, "name": "read", "input": {"ids": "a.md"}},
    ]
    assert told.body == {
        **start,
        "messages": [
            {"role": "user", "content": [question]},
            {"role": "assistant", "content": said},
            {"role": "user", "content": results},
        ],
    }


def test_responses_get_the_whole_talk_and_store_nothing(standin: StandIn) -> None:
    asked, told = two_turns(standin, "openai")
    question = {"role": "user", "content": "Where is the cache?"}
    start = {
        "model": "tiny",
        "max_output_tokens": 8_192,
        "instructions": "Be brief.",
        "tools": to_openai(),
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    assert asked.body == {**start, "input": [question]}
    thought, said, search, read, *results = told.body["input"][1:]
    assert told.body == {**start, "input": [question, thought, said, search, read, *results]}
    assert (thought["type"], thought["encrypted_content"]) == ("reasoning", "x")
    assert said["content"][0]["text"] == "Looking."
    assert [each["name"] for each in (search, read)] == ["search", "read"]
    assert results == [
        {"type": "function_call_output", "call_id": search["call_id"], "output": "1. a.md#b"},
        {"type": "function_call_output", "call_id": read["call_id"], "output": ""},
    ]


@pytest.mark.parametrize("vendor", ["openai-chat", "endpoint"])
def test_completions_get_what_every_server_understands(standin: StandIn, vendor: str) -> None:
    asked, told = two_turns(standin, vendor)
    tools = to_openai(chat=True)
    limit = "max_tokens" if vendor == "endpoint" else "max_completion_tokens"
    start = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is the cache?"},
    ]
    assert asked.body == {"model": "tiny", limit: 8_192, "messages": start, "tools": tools}
    said, *results = told.body["messages"][2:]
    first, second = (call["id"] for call in said["tool_calls"])
    assert said == {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [
            {
                "id": first,
                "type": "function",
                "function": {"name": "search", "arguments": '{"query": "cache"}'},
            },
            {
                "id": second,
                "type": "function",
                "function": {"name": "read", "arguments": '{"ids": "a.md"}'},
            },
        ],
    }
    assert results == [
        {"role": "tool", "tool_call_id": first, "content": "1. a.md#b"},
        {"role": "tool", "tool_call_id": second, "content": ""},
    ]


@pytest.mark.parametrize(
    ("vendor", "where", "expected"),
    [
        ("anthropic", "output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}),
        (
            "openai",
            "text",
            {
                "format": {
                    "type": "json_schema",
                    "name": "reply",
                    "schema": SCHEMA,
                    "strict": True,
                }
            },
        ),
        (
            "openai-chat",
            "response_format",
            {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
            },
        ),
    ],
)
def test_a_schema_binds_the_text(
    standin: StandIn, vendor: str, where: str, expected: dict[str, Any]
) -> None:
    opened(standin, vendor).reply("", [UserMessage("Judge.")], schema=SCHEMA)
    (request,) = standin.asked
    assert request.body[where] == expected
    assert not {"system", "instructions", "tools"} & request.body.keys()
    assert request.system == ""


@pytest.mark.parametrize("vendor", ["anthropic", "openai", "openai-chat", "endpoint"])
def test_options_are_sent_only_where_they_are_given(standin: StandIn, vendor: str) -> None:
    seed = {"seed": 3} if vendor in {"openai-chat", "endpoint"} else {}
    opened(standin, vendor, temperature=0, max_tokens=9, **seed).reply("", [UserMessage("x")])
    opened(standin, vendor).reply("", [UserMessage("x")])
    given, default = (request.body for request in standin.asked)
    assert given["temperature"] == 0
    assert given.get("seed") == seed.get("seed")
    assert 9 in given.values()
    assert not {"temperature", "seed"} & default.keys()


def test_a_model_without_encrypted_thoughts_is_asked_without_them() -> None:
    def script(request: Request) -> Any:
        if "include" in request.body:
            return Fails(400, "Encrypted content is not supported with this model.")
        return Says("Here.")

    with standing_in(script) as standin:
        chat = opened(standin, "openai")
        assert [chat.reply("", [UserMessage("x")]).text for _ in range(2)] == ["Here.", "Here."]
        assert ["include" in request.body for request in standin.asked] == [True, False, False]


def test_a_thought_that_the_vendor_did_not_keep_is_not_named_again(standin: StandIn) -> None:
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "y"}]},
    ]
    standin.script = [Sends({"status": "completed", "output": output}), Says("Here.")]
    chat = opened(standin, "openai")
    first = chat.reply("", [UserMessage("x")])
    chat.reply("", [UserMessage("x"), first, UserMessage("z")])
    kinds = [item.get("type", item.get("role")) for item in standin.asked[-1].body["input"]]
    assert kinds == ["user", "message", "user"]


@pytest.mark.parametrize("vendor", ["anthropic", "openai", "openai-chat"])
def test_a_reply_that_came_from_elsewhere_can_be_told_too(standin: StandIn, vendor: str) -> None:
    standin.script = [Says("Here.")]
    calls = (Call("c1", "search", {"query": "x"}), Call("c2", "read", "no json"))
    foreign = Reply("Looking.", calls, Usage(), "")
    answers = ToolAnswers((ToolAnswer("c1", "found"), ToolAnswer("c2", "wrong", True)))
    opened(standin, vendor).reply("", [UserMessage("x"), foreign, answers], tools=TOOLS)
    (request,) = standin.asked
    assert request.turn == 1
    assert request.talk[-2:] == [("tool", "found"), ("tool", "wrong")]
    assert '"c2"' in str(request.body).replace("'", '"')


REQUESTS = {
    "anthropic": "anthropic.types.message_create_params.MessageCreateParamsNonStreaming",
    "openai": "openai.types.responses.response_create_params.ResponseCreateParamsNonStreaming",
    "openai-chat": (
        "openai.types.chat.completion_create_params.CompletionCreateParamsNonStreaming"
    ),
}


@pytest.mark.parametrize("vendor", REQUESTS)
def test_requests_are_of_the_librarys_own_types(standin: StandIn, vendor: str) -> None:
    module, _, name = REQUESTS[vendor].rpartition(".")
    params = TypeAdapter(getattr(pytest.importorskip(module), name))
    opened(standin, vendor).reply("x", [UserMessage("y")], schema=SCHEMA)
    standin.asked.clear()
    standin.taken = 0
    for request in two_turns(standin, vendor):
        params.validate_python(request.body)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_the_stand_in_answers_as_the_libraries_expect(step: Any) -> None:
    responses = pytest.importorskip("openai.types.responses")
    anthropic_types.Message.model_validate(write_anthropic(step), strict=True)
    responses.Response.model_validate(
        {**write_responses(step), "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    )
    openai_types.chat.ChatCompletion.model_validate(write_completions(step), strict=True)
