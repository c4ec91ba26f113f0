"""What a golden file may hold, how it is read, and how it is written."""

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.adapters.files import creating
from contextpull.errors import EvaluationError
from contextpull.eval.golden.questions import GoldenQuestion, load_golden, save_golden
from contextpull.eval.golden.reading import same_question
from contextpull.eval.golden.schema import SCHEMA_FILE, golden_schema
from tests.eval.golden.rows import QUESTIONS
from tests.properties import same_every_time

WHOLE = GoldenQuestion(
    id="clear",
    question="How is the cache cleared?",
    expected=("guide/cache.md#clear", "report.pdf#page=41"),
    reference="With clear.",
    evidence=("run `clear`",),
    hint="see\nthe guide",
    draft=True,
    shape="fact",
)


def fault_of(path: Path, content: str | bytes) -> str:
    """The faults of a file, less its name."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(EvaluationError) as error:
        load_golden(path)
    return str(error.value).replace(str(path), "FILE")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    save_golden(tmp_path / "golden.jsonl", [WHOLE, replace(WHOLE, id="b", question="Other?")])
    assert load_golden(tmp_path / "golden.jsonl")[0] == WHOLE


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\n"])
def test_a_line_break_within_a_text_ends_no_line(tmp_path: Path, char: str) -> None:
    question = replace(WHOLE, question=f"Which{char}cache?", reference=f"This{char}one.")
    save_golden(tmp_path / "golden.jsonl", [question])
    assert load_golden(tmp_path / "golden.jsonl") == [question]


@given(QUESTIONS)
@same_every_time(100)
def test_any_questions_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, questions: list[GoldenQuestion]
) -> None:
    path = tmp_path_factory.mktemp("golden") / "golden.jsonl"
    save_golden(path, questions)
    assert load_golden(path, unfilled=True) == questions
    assert len(path.read_text().splitlines()) == len(questions)
    for line in path.read_text().splitlines():
        jsonschema.validate(json.loads(line), golden_schema())


def test_a_row_needs_no_more_than_question_and_expected(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(
        '\ufeff{"question": "How?", "expected": ["a.md"]}\n\n{"question":"B","expected":[]}'
    )
    assert load_golden(path) == [
        GoldenQuestion("q1", "How?", ("a.md",)),
        GoldenQuestion("q3", "B", ()),
    ]


def test_rows_without_a_question_wait_for_one(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(
        '{"question": "", "expected": ["a.md"], "hint": "ask about a.md"}\n'
        '{"question": "How?", "expected": ["a.md"]}\n'
    )
    assert [each.id for each in load_golden(path)] == ["q2"]
    assert [each.id for each in load_golden(path, unfilled=True)] == ["q1", "q2"]


def test_the_published_schema_is_that_of_the_model() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == golden_schema()
    jsonschema.Draft202012Validator.check_schema(golden_schema())


ROW = '{"question": "How?", "expected": ["a.md"]'
FAULTY = {
    "empty": ("{}", '1:1: the field "expected" is missing'),
    "not JSON": (ROW, "1:42: not JSON: Expecting ',' delimiter"),
    "no object": ('  ["x"]', '1:3: not a JSON object but ["x"]'),
    "deep": ('{"question": ' + "[" * 100_000, "1:1: nested too deeply"),
    "twice": (ROW + ', "question": "B"}', '1:44: the field "question" stands there twice'),
    "misspelt": (
        '{"question": "How?", "expeted": ["a.md"]}',
        '1:22: there is no field "expeted"; did you mean "expected"?',
    ),
    "unknown": (ROW + ', "zebra": 1}', '1:44: there is no field "zebra". Fields are id, question'),
    "letters": (
        '{"question": "How?", "expected": "a.md"}',
        '1:22: "expected" must be a list of texts: "a.md"; write ["a.md"]',
    ),
    "number": ('{"question": 5, "expected": []}', '1:2: "question" must be text: 5'),
    "huge number": (ROW + ', "hint": 1' + "0" * 9_000 + "}", '1:44: "hint" must be text: 1000'),
    "number as id": (ROW + ', "id": 7}', '1:44: "id" must be text: 7'),
    "null": (ROW + ', "id": null}', '1:44: "id" must be text: null'),
    "draft": (ROW + ', "draft": "yes"}', '1:44: "draft" must be true or false: "yes"'),
    "item": (
        '{"question": "How?", "expected": ["a.md", 7]}',
        '1:43: "expected"[1] must be text: 7',
    ),
    "blank question": (
        '{"question": "  ", "expected": []}',
        '1:2: "question" must not be blank where no hint says why',
    ),
    "blank entry": (
        '{"question": "How?", "expected": [" "]}',
        '1:35: "expected"[0] must not be blank',
    ),
    "line end in an entry": (
        '{"question": "How?", "expected": ["a#page=1\\n"]}',
        '1:35: "expected"[0] has white space around it',
    ),
    "control in an entry": (
        '{"question": "How?", "expected": ["a\\u0000b"]}',
        '1:35: "expected"[0] holds a line break or another control character',
    ),
    "entry twice": (
        '{"question": "How?", "expected": ["a.md", "a.md"]}',
        "1:22: \"expected\" names 'a.md' more than once",
    ),
    "id": (ROW + ', "id": " a "}', '1:44: "id" has white space around it'),
    "blank id": (ROW + ', "id": ""}', '1:44: "id" must not be blank'),
    "shape": (ROW + ', "shape": "a "}', '1:44: "shape" has white space around it'),
    "blank quote": (ROW + ', "evidence": [""]}', '1:57: "evidence"[0] must not be blank'),
    "half a character": (
        ROW + ', "hint": "\\ud800"}',
        '1:44: "hint" holds half of a surrogate pair, which is no character',
    ),
    "decomposed": (
        '{"question": "Cafe\u0301?", "expected": []}',
        '1:2: "question" is not in the normal form NFC',
    ),
    "line separator": (
        '{"question": "a\u2028b", "expected": []}',
        "1:16: holds a bare U+2028, which many programs take for the end of a line; write \\u2028",
    ),
    "next line": ('{"question": "a\x85b", "expected": []}', "1:16: holds a bare U+0085"),
    "CR LF": (
        f"{ROW}}}\r\n{ROW.replace('How', 'Why')}}}\r\n",
        "1:43: ends in CR LF, one of 2 lines that do; end lines in LF alone",
    ),
    "CR": (f"{ROW}}}\r{ROW}}}\n", "1:43: holds a CR; end lines in LF alone"),
    "latin-1": (
        '{"question": "äÄ caf'.encode() + b'\xe9"}',
        "1:21: byte 0xe9 is not UTF-8; save as UTF-8",
    ),
    "UTF-16": (f"{ROW}}}".encode("utf-16"), "FILE:1:1: The file is UTF-16. Save it as UTF-8."),
    "UTF-32": (f"{ROW}}}".encode("utf-32"), "FILE:1:1: The file is UTF-32. Save it as UTF-8."),
    "nothing": ("\n\n", "FILE holds no questions"),
    "id twice": (
        f'{ROW}, "id": "a"}}\n{{"question": "B", "expected": [], "id": "a"}}',
        '2:35: the id "a" already stands in line 1',
    ),
    "id of a line": (
        f'{ROW}}}\n{{"question": "B", "expected": [], "id": "q1"}}',
        '2:35: the id "q1" already stands in line 1 (a row without id has q<line>)',
    ),
    "question twice": (
        '{"question": "Caf\u00e9  fees?", "expected": []}\n\n'
        '{"question": "CAF\u00c9 FEES?", "expected": []}',
        "3:2: the question of line 1 again",
    ),
    "Bedrock": ('{"conversationTurns": []}', "FILE is a Bedrock dataset"),
}


@pytest.mark.parametrize("kind", FAULTY)
def test_each_fault_is_named_with_its_place(tmp_path: Path, kind: str) -> None:
    content, expected = FAULTY[kind]
    assert expected in fault_of(tmp_path / "golden.jsonl", content)


@pytest.mark.parametrize("slug", ["page=0", "page=-1", "page=iv", "page=41-42", "page=", "page=01"])
def test_pages_count_from_one(tmp_path: Path, slug: str) -> None:
    row = {"question": "How?", "expected": [f"report.pdf#{slug}"]}
    assert "names no page" in fault_of(tmp_path / "golden.jsonl", json.dumps(row))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(row, golden_schema())


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    message = fault_of(tmp_path / "golden.jsonl", '{"expected": 1}\nx\n{"question": 1, "zeta": 2}')
    assert message.startswith("Cannot use FILE: 6 faults.")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="There is no file"):
        load_golden(tmp_path / "absent.jsonl")


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text("labels that somebody checked")
    with pytest.raises(EvaluationError, match="is there already"):
        save_golden(path, [WHOLE])
    assert path.read_text() == "labels that somebody checked"
    save_golden(path, [WHOLE], replace=True)
    assert load_golden(path) == [WHOLE]


def test_a_file_that_comes_in_the_meantime_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"

    def questions() -> Iterator[GoldenQuestion]:
        yield WHOLE
        path.write_text("came first")

    with pytest.raises(EvaluationError, match="is there already"), creating(path) as stream:
        stream.writelines(str(each) for each in questions())
    assert path.read_text() == "came first"
    assert [each.name for each in tmp_path.iterdir()] == ["golden.jsonl"]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (replace(WHOLE, id="a\n"), "white space"),
        (replace(WHOLE, expected=("#page=0",)), "names no page"),
        (replace(WHOLE, expected="a.md"), "spelt out"),
        (replace(WHOLE, evidence="a quote"), "spelt out"),
        (replace(WHOLE, hint="\ud800"), "cannot be written as JSON"),
        (replace(WHOLE, draft="yes"), "true or false"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(
    tmp_path: Path, question: GoldenQuestion, message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        save_golden(tmp_path / "golden.jsonl", [question])
    assert not list(tmp_path.iterdir())


def test_two_questions_of_one_id_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"question 2: .*already stands in line 1"):
        save_golden(tmp_path / "golden.jsonl", [WHOLE, replace(WHOLE, question="Other?")])


@given(st.text(max_size=20))
@same_every_time(200)
def test_one_question_is_the_same_in_any_case_and_form(text: str) -> None:
    same = same_question(text)
    assert same_question(unicodedata.normalize("NFD", text)) == same
    assert same_question(f"  {text}\n") == same
    assert same_question(same) == same
