"""Rows side by side: figures worked by hand, families of comparisons, and how they are printed."""

import json
from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

import pytest
from rich.cells import cell_len

from contextpull.eval.families import compare_family
from contextpull.eval.run_table import render_run
from contextpull.eval.running import Settings, compared_with_best_push, full_report
from contextpull.eval.runs import Row, evaluate
from contextpull.types import Question

GOLD = {"q1": ("a",), "q2": ("a", "b"), "q3": ("c",), "q4": ("c", "d")}
QUESTIONS = [
    Question(each, each, "conceptual" if each < "q3" else "table", gold)
    for each, gold in GOLD.items()
]
ANSWERS: dict[str, list[str] | Exception] = {
    "q1": ["a"],
    "q2": ["x", "a", "a", "b"],
    "q3": OSError("down"),
    "q4": ["y", "z", "d", "c"],
}
SECOND, THIRD = 1 / log2(3), 1 / log2(4)


class Canned:
    """Answers from a table by question text; an exception in it is raised."""

    def __init__(self, answers: Mapping[str, list[str] | Exception]) -> None:
        self.answers = answers

    def retrieve(self, query: str, k: int) -> list[str]:
        answer = self.answers[query]
        if isinstance(answer, Exception):
            raise answer
        return answer


def canned(
    answers: Mapping[str, list[str] | Exception], questions: Sequence[Question], name: str, k: int
) -> Row:
    return evaluate(Canned(answers), questions, name=name, k=k, rounds=200)


def report_of(rows: Sequence[Row], k: int, push: Sequence[str] = ()) -> dict[str, Any]:
    run = Settings(k, 200, 0)
    beside = compared_with_best_push(rows, push, run)
    report = full_report(rows, {}, beside, run)
    return json.loads(json.dumps(report, allow_nan=False))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("shape", "n", "hits", "expected"),
    [
        (
            None,
            4,
            3,
            {
                "recall@3": (1 + 1 + 0 + 1 / 2) / 4,
                "mrr@3": (1 + 1 / 2 + 0 + 1 / 3) / 4,
                "ndcg@3|hit": (1 + (SECOND + THIRD) / (1 + SECOND) + THIRD / (1 + SECOND)) / 3,
            },
        ),
        (
            "conceptual",
            2,
            2,
            {
                "recall@3": 1,
                "mrr@3": (1 + 1 / 2) / 2,
                "ndcg@3|hit": (1 + (SECOND + THIRD) / (1 + SECOND)) / 2,
            },
        ),
        (
            "table",
            2,
            1,
            {
                "recall@3": (0 + 1 / 2) / 2,
                "mrr@3": (0 + 1 / 3) / 2,
                "ndcg@3|hit": THIRD / (1 + SECOND),
            },
        ),
    ],
)
def test_every_figure_of_a_row_as_worked_by_hand(
    shape: str | None, n: int, hits: int, expected: dict[str, float]
) -> None:
    """With a repeated id, a question that failed, and gold beyond k."""
    [row] = report_of([canned(ANSWERS, QUESTIONS, "bm25", 3)], 3)["rows"]
    summary = row["shapes"][shape] if shape else row
    assert summary["n"] == n
    assert {name: each["mean"] for name, each in summary["measures"].items()} == pytest.approx(
        expected
    )
    assert (summary["hits"]["yes"], summary["hits"]["mean"]) == (hits, hits / n)


def numbered(n: int, shapes: Sequence[str] = ("conceptual", "table")) -> list[Question]:
    """Questions of alternating shapes, whose gold is their own number."""
    return [
        Question(f"q{at}", str(at), shapes[at % len(shapes)], (str(at),), source=f"{at}.md")
        for at in range(n)
    ]


def finding(found: range, questions: Sequence[Question], name: str) -> Row:
    """A row that finds the gold of the questions with these numbers."""
    answers = {each.text: [each.text] if int(each.text) in found else [] for each in questions}
    return canned(answers, questions, name, 5)


def test_rows_are_compared_with_the_best_push_over_all_and_by_shape() -> None:
    questions = numbered(40)
    rows = [
        finding(range(10), questions, "bm25"),
        finding(range(20), questions, "hybrid"),
        finding(range(20, 40), questions, "pull, read"),
        finding(range(40), questions, "pull, surfaced"),
    ]
    report = report_of(rows, 5, ["bm25", "hybrid"])
    overall = {each["row"]: each for each in report["comparisons"]}
    assert list(overall) == ["bm25", "pull, read", "pull, surfaced"]
    assert {each["baseline"] for each in overall.values()} == {"hybrid"}
    assert {name: each["verdict"] for name, each in overall.items()} == {
        "bm25": "worse",
        "pull, read": "cannot tell",
        "pull, surfaced": "better",
    }
    by_shape = [(each["row"], each["shape"], each["n"]) for each in report["comparisons_by_shape"]]
    assert by_shape == [(row, shape, 20) for row in overall for shape in ("conceptual", "table")]
    lost = {each["row"]: each for each in report["comparisons_by_shape"]}["bm25"]
    assert lost["difference"]["mean"] == -0.25
    assert lost["p"] == 2 / 2**5


def test_families_are_corrected_apart() -> None:
    questions = numbered(40)
    rows = [finding(range(20), questions, "bm25"), finding(range(8, 20), questions, "pull, read")]
    report = report_of(rows, 5, ["bm25"])
    [overall] = report["comparisons"]
    assert overall["p_holm"] == overall["p"] == 2 / 2**8
    first, second = report["comparisons_by_shape"]
    assert first["p"] == second["p"] == 2 / 2**4
    assert first["p_holm"] == second["p_holm"] == 4 / 2**4
    [hits] = report["comparisons_of_hits"]
    assert hits == {
        "row": "pull, read",
        "baseline": "bm25",
        "only_first": 0,
        "only_second": 8,
        "p": 2 / 2**8,
        "p_holm": 2 / 2**8,
    }


def test_one_shape_is_not_compared_twice() -> None:
    questions = numbered(10, ["table"])
    rows = [finding(range(each), questions, name) for each, name in ((9, "bm25"), (3, "dense"))]
    assert report_of(rows, 5, ["bm25", "dense"])["comparisons_by_shape"] == []


def test_rows_without_a_push_are_not_compared() -> None:
    report = report_of([finding(range(3), numbered(4), "pull, read")], 5)
    families = ("comparisons", "comparisons_by_shape", "comparisons_of_hits")
    assert [report[name] for name in families] == [[], [], []]


def rendered(rows: Sequence[Row], push: Sequence[str]) -> str:
    return render_run(rows, {}, compared_with_best_push(rows, push, Settings(5, 200, 0)))


def test_printed_comparisons_say_what_the_sample_could_have_shown() -> None:
    questions = numbered(60, ["conceptual", "table", "table"])
    rows = [finding(range(30), questions, "bm25"), finding(range(2, 31), questions, "dense")]
    lines = rendered(rows, ["bm25", "dense"]).splitlines()
    at = lines.index("recall@5 beside the best push row, bm25")
    heads = "row n difference p p (Holm) verdict detectable"
    assert " ".join(lines[at + 1].split()) == heads
    for line in lines[at + 2 : at + 5]:
        assert " cannot tell  from 0." in line
        assert line.endswith(" on")
    assert [line.split()[:2] for line in lines[at + 2 : at + 5]] == [
        ["dense", "60"],
        ["conceptual", "20"],
        ["table", "40"],
    ]
    assert "cannot tell: not significant at 5%, which is no sign that rows are alike." in " ".join(
        lines
    )


def test_printed_hits_have_intervals_and_what_each_row_gained_and_lost() -> None:
    questions = numbered(60)
    rows = [finding(range(30), questions, "bm25"), finding(range(2, 31), questions, "dense")]
    lines = rendered(rows, ["bm25", "dense"]).splitlines()
    at = lines.index("hit@5: questions with any gold among the first 5")
    assert [line.split() for line in lines[at + 2 : at + 4]] == [
        ["bm25", "30", "60", "0.500", "[0.377,", "0.623]", "-", "-", "-", "-"],
        ["dense", "29", "60", "0.483", "[0.362,", "0.607]", "1", "2", "1.000", "1.000"],
    ]


def test_a_run_fits_a_hundred_columns() -> None:
    questions = numbered(1_200, ["a shape of the user's own", "table"])
    names = ["hybrid-rrf:0.25", "pull-strict-short snippets, surfaced"]
    rows = [
        finding(range(each), questions, name) for each, name in zip((900, 901), names, strict=True)
    ]
    text = rendered(rows, names[:1])
    assert max(map(cell_len, text.splitlines())) <= 100
    assert all(line == line.rstrip() for line in text.splitlines() if "cannot tell" in line)


def test_no_comparisons_are_no_family() -> None:
    assert compare_family([], rounds=200, seed=0) == []
