"""`contextpull golden convert`: questions to and from the formats of others."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given

from contextpull.adapters.ragbisect import load_questions, save_questions
from contextpull.cli.main import cli
from contextpull.errors import EvaluationError
from contextpull.eval.golden.converting import Format, convert
from contextpull.eval.golden.questions import GoldenQuestion, load_golden, save_golden
from contextpull.types import Question
from tests.eval.golden.rows import QUESTIONS
from tests.judged import DOCUMENTS, write_collection
from tests.properties import same_every_time

WHOLE = GoldenQuestion(
    "q1", "How?", ("a.md#x", "b.md"), "So.", ("so it is done",), "see b", draft=True, shape="fact"
)
BARE = GoldenQuestion("q2", "Why?", ())


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    save_golden(tmp_path / "golden.jsonl", [WHOLE, BARE])
    return tmp_path / "golden.jsonl"


def run(*arguments: str | Path) -> Result:
    command = ("golden", "convert", *map(str, arguments))
    return CliRunner().invoke(cli, command, standalone_mode=False)


@pytest.mark.parametrize("format_", ["golden", "ragbisect", "beir", "bedrock"])
@given(QUESTIONS)
@same_every_time(60)
def test_where_nothing_is_lost_the_way_back_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, format_: Format, questions: list[GoldenQuestion]
) -> None:
    folder = tmp_path_factory.mktemp("convert")
    save_golden(folder / "golden.jsonl", questions)
    try:
        there = convert(folder / "golden.jsonl", folder / "other", format_)
    except EvaluationError as error:
        assert "fits the format" in str(error)  # noqa: PT017
        assert not (folder / "other").exists()
        return
    back = convert(folder / "other", folder / "back.jsonl", "golden", format_)
    again = load_golden(folder / "back.jsonl", unfilled=True)
    assert len(again) == there.written
    if not there.losses:
        assert again == questions
        assert not back.losses
    lost = {each for loss in there.losses for each in loss.ids}
    kept = {each.id: each for each in again}
    assert all(kept[each.id] == each for each in questions if each.id not in lost)


def test_ragbisect_holds_everything_but_questions_without_labels(golden: Path) -> None:
    result = run(golden, golden.with_name("r.jsonl"), "--to", "ragbisect")
    assert result.exit_code == 0
    assert "lost: questions that expect nothing, left out (1: q2)" in result.stdout
    (question,) = load_questions(golden.with_name("r.jsonl"))
    assert (question.text, question.gold, question.answer) == ("How?", WHOLE.expected, "So.")
    run(golden.with_name("r.jsonl"), golden.with_name("back.jsonl"))
    assert load_golden(golden.with_name("back.jsonl")) == [WHOLE]


def test_a_beir_folder_holds_queries_and_judgements(golden: Path) -> None:
    result = run(golden, golden.with_name("judged"), "--to", "beir", "--split", "dev")
    assert (golden.parent / "judged/qrels/dev.tsv").read_text() == (
        "query-id\tcorpus-id\tscore\nq1\ta.md#x\t1\nq1\tb.md\t1\n"
    )
    lost = [line for line in result.stdout.splitlines() if line.startswith("lost: ")]
    assert [line.split()[1] for line in lost] == [
        "reference",
        "evidence",
        "hint",
        "draft",
        "shape",
    ]
    run(golden.with_name("judged"), golden.with_name("back.jsonl"), "--split", "dev")
    assert load_golden(golden.with_name("back.jsonl")) == [
        GoldenQuestion("q1", "How?", WHOLE.expected),
        BARE,
    ]


def test_a_bedrock_dataset_holds_answers_and_evidence(golden: Path) -> None:
    result = run(golden, golden.with_name("b.jsonl"), "--to", "bedrock")
    assert "lost: expected (1: q1)" in result.stdout
    first = json.loads(golden.with_name("b.jsonl").read_text().splitlines()[0])
    assert first == {
        "conversationTurns": [
            {
                "prompt": {"content": [{"text": "How?"}]},
                "referenceResponses": [{"content": [{"text": "So."}]}],
                "referenceContexts": [{"content": [{"text": "so it is done"}]}],
            }
        ]
    }
    run(golden.with_name("b.jsonl"), golden.with_name("back.jsonl"))
    kept = replace(WHOLE, expected=(), hint="", draft=False, shape="")
    assert load_golden(golden.with_name("back.jsonl")) == [kept, BARE]


def test_what_a_judged_collection_has_more_is_listed(tmp_path: Path) -> None:
    assert DOCUMENTS
    folder = write_collection(tmp_path / "small")
    with (folder / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"_id": "more", "text": "More of it", "metadata": {"a": 1}}) + "\n")
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("more\td1\t2\nmore\td2\t0\nstranger\td1\t1\n")
    result = run(folder, tmp_path / "golden.jsonl", "--json")
    record = json.loads(result.stdout)
    losses = {each["what"]: each["ids"] for each in record["losses"]}
    assert "more" in losses["grades of relevance above 1"]
    assert "more" in losses["judgements of no relevance"]
    assert "stranger" in losses["judgements of unknown queries"]
    assert losses["other fields of the queries"] == ["more"]
    assert record["from"] == "beir"


def test_what_ragbisect_has_more_is_listed(tmp_path: Path) -> None:
    question = Question("a", "How?", "table", ("x",), source="s", extra={"seed": 1, "draft": "no"})
    save_questions(tmp_path / "r.jsonl", [question])
    conversion = convert(tmp_path / "r.jsonl", tmp_path / "golden.jsonl", "golden")
    assert [loss.what for loss in conversion.losses] == ["source", "seed", "draft"]
    assert load_golden(tmp_path / "golden.jsonl")[0].shape == "table"


def test_what_bedrock_has_more_is_listed(tmp_path: Path) -> None:
    content = [{"content": [{"text": "a"}]}]
    turn = {"prompt": content[0], "referenceResponses": content * 2, "output": {"text": "x"}}
    (tmp_path / "b.jsonl").write_text(json.dumps({"conversationTurns": [turn]}))
    conversion = convert(tmp_path / "b.jsonl", tmp_path / "golden.jsonl", "golden")
    assert [loss.what for loss in conversion.losses] == ["output", "further reference responses"]


def test_nothing_is_written_over(golden: Path) -> None:
    target = golden.with_name("out")
    target.mkdir()
    (target / "kept").touch()
    for to in ("golden", "beir"):
        result = run(golden, target, "--to", to)
        assert result.return_value == 2
        assert "is there already" in result.stderr
    assert [each.name for each in target.iterdir()] == ["kept"]


def test_a_source_with_faults_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "golden.jsonl").write_text('{"question": "How?"}')
    result = run(tmp_path / "golden.jsonl", tmp_path / "out", "--to", "beir")
    assert result.return_value == 2
    assert 'the field "expected" is missing' in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["golden.jsonl"]


def test_questions_that_are_the_same_are_no_golden_file(tmp_path: Path) -> None:
    questions = [Question(each, "How?", "table", (each,)) for each in "ab"]
    save_questions(tmp_path / "r.jsonl", questions)
    result = run(tmp_path / "r.jsonl", tmp_path / "golden.jsonl")
    assert result.return_value == 2
    assert "the question of line 1 again; make one row of both" in result.stderr
    assert not (tmp_path / "golden.jsonl").exists()


@pytest.mark.parametrize("name", ["absent.jsonl", "absent"])
def test_a_missing_source_is_named(tmp_path: Path, name: str) -> None:
    result = run(tmp_path / name, tmp_path / "out.jsonl")
    assert result.return_value == 2
    assert f"There is no file {tmp_path / name}" in result.stderr
