"""`contextpull golden label`: suggestions for what questions expect."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.golden.bedrock import load_bedrock
from contextpull.eval.golden.labelling import suggest_labels
from contextpull.eval.golden.questions import GoldenQuestion, load_golden, save_golden
from contextpull.store import open_store
from tests.eval.golden.stores import asks, long_document, store_of

OIL = "The lamp burns eleven litres of oil"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store_of(tmp_path)
    return tmp_path / "store"


def label(store: Path, questions: Path, *arguments: str) -> Result:
    out = str(store.parent / "out.jsonl")
    command = ("golden", "label", str(questions), "--store", str(store), "--out", out, *arguments)
    return CliRunner().invoke(cli, command, standalone_mode=False)


def saved(store: Path, *questions: GoldenQuestion) -> Path:
    path = store.parent / "questions.jsonl"
    save_golden(path, questions)
    return path


def turn(prompt: str, *references: str) -> dict[str, object]:
    answers = [{"content": [{"text": text}]} for text in references]
    return {"prompt": {"content": [{"text": prompt}]}, "referenceResponses": answers}


def test_the_reference_answer_finds_what_the_question_does_not(store: Path) -> None:
    path = saved(store, asks("Which fuel is needed?", named="fuel", reference=OIL))
    result = label(store, path)
    assert result.return_value == 0
    (row,) = load_golden(store.parent / "out.jsonl")
    assert row.expected == ("lamp.md#oil",)
    assert row.draft
    assert "Suggested by a search with the reference answer: lamp.md#oil" in row.hint
    assert "burns eleven litres" in row.hint
    assert "lamp.md#oil (by the reference answer)" in result.stdout
    assert "burns eleven litres" in result.stdout


def test_without_an_answer_the_question_is_used_and_said_so(store: Path) -> None:
    result = label(store, saved(store, asks("What makes bread rise?", hint="from the kitchen")))
    (row,) = load_golden(store.parent / "out.jsonl")
    assert row.expected == ("bread.md#bread",)
    assert row.hint.startswith("from the kitchen\nSuggested by a search with the question")
    assert "(by the question)" in result.stdout


def test_rows_with_labels_stay_as_they_are(store: Path) -> None:
    kept = asks("What makes bread rise?", "boats.md", reference="Yeast.")
    template = GoldenQuestion("t", "", (), hint="ask about boats")
    result = label(store, saved(store, kept, template, asks("How much oil?", reference=OIL)))
    rows = load_golden(store.parent / "out.jsonl", unfilled=True)
    assert rows[:2] == [kept, template]
    assert rows[2].draft
    assert "1 had labels" in result.stdout


def test_documents_are_suggested_as_deep_as_it_takes(tmp_path: Path) -> None:
    files = {
        "many.md": long_document(120, "Oil burns in the lamp, and oil again, in part"),
        "one.md": "# One\n\nA long text that says little of most things and oil once only.\n",
    }
    store_of(tmp_path, files)
    store = tmp_path / "store"
    label(store, saved(store, asks("oil")), "--by", "doc", "--top", "2", "--mode", "lexical")
    (row,) = load_golden(tmp_path / "out.jsonl")
    assert set(row.expected) == {"many.md", "one.md"}


def test_copies_of_the_passage_are_named(tmp_path: Path) -> None:
    text = "# Oil\n\nThe lamp burns eleven litres of oil in a night.\n"
    store_of(tmp_path, {"a.md": text, "b.md": text})
    store = tmp_path / "store"
    label(store, saved(store, asks("How much oil?", reference=OIL)))
    assert "(the same text: b.md#oil)" in load_golden(tmp_path / "out.jsonl")[0].hint


def test_a_bedrock_dataset_is_read_as_it_is(store: Path) -> None:
    path = store.parent / "bedrock.jsonl"
    conversations = [
        [turn("Which fuel?", OIL)],
        [turn("And bread?", "Yeast makes bread rise"), turn("Where do boats go?")],
    ]
    path.write_text(
        "".join(json.dumps({"conversationTurns": each}) + "\r\n" for each in conversations)
    )
    label(store, path)
    rows = load_golden(store.parent / "out.jsonl")
    assert [(row.id, row.expected) for row in rows] == [
        ("q1", ("lamp.md#oil",)),
        ("q2.1", ("bread.md#bread",)),
        ("q2.2", ("boats.md#boats",)),
    ]
    assert rows[0].reference == OIL


BAD = {
    "no turns": ({"conversationTurns": []}, "must be a list of turns, not []"),
    "turns": ({"conversationTurns": "x"}, "must be a list of turns"),
    "turn": ({"conversationTurns": ["x"]}, 'turn 1: a turn must be a JSON object, not "x"'),
    "prompt": ({"conversationTurns": [{}]}, "turn 1: 'prompt' must look like"),
    "blank": ({"conversationTurns": [turn(" ")]}, "turn 1: the prompt is blank"),
    "image": (
        {"conversationTurns": [{"prompt": {"content": [{"image": 1}, {"text": "a"}]}}]},
        "'prompt' must look like",
    ),
    "references": (
        {"conversationTurns": [{**turn("a"), "referenceResponses": "b"}]},
        "'referenceResponses' must be a list",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_each_fault_of_a_bedrock_dataset_is_named(store: Path, kind: str) -> None:
    record, message = BAD[kind]
    path = store.parent / "bedrock.jsonl"
    path.write_text(json.dumps(record))
    result = label(store, path)
    assert result.return_value == 2
    assert f"bedrock.jsonl:1: {message}" in result.stderr or message in result.stderr


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b"caf\xe9", "not UTF-8"),
        (b"", "not JSON"),
    ],
)
def test_a_bedrock_dataset_that_cannot_be_read_is_told_its_fault_and_not_to_be_labelled(
    store: Path, content: bytes, fault: str
) -> None:
    path = store.parent / "bedrock.jsonl"
    path.write_bytes(b'{"conversationTurns": ' + content)
    result = label(store, path)
    assert result.return_value == 2
    assert f"bedrock.jsonl:1: {fault}" in result.stderr
    assert "Label it first" not in result.stderr


def test_a_turn_of_any_depth_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "bedrock.jsonl"
    for depth in range(800, 1_000):
        path.write_text('{"conversationTurns": [' + "[" * depth + "]" * depth + "]}")
        with pytest.raises(EvaluationError, match=r"bedrock\.jsonl:1: "):
            load_bedrock(path)


def test_two_questions_of_one_id_are_an_error_and_neither_takes_the_other_s_label(
    store: Path,
) -> None:
    snapshot = open_store(store).snapshot()
    twins = [asks("how much oil", named="a"), asks("what makes bread rise", named="a")]
    with pytest.raises(EvaluationError, match="Two questions have the id 'a'"):
        suggest_labels(snapshot, twins)


def test_a_text_in_place_of_a_list_of_labels_is_an_error(store: Path) -> None:
    question = replace(asks("how much oil"), expected="lamp.md")
    with pytest.raises(InvalidInput, match="give a list of texts"):
        suggest_labels(open_store(store).snapshot(), [question])


@pytest.mark.parametrize("wrong", [{"top": 0}, {"top": 2.9}, {"top": "3"}, {"by": "chunk"}])
def test_what_cannot_be_suggested_is_an_error(store: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        suggest_labels(open_store(store).snapshot(), [asks("how much oil")], **wrong)


def test_nothing_is_written_over(store: Path) -> None:
    (store.parent / "out.jsonl").write_text("checked")
    result = label(store, saved(store, asks("oil")))
    assert result.return_value == 2
    assert "is there already" in result.stderr
    assert (store.parent / "out.jsonl").read_text() == "checked"


def test_without_suggestions_nothing_is_written(store: Path) -> None:
    result = label(store, saved(store, asks("oil", "lamp.md"), asks("xyzzyplugh")))
    assert result.return_value == 1
    assert "There is nothing to suggest" in result.stdout
    assert not (store.parent / "out.jsonl").exists()


def test_json_holds_passages_beside_suggestions(store: Path) -> None:
    path = saved(store, asks("How much oil?", reference=OIL), asks("xyzzyplugh"))
    record = json.loads(label(store, path, "--json").stdout)
    found, missed = record["suggestions"]
    assert found["searched_with"] == "reference answer"
    assert found["proposals"][0]["expected"] == "lamp.md#oil"
    assert "eleven litres" in found["proposals"][0]["passage"]
    assert missed["proposals"] == []


def test_a_file_with_faults_is_refused(store: Path) -> None:
    path = store.parent / "questions.jsonl"
    path.write_text('{"question": "How?", "expeted": []}')
    result = label(store, path)
    assert result.return_value == 2
    assert 'did you mean "expected"?' in result.stderr
