"""What a run makes of endpoints and models that misbehave: all is counted, listed, kept or not."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from contextpull.models.chat import open_chat
from tests.agent_runs import (
    asked,
    failures,
    kept,
    number_of,
    reads_and_answers,
    run,
    start,
    write_set,
)
from tests.standins import (
    KEY,
    BreaksOff,
    Calls,
    Fails,
    Hangs,
    Held,
    IsCut,
    Refuses,
    Request,
    Says,
    Sends,
    StandIn,
    Step,
    Used,
    Waits,
    nobodys_url,
    standing_in,
)
from tests.terminals import seen_in_terminal

pytest.importorskip("openai")
pytest.importorskip("anthropic")

Answer = Step | Callable[[Request], Step]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """The clock of all chats: nobody waits, and an answer may take a second."""
    waits = Waits()
    opened = partial(open_chat, wait=waits, seconds=1.0)
    monkeypatch.setattr("contextpull.models.chat.open_chat", opened)
    return waits


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return write_set(tmp_path, 3)


class Endpoint:
    """A model that is asked in order, one of whose questions can go wrong."""

    def __init__(self, files: list[str], out: Path) -> None:
        self._files = files
        self.out = out
        self.wrong: dict[int, Answer] = {}

    def script(self, request: Request) -> Step:
        step = self.wrong.get(number_of(request), reads_and_answers)
        return step(request) if callable(step) and not isinstance(step, type) else step

    def arguments(self, model: StandIn, *more: object) -> list[object]:
        agent = ["--rows", "pull", "--model", model.endpoint, "--concurrency", 1]
        return [*self._files, *agent, "--out", self.out, "--json", *more]


@pytest.fixture
def endpoint(files: list[str], tmp_path: Path) -> Endpoint:
    return Endpoint(files, tmp_path / "run")


def never_ends(request: Request) -> Step:
    return Calls([("search", {"query": f"kettle {request.turn}"})])


FAULTS: list[tuple[str, Answer, str, str]] = [
    ("slow", Hangs(), "api_error", "did not answer within 1 seconds"),
    ("broken", Fails(500, "on fire"), "api_error", "on fire"),
    ("always busy", Fails(429), "rate_limited", "refuses more requests"),
    ("html", Sends(b"<html>Bad gateway</html>"), "api_error", "something that is no JSON"),
    ("half json", Sends(b'{"choices": [{"mess'), "api_error", "something that is no JSON"),
    ("wrong types", Sends({"choices": "none"}), "api_error", "JSON that is no reply"),
    ("no object", Sends([1, 2]), "api_error", "JSON that is no object"),
    ("error as success", Sends({"error": {"message": "oops"}}), "api_error", "failed: oops"),
    ("breaks off", BreaksOff(), "api_error", "broke off its answer"),
    ("key", Fails(401), "key_refused", "asks for a key"),
    ("no model", Fails(404, "no tiny"), "model_not_found", "check the model's name"),
]
"""What is no result: asked again by the next run."""
RESULTS: list[tuple[str, Answer, str, str]] = [
    ("refuses", Refuses("Not that."), "refused", "The model refuses: Not that."),
    ("too long", Fails(400, "prompt is too long"), "context_length", "more than it can hold"),
    ("silent", Says(""), "no_answer", "gave an empty reply"),
    ("is cut", IsCut("It boils"), "output_limit", "cut at the most tokens"),
    ("loops", Calls([("search", {"query": "kettle"})]), "loop", "3 turns asked for the same"),
    ("never ends", never_ends, "max_turns", "The last turn asked for tools"),
]
"""The model's own doing: a result, which is kept."""


@pytest.mark.parametrize(
    ("answer", "outcome", "said", "is_result"),
    [
        pytest.param(*each[1:], is_result, id=each[0])
        for found, is_result in ((FAULTS, False), (RESULTS, True))
        for each in found
    ],
)
def test_a_question_that_goes_wrong_is_counted_and_listed_and_the_others_go_on(
    endpoint: Endpoint, waits: Waits, answer: Answer, outcome: str, said: str, is_result: bool
) -> None:
    with standing_in(endpoint.script) as model:
        endpoint.wrong = {2: answer}
        result = run(*endpoint.arguments(model))
        assert result.exit_code == 1, result.stderr
        report = json.loads(result.stdout)
        record = report["agents"]["pull"]
        assert record["outcomes"] == {"ok": 2, outcome: 1}
        assert (record["queries"], record["answered"], record["not_asked"]) == (3, 2, 0)
        for row in ("pull, read", "pull, surfaced"):
            (listed,) = failures(report, row).items()
            assert listed[0] == "q2"
            assert listed[1].startswith(f"{outcome}: ")
            assert said in listed[1]
        assert kept(endpoint.out) == (["q1", "q2", "q3"] if is_result else ["q1", "q3"])
        assert json.loads((endpoint.out / "report.json").read_text()) == report
        endpoint.wrong = {}
        model.asked.clear()
        again = run(*endpoint.arguments(model))
        assert asked(model) == ([] if is_result else [2])
        assert again.exit_code == (1 if is_result else 0)


@pytest.mark.parametrize(
    ("busy", "waited"),
    [
        ([Fails(429, headers={"retry-after": "40"})], 40.0),
        ([Fails(529), Fails(500)], 6.0),
        ([BreaksOff()], 2.0),
    ],
)
def test_what_passes_is_waited_out_and_told_apart_from_the_time_of_answers(
    endpoint: Endpoint, waits: Waits, busy: list[Step], waited: float
) -> None:
    left = list(busy)

    def recovers(request: Request) -> Step:
        return left.pop(0) if left else reads_and_answers(request)

    endpoint.wrong = {2: recovers}
    with standing_in(endpoint.script) as model:
        result = run(*endpoint.arguments(model))
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)["agents"]["pull"]
    assert record["outcomes"] == {"ok": 3}
    assert (record["waited"], sum(waits.seconds)) == (waited, waited)
    assert record["api_calls"] == 4 + len(busy)


def test_what_a_model_does_wrong_on_its_way_to_an_answer_is_counted(
    endpoint: Endpoint, waits: Waits
) -> None:
    def clumsy(request: Request) -> Step:
        if request.turn:
            return Says("2 minutes.")
        wrong = [("delete", {}), ("search", {"query": 5}), ("read", {"ids": ["x.md#y"]})]
        return Calls([*wrong, ("search", '{"query": "ke')])

    endpoint.wrong = {2: clumsy}
    with standing_in(endpoint.script) as model:
        result = run(*endpoint.arguments(model))
    record = json.loads(result.stdout)["agents"]["pull"]
    assert (result.exit_code, record["outcomes"]) == (0, {"ok": 3})
    assert (record["unknown_tools"], record["wrong_arguments"]) == (1, 2)
    assert (record["tool_errors"], record["failed_reads"]) == (4, 1)
    assert record["answered_without_reading"] == 3
    assert kept(endpoint.out) == ["q1", "q2", "q3"]


NEVER_WORKS: list[tuple[str, Step, str]] = [
    ("key", Fails(401, "wrong"), "asks for a key, and none was given: wrong."),
    ("forbidden", Fails(403, "not yours"), "not yours."),
    ("no model", Fails(404, "no tiny"), "check the model's name and the URL."),
]


@pytest.mark.parametrize(
    ("step", "said"), [pytest.param(*each[1:], id=each[0]) for each in NEVER_WORKS]
)
def test_an_endpoint_that_can_only_go_on_failing_is_asked_once_a_thread(
    tmp_path: Path, step: Step, said: str
) -> None:
    files = write_set(tmp_path, 40)
    with standing_in([step]) as model:
        agent = ["--rows", "pull", "--model", model.endpoint, "--concurrency", 4]
        result = run(*files, *agent, "--out", tmp_path / "run")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "Nothing was measured. pull: 3" in result.stderr
        assert "of 40 questions were not asked: The model" in result.stderr
        assert said in result.stderr
        assert result.stderr.count("Nothing was measured") == 1
        assert 1 <= len(model.asked) <= 4
        assert kept(tmp_path / "run") == []


def test_an_endpoint_that_is_down_ends_the_run_with_its_address(tmp_path: Path) -> None:
    files = write_set(tmp_path, 40)
    url = nobodys_url()
    result = run(*files, "--rows", "pull", "--model", f"{url}/v1#tiny", "--concurrency", 1)
    assert result.exit_code == 2
    assert "39 of 40 questions were not asked" in result.stderr
    assert "cannot be reached (" in result.stderr
    assert url in result.stderr


def test_push_rows_are_printed_beside_a_row_that_could_not_be_asked(tmp_path: Path) -> None:
    files = write_set(tmp_path, 40)
    with standing_in([Fails(401)]) as model:
        agent = ["--model", model.endpoint, "--concurrency", 1]
        result = run(*files, "--rows", "bm25,pull", *agent, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["rows"][0]["row"] == "bm25"
    assert report["rows"][0]["errors"] == 0
    record = report["agents"]["pull"]
    assert (record["outcomes"], record["not_asked"]) == ({"key_refused": 1}, 39)
    assert "asks for a key" in record["stopped"]
    assert failures(report)["q40"] == f"not asked: {record['stopped']}"
    assert "pull: 39 of 40 questions were not asked" in result.stderr


def test_a_key_that_is_revoked_on_the_way_ends_the_asking_and_the_rest_is_asked_later(
    tmp_path: Path, waits: Waits
) -> None:
    files = write_set(tmp_path, 20)
    revoked = [True]

    def script(request: Request) -> Step:
        is_late = number_of(request) > 5 and revoked[0]
        return Fails(401, "revoked") if is_late else reads_and_answers(request)

    with standing_in(script) as model:
        agent = ["--rows", "pull", "--model", model.endpoint, "--concurrency", 1]
        arguments = [*files, *agent, "--out", tmp_path / "run", "--json"]
        result = run(*arguments)
        assert result.exit_code == 1
        assert asked(model) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert kept(tmp_path / "run") == ["q1", "q2", "q3", "q4", "q5"]
        assert "pull: 12 of 20 questions were not asked" in result.stderr
        assert "the same command goes on from there" in result.stderr
        revoked[0] = False
        model.asked.clear()
        assert run(*arguments).exit_code == 0
        assert asked(model) == list(range(6, 21))


def test_a_request_that_no_question_gets_through_ends_the_run(tmp_path: Path) -> None:
    files = write_set(tmp_path, 20)
    with standing_in([Fails(400, "tools are not supported")]) as model:
        agent = ["--rows", "pull", "--model", model.endpoint, "--concurrency", 1]
        result = run(*files, *agent)
    assert result.exit_code == 2
    assert "tools are not supported" in result.stderr
    assert len(model.asked) == 10


def test_faults_of_single_questions_end_nothing_once_one_was_answered(tmp_path: Path) -> None:
    files = write_set(tmp_path, 20)

    def script(request: Request) -> Step:
        return Fails(400) if number_of(request) > 1 else reads_and_answers(request)

    with standing_in(script) as model:
        agent = ["--rows", "pull", "--model", model.endpoint, "--concurrency", 1, "--json"]
        report = json.loads(run(*files, *agent).stdout)
    assert report["agents"]["pull"]["outcomes"] == {"ok": 1, "api_error": 19}


def test_as_many_questions_are_asked_at_once_as_was_said_and_never_more(tmp_path: Path) -> None:
    files = write_set(tmp_path, 15)
    together = Barrier(3)

    def script(request: Request) -> Step:
        return Held(Says("Some minutes."), lambda: together.wait(timeout=60))

    with standing_in(script) as model:
        agent = ["--rows", "pull", "--model", model.endpoint, "--concurrency", 3]
        assert run(*files, *agent).exit_code == 0
    assert len(model.asked) == 15
    assert model.most_under_way == 3


@pytest.fixture
def terse() -> Iterator[StandIn]:
    """A model that answers at once, for 120 tokens a question."""
    with standing_in([Says("Some minutes.", Used(100, 20))]) as model:
        yield model


def test_a_budget_in_tokens_ends_the_asking_and_the_same_command_goes_on(
    tmp_path: Path, terse: StandIn
) -> None:
    files = write_set(tmp_path, 5)
    agent = ["--rows", "pull", "--model", terse.endpoint, "--concurrency", 1]
    arguments = [*files, *agent, "--out", tmp_path / "run", "--json", "--max-tokens", 250]
    result = run(*arguments)
    assert result.exit_code == 1
    assert asked(terse) == [1, 2, 3]
    assert kept(tmp_path / "run") == ["q1", "q2", "q3"]
    report = json.loads(result.stdout)
    assert report["agents"]["pull"]["stopped"] == "the budget was spent"
    why = "not asked: the budget was spent"
    assert failures(report) == {"q4": why, "q5": why}
    assert "pull: 2 of 5 questions were not asked: the budget was spent." in result.stderr
    again = run(*arguments)
    assert again.exit_code == 0
    assert asked(terse) == [1, 2, 3, 4, 5]
    assert json.loads(again.stdout)["agents"]["pull"]["stopped"] is None


def test_a_budget_is_for_all_rows_together(tmp_path: Path, terse: StandIn) -> None:
    files = write_set(tmp_path, 5)
    agents = ["--rows", "pull,pull-strict", "--model", terse.endpoint, "--concurrency", 1]
    result = run(*files, *agents, "--max-tokens", 700, "--json")
    records = json.loads(result.stdout)["agents"]
    assert {name: each["not_asked"] for name, each in records.items()} == {
        "pull": 0,
        "pull-strict": 4,
    }


def test_a_budget_in_dollars_ends_the_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_set(tmp_path, 5)
    with standing_in([Says("Some minutes.", Used(1_000_000, 0, 0, 0))]) as model:
        opened = partial(open_chat, base_url=model.base_url("anthropic"))
        monkeypatch.setattr("contextpull.models.chat.open_chat", opened)
        agent = ["--model", "anthropic:claude-haiku-4-5", "--model-key", KEY, "--concurrency", 1]
        result = run(*files, "--rows", "pull", *agent, "--max-usd", 1.5, "--json")
    record = json.loads(result.stdout)["agents"]["pull"]
    assert (record["dollars"], record["not_asked"]) == (2.0, 3)
    assert "$2.00" in result.stderr


@pytest.mark.parametrize("given", [["--max-usd", "nan"], ["--max-usd", "0"], ["--max-tokens", "0"]])
def test_a_budget_that_is_none_is_refused(
    files: list[str], terse: StandIn, given: list[str]
) -> None:
    result = run(*files, "--rows", "pull", "--model", terse.endpoint, *given)
    assert result.exit_code == 2
    assert terse.asked == []


def test_a_log_shows_every_tenth_of_a_run(tmp_path: Path, terse: StandIn) -> None:
    files = write_set(tmp_path, 40)
    result = run(*files, "--rows", "pull", "--model", terse.endpoint, "--concurrency", 1)
    lines = [line for line in result.stderr.splitlines() if line.startswith("pull: ")]
    done = [line.rpartition(", ")[2] for line in lines]
    assert done == [f"{number} of 40 done" for number in (1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40)]
    assert lines[-1].startswith("pull: 4,800 new tokens, ")
    assert "/min, 0 failed, 40 of 40 done" in lines[-1]


@pytest.mark.parametrize("columns", [80, 100])
def test_a_terminal_shows_a_bar_with_what_it_took(
    tmp_path: Path, terse: StandIn, columns: int
) -> None:
    files = write_set(tmp_path, 12)
    arguments = [*files, "--rows", "pull", "--model", terse.endpoint]
    seen = seen_in_terminal(lambda terminal: start(*arguments, stderr=terminal), columns)
    assert re.search(r"pull: 1,440 new tokens, [\d.]+/min, 0 failed .*12/12", seen)
    assert "of 12 done" not in seen


def test_faults_of_a_question_file_are_listed_with_their_lines_and_nobody_is_asked(
    tmp_path: Path, terse: StandIn
) -> None:
    files = write_set(tmp_path, 1)
    questions = tmp_path / "questions.jsonl"
    good: dict[str, Any] = json.loads(questions.read_text())
    wrong: list[object] = [
        good,
        {**good, "id": "q2", "q": " "},
        {**good, "id": "q3", "gold_chunk_ids": []},
        {**good, "id": "q4", "shape": 5},
        {"id": "q5", "question": "Misspelt?", "shape": "table", "gold_chunk_ids": ["1.md#kettle"]},
        [1],
        good,
    ]
    lines = [json.dumps(each) for each in wrong]
    questions.write_text("\n".join([*lines, "{no json"]) + "\n")
    result = run(*files, "--rows", "pull", "--model", terse.endpoint)
    assert result.exit_code == 2
    for line, fault in (
        (2, "'q' must not be blank"),
        (3, "'gold_chunk_ids' is empty"),
        (4, "'shape' must be text"),
        (5, "'q' is missing"),
        (6, "not a JSON object"),
        (7, "already stands in"),
        (8, "not JSON"),
    ):
        assert f"questions.jsonl:{line}: " in result.stderr
        assert fault in result.stderr
    assert terse.asked == []
