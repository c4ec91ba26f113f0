"""The loop for small models, whose replies are bound to one action at a time."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contextpull import Store, open_store
from contextpull.eval.loop import ApiLoopRetriever
from contextpull.eval.transcripts import Transcript
from contextpull.models.chat import open_chat
from contextpull.store.ingest import ingest
from contextpull.tools import TOOLS
from tests.conftest import write_corpus
from tests.eval.test_api_loop import CLEAR, FILES, INSTALL
from tests.standins import (
    KEY,
    VENDORS,
    Fails,
    IsCut,
    Refuses,
    Request,
    Says,
    Script,
    StandIn,
    Step,
    standing_in,
)

pytest.importorskip("openai")
pytest.importorskip("anthropic")

QUESTION = "How is the cache cleared?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("actions")
    ingest(write_corpus(folder / "docs", FILES), folder / "store")
    return open_store(folder / "store")


def does(name: str, **arguments: Any) -> Says:
    return Says(json.dumps({"action": {"name": name, "arguments": arguments}}))


def asked_for(request: Request) -> dict[str, Any]:
    """The schema that a request binds its reply to."""
    schema: dict[str, Any] = request.body["response_format"]["json_schema"]["schema"]
    return schema


def offered(request: Request) -> dict[str, Any]:
    """The actions of a request's schema, each with the schema of its arguments."""
    choices = asked_for(request)["properties"]["action"]["anyOf"]
    return {
        choice["properties"]["name"]["enum"][0]: choice["properties"]["arguments"]["properties"]
        for choice in choices
    }


def run(store: Store, script: Script, **options: Any) -> tuple[Transcript, StandIn]:
    with standing_in(script) as standin:
        chat = open_chat(standin.endpoint)
        return ApiLoopRetriever(store, chat, actions="json", **options).run(QUESTION), standin


@pytest.mark.parametrize("vendor", VENDORS)
def test_search_then_read_then_answer(store: Store, vendor: str) -> None:
    script = [
        does("search", query="clear the cache"),
        does("read", id=CLEAR),
        does("answer", text="With --no-cache.", id=CLEAR),
    ]
    with standing_in(script) as standin:
        url = standin.base_url(vendor)
        chat = open_chat(f"{vendor}:m", api_key=KEY, base_url=url)
        transcript = ApiLoopRetriever(store, chat, actions="json").run(QUESTION)
    assert transcript.outcome == "ok"
    assert transcript.answer == "With --no-cache."
    assert transcript.cited == transcript.ids_read == (CLEAR,)
    assert [(call.name, call.arguments) for call in transcript.calls] == [
        ("search", {"query": "clear the cache"}),
        ("read", {"ids": [CLEAR]}),
    ]
    assert not any("tools" in request.body for request in standin.asked)
    for result, request in zip(transcript.calls, standin.asked[1:], strict=True):
        assert result.result in request.last
        assert request.last.endswith(QUESTION)


def test_only_what_makes_sense_is_offered(store: Store) -> None:
    _, standin = run(
        store,
        [
            does("index", path=""),
            does("grep", pattern="cache"),
            does("read", id=CLEAR),
            does("answer", text="Here."),
        ],
    )
    start, listed, found, read = map(offered, standin.asked)
    assert list(start) == list(listed) == ["search", "grep", "index"]
    assert list(found) == ["read"]
    assert CLEAR in found["read"]["id"]["enum"]
    assert list(read) == ["read", "search", "grep", "index", "answer"]
    assert CLEAR not in read["read"]["id"]["enum"]
    assert read["answer"]["id"]["enum"] == [CLEAR]


def test_schemas_suit_every_vendor(store: Store) -> None:
    def check(schema: dict[str, Any]) -> None:
        if schema["type"] == "object":
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
            for each in schema["properties"].values():
                for choice in each.get("anyOf", [each]):
                    check(choice)
        assert schema.keys() <= {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "enum",
            "items",
        }

    script = [does("search", query="cache"), does("read", id=CLEAR), does("nothing")]
    _, standin = run(store, script, max_turns=5)
    for request, step in zip(standin.asked, script, strict=False):
        schema = asked_for(request)
        jsonschema.Draft202012Validator.check_schema(schema)
        check(schema)
        valid = jsonschema.Draft202012Validator(schema).is_valid(json.loads(step.text))
        assert valid == (step is not script[2])


def test_a_lookup_that_was_done_is_refused_and_its_kind_not_offered_again(store: Store) -> None:
    again = does("search", query="nothing at all like this")
    script = [again, again, does("grep", pattern="TX-4419"), does("read", id="notes.txt#top")]
    transcript, standin = run(store, [*script, does("answer", text="Restart it.")])
    repeated = transcript.calls[1]
    assert repeated.is_error
    assert "You did that already" in repeated.result
    assert list(offered(standin.asked[2])) == ["grep", "index"]
    assert list(offered(standin.asked[4])) == ["grep", "index", "answer"]
    assert transcript.outcome == "ok"
    assert transcript.ids_read == ("notes.txt#top",)


def test_after_vain_lookups_the_model_may_give_up(store: Store) -> None:
    script = [does("search", query=f"qqq{number}") for number in range(3)]
    transcript, standin = run(store, [*script, does("answer", text="Nothing answers.")])
    assert "answer" not in offered(standin.asked[2])
    assert "answer" in offered(standin.asked[3])
    assert (transcript.outcome, transcript.ids_read) == ("ok", ())


def test_a_model_that_repeats_every_lookup_may_give_up(store: Store) -> None:
    lookups = [does("search", query="qqq"), does("grep", pattern="qqq"), does("index", path="q")]
    script = [each for lookup in lookups for each in (lookup, lookup)]
    transcript, standin = run(store, [*script, does("answer", text="Nothing answers.")])
    assert list(offered(standin.asked[2])) == ["grep", "index"]
    assert list(offered(standin.asked[6])) == ["answer"]
    assert (transcript.outcome, transcript.ids_read) == ("ok", ())


def test_an_outline_shows_ids_to_read(store: Store) -> None:
    script = [
        does("index", path="guide/install.md"),
        does("read", id=INSTALL),
        does("answer", text="Unpack it.", id=INSTALL),
    ]
    transcript, standin = run(store, script)
    assert offered(standin.asked[1])["read"]["id"]["enum"] == [INSTALL]
    assert transcript.ids_read == (INSTALL,)
    assert transcript.ids_surfaced == (INSTALL,)


def test_the_last_turn_offers_nothing_but_an_answer(store: Store) -> None:
    script = [does("search", query="cache"), does("answer", text="By hand.")]
    transcript, standin = run(store, script, max_turns=2)
    assert list(offered(standin.asked[1])) == ["answer"]
    assert "last turn" in standin.asked[1].last
    assert transcript.outcome == "ok"


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (Refuses(), "refused"),
        (IsCut('{"action": {"name": "sea'), "output_limit"),
        (Says("I think that it is cleared by hand."), "max_turns"),
        (does("answer", text="Unread."), "ok"),  # in the last turn, when it is offered
        (Says('{"action": ["search"]}'), "max_turns"),
        (Says('{"action": {"name": "search", "arguments": "x"}}'), "max_turns"),
        (does("search", query="qqq"), "max_turns"),
        (Fails(400), "api_error"),
    ],
)
def test_what_a_server_without_schemas_lets_through_is_an_outcome(
    store: Store, step: Step, outcome: str
) -> None:
    transcript, _ = run(store, [step], max_turns=3)
    assert transcript.outcome == outcome
    assert transcript.is_ok or transcript.errors


def test_words_and_fences_around_an_action_are_passed_over(store: Store) -> None:
    steps = [does("search", query="cache"), does("read", id=CLEAR), does("answer", text="So.")]
    fenced = [Says(f"Now:\n```json\n{step.text}\n```\n") for step in steps]
    transcript, _ = run(store, fenced)
    assert (transcript.outcome, transcript.ids_read) == ("ok", (CLEAR,))


def test_an_empty_answer_is_none(store: Store) -> None:
    transcript, _ = run(store, [does("answer", text=" ")], max_turns=1)
    assert transcript.outcome == "no_answer"


def test_the_actions_are_told_after_the_instructions_and_without_examples(store: Store) -> None:
    plain = ApiLoopRetriever(store, open_chat("http://127.0.0.1:9/v1#m"))
    bound = ApiLoopRetriever(store, open_chat("http://127.0.0.1:9/v1#m"), actions="json")
    assert bound.system.startswith(plain.system)
    added = bound.system.removeprefix(plain.system)
    assert all(tool.description in added for tool in TOOLS)
    assert "#" not in added


def test_a_schema_stays_small_however_much_is_found(tmp_path: Path) -> None:
    files = {f"{number}.md": f"# Page {number}\n\nThe same word here.\n" for number in range(200)}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    script = [does("grep", pattern="word"), does("read", id="0.md#page-0")]
    _, standin = run(open_store(tmp_path / "store"), script, max_turns=3)
    assert len(offered(standin.asked[1])["read"]["id"]["enum"]) <= 40
