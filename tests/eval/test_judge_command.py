"""`contextpull eval judge` from the command line's side, with scripted judges over a kept run."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.evaluate import eval_group
from contextpull.cli.main import cli
from tests.answered_runs import QUESTIONS, RED, answered_run
from tests.standins import (
    Fails,
    Hangs,
    IsCut,
    Refuses,
    Request,
    Says,
    Script,
    Sends,
    StandIn,
    Step,
    nobodys_url,
    standing_in,
)

pytest.importorskip("openai")

JUDGED_FIRST = ["q1", "q2", "q3"]

Judging = Callable[..., Result]


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody changes."""
    return answered_run(tmp_path_factory.mktemp("judged"))


@pytest.fixture
def run(finished_run: Path, tmp_path: Path) -> Path:
    """A copy of the run."""
    return Path(shutil.copytree(finished_run, tmp_path / "run"))


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(eval_group, list(map(str, arguments)))


def judge(run: Path, standin: StandIn, *more: object) -> Result:
    return invoke("judge", run, "--judge", standin.endpoint, "--rounds", 100, *more)


def report_of(result: Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output + str(result.exception)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def judged_with(script: Script, run: Path, *more: object, code: int = 0) -> dict[str, Any]:
    with standing_in(script) as standin:
        return report_of(judge(run, standin, "--json", *more), code)


def measured(report: dict[str, Any], measure: str) -> dict[str, Any]:
    [found] = [each for each in report["rows"] if each["measure"] == measure]
    return dict(found)


def says(score: object, reason: str = "so") -> Says:
    return Says(json.dumps({"reason": reason, "score": score}))


def question_of(request: Request) -> str:
    """The id of the question that a judge is asked about."""
    return next(each.id for each in QUESTIONS if each.text in request.question)


def only(question_id: str, step: Step) -> Script:
    """A judge that gives 1, but for one question."""
    return lambda request: step if question_of(request) == question_id else says(1)


FAITHFUL = ("--measures", "faithfulness")


def test_answers_are_judged_by_what_the_model_was_shown_and_by_the_reference(run: Path) -> None:
    scores = {"q1": 1.0, "q2": 0.5, "q3": 0.25}
    report = judged_with(lambda request: says(scores[question_of(request)]), run)
    faithfulness = measured(report, "faithfulness")
    assert faithfulness["judged"] == 2
    assert faithfulness["undefined"] == {"nothing_shown": 1}
    assert faithfulness["unanswered"] == 1
    assert faithfulness["mean"]["mean"] == 0.75
    assert faithfulness["by_evidence"]["read"]["mean"]["mean"] == 1.0
    assert faithfulness["by_evidence"]["snippets"]["mean"]["mean"] == 0.5
    correctness = measured(report, "correctness")
    assert correctness["undefined"] == {"no_reference": 1}
    assert correctness["mean"]["mean"] == pytest.approx(0.625)
    assert {each["outcome"] for each in report["judgements"]} == {"ok", "undefined"}


def test_a_judge_sees_the_evidence_or_the_reference_never_both(run: Path) -> None:
    with standing_in([says(1)]) as standin:
        judge(run, standin, "--measures", "faithfulness,correctness")
    prompts = {
        (question_of(each), "EVIDENCE" in each.question.split("Grade")[0]): each.question
        for each in standin.asked
    }
    assert prompts.keys() == {("q1", True), ("q1", False), ("q2", True), ("q3", False)}
    assert "The red kettle boils in four minutes." in prompts["q1", True]
    assert "(lines 1-3)" in prompts["q1", True]
    assert RED.answer not in prompts["q1", True]
    assert RED.answer in prompts["q1", False]
    assert "The red kettle boils" not in prompts["q1", False]
    assert "b.md#oven" in prompts["q2", True]
    schema = standin.asked[0].body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["reason", "score"]


def test_every_verdict_is_kept_with_what_it_rests_on(run: Path) -> None:
    report = judged_with([says(0.5, "half of it")], run, *FAITHFUL)
    lines = [json.loads(line) for line in (run / "judgements.jsonl").read_text().splitlines()]
    by_id = {each["id"]: each for each in lines}
    assert sorted(by_id) == JUDGED_FIRST
    assert [by_id[each]["evidence"] for each in JUDGED_FIRST] == ["read", "snippets", "none"]
    assert [by_id[each]["score"] for each in JUDGED_FIRST] == [0.5, 0.5, None]
    assert by_id["q1"]["reason"] == "half of it"
    assert by_id["q1"]["judge"] == report["judge"]
    assert by_id["q3"]["undefined"] == "nothing_shown"
    keys = {
        json.loads(line)["key"] for line in (run / "transcripts.jsonl").read_text().splitlines()
    }
    assert {each["transcript"] for each in lines} <= keys


def test_the_table_tells_reading_from_snippets_and_says_what_is_not_judged(run: Path) -> None:
    with standing_in(only("q2", says(0))) as standin:
        result = judge(run, standin)
    assert result.exit_code == 0
    for part in (
        "pull  faithfulness              2          1       0  0.500 [",
        "        on what was read        1          0       0  1.000 [-]",
        "        on snippets alone       1          0       0  0.000 [-]",
        "pull, faithfulness: 1 undefined, since nothing was shown to the model.",
        "pull, correctness: 1 undefined, since the question has no reference answer.",
        "pull: no answer, so not judged: 1 of 4.",
        "8 verdicts asked for (960 tokens), 0 kept from before.",
    ):
        assert part in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("step", "outcome", "sentence"),
    [
        (says(1.5), "invalid", "must be a number from 0 to 1, and the judge gave 1.5"),
        (says(-0.1), "invalid", "the judge gave -0.1"),
        (Says('{"reason": "", "score": NaN}'), "invalid", "the judge gave nan"),
        (Says('{"reason": "", "score": 1e999}'), "invalid", "the judge gave inf"),
        (says(True), "invalid", "the judge gave True"),
        (says("0.5"), "invalid", "the judge gave 0.5"),
        (says(None), "invalid", "the judge gave None"),
        (Says("Quite good, I think."), "junk", "is no JSON: Quite good, I think."),
        (Says("[" * 100_000), "junk", "is no JSON"),
        (Says('{"reason": "fine"}'), "junk", "has no score"),
        (Refuses("No grading."), "refused", "The judge refused: No grading."),
        (IsCut('{"reason": "because'), "junk", "wrote more than it may"),
        (Fails(500, headers={"Retry-After": "0"}), "status", "500"),
        (Fails(400), "status", "400"),
        (Fails(429, headers={"Retry-After": "10000"}), "rate_limited", "429"),
        (Sends(b"<html>"), "junk", ""),
        (Hangs(), "timeout", ""),
    ],
)
def test_a_judge_that_fails_once_costs_that_verdict_alone(
    run: Path, step: Step, outcome: str, sentence: str
) -> None:
    seconds = ("--judge-seconds", 0.5) if isinstance(step, Hangs) else ()
    with standing_in(only("q2", step)) as standin:
        report = report_of(judge(run, standin, "--json", *FAITHFUL, *seconds), 1)
        standin.script = [says(0)]
        again = report_of(judge(run, standin, "--json", *FAITHFUL))
    row = measured(report, "faithfulness")
    assert row["errors"] == {outcome: 1}
    assert row["judged"] == 1
    assert row["mean"]["mean"] == 1.0
    [error] = [each["error"] for each in report["judgements"] if each["error"]]
    assert error.startswith("faithfulness of question 'q2', pull: ")
    assert sentence in error
    assert measured(again, "faithfulness")["mean"]["mean"] == 0.5
    assert (again["asked"], again["kept"]) == (1, 1)


def test_a_failure_is_listed_under_the_table(run: Path) -> None:
    with standing_in(only("q1", says(7))) as standin:
        result = judge(run, standin, *FAITHFUL)
    assert result.exit_code == 1
    assert "pull, faithfulness: 1 without a verdict: 1 invalid." in result.stdout
    assert "  faithfulness of question 'q1', pull: A score must be a number" in result.stdout


def test_fenced_json_is_taken(run: Path) -> None:
    report = judged_with([Says('```json\n{"reason": "", "score": 0.25}\n```')], run, *FAITHFUL)
    assert measured(report, "faithfulness")["mean"]["mean"] == 0.25


def test_a_judging_that_broke_off_goes_on_and_replays_offline(run: Path) -> None:
    with standing_in(only("q1", Fails(400))) as standin:
        first = report_of(judge(run, standin, "--json"), 1)
        assert first["kept"] == 0
        standin.script = [says(1)]
        asked = len(standin.asked)
        assert "No verdict" in str(judge(run, standin, "--offline").exception)
        assert len(standin.asked) == asked
        second = report_of(judge(run, standin, "--json"))
        assert len(standin.asked) - asked == second["asked"] == 4
        assert second["kept"] == asked - 4
        asked = len(standin.asked)
        replayed = report_of(judge(run, standin, "--offline", "--json"))
        assert len(standin.asked) == asked
    assert replayed["rows"] == second["rows"]


def test_a_torn_last_line_is_passed_over_and_asked_again(run: Path) -> None:
    judged_with([says(1)], run, *FAITHFUL, "--concurrency", 1)
    kept = run / "judgements.jsonl"
    kept.write_bytes(kept.read_bytes()[:-20])
    with standing_in([says(1)]) as standin:
        again = report_of(judge(run, standin, *FAITHFUL, "--json"), 0)
        assert again["rows"][0]["judged"] == 2


def test_another_judge_prompt_or_answer_is_judged_anew(run: Path) -> None:
    with standing_in([says(1)]) as standin:
        judge(run, standin, *FAITHFUL)
        asked = len(standin.asked)
        other = ("judge", run, "--judge", f"{standin.address}/v1#large", *FAITHFUL)
        assert invoke(*other, "--rounds", 100).exit_code == 0
        assert len(standin.asked) == asked + 2
        kept = run / "transcripts.jsonl"
        kept.write_text(kept.read_text().replace("Four minutes, says", "Five minutes, says"))
        report = report_of(judge(run, standin, *FAITHFUL, "--json"))
    assert (report["asked"], report["kept"]) == (1, 1)
    assert "Five minutes, says" in standin.asked[-1].question


@pytest.mark.parametrize(
    ("script", "outcome", "sentence"),
    [
        ([Fails(401)], "key", "the rest was not asked"),
        ([Fails(404)], "not_found", "the rest was not asked"),
        ([says(1)], "not_asked", "the budget was spent"),
    ],
)
def test_what_can_only_fail_again_and_a_spent_budget_end_the_asking(
    run: Path, script: Script, outcome: str, sentence: str
) -> None:
    with standing_in(script) as standin:
        budget = ("--max-tokens", 1) if outcome == "not_asked" else ()
        report = report_of(judge(run, standin, "--json", "--concurrency", 1, *budget), 1)
        assert len(standin.asked) == 1
    assert sentence in report["stopped"].lower()
    outcomes = [each["outcome"] for each in report["judgements"]]
    assert outcomes.count(outcome) >= 1
    assert outcomes.count("not_asked") == 7


def test_a_judge_that_nobody_serves_is_given_up(run: Path) -> None:
    result = invoke("judge", run, "--judge", f"{nobodys_url()}/v1#m", "--concurrency", 1, "--json")
    report = report_of(result, 1)
    outcomes = [each["outcome"] for each in report["judgements"]]
    assert outcomes.count("unreachable") == 3
    assert "The rest was not asked: The model" in report["stopped"]


def test_rows_and_a_sample_narrow_what_is_judged(run: Path) -> None:
    report = judged_with([says(1)], run, "--sample", 2, "--seed", 1, "--rows", "pull")
    ids = {each["id"] for each in report["judgements"]}
    assert sum(each["answers"] + each["unanswered"] for each in report["rows"]) == 2 * 4
    assert len(ids) <= 2
    assert report == {**judged_with([says(1)], run, "--sample", 2, "--seed", 1), **_unlike(report)}


def _unlike(report: dict[str, Any]) -> dict[str, Any]:
    """What differs when the same is judged again, by another stand-in."""
    names = ("judge", "settings", "judgements", "run", "asked", "kept", "tokens")
    return {name: report[name] for name in names}


def test_a_run_published_without_text_cannot_be_judged_for_faithfulness(run: Path) -> None:
    kept = run / "transcripts.jsonl"
    records = [json.loads(line) for line in kept.read_text().splitlines()]
    for record in records:
        for turn in record["transcript"]["turns"]:
            for call in turn["calls"]:
                call["result"] = ""
    kept.write_text("".join(json.dumps(record) + "\n" for record in records))
    with standing_in([says(1)]) as standin:
        result = judge(run, standin)
        assert "published without the text of results" in result.stdout
        assert "pull, faithfulness: 2 undefined, since the text that was shown" in result.stdout
        assert "pull  correctness        2 " in result.stdout
        alone = judge(run, standin, *FAITHFUL)
    assert "published without the text of results" in str(alone.exception)


def test_questions_without_reference_answers_leave_nothing_to_judge(run: Path) -> None:
    questions = [json.loads(each) for each in (run / "questions.jsonl").read_text().splitlines()]
    lines = (json.dumps({**each, "answer": ""}) + "\n" for each in questions)
    (run / "questions.jsonl").write_text("".join(lines))
    with standing_in([says(1)]) as standin:
        result = judge(run, standin, "--measures", "correctness,helpfulness")
        assert standin.asked == []
    assert "the question has no reference answer" in str(result.exception)


def test_long_evidence_is_cut_and_the_verdict_says_so(run: Path) -> None:
    kept = run / "transcripts.jsonl"
    kept.write_text(kept.read_text().replace("boils in four minutes", "boils " + "x" * 70_000))
    with standing_in([says(1)]) as standin:
        report = report_of(judge(run, standin, *FAITHFUL, "--json"))
    [cut] = [each for each in report["judgements"] if each["left_out"]]
    assert cut["id"] == "q1"
    assert cut["left_out"] > 10_000
    prompt = next(each.question for each in standin.asked if question_of(each) == "q1")
    assert f"{cut['left_out']} characters of the EVIDENCE did not fit" in prompt
    assert len(prompt) < 65_000


def test_asking_twice_tells_how_often_a_judge_differs_from_itself(run: Path) -> None:
    turns = iter([1, 1, 1, 0.5])
    report = judged_with(
        lambda _request: says(next(turns)), run, *FAITHFUL, "--twice", "--concurrency", 1
    )
    [found] = report["consistency"]
    assert found["answers"] == 2
    assert found["differ"]["mean"] == 0.5
    assert found["mean_absolute_difference"]["mean"] == 0.25
    assert measured(report, "faithfulness")["mean"]["mean"] == 1.0
    assert report["asked"] == 4


def test_labels_of_people_are_set_beside_the_judge(run: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    given = [
        {"id": "q1", "row": "pull", "measure": "faithfulness", "label": 1},
        {"id": "q2", "row": "pull", "measure": "faithfulness", "label": 0},
        {"id": "q3", "row": "pull", "measure": "faithfulness", "label": 0},
        {"id": "q1", "row": "pull", "measure": "correctness", "label": 0.75},
    ]
    labels.write_text("".join(json.dumps(each) + "\n" for each in given))
    report = judged_with(only("q2", says(0.25)), run, "--labels", labels)
    kappa, graded = report["agreement"]
    assert (kappa["measure"], kappa["labels"], kappa["not_judged"]) == ("faithfulness", 3, 1)
    assert kappa["kappa"]["mean"] == 1.0
    assert kappa["base_rate"] == 0.5
    assert kappa["confusion"] == {"both_yes": 1, "judge_only": 0, "person_only": 0, "both_no": 1}
    assert graded["mean_absolute_difference"]["mean"] == 0.25
    with standing_in(only("q2", says(0.25))) as standin:
        text = judge(run, standin, "--labels", labels).stdout
    assert "faithfulness        2  1.000 [" in text
    assert "correctness         1  0.250 [-]" in text
    assert "faithfulness: labels without a score beside them: 1." in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            '{"id": "q1", "row": "pull", "measure": "faithfulness", "label": 2}',
            "from 0 to 1, not 2",
        ),
        ('{"id": "q1", "row": "pull", "measure": "faithfulness", "label": true}', "not true"),
        ('{"id": "q1", "row": "pull", "measure": "faithfulness", "lable": 1}', 'is "lable" meant?'),
        ('{"id": "q1", "row": "pull", "measure": "taste", "label": 1}', "'measure' must be one of"),
        ('{"id": "q1", "row": "pull", "measure": "faithfulness", "label": NaN}', "no JSON number"),
        ('{"id": "q9", "row": "pull", "measure": "faithfulness", "label": 1}', "of question 'q9'"),
        ('{"id": "q1", "row": "bm25", "measure": "faithfulness", "label": 1}', "in the row 'bm25'"),
        ("{", "not JSON"),
    ],
)
def test_labels_that_fit_nothing_are_refused(
    run: Path, tmp_path: Path, line: str, fault: str
) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(line + "\n")
    with standing_in([says(1)]) as standin:
        result = judge(run, standin, "--labels", labels)
        assert standin.asked == []
    assert fault in str(result.exception)


def test_a_command_judges_one_item_a_process(run: Path, tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    script.write_text(
        "import json, sys\n"
        "item = json.load(sys.stdin)\n"
        "assert {'system', 'prompt', 'schema', 'row', 'repeat'} <= item.keys()\n"
        "text = item.get('evidence', item.get('reference'))\n"
        "print(json.dumps({'score': float('four' in text.lower()), 'reason': item['measure']}))\n"
    )
    command = f"{sys.executable} {script}"
    first = invoke("judge", run, "--judge-command", command, "--json", "--rounds", 100)
    report = report_of(first)
    assert measured(report, "faithfulness")["mean"]["mean"] == 0.5
    assert measured(report, "correctness")["mean"]["mean"] == 0.5
    assert report_of(invoke("judge", run, "--judge-command", command, "--json"))["asked"] == 0
    script.write_text("print('{\"score\": 1}')")
    edited = report_of(invoke("judge", run, "--judge-command", command, "--json"))
    assert edited["asked"] == 8
    assert measured(edited, "faithfulness")["mean"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("program", "outcome", "sentence"),
    [
        ("import signal; signal.pause()", "timeout", "within 0.5 seconds"),
        ("import sys; sys.exit('no money')", "failed", "exit code 1. It said: no money"),
        ("print('good')", "junk", "is no JSON: good"),
        ("print('{\"score\": 3}')", "invalid", "the judge gave 3"),
        ("", "junk", "is no JSON"),
    ],
)
def test_a_command_that_fails_is_counted(
    run: Path, tmp_path: Path, program: str, outcome: str, sentence: str
) -> None:
    (tmp_path / "judge.py").write_text(program)
    seconds = 0.5 if outcome == "timeout" else 60
    result = invoke(
        *("judge", run, "--judge-command", f"{sys.executable} {tmp_path / 'judge.py'}"),
        *(*FAITHFUL, "--judge-seconds", seconds, "--json"),
    )
    report = report_of(result, 1)
    assert measured(report, "faithfulness")["errors"] == {outcome: 2}
    assert sentence in report["judgements"][0]["error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name one judge"),
        (["--judge", "openai:m", "--judge-command", "true"], "Name one judge"),
        (["--judge", "openai:m"], "needs a key"),
        (["--judge", "nonsense"], "names no model that chats"),
        (["--judge-command", "no-such-command-here"], "is not there"),
        (["--judge-command", "'"], "cannot be read"),
        (["--judge-command", "true", "--max-usd", "1"], "Only --judge can be held"),
        (
            ["--judge", "http://127.0.0.1:9/v1#m", "--max-usd", "1"],
            "price of this judge is unknown",
        ),
        (["--judge", "http://127.0.0.1:9/v1#m", "--measures", "beauty"], "no measure of answers"),
        (["--judge", "http://127.0.0.1:9/v1#m", "--rows", "bm25"], "has no agent 'bm25'"),
        (["--judge", "http://127.0.0.1:9/v1#m", "--offline"], "No verdict of"),
        (["--judge-command", "true", "--labels", "/none.jsonl"], "There is no file /none.jsonl"),
    ],
)
def test_wrong_usage_is_said_before_anybody_is_asked(
    run: Path, arguments: list[str], message: str
) -> None:
    result = CliRunner().invoke(cli, ["eval", "judge", str(run), *arguments])
    assert result.exit_code == 2
    assert message in result.output + result.stderr


def test_a_folder_without_agents_is_refused(run: Path, tmp_path: Path) -> None:
    none = invoke("judge", tmp_path / "none", "--judge-command", "true")
    assert "holds no finished run" in str(none.exception)
    report = json.loads((run / "report.json").read_text())
    (run / "report.json").write_text(json.dumps({**report, "agents": {}}))
    pushes = invoke("judge", run, "--judge-command", "true")
    assert "has no row of an agent" in str(pushes.exception)


def test_a_kept_score_that_is_none_is_refused_with_its_line(run: Path) -> None:
    judged_with([says(1)], run, *FAITHFUL)
    kept = run / "judgements.jsonl"
    kept.write_text(kept.read_text().replace('"score": 1.0', '"score": 7'))
    with standing_in([says(1)]) as standin:
        result = judge(run, standin, *FAITHFUL)
    assert "this is no judgement of this version" in str(result.exception)
    assert "judgements.jsonl, line" in str(result.exception)


def test_the_page_on_runs_lists_the_fields_of_a_judgement(run: Path) -> None:
    judged_with([says(1)], run, *FAITHFUL)
    page = Path(__file__).resolve().parents[2] / "docs" / "runs.md"
    part = (
        page.read_text(encoding="utf-8").partition("### judgements.jsonl\n")[2].partition("\n#")[0]
    )
    listed = set(re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE))
    first = (run / "judgements.jsonl").read_text().partition("\n")[0]
    assert json.loads(first).keys() == listed
