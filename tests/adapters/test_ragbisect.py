"""The JSON-lines files of questions and passages: strict in, lossless out."""

import io
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextpull.adapters.ragbisect import (
    load_passages,
    load_questions,
    save_passages,
    save_questions,
)
from contextpull.errors import EvaluationError
from contextpull.types import Passage, Question

GOOD = {
    "id": "q1",
    "q": "What does --no-cache do?",
    "shape": "exact_lookup",
    "gold_chunk_ids": ["cli.md#no-cache"],
    "answer": "",
    "source": "cli.md",
    "identifier": "--no-cache",
}
FIELDS = set(GOOD)

section_ids = st.text(min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
labels = section_ids.filter(lambda text: text == text.strip())
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
questions = st.builds(
    Question,
    id=labels,
    text=st.text(min_size=1).filter(lambda text: bool(text.strip())),
    shape=labels,
    gold=st.lists(section_ids, min_size=1, max_size=4, unique=True).map(tuple),
    answer=st.text(),
    source=st.text(),
    identifier=st.text(),
    extra=st.dictionaries(
        st.text(max_size=6).filter(lambda name: name not in FIELDS), json_values, max_size=3
    ),
)
passages = st.builds(Passage, id=section_ids, text=st.text(), source=st.text())
same_every_time = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example overwrites the file
)


def written(folder: Path, *lines: object) -> Path:
    path = folder / "lines.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="\n")
    return path


def without(name: str) -> dict[str, object]:
    return {key: value for key, value in GOOD.items() if key != name}


@given(st.lists(questions, min_size=1, max_size=5, unique_by=lambda question: question.id))
@same_every_time
def test_questions_come_back_as_they_were_saved(tmp_path: Path, saved: list[Question]) -> None:
    path = tmp_path / "questions.jsonl"
    save_questions(path, saved)
    assert load_questions(path) == saved


@given(st.lists(passages, min_size=1, max_size=5, unique_by=lambda passage: passage.id))
@same_every_time
def test_passages_come_back_as_they_were_saved(tmp_path: Path, saved: list[Passage]) -> None:
    path = tmp_path / "sections.jsonl"
    save_passages(path, saved)
    assert load_passages(path) == saved


def test_saved_text_stays_readable_and_lines_end_in_lf(tmp_path: Path) -> None:
    path = tmp_path / "sections.jsonl"
    save_passages(path, [Passage("東京.md#über", "a\r\nb\u2028c", "東京.md")])
    expected = '{"id": "東京.md#über", "text": "a\\r\\nb\u2028c", "source": "東京.md"}\n'
    assert path.read_bytes() == expected.encode()


def test_passages_can_be_written_to_a_stream() -> None:
    stream = io.StringIO()
    save_passages(stream, (Passage(f"a.md#{number}", "text", "a.md") for number in range(2)))
    assert [json.loads(line)["id"] for line in stream.getvalue().splitlines()] == [
        "a.md#0",
        "a.md#1",
    ]


def test_unknown_fields_are_kept_and_written_back(tmp_path: Path) -> None:
    path = written(tmp_path, {**GOOD, "judge": {"score": 0.5}, "tags": ["a"]})
    [question] = load_questions(path)
    assert question.extra == {"judge": {"score": 0.5}, "tags": ["a"]}
    save_questions(path, [question])
    assert json.loads(path.read_text("utf-8")) == {**GOOD, "judge": {"score": 0.5}, "tags": ["a"]}


def test_answer_source_and_identifier_may_be_absent(tmp_path: Path) -> None:
    line = {key: GOOD[key] for key in ("id", "q", "shape", "gold_chunk_ids")}
    [question] = load_questions(written(tmp_path, line))
    assert (question.answer, question.source, question.identifier) == ("", "", "")


def test_byte_order_mark_crlf_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    second = {**GOOD, "id": "q2"}
    text = f"\ufeff{json.dumps(GOOD)}\r\n\r\n{json.dumps(second)}"
    path.write_bytes(text.encode())
    assert [question.id for question in load_questions(path)] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        (without("id"), "'id' is missing"),
        (without("q"), "'q' is missing"),
        (without("shape"), "'shape' is missing"),
        (without("gold_chunk_ids"), "'gold_chunk_ids' is missing"),
        ({**without("gold_chunk_ids"), "gold_chunk_id": ["a"]}, 'is "gold_chunk_id" meant?'),
        ({**GOOD, "id": 7}, "'id' must be text, not 7"),
        ({**GOOD, "id": " "}, "'id' must not be blank"),
        ({**GOOD, "id": "q1\n"}, "'id' has white space around it"),
        ({**GOOD, "q": "  "}, "'q' must not be blank"),
        ({**GOOD, "shape": ""}, "'shape' must not be blank"),
        ({**GOOD, "answer": None}, "'answer' must be text, not null; leave it out"),
        ({**GOOD, "gold_chunk_ids": []}, "'gold_chunk_ids' is empty"),
        ({**GOOD, "gold_chunk_ids": "a.md#b"}, "must be a list of section ids"),
        ({**GOOD, "gold_chunk_ids": ["a.md#b", 3]}, "must hold section ids, not 3"),
        ({**GOOD, "gold_chunk_ids": ["a.md#b", "\n"]}, "'gold_chunk_ids' must not be blank"),
        ({**GOOD, "shape": "table "}, "'shape' has white space around it"),
        ({**GOOD, "gold_chunk_ids": ["a", "b", "a"]}, 'names "a" more than once'),
        ('{"id": "q1", "id": "q2"}', 'the field "id" stands there twice'),
        ({**GOOD, "answer": "\ud800"}, "half of a surrogate pair"),
        (json.dumps({**GOOD, "x": float("nan")}), '"NaN" is no JSON number'),
        ('{"x": 1e999}', '"1e999" is no JSON number'),
        ('{"x": ' + "9" * 5_000 + "}", "digits"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_bad_line_is_reported_with_file_and_number(
    tmp_path: Path, line: object, fault: str
) -> None:
    path = written(tmp_path, {**GOOD, "id": "first"}, line)
    with pytest.raises(EvaluationError) as caught:
        load_questions(path)
    message = str(caught.value)
    assert f"{path}:2: " in message
    assert fault in message
    assert len(message) < 600


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "{", GOOD, {"id": 1, "q": "", "shape": "x"}, "null")
    with pytest.raises(EvaluationError) as caught:
        load_questions(path)
    lines = str(caught.value).splitlines()
    assert "5 faults" in lines[0]
    assert [line.split(": ")[0].rpartition(":")[2] for line in lines[1:]] == list("13334")


def test_first_twenty_faults_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    path = written(tmp_path, *["{"] * 50)
    with pytest.raises(EvaluationError, match=r"50 faults \(the first 20 follow\)") as caught:
        load_questions(path)
    assert len(str(caught.value).splitlines()) == 21


def test_repeated_id_names_the_line_that_had_it_first(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, {**GOOD, "id": "q2"}, GOOD)
    with pytest.raises(EvaluationError, match="already stands in") as caught:
        load_questions(path)
    assert str(caught.value).endswith(f'{path}:3: the id "q1" already stands in {path}:1')


def test_bytes_that_are_not_utf8_are_reported_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "caf\xe9"}\n')
    with pytest.raises(EvaluationError, match=r"latin\.jsonl:2: not UTF-8 at byte 12 of the line"):
        load_questions(path)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_file_without_lines_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    with pytest.raises(EvaluationError, match="holds no questions"):
        load_questions(path)
    with pytest.raises(EvaluationError, match="holds no passages"):
        load_passages(path)


def test_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"There is no file .*absent\.jsonl"):
        load_questions(tmp_path / "absent.jsonl")


def test_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="Cannot read"):
        load_passages(tmp_path)


def test_passages_need_their_three_fields(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": "a", "txt": "t"}, {"id": "a", "text": 1, "source": "s"})
    with pytest.raises(EvaluationError) as caught:
        load_passages(path)
    message = str(caught.value)
    assert "4 faults" in message
    assert ":1: 'text' is missing; is \"txt\" meant?" in message
    assert ":1: 'source' is missing" in message
    assert ":2: 'text' must be text, not 1" in message
    assert ':2: the id "a" already stands in' in message


SAVED = Question(id="q1", text="Why?", shape="conceptual", gold=("a.md#b",))


@pytest.mark.parametrize(
    "bad",
    [
        replace(SAVED, gold=()),
        replace(SAVED, id=" "),
        replace(SAVED, answer="\ud800"),
        replace(SAVED, extra={"id": "other"}),
        replace(SAVED, extra={"score": float("nan")}),
        replace(SAVED, extra={"when": object()}),
        SAVED,
    ],
)
def test_questions_that_would_not_load_are_not_saved(tmp_path: Path, bad: Question) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(EvaluationError):
        save_questions(path, [SAVED, bad])
    assert path.read_text("utf-8") == "before"
    assert os.listdir(tmp_path) == ["questions.jsonl"]  # noqa: PTH208 - hidden files too


def test_passages_that_end_badly_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "sections.jsonl"
    save_passages(path, [Passage("a.md#b", "before", "a.md")])
    twice = [Passage("a.md#c", "after", "a.md")] * 2
    with pytest.raises(EvaluationError, match="already stands in passage 1"):
        save_passages(path, twice)
    assert [passage.text for passage in load_passages(path)] == ["before"]
    assert [each.name for each in tmp_path.iterdir()] == ["sections.jsonl"]


def test_saving_through_a_link_changes_its_target(tmp_path: Path) -> None:
    target = tmp_path / "real.jsonl"
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    save_questions(link, [SAVED])
    assert link.is_symlink()
    assert load_questions(target) == [SAVED]


def test_saved_file_has_the_permissions_of_an_ordinary_file(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    save_questions(tmp_path / "saved", [SAVED])
    assert stat.S_IMODE((tmp_path / "saved").stat().st_mode) == stat.S_IMODE(
        ordinary.stat().st_mode
    )


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "absent" / "q.jsonl", tmp_path / "file" / "q.jsonl", tmp_path):
        with pytest.raises(EvaluationError, match="Cannot write"):
            save_questions(place, [SAVED])
