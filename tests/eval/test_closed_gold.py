"""`--close-gold`: a copy of a gold section is an alternative to it, not a second thing to find."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from contextpull.adapters.ragbisect import save_passages, save_questions
from contextpull.cli.evaluate import eval_group
from contextpull.eval.closing import close_gold, closed_grades
from contextpull.eval.measures import as_one, at_cutoff, score
from contextpull.types import Passage, Question
from tests.judged import DOCUMENTS, lines, write_collection
from tests.standins import Calls, Request, Says, Step, standing_in

same_every_time = settings(derandomize=True, database=None, deadline=None, max_examples=200)
KETTLE = "The red kettle boils in four minutes."
PASSAGES = [
    # Equal scores rank by id, so the copies in a.md come first.
    Passage("a.md#copy", KETTLE, "a.md"),
    Passage("a.md#again", f"\n{KETTLE}\n", "a.md"),
    Passage("b.md#kettle", KETTLE, "b.md"),
    Passage("b.md#oven", "The oven needs ten minutes to get hot.", "b.md"),
]
KETTLE_QUESTION = Question("q1", "red kettle", "conceptual", ("b.md#kettle",), source="b.md")
OVEN_QUESTION = Question("q2", "oven", "table", ("b.md#oven",), source="b.md")
JUDGED = Path("/work/shared/data/judged/chroma_chunking")
"""472 questions over text that repeats itself; `test_closed` was made by somebody else."""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return written(tmp_path, [KETTLE_QUESTION, OVEN_QUESTION])


def written(folder: Path, questions: list[Question]) -> list[str]:
    save_questions(folder / "questions.jsonl", questions)
    save_passages(folder / "sections.jsonl", PASSAGES)
    return [
        "--questions",
        str(folder / "questions.jsonl"),
        "--sections",
        str(folder / "sections.jsonl"),
    ]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(eval_group, [*map(str, arguments), "--rounds", "100"])


def measured(result: Result, row: int = 0) -> dict[str, float]:
    assert result.exit_code == 0, result.output
    measures = json.loads(result.stdout)["rows"][row]["measures"]
    return {name: each["mean"] for name, each in measures.items()}


def test_a_copy_in_front_of_the_gold_counts_as_the_gold(files: list[str]) -> None:
    command = ["run", *files, "--k", 2, "--shapes", "conceptual", "--json"]
    assert measured(run(*command))["recall@2"] == 0
    closed = run(*command, "--close-gold")
    assert measured(closed) == {"recall@2": 1.0, "mrr@2": 1.0, "ndcg@2|hit": 1.0}
    assert json.loads(closed.stdout)["close_gold"] == {"questions": 1, "copies": 2}
    assert json.loads(run(*command).stdout)["close_gold"] is None


def test_both_copies_found_are_one_find(files: list[str]) -> None:
    result = run("run", *files, "--k", 4, "--shapes", "conceptual", "--close-gold", "--json")
    assert measured(result) == {"recall@4": 1.0, "mrr@4": 1.0, "ndcg@4|hit": 1.0}


def test_gold_sections_of_one_text_are_one_thing_to_find(tmp_path: Path) -> None:
    gold = ("b.md#kettle", "a.md#copy", "b.md#oven")
    files = written(tmp_path, [Question("q1", "red kettle", "comparison", gold)])
    result = run("run", *files, "--k", 1, "--close-gold", "--json")
    assert measured(result)["recall@1"] == 0.5


def test_the_table_says_what_was_closed(files: list[str]) -> None:
    text = run("run", *files, "--close-gold").stdout
    assert "Closed gold: 2 copies count as the gold of 1 of 2 questions." in text
    none = run("run", *files, "--shapes", "table", "--close-gold").stdout
    assert "Closed gold: no gold section has a copy." in none


def test_a_kept_run_knows_what_was_closed(files: list[str], tmp_path: Path) -> None:
    manifests = []
    for name, more in (("open", []), ("closed", ["--close-gold"])):
        run("run", *files, "--out", tmp_path / name, *more)
        manifests.append(json.loads(Path(tmp_path, name, "run.json").read_bytes()))
    assert [each["close_gold"] for each in manifests] == [
        None,
        {"questions": 1, "copies": {"a.md#again": "b.md#kettle", "a.md#copy": "b.md#kettle"}},
    ]
    assert manifests[0]["questions"] != manifests[1]["questions"]
    shown = CliRunner().invoke(eval_group, ["show", str(tmp_path / "closed"), "q1"]).stdout
    assert shown.count("<- gold") == 3
    compared = run("compare", tmp_path / "open", tmp_path / "closed")
    assert "Only one of the two runs was scored with --close-gold." in str(compared.exception)


def test_an_agent_that_reads_a_copy_has_found_the_gold(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("openai")

    def reads_a_copy(request: Request) -> Step:
        if request.turn == 0:
            return Calls([("read", {"ids": ["a.md#copy"]})])
        return Says("Four minutes.")

    with standing_in(reads_a_copy) as model:
        command = ["run", *files, "--shapes", "conceptual", "--rows", "pull", "--json"]
        command += ["--model", model.endpoint, "--out", str(tmp_path / "run")]
        assert measured(run(*command))["recall@5"] == 0
        asked = len(model.asked)
        closed = run(*command, "--close-gold", "--offline")
        assert len(model.asked) == asked
    assert measured(closed) == {"recall@5": 1.0, "mrr@5": 1.0, "ndcg@5|hit": 1.0}
    assert json.loads(closed.stdout)["agents"]["pull"]["leakage"] == 0


def test_judged_documents_of_one_text_count_as_one(tmp_path: Path) -> None:
    original = next(each for each in DOCUMENTS if each["_id"] == "d4")
    copies = [*DOCUMENTS, {**original, "_id": "d0"}]
    folder = write_collection(tmp_path / "kitchen", corpus=lines(copies))

    def figures(*more: str) -> dict[str, Any]:
        result = run("beir", folder, "--json", *more)
        assert result.exit_code == 0, result.output
        [collection] = json.loads(result.stdout)["collections"]
        return collection  # type: ignore[no-any-return]

    opened, closed = figures(), figures("--close-gold")
    assert opened["rows"][0]["measures"]["RR@10"]["mean"] == 0.75
    assert closed["rows"][0]["measures"]["RR@10"]["mean"] == 1
    assert closed["notes"][-1] == "Closed gold: 1 copy counts as the gold of 1 of 2 questions."


@pytest.mark.skipif(not JUDGED.exists(), reason="the judged collections are not on this machine")
def test_a_text_that_repeats_itself_scores_as_with_qrels_that_were_closed_by_hand() -> None:
    def ndcg(*more: str) -> float:
        result = run("beir", JUDGED, "--json", *more)
        [collection] = json.loads(result.stdout)["collections"]
        return float(collection["rows"][0]["measures"]["nDCG@10"]["mean"])

    opened, closed, by_hand = ndcg(), ndcg("--close-gold"), ndcg("--split", "test_closed")
    assert closed > opened + 0.01
    assert closed == pytest.approx(by_hand, abs=0.003)


def test_the_best_grade_of_a_text_is_its_grade() -> None:
    copies = {"copy": "gold"}
    assert closed_grades({"copy": 2, "gold": 1, "other": 0}, copies) == {"gold": 2, "other": 0}
    assert closed_grades({"gold": 1, "copy": -1}, copies) == {"gold": 1}


def test_questions_that_share_a_text_share_their_gold() -> None:
    questions = [Question(f"q{each}", each, "", (each,)) for each in ("b", "c", "x")]
    closed = close_gold(questions, {"a": 1, "b": 1, "c": 1, "d": 2})
    assert closed.copies == {"a": "b", "c": "b"}
    assert [each.gold for each in closed.questions] == [("b",), ("b",), ("x",)]
    assert closed.affected == 2
    assert [set(each.gold) for each in closed.with_copies()] == [{"a", "b", "c"}] * 2 + [{"x"}]


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=8),
    st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=4),
    st.integers(1, 8),
)
@same_every_time
def test_no_measure_falls_because_a_copy_exists(
    ranking: list[str], texts: dict[str, int], wanted: set[str], k: int
) -> None:
    gold = sorted({texts[each]: each for each in sorted(wanted)}.values())  # of different texts
    closed = close_gold([Question("q", "q", "", tuple(gold))], texts)
    before = score(ranking[:k], gold, at_cutoff(k))
    after = score(as_one(ranking[:k], closed.copies), closed.questions[0].gold, at_cutoff(k))
    assert all(after[name] >= value - 1e-12 for name, value in before.items())
    assert len(closed.questions[0].gold) == len(gold)
