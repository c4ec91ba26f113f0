"""What a report's first sentence says, and what it must not say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from contextpull.eval.report.caveats import caveats_of
from contextpull.eval.report.claims import Claim, claim_of
from contextpull.eval.report.model import view_of
from tests.eval.report.kept_runs import QUESTIONS, keep_run

Found = Mapping[str, Sequence[str]]
MANY = [
    replace(QUESTIONS[0], id=f"q{at}", text=f"Question {at}?", source=f"{at}.md")
    for at in range(12)
]
GOLD = MANY[0].gold[0]


def finds(count: int) -> Found:
    """A row that finds the gold of the first so many questions."""
    return {each.id: [GOLD] if at < count else [] for at, each in enumerate(MANY)}


def claim(folder: Path, push: Mapping[str, Found], pull: Mapping[str, Found]) -> Claim:
    return claim_of(view_of(keep_run(folder / "run", push, pull, questions=MANY)))


@pytest.mark.parametrize(
    ("push", "pull", "verdict", "opening"),
    [
        (0, 12, "better", "“pull, read” found more of the gold than the best push row, “bm25”:"),
        (12, 0, "worse", "“pull, read” found less of the gold than the best push row, “bm25”:"),
        (6, 6, "none differs", "“pull, read” scores as the best push row, “bm25”, on every"),
        (6, 8, "cannot tell", "These 12 questions cannot tell whether “pull, read” finds more or"),
    ],
)
def test_the_sentence_says_what_the_test_found(
    tmp_path: Path, push: int, pull: int, verdict: str, opening: str
) -> None:
    found = claim(tmp_path, {"bm25": finds(push)}, {"pull": finds(pull)})
    assert found.verdict == verdict
    assert found.sentence.startswith(opening)
    assert f"recall@5 {pull / 12:.3f} against {push / 12:.3f}" in found.sentence


def test_the_cost_stands_beside_the_quality(tmp_path: Path) -> None:
    found = claim(tmp_path, {"bm25": finds(0)}, {"pull": finds(12)})
    assert found.sentence.endswith(", at 2,000 tokens and 3.0 s a question.")


def test_a_difference_that_was_not_shown_comes_with_the_smallest_that_could_be(
    tmp_path: Path,
) -> None:
    found = claim(tmp_path, {"bm25": finds(6)}, {"pull": finds(8)})
    assert any("show a difference of 0." in each for each in found.support)


def test_the_best_agent_speaks_and_the_others_are_told_of(tmp_path: Path) -> None:
    agents = {"weak": finds(0), "strong": finds(12)}
    found = claim(tmp_path, {"bm25": finds(0), "dense": finds(1)}, agents)
    assert "“strong, read” found more" in found.sentence
    assert "Beside the same push row: “weak, read” cannot tell." in found.support


def test_what_was_only_surfaced_is_never_what_is_claimed(tmp_path: Path) -> None:
    assert "surfaced" not in claim(tmp_path, {"bm25": finds(0)}, {"pull": finds(12)}).sentence


def test_without_a_push_row_nothing_is_said_of_push(tmp_path: Path) -> None:
    found = claim(tmp_path, {}, {"pull": finds(12)})
    assert found.verdict == ""
    assert found.sentence.startswith("“pull, read” reached recall@5 1.000 [1.000, 1.000] over 12")
    assert "No push row was measured: nothing is said of pull beside push." in found.support


def test_without_an_agent_nothing_is_said_of_pull(tmp_path: Path) -> None:
    found = claim(tmp_path, {"bm25": finds(0), "dense": finds(12)}, {})
    assert found.sentence.startswith("“dense” has the best recall of the push rows: recall@5 1.000")
    assert found.support == (
        "Of 1 other row 1 is worse.",
        "No agent was asked: nothing is said of pull.",
    )


def test_caveats_name_the_sample_and_what_was_asked_once(tmp_path: Path) -> None:
    run = keep_run(tmp_path / "run", {"bm25": finds(6)}, {"pull": finds(8)}, questions=MANY)
    said = " ".join(caveats_of(view_of(run)))
    assert "This sample shows differences in recall of 0." in said
    assert "as few as 12 questions" in said
    assert "Every question was asked once" in said
    assert "there are 12 to draw from" in said
