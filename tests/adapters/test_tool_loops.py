"""The loops of docs/embedding.md, each with the vendor's own library, against a stand-in."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from contextpull import open_store
from contextpull.retrieval.scope import Scope, ScopedStore
from contextpull.store import Store
from contextpull.store.ingest import ingest
from contextpull.tools import call, instructions, to_anthropic, to_openai
from tests.documented import code_of, run_code_of
from tests.standins import KEY, VENDORS, Calls, Request, Says, StandIn, Step, standing_in

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

DEMO = Path(__file__).resolve().parents[2] / "demo" / "corpus"
PAGE = "embedding.md"
LOOPS = {"anthropic": "ask_anthropic.py", "openai": "ask_openai.py", "openai-chat": "ask_chat.py"}
TOOLS = {
    "anthropic": to_anthropic(),
    "openai": to_openai(),
    "openai-chat": to_openai(chat=True),
}
QUESTION = "How long is a repaired gateway under warranty?"
LONG = {"ids": ["reference/error-codes.md", "manual/operation.md"]}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("embedding") / "store"
    ingest(DEMO, folder)
    return open_store(folder)


def asked(vendor: str, model: StandIn, store: Store | ScopedStore) -> str:
    make = anthropic.Anthropic if vendor == "anthropic" else openai.OpenAI
    with make(base_url=model.base_url(vendor), api_key=KEY, max_retries=0) as client:
        return str(run_code_of(PAGE, LOOPS[vendor]).ask(client, "a-model", store, QUESTION))


def results_in(request: Request) -> list[str]:
    """What the tools answered, as the model was shown it."""
    return [text for who, text in request.talk if who == "tool"]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_loop_is_a_few_lines(vendor: str) -> None:
    (function,) = (
        node
        for node in ast.parse(code_of(PAGE, LOOPS[vendor])).body
        if isinstance(node, ast.FunctionDef)
    )
    assert function.end_lineno
    assert function.end_lineno - function.lineno < 25


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_model_is_told_what_the_server_tells_and_gets_what_it_answers(
    vendor: str, store: Store
) -> None:
    at_once = [
        ("search", {"query": "warranty", "limit": 3}),
        ("grep", {"pattern": "HG-4419", "context": 1}),
        ("index", {"path": "policies/"}),
    ]
    alone = ("read", {"ids": "reference/modbus-registers.md"})
    script = [Calls(at_once, text="Looking."), Calls([alone]), Says("Two years.")]
    with standing_in(script) as model:
        assert asked(vendor, model, store) == "Two years."
    first, second, last = model.asked
    assert first.body["tools"] == TOOLS[vendor]
    assert (first.system, first.question) == (instructions(store.snapshot()), QUESTION)
    assert results_in(second) == [call(store, *each).text for each in at_once]
    assert results_in(last) == [call(store, *each).text for each in (*at_once, alone)]
    assert second.turn == 1, "all results of one answer go back together"


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_error_is_an_answer_that_the_loop_goes_on_from(vendor: str, store: Store) -> None:
    wrong: list[tuple[str, Any]] = [
        ("read", {"ids": "nowhere.md#x"}),
        ("search", {"query": "warranty", "top_k": 3}),
        ("ask", {}),
        ("search", {"query": "warranty", "limit": 1}),
    ]
    with standing_in([Calls(wrong), Says("Two years.")]) as model:
        assert asked(vendor, model, store) == "Two years."
    results = [call(store, *each) for each in wrong]
    assert [each.is_error for each in results] == [True, True, True, False]
    assert results_in(model.asked[-1]) == [each.text for each in results]
    if vendor == "anthropic":
        sent = model.asked[-1].body["messages"][-1]["content"]
        assert [each["is_error"] for each in sent] == [True, True, True, False]


@pytest.mark.parametrize("vendor", ["openai", "openai-chat"])
def test_arguments_that_are_no_json_are_told_so(vendor: str, store: Store) -> None:
    with standing_in([Calls([("search", '{"query": ')]), Says("Two years.")]) as model:
        assert asked(vendor, model, store) == "Two years."
    (result,) = results_in(model.asked[-1])
    assert result == (
        'search: the arguments must be one JSON object, not "{\\"query\\": ". A call that works: '
        'search({"query": "clear the cache", "limit": 5})'
    )


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_result_that_was_cut_goes_on_where_it_says(vendor: str, store: Store) -> None:
    def next_step(request: Request) -> Step:
        if request.turn == 0:
            return Calls([("read", LONG)])
        more = re.search(r"offset=(\d+)", request.last.splitlines()[-1])
        return Calls([("read", {**LONG, "offset": int(more[1])})]) if more else Says("Two years.")

    with standing_in(next_step) as model:
        asked(vendor, model, store)
    pages = results_in(model.asked[-1])
    assert len(pages) > 1
    assert "an image that eighty" in pages[-1]
    assert all(len(each) <= 16_500 for each in pages)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_model_that_never_answers_is_given_up(vendor: str, store: Store) -> None:
    with (
        standing_in([Calls([("index", {})])]) as model,
        pytest.raises(TimeoutError, match="no answer in 20 turns"),
    ):
        asked(vendor, model, store)
    assert len(model.asked) == 20


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_lies_outside_a_scope_is_in_nothing_that_is_sent(vendor: str, store: Store) -> None:
    scoped = ScopedStore(store, Scope(("manual/**",)))
    step = Calls([("search", {"query": "warranty"}), ("read", {"ids": "policies/"}), ("index", {})])
    with standing_in([step, Says("I cannot tell.")]) as model:
        asked(vendor, model, scoped)
    for request in model.asked:
        assert "policies/returns" not in json.dumps(request.body)
