"""Rows: every question asked once, failures kept, figures by shape, JSON."""

import json
from collections.abc import Mapping, Sequence

import pytest

from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.runs import Row, check_gold, evaluate, report
from contextpull.types import Question


class Canned:
    """Answers from a table by question text; an exception in it is raised."""

    def __init__(self, answers: Mapping[str, object]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, int]] = []

    def retrieve(self, query: str, k: int) -> list[str]:
        self.asked.append((query, k))
        answer = self.answers.get(query, [])
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]  # some tests answer nonsense on purpose


def question(number: int, shape: str = "conceptual", source: str = "") -> Question:
    """A question `t<number>` whose gold is `g<number>`."""
    return Question(
        id=f"q{number}", text=f"t{number}", shape=shape, gold=(f"g{number}",), source=source
    )


def row_of(answers: Mapping[str, object], questions: Sequence[Question], k: int = 5) -> Row:
    return evaluate(Canned(answers), questions, name="canned", k=k, rounds=200)


def means(row: Row) -> dict[str, float]:
    return {name: interval.mean for name, interval in row.overall.measures.items()}


def test_every_question_is_asked_once_in_order() -> None:
    retriever = Canned({})
    progress: list[tuple[int, int]] = []
    evaluate(
        retriever,
        [question(1), question(2)],
        name="canned",
        k=3,
        rounds=200,
        on_progress=lambda asked, questions: progress.append((asked, questions)),
    )
    assert retriever.asked == [("t1", 3), ("t2", 3)]
    assert progress == [(1, 2), (2, 2)]


def test_failed_question_counts_as_a_miss() -> None:
    questions = [question(number) for number in range(10)]
    answers: dict[str, object] = {each.text: list(each.gold) for each in questions}
    whole = row_of(answers, questions)
    half = row_of({**answers, **{f"t{number}": OSError("down") for number in range(5)}}, questions)
    assert means(whole) == {"recall@5": 1.0, "mrr@5": 1.0, "ndcg@5|hit": 1.0}
    assert means(half) == {"recall@5": 0.5, "mrr@5": 0.5, "ndcg@5|hit": 1.0}
    assert whole.overall.n == half.overall.n == 10
    assert half.overall.errors == 5
    assert [each.question.id for each in half.failures] == ["q0", "q1", "q2", "q3", "q4"]
    assert half.failures[0].error == "OSError: down"


def test_failure_message_is_one_bounded_line() -> None:
    row = row_of({"t1": ValueError("first\n  second" + "x" * 5_000)}, [question(1)])
    [failure] = row.failures
    assert failure.error is not None
    assert failure.error.startswith("ValueError: first second")
    assert len(failure.error) <= 301


@pytest.mark.parametrize("nonsense", ["g1", None, [("g1", 0.5)], {"g1": 1}])
def test_answer_that_is_no_list_of_ids_is_a_failure(nonsense: object) -> None:
    row = row_of({"t1": nonsense}, [question(1)])
    assert row.overall.errors == 1
    assert "must return a list of section ids" in (row.failures[0].error or "")


def test_interrupt_is_not_taken_for_a_failure() -> None:
    class Interrupted:
        def retrieve(self, query: str, k: int) -> list[str]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(Interrupted(), [question(1)], name="canned", k=5)


def test_repeated_ids_count_once_before_the_ranking_is_cut() -> None:
    row = row_of({"t1": ["x", "x", "x", "g1", "y"]}, [question(1)], k=2)
    [outcome] = row.outcomes
    assert outcome.ranking == ("x", "g1")
    assert outcome.scores["mrr@2"] == 0.5


def test_ranking_longer_than_k_is_cut() -> None:
    row = row_of({"t1": ["x", "y", "g1"]}, [question(1)], k=2)
    assert row.outcomes[0].ranking == ("x", "y")
    assert means(row)["recall@2"] == 0


def test_shapes_have_figures_of_their_own_in_a_fixed_order() -> None:
    questions = [
        question(1, "zebra"),
        question(2, "table"),
        question(3, "conceptual"),
        question(4, "table"),
    ]
    row = row_of({"t2": ["g2"], "t3": ["g3"]}, questions)
    assert list(row.shapes) == ["conceptual", "table", "zebra"]
    assert {
        shape: (each.n, each.measures["recall@5"].mean) for shape, each in row.shapes.items()
    } == {
        "conceptual": (1, 1.0),
        "table": (2, 0.5),
        "zebra": (1, 0.0),
    }


def test_questions_of_one_document_are_drawn_together() -> None:
    answers = {f"t{number}": [f"g{number}"] for number in range(20)}
    alone = row_of(answers, [question(number) for number in range(40)])
    # Five questions a document; those of one document share their fate.
    shared = row_of(answers, [question(number, source=f"{number // 5}.md") for number in range(40)])
    assert (alone.clusters, shared.clusters) == (40, 8)

    def width(row: Row) -> float:
        interval = row.overall.measures["recall@5"]
        return interval.high - interval.low

    assert width(shared) > 1.5 * width(alone)


def test_question_without_a_document_stands_for_itself() -> None:
    questions = [question(1, source="a.md"), question(2, source="a.md"), question(3), question(4)]
    assert row_of({}, questions).clusters == 3


def test_no_questions_are_refused() -> None:
    with pytest.raises(EvaluationError, match="no question"):
        row_of({}, [])


def test_cutoff_below_one_is_refused_before_anything_is_asked() -> None:
    retriever = Canned({})
    with pytest.raises(InvalidInput, match="k must be 1 or more"):
        evaluate(retriever, [question(1)], name="canned", k=0)
    assert retriever.asked == []


def test_gold_that_the_sections_lack_is_refused_before_anything_is_asked() -> None:
    retriever = Canned({})
    with pytest.raises(EvaluationError, match="'g2'"):
        evaluate(
            retriever, [question(1), question(2)], name="canned", k=5, known_ids=["g1", "other"]
        )
    assert retriever.asked == []


def test_absent_gold_is_named_counted_and_explained() -> None:
    questions = [question(number) for number in range(15)]
    with pytest.raises(EvaluationError) as caught:
        check_gold(questions, ["g0", "g1"])
    message = str(caught.value)
    assert message.startswith("13 of 15 questions have gold that the sections do not hold")
    assert "'g2' (question q2)" in message
    assert "'g11' (question q11) and 3 more" in message
    assert "There are 2 sections, such as 'g0'." in message
    assert "the same corpus" in message


def test_absent_gold_of_an_empty_store_is_still_explained() -> None:
    with pytest.raises(EvaluationError, match="There are 0 sections"):
        check_gold([question(1)], [])


def test_complete_gold_passes() -> None:
    check_gold([question(1)], {"g1", "g2"})


def test_report_has_the_documented_shape() -> None:
    questions = [question(1), question(2), question(3, "table")]
    row = row_of({"t1": ["g1"], "t2": ["x", "g2"], "t3": OSError("down")}, questions)
    record = json.loads(json.dumps(report([row], 5), allow_nan=False))
    [result] = record.pop("rows")
    assert record == {"k": 5}
    assert result.pop("seconds") >= 0
    overall = result.pop("measures")
    assert {name: each["mean"] for name, each in overall.items()} == {
        "recall@5": pytest.approx(2 / 3),
        "mrr@5": pytest.approx(0.5),
        "ndcg@5|hit": pytest.approx((1 + 0.6309298) / 2),
    }
    for interval in overall.values():
        assert list(interval) == ["mean", "low", "high"]
        assert interval["low"] <= interval["mean"] <= interval["high"]
    assert result["shapes"].pop("conceptual")["n"] == 2
    of_table = result["shapes"]["table"]
    for hits, of, yes in ((result.pop("hits"), 3, 2), (of_table.pop("hits"), 1, 0)):
        assert (hits["yes"], hits["mean"]) == (yes, yes / of)
        assert 0 <= hits["low"] <= hits["mean"] <= hits["high"] < 1
    nothing = {"mean": None, "low": None, "high": None}
    zero = {"mean": 0.0, "low": None, "high": None}
    assert result == {
        "row": "canned",
        "n": 3,
        "errors": 1,
        "shapes": {
            "table": {
                "n": 1,
                "errors": 1,
                "measures": {"recall@5": zero, "mrr@5": zero, "ndcg@5|hit": nothing},
            }
        },
        "failures": [{"id": "q3", "error": "OSError: down"}],
        "unanswered": [],
        "stats": {},
        "interval": {"level": 0.95, "rounds": 200, "seed": 0, "clusters": 3},
    }


def test_report_repeats_but_for_the_time() -> None:
    def once() -> object:
        record = report([row_of({"t1": ["g1"]}, [question(1), question(2)])], 5)
        rows = record["rows"]
        assert isinstance(rows, list)
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    assert once() == once()


def test_rows_of_different_questions_or_cutoffs_are_not_put_together() -> None:
    one = row_of({}, [question(1)])
    with pytest.raises(EvaluationError, match="different questions"):
        report([one, row_of({}, [question(2)])], 5)
    with pytest.raises(EvaluationError, match="has k = 3, not 5"):
        report([one, row_of({}, [question(1)], k=3)], 5)
