"""`contextpull golden answers`: what a system answered to golden questions, judged."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import assume, given
from hypothesis import strategies as st

from contextpull.cli.golden import golden_group
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.golden.answer_files import GivenAnswer, load_answers
from contextpull.eval.golden.answer_sources import SourceTexts
from contextpull.eval.golden.answers import answer_report
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.judging import FunctionJudge, Settings
from contextpull.eval.judging.items import Item
from contextpull.store.opening import Snapshot
from tests.conftest import Files
from tests.documents.pdf_files import lines as printed
from tests.documents.pdf_files import pdf
from tests.embedders import snapshot_of, update
from tests.eval.golden.stores import HARBOUR, asks, lines, store_of
from tests.standins import Fails, Says, Script, StandIn, standing_in

QUESTIONS = [
    asks(
        "When is the lamp lit?",
        "lamp.md#lamp",
        named="lamp",
        reference="Before dark.",
        shape="when",
    ),
    asks("How much oil?", "lamp.md#oil", named="oil", reference="Eleven litres.", shape="what"),
    asks("Where may no boat be?", "boats.md", named="boats", shape="what"),
    asks("What slows yeast?", "bread.md#bread", named="bread", reference="Salt.", shape="what"),
]
ANSWERS = [
    GivenAnswer("lamp", "Before it gets dark.", ("lamp.md#lamp",)),
    GivenAnswer("oil", "Twelve litres.", ("The lamp burns eleven litres.", "lamp.md#oil")),
    GivenAnswer("boats", "In the mouth of the harbour."),
]
"""Of `bread` nothing was said; `boats` has neither sources nor a reference."""
FEW = Settings(rounds=100)
ALL_RIGHT = FunctionJudge(lambda _item: 1, "all is right")


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return store_of(tmp_path_factory.mktemp("harbour"))


def report_of(
    snapshot: Snapshot, judge: Any = ALL_RIGHT, settings: Settings = FEW, **more: Any
) -> dict[str, Any]:
    return answer_report(QUESTIONS, ANSWERS, judge, settings, snapshot=snapshot, **more)


def row_of(report: dict[str, Any], measure: str) -> dict[str, Any]:
    [found] = [each for each in report["rows"] if each["measure"] == measure]
    return dict(found)


def test_four_measures_over_what_can_be_judged_and_a_headline_over_every_question(
    harbour: Snapshot,
) -> None:
    report = report_of(harbour, lambda item: 0.25 if item.question_id == "oil" else 1)
    counts = {each["measure"]: each["judged"] for each in report["rows"]}
    assert counts == {"faithfulness": 2, "correctness": 2, "completeness": 2, "helpfulness": 3}
    assert row_of(report, "correctness")["mean"]["mean"] == 0.625
    assert row_of(report, "correctness")["undefined"] == {"no_reference": 1}
    assert row_of(report, "faithfulness")["undefined"] == {"nothing_shown": 1}
    assert {each["unanswered"] for each in report["rows"]} == {1}
    headline = report["headline"]
    assert headline["not_answered"] == ["bread"]
    assert headline["answered"]["share"]["mean"] == 0.75
    right = headline["right"]
    assert (right["with_reference"], right["right"], right["not_right"]) == (3, 1, 1)
    assert right["not_answered"] == 1
    assert right["share"]["mean"] == pytest.approx(1 / 3)
    assert 0 < right["share"]["low"] < right["share"]["high"] < 1


def test_kinds_of_questions_are_told_apart(harbour: Snapshot) -> None:
    report = report_of(harbour, lambda item: float(item.question_id == "lamp"))
    shapes = row_of(report, "helpfulness")["shapes"]
    assert {name: (each["judged"], each["mean"]["mean"]) for name, each in shapes.items()} == {
        "what": (2, 0.0),
        "when": (1, 1.0),
    }


def test_sources_are_read_from_the_store_by_their_names_and_texts_taken_as_they_are(
    harbour: Snapshot,
) -> None:
    answers = [
        GivenAnswer("lamp", "So.", ("lamp.md", "boats.md#boats", "It is dark, they say.")),
        GivenAnswer("oil", "So.", ("nowhere.md#gone\n",)),
    ]
    seen: dict[str, str] = {}

    def judge(item: Item) -> float:
        seen[item.question_id] = item.evidence.text
        return 1

    answer_report(
        QUESTIONS, answers, judge, FEW._replace(measures=("faithfulness",)), snapshot=harbour
    )
    assert HARBOUR["lamp.md"].strip() in seen["lamp"]
    assert "keeps clear of the mouth" in seen["lamp"]
    assert seen["lamp"].endswith("It is dark, they say.")
    assert seen["oil"] == "nowhere.md#gone\n"


def test_documents_whose_names_hold_a_hash_are_drawn_apart(tmp_path: Path) -> None:
    store_of(tmp_path, {"c#.md": "# C\n\nOne thing.\n", "c#2.md": "# C\n\nAnother thing.\n"})
    questions = [asks("one", "c#.md", reference="1"), asks("two", "c#2.md", reference="2")]
    answers = [GivenAnswer("one", "1"), GivenAnswer("two", "1")]
    judge = FunctionJudge(lambda item: float(item.answer == item.reference), "equal")
    settings = Settings(("correctness",), rounds=100)
    report = answer_report(
        questions, answers, judge, settings, snapshot=snapshot_of(tmp_path / "store")
    )
    [row] = report["rows"]
    assert row["mean"]["low"] < row["mean"]["mean"] < row["mean"]["high"]


def test_names_with_spaces_and_pages_are_names_too(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    files = {
        "my notes.md": "# Top\n\nAll of it.\n",
        "s.pdf": pdf(printed("First page."), printed("Second one.")),
    }
    text_of = SourceTexts(store_of(tmp_path, files))
    assert "All of it." in text_of("my notes.md#top")
    assert "Second one." in text_of("s.pdf#page=2")
    assert "First page." in text_of("s.pdf")
    with pytest.raises(ValueError, match="leads nowhere"):
        text_of("s.pdf#page=3")


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("lamp.md#olil", "the store holds no 'lamp.md#olil'; did you mean 'lamp.md#oil'"),
        ("lampp.md", "the store holds no 'lampp.md'"),
        ("lamp.md#page=3", "the store does not know the pages of that document"),
        ("Yes.", "a text that looks like a name is taken as it is when it ends in a line break"),
        (" \n", "must not be blank"),
    ],
)
def test_a_source_that_leads_nowhere_is_never_taken_for_a_text(
    harbour: Snapshot, source: str, fault: str
) -> None:
    with pytest.raises(EvaluationError) as raised:
        answer_report(
            QUESTIONS, [GivenAnswer("lamp", "So.", (source,))], ALL_RIGHT, snapshot=harbour
        )
    assert "answer 'lamp': sources[0] " in str(raised.value)
    assert fault in str(raised.value)


def test_names_need_a_store_unless_faithfulness_is_not_judged() -> None:
    answers = [GivenAnswer("lamp", "So.", ("lamp.md#lamp",))]
    with pytest.raises(EvaluationError, match="give --store"):
        answer_report(QUESTIONS, answers, ALL_RIGHT)
    report = answer_report(QUESTIONS, answers, ALL_RIGHT, Settings(measures=("correctness",)))
    assert report["headline"]["right"]["right"] == 1


def test_every_fault_of_a_file_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"id": "lamp", "answer": "a"}\n'
        '{"question": "when is the  LAMP lit?", "answer": "again"}\n'
        '{"id": "lampp", "answer": "a"}\n'
        '{"question": "Who?", "answer": "a"}\n'
        '{"id": "oil", "answer": "  "}\n'
        '{"id": "bread", "anwser": "a", "source": ["b"]}\n'
        '{"answer": null}\n'
        '{"id": "boats", "question": "How much oil?", "answer": "a", "sources": "lamp.md"}\n'
        '["a"]\n'
        "{\n"
    )
    with pytest.raises(EvaluationError) as raised:
        load_answers(path, QUESTIONS, SourceTexts())
    told = str(raised.value)
    for fault in (
        '2: the id "lamp" already stands in',
        "3: the golden file has no question with the id 'lampp'; did you mean 'lamp'?",
        "4: the golden file does not ask that 'question'",
        "5: 'answer' must not be blank",
        "6: there is no field \"anwser\"; did you mean 'answer'?",
        "6: there is no field \"source\"; did you mean 'sources'?",
        "7: 'answer' must be text, not null",
        "7: it names no question: give its 'id', or its text as 'question'",
        "8: the question 'boats' is another one than 'question' says",
        '8: \'sources\' must be a list of texts, not "lamp.md"; write ["lamp.md"]',
        "9: not a JSON object",
        "10: not JSON",
    ):
        assert f"{path}:{fault}" in told
    assert "12 faults" in told


@pytest.mark.parametrize(
    ("questions", "answers", "fault"),
    [
        (QUESTIONS, [*ANSWERS, ANSWERS[0]], "two answers have the id 'lamp'"),
        ([*QUESTIONS, QUESTIONS[0]], ANSWERS, "two questions have the id 'lamp'"),
        (QUESTIONS, [GivenAnswer("lmap", "a")], "did you mean 'lamp'?"),
        (QUESTIONS, [GivenAnswer("lamp", "")], "must be text that is not blank"),
        (QUESTIONS, [GivenAnswer("lamp", None)], "must be text that is not blank"),  # type: ignore[arg-type]
        ([GoldenQuestion("t1", "", ())], [GivenAnswer("t1", "a")], "a template row waits for it"),
    ],
)
def test_questions_and_answers_that_do_not_fit_are_refused(
    harbour: Snapshot, questions: list[GoldenQuestion], answers: list[GivenAnswer], fault: str
) -> None:
    with pytest.raises(EvaluationError, match="Cannot use the answers") as raised:
        answer_report(questions, answers, ALL_RIGHT, snapshot=harbour)
    assert fault in str(raised.value)


def test_sources_that_are_one_text_are_refused_and_not_spelt_out() -> None:
    with pytest.raises(InvalidInput, match="give a list of texts"):
        answer_report(QUESTIONS, [GivenAnswer("lamp", "a", "lamp.md")], ALL_RIGHT)  # type: ignore[arg-type]


def test_no_answer_that_can_be_judged_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="No answer can be judged"):
        answer_report(
            QUESTIONS, [GivenAnswer("boats", "a")], ALL_RIGHT, Settings(measures=("correctness",))
        )


@pytest.mark.parametrize(
    "said", [7, -0.1, math.nan, math.inf, "right", None, True, "0.9", {"reason": "fine"}]
)
def test_a_verdict_off_the_scale_is_an_error_and_neither_averaged_nor_right(
    harbour: Snapshot, said: object
) -> None:
    report = report_of(harbour, lambda item: said if item.question_id == "lamp" else 0.5)
    correctness = row_of(report, "correctness")
    assert correctness["judged"] == 1
    assert correctness["mean"]["mean"] == 0.5
    assert sum(correctness["errors"].values()) == 1
    right = report["headline"]["right"]
    assert (right["right"], right["not_right"], right["no_verdict"]) == (0, 1, 1)
    assert any(each["error"] and "'lamp'" in each["error"] for each in report["judgements"])


@given(
    st.lists(st.sampled_from([None, 0, 0.69, 0.7, 1, 7, math.nan, "no"]), min_size=4, max_size=4)
)
def test_every_question_with_a_reference_has_one_place_in_the_headline(
    said: list[float | str | None],
) -> None:
    """None: it was not answered."""
    questions = [asks(f"Question {at}?", reference="So.") for at in range(4)]
    by_id = dict(zip((each.id for each in questions), said, strict=True))
    answers = [GivenAnswer(name, "So.") for name, score in by_id.items() if score is not None]
    assume(answers)
    report = answer_report(
        questions,
        answers,
        lambda item: by_id[item.question_id],
        Settings(measures=("correctness",), rounds=10),
    )
    right = report["headline"]["right"]
    assert [right[name] for name in ("right", "not_right", "no_verdict", "not_answered")] == [
        sum(each in (0.7, 1) for each in said),
        sum(each in (0, 0.69) for each in said),
        sum(each == 7 or each == "no" or each != each for each in said),
        said.count(None),
    ]
    scored = [each for each in said if each in (0, 0.69, 0.7, 1)]
    mean = row_of(report, "correctness")["mean"]["mean"]
    assert mean == (pytest.approx(sum(scored) / len(scored)) if scored else None)


def test_a_judge_of_another_signature_is_listed_and_nothing_is_lost(harbour: Snapshot) -> None:
    report = report_of(harbour, lambda: 1)
    for row in report["rows"]:
        assert row["judged"] == 0
        assert row["errors"].get("failed", 0) > 0
    assert report["headline"]["right"]["no_verdict"] == 2


def test_a_judge_that_raises_costs_that_verdict_alone(harbour: Snapshot) -> None:
    def breaks(item: Item) -> float:
        if item.question_id == "oil":
            raise RuntimeError("out of ink")
        return 1

    report = report_of(harbour, breaks)
    assert row_of(report, "correctness")["errors"] == {"failed": 1}
    assert any("out of ink" in str(each["error"]) for each in report["judgements"])


def test_verdicts_of_a_function_without_a_name_are_not_kept(
    harbour: Snapshot, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="FunctionJudge"):
        report_of(harbour, lambda _item: 1, keep=tmp_path / "kept.jsonl")


def test_kept_verdicts_are_not_asked_for_again_unless_a_source_changed(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def judge(item: Item) -> float:
        asked.append((item.question_id, item.measure))
        return 1

    keep, named = tmp_path / "kept.jsonl", FunctionJudge(judge, "counting")
    first = report_of(store_of(tmp_path / "one"), named, keep=keep)
    assert first["asked"] == len(asked) == 9
    assert report_of(store_of(tmp_path / "one"), named, keep=keep)["kept"] == 9
    changed = {**HARBOUR, "lamp.md": HARBOUR["lamp.md"].replace("eleven", "twelve")}
    asked.clear()
    report_of(store_of(tmp_path / "two", changed), named, keep=keep)
    assert asked == [("oil", "faithfulness")]


def test_a_plan_tells_how_many_verdicts_there_will_be_before_any_is_asked(
    harbour: Snapshot,
) -> None:
    told: list[tuple[int, int]] = []

    def judge(_item: Item) -> float:
        assert told == [(9, 0)]
        return 1

    report_of(harbour, judge, on_plan=lambda missing, kept: told.append((missing, kept)))
    assert told == [(9, 0)]


# The command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A golden file, answers, and the store whose sections they name."""
    files: Files = HARBOUR
    update(tmp_path, files)
    golden = [
        {
            "id": each.id,
            "question": each.question,
            "expected": list(each.expected),
            "reference": each.reference,
            "shape": each.shape,
        }
        for each in QUESTIONS
    ]
    answers = [
        {"id": each.id, "answer": each.answer, "sources": list(each.sources)} for each in ANSWERS
    ]
    (tmp_path / "golden.jsonl").write_text(lines(golden))
    (tmp_path / "answers.jsonl").write_text(lines(answers))
    return tmp_path


def invoke(folder: Path, *more: object) -> Result:
    files = ("golden.jsonl", "--answers", "answers.jsonl", "--store", "store")
    paths = [str(folder / each) if not each.startswith("--") else each for each in files]
    return CliRunner().invoke(golden_group, ["answers", *paths, "--rounds", "100", *map(str, more)])


def judged(folder: Path, standin: StandIn, *more: object) -> Result:
    return invoke(folder, "--judge", standin.endpoint, *more)


def says(score: object) -> Says:
    return Says(json.dumps({"reason": "so", "score": score}))


def json_of(result: Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output + str(result.exception)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def unless_twelve(score: object) -> Script:
    """A judge that gives 1, but for the answer about the oil."""
    return lambda request: says(score if "Twelve litres" in request.question else 1)


def test_the_table_begins_with_the_headline_and_shows_every_shape(folder: Path) -> None:
    pytest.importorskip("openai")
    with standing_in(unless_twelve(0)) as standin:
        result = judged(folder, standin)
    assert result.exit_code == 0, result.output
    assert "9 verdicts to ask for, 0 kept in" in result.stderr
    for part in (
        "3 of 4 questions were answered.\nNot answered: bread.\n",
        "1 of the 3 with a reference were answered right (correctness of 0.7 or more): 0.333 [",
        "  1 not right, 0 without a verdict, 1 not answered; Wilson's interval.",
        "answers  faithfulness  ",
        "           what  ",
        "answers: no answer, so not judged: 1 of 4.",
        "answers, correctness: 1 undefined, since the question has no reference answer.",
    ):
        assert part in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_helpfulness_without_a_reference_is_judged_by_the_question(folder: Path) -> None:
    pytest.importorskip("openai")
    with standing_in([says(1)]) as standin:
        judged(folder, standin, "--measures", "helpfulness")
        prompts = [each.question for each in standin.asked]
    [alone] = [each for each in prompts if "mouth of the harbour" in each]
    assert "REFERENCE" not in alone
    assert all("REFERENCE" in each for each in prompts if each != alone)


def test_a_judging_goes_on_where_it_stopped_and_replays_offline(folder: Path) -> None:
    pytest.importorskip("openai")
    with standing_in(unless_twelve("good")) as standin:
        first = json_of(judged(folder, standin, "--json"), 1)
        assert row_of(first, "correctness")["errors"] == {"invalid": 1}
        assert "No verdict" in str(judged(folder, standin, "--offline").exception)
        standin.script = [says(0.5)]
        asked = len(standin.asked)
        second = json_of(judged(folder, standin, "--json"))
        assert len(standin.asked) - asked == second["asked"] == 4
        asked = len(standin.asked)
        replayed = json_of(judged(folder, standin, "--json", "--offline"))
        assert len(standin.asked) == asked
    assert replayed["rows"] == second["rows"]
    assert replayed["headline"] == second["headline"]
    assert (folder / "answers.verdicts.jsonl").exists()


def test_a_spent_budget_and_a_refused_key_end_the_asking(folder: Path) -> None:
    pytest.importorskip("openai")
    with standing_in([says(1)]) as standin:
        budget = ("--concurrency", 1, "--max-tokens", 1, "--json")
        report = json_of(judged(folder, standin, *budget), 1)
        assert report["asked"] == len(standin.asked) == 1
        assert report["stopped"] == "The rest was not asked: the budget was spent"
        standin.script = [Fails(401)]
        assert json_of(judged(folder, standin, "--concurrency", 1, "--json"), 1)["kept"] == 1
        assert len(standin.asked) == 2


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("correctness=0.5", 0),
        ("correctness=0.6", 1),
        ("answered=0.75", 0),
        ("answered=1", 1),
        ("answers:right=0.3", 0),
        ("right=0.5", 1),
    ],
)
def test_a_build_is_held_to_means_and_to_shares_of_all_questions(
    folder: Path, gate: str, code: int
) -> None:
    script = folder / "judge.py"
    script.write_text(
        "import json, sys\n"
        "item = json.load(sys.stdin)\n"
        "print(json.dumps({'score': 0.0 if item['id'] == 'oil' else 1.0}))\n"
    )
    command = f"{sys.executable} {script}"
    result = invoke(folder, "--judge-command", command, "--min", gate)
    assert result.exit_code == code, result.output + str(result.exception)
    assert ("below" in result.stderr) == (code == 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--min", "taste=1"), "'taste' is no measure. There are: faithfulness,"),
        (("--min", "right=1", "--measures", "helpfulness"), "There are: helpfulness, answered."),
        (("--min", "fact:right=1"), "there is no row 'fact'"),
        (("--keep", "answers.jsonl"), "a file of its own"),
        (("--keep", "no/such/kept.jsonl"), "cannot be kept in"),
        (("--max-usd", "1"), "The price of this judge is unknown"),
        (("--judge-command", "true"), "Name one judge"),
        (("--answers", "none.jsonl"), "There is no file"),
        (("--store", "none"), "none"),
    ],
)
def test_what_cannot_work_is_said_before_anybody_is_asked(
    folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    pytest.importorskip("openai")
    in_folder = [
        str(folder / each) if each.endswith(".jsonl") or each == "none" else each
        for each in arguments
    ]
    with standing_in([says(1)]) as standin:
        result = judged(folder, standin, *in_folder)
        assert standin.asked == []
    assert result.exit_code != 0
    assert sentence in result.output + str(result.exception)


def test_labels_and_a_second_asking_tell_how_far_the_judge_can_be_trusted(folder: Path) -> None:
    labels = folder / "labels.jsonl"
    labels.write_text(
        lines([{"id": "lamp", "row": "answers", "measure": "correctness", "label": 1}])
    )
    with standing_in([says(1)]) as standin:
        report = json_of(judged(folder, standin, "--labels", labels, "--twice", "--json"))
    assert report["agreement"][0]["labels"] == 1
    assert {each["differ"]["mean"] for each in report["consistency"]} == {0.0}
    assert report["asked"] == 18
    assert row_of(report, "correctness")["judged"] == 2


def test_answers_and_labels_of_questions_that_are_not_asked_are_left_aside(folder: Path) -> None:
    labels = folder / "labels.jsonl"
    labelled = {"row": "answers", "measure": "correctness", "label": 1}
    labels.write_text(lines([{"id": name, **labelled} for name in ("lamp", "oil")]))
    with standing_in([says(1)]) as standin:
        asked = judged(folder, standin, "--labels", labels, "--skip", "oil", "--json")
    report = json_of(asked)
    assert report["headline"]["questions"] == 3
    assert report["agreement"][0]["labels"] == 1
    wrong = invoke(folder, "--judge-command", "true", "--only", "nobody")
    assert "No question has the id 'nobody'" in wrong.output + str(wrong.exception)
