"""What is made of Claude Code's recordings, whole, broken and strange."""

import copy
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError
from contextpull.eval.stream import Recording, parse_stream
from contextpull.eval.transcripts import Tokens
from tests.claude_streams import HITS, READ, answered, call, ended, init, line, said, text, told
from tests.properties import same_every_time

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
STREAMS = DATA / "claude-code-streams"


def test_a_run_that_searches_reads_and_answers() -> None:
    found = parse_stream(answered())
    assert found.outcome == "ok"
    assert found.answer == "It is 7 [a.md#b]."
    assert found.ids_read == ("a.md#b",)
    assert found.ids_surfaced == ("a.md#b", "a.md#a")
    assert found.tool_calls == {"read": 1, "search": 1}
    assert found.api_calls == 3
    assert found.tokens == Tokens(input=180, output=25, cached=90, cache_written=60)
    assert (found.dollars, found.seconds, found.errors) == (0.5, 3.0, ())
    assert (found.model, found.version, found.server) == ("m", "2.0", "contextpull")


def test_the_transcript_holds_the_same() -> None:
    found = parse_stream(answered()).transcript("q1", "What is the limit?")
    assert (found.question_id, found.question, found.is_ok) == ("q1", "What is the limit?", True)
    assert [turn.text for turn in found.turns] == ["I look.", "", "It is 7 [a.md#b]."]
    assert [call.result for call in found.calls] == [HITS, READ]
    assert found.calls[0].arguments == {"query": "limit"}
    assert found.turns[0].tokens == Tokens(input=60, output=1, cached=30, cache_written=20)
    assert found.cited == ("a.md#b",)
    assert parse_stream(answered()).transcript("q", "", ["x.md#b"]).cited == ()


def outcome(*lines: str, server: str | None = None) -> str:
    return parse_stream(lines, server).outcome


@pytest.mark.parametrize(
    ("servers", "calls", "expected"),
    [
        ((("contextpull", "connected"),), (), "ok"),
        ((("contextpull", "failed"),), (), "server_failed"),
        ((("contextpull", "needs-auth"),), (), "server_failed"),
        ((("contextpull", "pending"),), (), "server_failed"),
        ((("contextpull", "pending"),), ("contextpull",), "ok"),
        ((("contextpull", "pending"),), ("other",), "server_failed"),
        ((("other", "connected"), ("third", "connected")), (), "server_failed"),
        ((("other", "connected"), ("contextpull", "failed")), (), "server_failed"),
        ((("plugin:docs:contextpull", "connected"),), ("plugin_docs_contextpull",), "ok"),
        ((("my docs", "pending"),), ("my_docs",), "ok"),
    ],
)
def test_the_server_must_have_been_there(
    servers: Sequence[tuple[str, str]], calls: Sequence[str], expected: str
) -> None:
    lines = [init(*servers)]
    for server in calls:
        lines += [said("m1", call("c", "search", server, query="x")), told("c", HITS)]
    assert outcome(*lines, ended()) == expected


def test_a_run_without_servers_is_no_run_of_ours() -> None:
    assert outcome(line(type="system", subtype="init", mcp_servers=[]), ended()) == "server_failed"
    assert outcome(init(("x", "connected")), ended(), server="contextpull") == "server_failed"
    assert outcome(init(("x", "connected")), ended(), server="x") == "ok"


def test_without_a_beginning_only_a_call_proves_the_server() -> None:
    assert outcome(*answered()[1:]) == "ok"
    assert outcome(ended()) == "no_init"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ({"subtype": "error_max_turns", "is_error": True, "result": None}, "max_turns"),
        ({"subtype": "error_max_turns", "terminal_reason": None, "result": None}, "max_turns"),
        ({"subtype": "error_max_budget_usd", "is_error": True}, "budget"),
        ({"terminal_reason": "api_error", "is_error": True, "api_error_status": 401}, "api_error"),
        ({"is_error": True, "terminal_reason": None}, "api_error"),
        ({"terminal_reason": "prompt_too_long", "is_error": True}, "context_length"),
        ({"api_error": "max_output_tokens", "is_error": True}, "output_limit"),
        ({"stop_reason": "refusal", "is_error": True}, "refused"),
        ({"stop_reason": "refusal"}, "refused"),
        ({"subtype": "error_during_execution", "is_error": True}, "interrupted"),
        ({"subtype": "error_during_execution"}, "interrupted"),
        ({"terminal_reason": "aborted_streaming"}, "interrupted"),
        ({"terminal_reason": "hook_stopped"}, "hook_stopped"),
        ({"subtype": "error_of_tomorrow"}, "error_of_tomorrow"),
        ({"result": ""}, "no_answer"),
        ({"result": "", "structured_output": {"answer": "7"}}, "ok"),
        ({"terminal_reason": None}, "ok"),
    ],
)
def test_why_a_run_ended(end: dict[str, Any], expected: str) -> None:
    found = parse_stream([init(), said("m1", call("c", "read", ids="a.md#b")), ended(**end)])
    assert found.outcome == expected
    if end.get("is_error"):
        assert found.answer == ""


def test_a_killed_run_keeps_what_it_did() -> None:
    whole = answered()
    for count in range(1, len(whole)):
        found = parse_stream([*whole[:count], whole[count][:-40]])
        assert found.outcome == "killed"
        assert found.answer == ""
        assert found.ignored_lines == 1
    assert found.ids_read == ("a.md#b",)
    assert found.tokens == Tokens(input=180, output=3, cached=90, cache_written=60)
    assert found.dollars is None
    unfinished = parse_stream(whole[:5])
    assert unfinished.ids_read == ()
    assert "read failed: there is no result." in unfinished.errors


def test_partial_messages_tell_what_a_killed_run_wrote() -> None:
    start = {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 10}}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    found = parse_stream(
        [
            init(),
            line(type="stream_event", event=start),
            line(type="stream_event", event={"type": "content_block_delta"}),
            said("m1", call("c", "search", query="x")),
            line(type="stream_event", event={**delta, "usage": {"output_tokens": 77}}),
            line(type="stream_event", event={**start, "message": {"id": "m2"}}),
        ]
    )
    assert (found.api_calls, found.tokens.output, found.tokens.input) == (2, 77, 60)
    assert found.turns[0].stop_reason == "tool_use"


def test_failed_calls_read_nothing() -> None:
    found = parse_stream(
        [
            init(),
            said("m1", call("c1", "read", ids="a.md#b"), call("c2", "read", ids="a.md#b")),
            told("c1", READ, is_error=True),
            told("c2", "<persisted-output>\nOutput too large (60KB). Full output saved to: /x\n"),
            ended("I cannot tell."),
        ]
    )
    assert (found.ids_read, found.tool_calls, found.outcome) == ((), {"read": 2}, "ok")
    assert [each.split(":")[0] for each in found.errors] == [
        "read failed",
        "read gave more than the host shows a model",
    ]


def test_results_are_those_that_the_model_was_told() -> None:
    image = {"type": "image", "source": {"data": "x"}}
    found = parse_stream(
        [
            init(),
            said("m1", call("c1", "read", ids="a.md#b"), call("c2", "other")),
            told("c2", [image, text("and text"), {"type": "tool_reference"}]),
            told("c1", [text(READ)]),
            told("c1", [text(READ.replace("a.md", "b.md"))]),
            told("unknown", READ),
            ended(),
        ]
    )
    assert [each.result for each in found.calls] == [READ, "[image]\nand text\n[tool_reference]"]


def test_tools_of_others_keep_their_names_and_show_nothing() -> None:
    found = parse_stream(
        [
            init(("contextpull", "connected"), ("other", "connected")),
            said("m1", call("c1", "ToolSearch", "", query="select:read")),
            told("c1", [{"type": "tool_reference", "tool_name": "mcp__contextpull__read"}]),
            said("m2", call("c2", "read", "other", ids="a.md#b"), call("c3", "Read", "")),
            told("c2", READ),
            told("c3", READ),
            ended(),
        ]
    )
    assert found.tool_calls == {"Read": 1, "ToolSearch": 1, "mcp__other__read": 1}
    assert found.ids_surfaced == ()


def test_sub_agents_count_but_do_not_answer() -> None:
    found = parse_stream(
        [
            init(),
            said("m1", call("c1", "Task", "", prompt="look")),
            said("m2", call("c2", "read", ids="a.md#b"), parent_tool_use_id="c1"),
            told("c2", READ),
            said("m3", text("found it"), parent_tool_use_id="c1"),
            told("c1", "found it"),
            said("m4", text("It is 7.")),
            said("m5", text("late"), parent_tool_use_id="c1"),
            ended(""),
        ]
    )
    assert found.ids_read == ("a.md#b",)
    assert found.tool_calls == {"Task": 1, "read": 1}
    assert found.api_calls == 5
    assert (found.outcome, found.answer) == ("ok", "It is 7.")


def test_thinking_hooks_compaction_and_the_unknown_are_passed_over() -> None:
    lines = answered()
    strange = [
        line(type="system", subtype="hook_started", hook_name="SessionStart"),
        line(type="system", subtype="compact_boundary", compact_metadata={"trigger": "auto"}),
        line(type="system", subtype="status", status="compacting"),
        line(type="rate_limit_event", rate_limit_info={"status": "allowed"}),
        line(type="of_tomorrow", message={"id": "m9"}),
        line(type="user", message={"role": "user", "content": "a summary"}, isSynthetic=True),
        said("m2", {"type": "thinking", "thinking": "hm", "signature": "s"}),
        said("m2", {"type": "redacted_thinking", "data": "x"}),
    ]
    found = parse_stream([*strange[:4], *lines[:5], *strange, *lines[5:]])
    plain = parse_stream(lines)
    assert found == plain.model_copy(update={"ignored_lines": found.ignored_lines})


def test_retries_are_told_and_waits_kept_apart() -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1}
    overloaded = line(**retry, error_status=529, error="overloaded", retry_delay_ms=500)
    dropped = line(**retry, error_status=None, error="unknown", retry_delay_ms=700)
    found = parse_stream([init(), overloaded, overloaded, dropped, *answered()[1:]])
    assert found.outcome == "ok"
    assert (found.waited, found.seconds) == (1.0, 2.0)
    assert found.errors == (
        "The API failed and was asked again 2 times: 529 overloaded.",
        "The API failed and was asked again once: unknown.",
    )


def test_an_api_error_is_no_answer_and_no_api_call() -> None:
    synthetic = {
        "id": "u1",
        "model": "<synthetic>",
        "content": [text("Invalid API key")],
    }
    found = parse_stream(
        [
            init(),
            line(type="assistant", message=synthetic, error="authentication_failed"),
            ended("Invalid API key", is_error=True, terminal_reason="api_error", modelUsage={}),
        ]
    )
    assert (found.outcome, found.answer, found.api_calls) == ("api_error", "", 0)
    assert found.tokens == Tokens()
    assert "Invalid API key" in found.errors


def test_of_several_results_the_last_one_counts() -> None:
    since = {"m": {"inputTokens": 5, "outputTokens": 2, "costUSD": 0.1}}
    twice = [
        *answered()[:-1],
        ended("First.", model_usage_since_last_result=since),
        init(),
        said("m4", text("Second.")),
        ended("Second.", model_usage_since_last_result=since, total_cost_usd=0.2),
    ]
    found = parse_stream(twice)
    assert (found.answer, found.outcome, found.api_calls) == ("Second.", "ok", 4)
    assert (found.tokens.input, found.tokens.output, found.dollars) == (10, 4, 0.2)
    assert parse_stream([*answered(), *answered()]).tokens.output == 25


def test_an_event_that_is_printed_again_counts_once() -> None:
    lines = [line(**json.loads(each), uuid=str(at)) for at, each in enumerate(answered())]
    assert parse_stream([*lines[:6], *lines[2:]]) == parse_stream(lines)
    repeated = [*answered()[:5], *answered()[2:]]
    assert parse_stream(repeated).tool_calls == {"read": 1, "search": 1}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [f"{each}\r\n" for each in lines],
        lambda lines: ["\ufeff" + lines[0], *lines[1:], "", "\0"],
        lambda lines: ["Warning: {oops", "{}", "[1, 2]", "null", *lines, '"x"', "\x1b[0m"],
        lambda lines: [f"12:00 debug {each}" for each in lines],
        lambda lines: ["".join(lines)],
        lambda lines: [json.dumps([json.loads(each) for each in lines])],
        lambda lines: json.dumps([json.loads(each) for each in lines], indent=2).split("\n"),
        lambda lines: [*lines, '{"type": "system", "subtype": "la'],
        lambda lines: [*lines, "[" * 100_000, '{"a":' * 100_000],
        lambda lines: [*lines, "x" * 5_000_000],
    ],
)
def test_lines_may_be_mixed_broken_and_wrapped(spoil: Any) -> None:
    found = parse_stream(spoil(answered()))
    assert found.model_copy(update={"ignored_lines": 0}) == parse_stream(answered())


@pytest.mark.parametrize("lines", [[], [""], ["{}"], ['{"id": 1, "q": "?"}'], ['{"type": "x"}']])
def test_what_is_no_recording_is_refused(lines: list[str]) -> None:
    with pytest.raises(EvaluationError, match="no event of Claude Code"):
        parse_stream(lines)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """Where something stands in a JSON value."""
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, each in items:
        yield (*path, key)
        yield from places(each, (*path, key))


@same_every_time(300)
@given(st.data())
def test_no_wrong_field_stops_the_parser(data: st.DataObject) -> None:
    events = [json.loads(each) for each in answered()]
    for _ in range(data.draw(st.integers(1, 4))):
        event = data.draw(st.sampled_from(events))
        path = data.draw(st.sampled_from(list(places(event)) or [()]))
        holder = event
        for key in path[:-1]:
            holder = holder[key]
        if path and data.draw(st.booleans()):
            holder[path[-1]] = copy.deepcopy(data.draw(JUNK))
        elif path:
            del holder[path[-1]]
    try:
        found = parse_stream(json.dumps(event) for event in events)
    except EvaluationError:
        return
    assert Recording.model_validate_json(found.model_dump_json()) == found


def parse(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["eval", "parse-stream", *arguments], input=given)


def test_the_command_prints_what_a_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(answered()))
    done = parse(str(file))
    assert done.exit_code == 0
    shown = json.loads(done.stdout)
    assert list(shown)[:8] == [
        *("outcome", "ids_read", "ids_surfaced", "tool_calls"),
        *("api_calls", "tokens", "answer", "errors"),
    ]
    assert shown["tokens"] == {"input": 180, "output": 25, "cached": 90, "cache_written": 60}
    assert parse("-", given=file.read_bytes()).stdout == done.stdout
    assert parse("-", given=file.read_text().encode("utf-16")).stdout == done.stdout
    assert json.loads(parse(str(file), "--server", "x").stdout)["outcome"] == "server_failed"


def test_the_command_answers_whatever_the_outcome(tmp_path: Path) -> None:
    half = said("m1", text("a\ud83d\u2028b")).encode()
    done = parse("-", given=init().encode() + b"\n" + half + b"\n\xff\xfe{")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["outcome"] == "killed"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"no recording\n", b'{"id": "q1"}\n', b"\xff"])
def test_the_command_refuses_what_is_no_recording(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(content)
    done = parse(str(file))
    assert done.exit_code == 2
    assert "questions.jsonl: There is no event of Claude Code in it." in done.stderr


def test_the_command_says_when_a_file_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.jsonl", tmp_path):
        done = parse(str(path))
        assert done.exit_code == 2
        assert f"{path} cannot be read: " in done.stderr


FAILED = {
    "max_turns": ("09_max_turns", "09_max_turns_parallel"),
    "api_error": (
        *("20_e401_default_retries", "21_e529_default_retries", "22_drop_retries1"),
        *("22_e401_retries1", "22_e500mid_retries1", "22_e529_retries1", "23_api_timeout"),
    ),
    "context_length": ("24_e400",),
    "output_limit": ("24_maxtok",),
    "server_failed": (
        *("30_mcp_exit3", "30_mcp_hang_default30s", "30_mcp_hang_timeout5s"),
        *("30_mcp_nocmd", "33_http_down"),
    ),
    "killed": ("40_kill_SIGKILL", "40_kill_SIGTERM", "41_harness_timeout_SIGTERM"),
    "budget": ("61_budget",),
    "no_init": ("65_output_json",),  # this format does not tell of the servers
}
"""The published recordings that are not `ok`, by outcome."""
FAILURES = {name: outcome for outcome, names in FAILED.items() for name in names}
READS = {
    "05_tool_error": ["doc#s1"],
    "02_search_only": [],
    "07_bad_args": [],
    "10_parallel": ["doc#s1", "doc#s2"],
    "13_server_crash_restart": ["doc#s1"],
    "70_toolsearch_select": ["doc#s1"],
}


@pytest.mark.corpus
def test_every_published_recording_has_its_outcome() -> None:
    index = STREAMS / "index.json"
    if not index.is_file():
        pytest.skip(f"no recordings under {STREAMS}")
    runs: dict[str, dict[str, Any]] = json.loads(index.read_text())
    found = {}
    for name in runs:
        with (STREAMS / f"{name}.jsonl").open(encoding="utf-8") as lines:
            found[name] = parse_stream(lines)
    expected = {name: FAILURES.get(name, "ok") for name in runs}
    assert {name: each.outcome for name, each in found.items()} == expected
    assert {name: list(found[name].ids_read) for name in READS} == READS
    for name, each in found.items():
        assert each.api_calls <= runs[name]["api_requests"]
