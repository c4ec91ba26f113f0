"""An agent over a model's API: what it is told, what it does, and what is noted of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

import contextpull.eval
from contextpull import Store, open_store
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.behaviour import behaviour
from contextpull.eval.loop import ApiLoopRetriever
from contextpull.eval.runs import evaluate
from contextpull.eval.talks import STRICT
from contextpull.eval.transcripts import Tokens, Transcript
from contextpull.models.chat import open_chat
from contextpull.server.app import build_server
from contextpull.server.corpus import Corpus
from contextpull.store.ingest import ingest
from contextpull.tools import TOOLS, ToolSession
from contextpull.types import Question
from tests.conftest import write_corpus
from tests.standins import (
    KEY,
    VENDORS,
    BreaksOff,
    Calls,
    Fails,
    Hangs,
    IsCut,
    Refuses,
    Request,
    Says,
    Script,
    Sends,
    Step,
    Used,
    Waits,
    nobodys_url,
    standing_in,
)

pytest.importorskip("openai")
pytest.importorskip("anthropic")

CLEAR = "guide/cache.md#clear-the-cache"
INSTALL = "guide/install.md#install"
FILES = {
    "guide/cache.md": "# Cache\n\nWhat the cache is for, in one paragraph of some length.\n\n"
    "## Clear the cache\n\nRun `tool clean --no-cache` to remove every entry from the cache.\n",
    "guide/install.md": "# Install\n\nDownload the archive, unpack it and run the installer.\n",
    "notes.txt": "Error TX-4419 means that the link to the server is down. Restart it.\n",
}
SEARCH = ("search", {"query": "clear the cache"})
READ = ("read", {"ids": [CLEAR]})
ANSWER = Says(f"With `tool clean --no-cache` [{CLEAR}].")
Agent = Callable[..., ApiLoopRetriever]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("loop")
    ingest(write_corpus(folder / "docs", FILES), folder / "store")
    return open_store(folder / "store")


def run(store: Store, script: Script, vendor: str = "anthropic", **options: Any) -> Transcript:
    chat_options = {"seconds": options.pop("seconds")} if "seconds" in options else {}
    with standing_in(script) as standin:
        url = standin.base_url(vendor)
        chat = open_chat(f"{vendor}:m", api_key=KEY, base_url=url, wait=Waits(), **chat_options)
        question = Question("q1", "How is the cache cleared?", "conceptual", (CLEAR,))
        return ApiLoopRetriever(store, chat, **options).run(question)


def steps(*given: Step) -> list[Step]:
    return list(given)


def test_the_model_is_told_exactly_what_an_mcp_client_is_told(store: Store, tmp_path: Path) -> None:
    async def connect() -> Any:
        corpus = Corpus(store.path, None)
        corpus.start()
        async with Client(build_server(corpus)) as client:
            results = [await client.call_tool(name, given) for name, given in (SEARCH, READ)]
            return client.instructions, (await client.list_tools()).tools, results

    told, tools, results = anyio.run(connect)
    with standing_in([Calls([SEARCH, READ]), ANSWER]) as standin:
        chat = open_chat("anthropic:m", api_key=KEY, base_url=standin.address)
        ApiLoopRetriever(store, chat).run("How is the cache cleared?")
        asked, after = standin.asked
    assert asked.system == told
    assert [each["name"] for each in asked.body["tools"]] == [tool.name for tool in tools]
    for here, there in zip(asked.body["tools"], tools, strict=True):
        assert (here["description"], here["input_schema"]) == (
            there.description,
            there.input_schema,
        )
    assert [text for who, text in after.talk if who == "tool"] == [
        result.content[0].text for result in results
    ]
    assert asked.talk == [("user", "How is the cache cleared?")]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_run_notes_everything_that_was_asked_shown_and_read(store: Store, vendor: str) -> None:
    script = steps(
        Calls([SEARCH, ("grep", {"pattern": "TX-4419"})], "Looking."), Calls([READ]), ANSWER
    )
    transcript = run(store, script, vendor)
    assert (transcript.question_id, transcript.outcome) == ("q1", "ok")
    assert transcript.answer == ANSWER.text
    assert transcript.cited == (CLEAR,)
    assert [[call.name for call in turn.calls] for turn in transcript.turns] == [
        ["search", "grep"],
        ["read"],
        [],
    ]
    session = ToolSession(store)
    for call, (name, given) in zip(
        transcript.calls, (SEARCH, ("grep", {"pattern": "TX-4419"}), READ), strict=True
    ):
        assert (call.name, call.arguments) == (name, given)
        assert call.result == session.call(name, given).text
        assert not call.is_error
    assert transcript.turns[0].text == "Looking."
    assert transcript.ids_read == (CLEAR,)
    assert transcript.ids_surfaced[0] == CLEAR
    assert "notes.txt#top" in transcript.ids_surfaced
    assert transcript.tokens == Tokens(input=300, output=60, cached=192, cache_written=24)
    assert transcript.api_calls == 3
    assert transcript.seconds > 0
    assert transcript.errors == ()
    assert Transcript.model_validate_json(transcript.model_dump_json()) == transcript


def test_a_failed_read_is_no_read_whatever_its_text_names(store: Store) -> None:
    near = ("read", {"ids": ["guide/cache.md#clear"]})
    mixed = ("read", {"ids": [CLEAR, "gone.md#x"]})
    transcript = run(store, steps(Calls([near, mixed]), Calls([SEARCH]), ANSWER))
    assert [call.is_error for call in transcript.calls] == [True, True, False]
    assert CLEAR in transcript.calls[0].result  # as the closest id
    assert transcript.ids_read == ()
    assert transcript.ids_surfaced[0] == CLEAR


def test_context_is_read_too_in_the_order_in_which_it_is_shown(store: Store) -> None:
    transcript = run(store, steps(Calls([("read", {"ids": CLEAR, "context": 1})]), ANSWER))
    assert transcript.ids_read == ("guide/cache.md#cache", CLEAR)


def test_a_section_that_is_read_in_parts_counts_and_one_behind_the_cut_does_not(
    tmp_path: Path,
) -> None:
    long = "".join(f"## Part {number}\n\n{'word ' * 300}\n\n" for number in range(20))
    ingest(write_corpus(tmp_path / "docs", {"a.md": f"# A\n\n{long}"}), tmp_path / "store")
    transcript = run(
        open_store(tmp_path / "store"), steps(Calls([("read", {"ids": "a.md"})]), ANSWER)
    )
    shown = transcript.calls[0].result
    assert "[cut:" in shown
    assert transcript.ids_read
    assert all(f"[{each}]" in shown for each in transcript.ids_read)
    assert "a.md#part-19" not in transcript.ids_read


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("script", "outcome", "error"),
    [
        (steps(Refuses("Not that.")), "refused", "The model refuses: Not that."),
        (steps(Says("")), "no_answer", "empty reply"),
        (steps(IsCut("With")), "output_limit", "cut at the most tokens"),
        (steps(Calls([SEARCH])), "loop", "3 turns asked for the same"),
        (steps(Fails(401)), "key_refused", "refuses the key"),
        (steps(Fails(404)), "model_not_found", "is not there"),
        (steps(Fails(500)), "api_error", "failed"),
        (steps(Sends(b"x")), "api_error", "no JSON"),
        (steps(BreaksOff()), "api_error", "broke off"),
        (steps(Fails(429)), "rate_limited", "refuses more requests"),
        (steps(Fails(400, "prompt is too long")), "context_length", "more than it can hold"),
    ],
)
def test_every_way_to_fail_is_an_outcome_with_a_sentence(
    store: Store, vendor: str, script: Script, outcome: str, error: str
) -> None:
    transcript = run(store, script, vendor)
    assert transcript.outcome == outcome
    assert error in transcript.errors[-1]
    assert not transcript.is_ok
    assert KEY not in transcript.model_dump_json()


def test_a_model_that_is_slow_or_absent_is_an_outcome(store: Store) -> None:
    assert run(store, [Hangs()], seconds=0.1).outcome == "api_error"
    chat = open_chat("openai:m", api_key=KEY, base_url=nobodys_url())
    transcript = ApiLoopRetriever(store, chat).run("Anyone?")
    assert (transcript.outcome, transcript.api_calls) == ("unreachable", 1)
    assert "cannot be reached" in transcript.errors[0]


def test_a_failure_keeps_what_came_before_it(store: Store) -> None:
    transcript = run(store, steps(Calls([READ]), Fails(400)))
    assert transcript.outcome == "api_error"
    assert transcript.ids_read == (CLEAR,)
    assert (transcript.tokens.input, transcript.api_calls) == (100, 2)


def test_an_empty_reply_has_cost_its_tokens(store: Store) -> None:
    transcript = run(store, steps(Calls([READ]), Says("", Used(50, 5, 0, 0))))
    assert transcript.tokens == Tokens(input=150, output=25, cached=64, cache_written=8)


def test_waits_for_rate_limits_are_no_part_of_the_wall_time(store: Store) -> None:
    busy = Fails(429, headers={"retry-after": "40"})
    transcript = run(store, steps(busy, Calls([READ]), busy, busy, ANSWER))
    assert transcript.outcome == "ok"
    assert [turn.waited for turn in transcript.turns] == [40, 80]
    assert transcript.waited == 120
    assert transcript.seconds < 20
    assert transcript.api_calls == 5


def test_a_model_that_never_answers_is_stopped(store: Store) -> None:
    def script(request: Request) -> Step:
        return Calls([("search", {"query": f"cache {request.turn}"})])

    transcript = run(store, script, max_turns=4)
    assert transcript.outcome == "max_turns"
    assert [turn.calls[0].is_error for turn in transcript.turns] == [False, False, False, True]
    assert "Not run" in transcript.calls[-1].result
    assert transcript.calls[-1].surfaced == ()


def test_the_last_turn_may_still_answer(store: Store) -> None:
    assert run(store, steps(Calls([READ]), ANSWER), max_turns=2).outcome == "ok"
    assert run(store, steps(ANSWER), max_turns=1).outcome == "ok"


def test_calls_that_cannot_be_run_are_told_and_the_talk_goes_on(store: Store) -> None:
    wrong = Calls([("delete", {"id": 1}), ("search", {"query": 5}), ("read", '{"ids": ["a')])
    transcript = run(store, steps(wrong, Calls([READ]), ANSWER), "openai")
    unknown, argument, raw, _ = transcript.calls
    assert "There is no tool 'delete'" in unknown.result
    assert "'query' must be a string" in argument.result
    assert "must be one JSON object" in raw.result
    assert raw.arguments == '{"ids": ["a'
    assert transcript.outcome == "ok"


def test_a_fault_inside_a_tool_ends_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any, **_more: Any) -> Any:
        raise ZeroDivisionError("no section")

    monkeypatch.setattr("contextpull.tools.list_contents", broken)
    chat = open_chat("openai:m", api_key=KEY)
    with pytest.raises(ZeroDivisionError):  # there is no prompt without an index
        ApiLoopRetriever(store, chat)
    monkeypatch.undo()
    monkeypatch.setattr("contextpull.tools.search", broken)
    transcript = run(store, steps(Calls([SEARCH]), ANSWER))
    assert (
        transcript.calls[0].result
        == "search failed inside the server: ZeroDivisionError: no section"
    )
    assert transcript.outcome == "ok"


def test_ids_in_an_answer_are_found_whole_whether_they_were_shown_or_not(store: Store) -> None:
    answer = Says(f"See [{INSTALL}], {CLEAR}. Not guide/cache.md#clear-the-cache-9, nor x.md#y.")
    assert run(store, [answer]).cited == (INSTALL, CLEAR)


@pytest.fixture
def agent(store: Store) -> Any:
    """Agents whose model answers by the question: `read`, `snippet`, `silent` or `fail`."""

    def script(request: Request) -> Step:
        kind = request.question.split()[0]
        if kind == "fail":
            return Fails(400)
        if request.turn == 0 and kind != "silent":
            return Calls([SEARCH])
        if request.turn == 1 and kind == "read":
            return Calls([READ, ("read", {"ids": [INSTALL]}), ("read", {"ids": "x.md"})])
        return Says(f"{request.question}: [{CLEAR}]")

    with standing_in(script) as standin:
        chat = open_chat("openai-chat:m", api_key=KEY, base_url=standin.base_url("openai"))

        def made(**options: Any) -> ApiLoopRetriever:
            return ApiLoopRetriever(store, chat, **options)

        made.standin = standin  # type: ignore[attr-defined]
        yield made


def test_one_run_serves_both_views_and_the_answer(agent: Any) -> None:
    pull = agent()
    assert pull.retrieve("read it", 5) == [CLEAR, INSTALL]
    assert pull.retrieve("read it", 1) == [CLEAR]
    assert pull.retrieve("read it") == [CLEAR, INSTALL]
    assert pull.surfaced.retrieve("read it", 5)[:3] == [CLEAR, INSTALL, "guide/cache.md#cache"]
    assert pull.generate("read it", [CLEAR]) == f"read it: [{CLEAR}]"
    assert pull.surfaced.generate("read it") == pull.generate("read it")
    assert pull.surfaced.stats() == pull.stats()
    assert len(agent.standin.asked) == 3
    assert pull.retrieve("snippet", 5) == []
    assert pull.surfaced.retrieve("snippet", 5)[0] == CLEAR
    assert pull.stats()["queries"] == 2


def test_a_question_without_an_answer_is_a_failure_that_is_listed(agent: Any) -> None:
    pytest.importorskip("numpy")
    questions = [
        Question("q1", "read it", "conceptual", (CLEAR,)),
        Question("q2", "fail here", "conceptual", (CLEAR,)),
    ]
    pull = agent()
    row = evaluate(pull, questions, name=pull.row_name, k=5, rounds=10)
    assert [outcome.scores["recall@5"] for outcome in row.outcomes] == [1.0, 0.0]
    (failed,) = row.failures
    assert failed.question.id == "q2"
    assert "api_error: The model openai-chat:m (HTTP 400) failed" in str(failed.error)


def test_a_harness_that_drops_what_raises_gets_a_miss(agent: Any) -> None:
    pull = agent(failures="miss")
    assert pull.retrieve("fail here", 5) == []
    assert pull.surfaced.retrieve("fail here", 5) == []
    assert pull.generate("fail here") == ""
    with pytest.raises(EvaluationError, match="api_error"):
        agent().surfaced.retrieve("fail here", 5)


def test_what_failed_is_asked_again(agent: Any) -> None:
    pull = agent(failures="miss")
    pull.retrieve("fail here")
    agent.standin.script = [ANSWER]
    agent.standin.taken = 0
    assert pull.generate("fail here") == ANSWER.text


def test_a_run_is_made_anew_each_time_it_is_asked_for(agent: Any) -> None:
    pull = agent()
    question = Question("q7", "silent", "table", (CLEAR,))
    assert [pull.run(question).question_id for _ in range(3)] == ["q7"] * 3
    assert len(agent.standin.asked) == 3


def test_stats_tell_what_was_read_and_what_was_answered_without(agent: Any) -> None:
    pull = agent(failures="miss")
    for query in ("read it", "snippet", "silent", "fail here"):
        pull.retrieve(query)
    stats = pull.stats()
    expected = {
        "queries": 4,
        "outcomes": {"api_error": 1, "ok": 3},
        "answered": 3,
        "answered_without_reading": 2,
        "answered_from_snippets": 1,
        "cited_unread": 2,
        "reads_per_query": 0.5,
        "turns": 6,
        "api_calls": 7,
        "tokens_in": 600,
        "tokens_out": 120,
        "tokens_cached": 384,
        "tokens_cache_written": 48,
        "waited": 0.0,
        "tool_calls": 5,
        "by_tool": {"read": 3, "search": 2},
        "tool_errors": 1,
        "errors": 1,
        "failed_reads": 1,
        "unknown_tools": 0,
        "wrong_arguments": 0,
        "repeated_calls": 0,
    }
    assert {name: stats[name] for name in expected} == expected
    assert stats.keys() - expected.keys() == {"seconds", "shown_not_read_per_query"}
    assert stats["shown_not_read_per_query"] > 0


def test_stats_count_calls_that_went_wrong(store: Store) -> None:
    wrong = Calls([("delete", {}), ("search", {"query": 5}), ("read", "x"), SEARCH, SEARCH])
    transcript = run(store, steps(wrong, Calls([SEARCH]), ANSWER), "openai")
    stats = behaviour([transcript])
    assert stats["by_tool"] == {"delete": 1, "read": 1, "search": 4}
    assert (stats["unknown_tools"], stats["wrong_arguments"]) == (1, 2)
    assert (stats["tool_errors"], stats["failed_reads"], stats["repeated_calls"]) == (3, 1, 2)
    assert behaviour([])["reads_per_query"] == 0


def test_many_threads_may_ask_at_once(agent: Any) -> None:
    pull = agent(concurrency=8)
    queries = [f"read number {number % 10}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(pull.generate, queries))
        found = list(pool.map(pull.retrieve, queries))
    assert answers == [f"{query}: [{CLEAR}]" for query in queries]
    assert found == [[CLEAR, INSTALL]] * 40
    assert pull.stats()["queries"] == 10
    assert pull.concurrency == pull.surfaced.concurrency == 8


def test_a_fault_of_a_chat_reaches_everybody_who_waits_and_is_forgotten(store: Store) -> None:
    class Broken:
        name = fingerprint = "broken"

        def settings(self) -> dict[str, Any]:
            return {}

        def reply(self, *_arguments: Any, **_more: Any) -> Any:
            raise ZeroDivisionError

    pull = ApiLoopRetriever(store, Broken())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            pull.retrieve("anything")
    assert pull.stats()["queries"] == 0


def test_each_variant_has_its_own_name_and_fingerprint(agent: Any) -> None:
    variants = [
        agent(),
        agent(strict=True),
        agent(snippets="heading"),
        agent(snippets="full", mode="hybrid"),
        agent(actions="json"),
        agent(strict=True, actions="json", snippets="heading"),
    ]
    assert [each.row_name for each in variants] == [
        "pull",
        "pull-strict",
        "pull/heading",
        "pull/full/hybrid",
        "pull-json",
        "pull-json-strict/heading",
    ]
    assert variants[2].surfaced.row_name == "pull-surfaced/heading"
    prints = {each.fingerprint for each in [*variants, agent(max_turns=3)]}
    assert len(prints) == 7
    assert agent(k=3, concurrency=1, failures="miss").fingerprint == variants[0].fingerprint


def test_the_fingerprint_changes_with_the_model_and_the_tools(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(model: str = "m", **options: Any) -> str:
        return ApiLoopRetriever(
            store, open_chat(f"openai:{model}", api_key=KEY, **options)
        ).fingerprint

    prints = {of(), of("n"), of(temperature=0), of(max_tokens=5)}
    changed = (TOOLS[0]._replace(description="Another."), *TOOLS[1:])
    monkeypatch.setattr("contextpull.eval.tool_calls.TOOLS", changed)
    assert len(prints | {of()}) == 5


def test_strict_adds_its_rules_behind_what_everybody_is_told(agent: Any) -> None:
    assert agent(strict=True).system == f"{agent().system}\n\n{STRICT}"


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0},
        {"max_turns": 0},
        {"concurrency": 0},
        {"snippets": "long"},
        {"actions": "xml"},
        {"failures": "hide"},
    ],
)
def test_settings_that_cannot_be_are_refused(agent: Any, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(InvalidInput, match=name):
        agent(**options)


def test_snippets_are_those_that_were_asked_for(store: Store) -> None:
    shown = run(store, steps(Calls([SEARCH]), ANSWER), snippets="heading").calls[0].result
    assert shown == ToolSession(store, "heading").call(*SEARCH).text
    assert shown != ToolSession(store, "full").call(*SEARCH).text


def test_it_is_a_public_name_that_loads_late() -> None:
    assert contextpull.eval.ApiLoopRetriever is ApiLoopRetriever
    assert "ApiLoopRetriever" in contextpull.eval.__all__
    with pytest.raises(AttributeError):
        _ = contextpull.eval.Nothing  # type: ignore[attr-defined]
