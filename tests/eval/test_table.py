"""The table that `eval run` prints."""

import re

import pytest
from rich.cells import cell_len

from contextpull.errors import EvaluationError
from contextpull.eval.runs import Row, evaluate
from contextpull.eval.table import render_table
from contextpull.types import Question


class Half:
    """Finds the gold of even questions at first place; fails on those it is told to."""

    def __init__(self, failing: range = range(0)) -> None:
        self.failing = failing

    def retrieve(self, query: str, k: int) -> list[str]:
        number = int(query)
        if number in self.failing:
            raise TimeoutError("the engine did not answer\x1b[2J in time")
        return [query] if number % 2 == 0 else []


def row_of(
    n: int = 40,
    *,
    name: str = "bm25",
    shape: str = "exact_lookup",
    failing: range = range(0),
    per_document: int = 1,
) -> Row:
    questions = [
        Question(
            f"q{number}", str(number), shape, (str(number),), source=f"{number // per_document}.md"
        )
        for number in range(n)
    ]
    return evaluate(Half(failing), questions, name=name, k=5, rounds=500)


def test_table_shows_rows_with_their_shapes_under_them() -> None:
    lines = render_table([row_of(), row_of(name="hybrid")]).splitlines()
    assert lines[0].split() == ["row", "n", "recall@5", "mrr@5", "ndcg@5|hit", "errors"]
    figure = r"0\.500 \[0\.\d{3}, 0\.\d{3}\]"
    for line, name in zip(
        lines[1:5], ["bm25", "  exact_lookup", "hybrid", "  exact_lookup"], strict=True
    ):
        expected = rf"{name} +40  {figure}  {figure}  1\.000 \[1\.000, 1\.000\] +0"
        assert re.fullmatch(expected, line)
    assert lines[5] == ""


def test_columns_are_aligned() -> None:
    lines = render_table([row_of(), row_of(name="a longer name")]).splitlines()[:5]
    assert len({len(line) for line in lines}) == 1
    assert len({line.index("recall" if "recall" in line else "0.500") for line in lines}) == 1


def test_table_fits_a_hundred_columns() -> None:
    text = render_table(
        [
            row_of(2_000, name="claude-code, ids surfaced, short snippets", failing=range(9)),
            row_of(2_000, name="数据库" * 9, failing=range(1_500)),
        ]
    )
    assert max(map(cell_len, text.splitlines())) <= 100
    assert "claude-code, ids surfaced, short snippets\n" in text


def test_undefined_figures_are_dashes() -> None:
    lines = render_table([row_of(1, failing=range(1))]).splitlines()
    assert lines[1].split() == ["bm25", "1", "0.000", "[-]", "0.000", "[-]", "-", "1"]


def test_notes_say_what_the_brackets_are() -> None:
    text = render_table([row_of(40, per_document=4)])
    assert "[low, high]: 95% interval, bootstrap over 10 documents, 500 rounds, seed 0." in text
    assert "bootstrap over 40 questions" in render_table([row_of(40)])
    assert text.endswith("No question failed.\n")


def test_notes_list_the_first_failures() -> None:
    text = render_table([row_of(failing=range(8)), row_of(name="other", failing=range(1))])
    assert "bm25: 8 failed questions, counted as misses:" in text
    assert text.count("TimeoutError") == 6
    assert "  q4: TimeoutError: the engine did not answer" in text
    assert "  and 3 more" in text
    assert "other: 1 failed question, counted as a miss:" in text


def test_rows_that_failed_at_the_same_questions_share_the_list_of_them() -> None:
    text = render_table([row_of(failing=range(2)), row_of(name="other", failing=range(2))])
    assert "bm25 and other: 2 failed questions, counted as misses:" in text
    assert text.count("TimeoutError") == 2


def test_names_from_files_cannot_steer_the_terminal() -> None:
    text = render_table([row_of(shape="\x1b[31mred\rx", failing=range(1))])
    assert all(character.isprintable() or character == "\n" for character in text)


def test_rows_of_different_questions_share_no_table() -> None:
    with pytest.raises(EvaluationError, match="different questions"):
        render_table([row_of(4), row_of(5)])


def test_no_rows_are_said_to_be_none() -> None:
    assert render_table([]) == "No rows.\n"
