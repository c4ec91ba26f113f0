"""Two runs beside each other: what was changed between them, and what that won and lost."""

from collections.abc import Iterator
from typing import Any

from contextpull.errors import EvaluationError
from contextpull.eval.comparing import paired_permutation
from contextpull.eval.run_directory import SavedRun

_NOT_COMPARED = frozenset({"rows"})


def compared_runs(first: SavedRun, second: SavedRun, *, rounds: int, seed: int) -> dict[str, Any]:
    """What differs, as JSON-ready values; differences are second less first.

    Rows of the same name are compared question by question, in the first measure that both have.
    Raises EvaluationError where the runs did not ask the same questions, or share no row.
    """
    _check_questions(first, second)
    names = [name for name in first.outcomes if name in second.outcomes]
    if not names:
        raise EvaluationError("The two runs have no row of the same name: nothing can be compared.")
    return {
        "first": str(first.folder),
        "second": str(second.folder),
        "changed": dict(_changed(first.manifest, second.manifest)),
        "rows": [_row(name, first, second, rounds, seed) for name in names],
    }


def _check_questions(first: SavedRun, second: SavedRun) -> None:
    if first.questions.keys() != second.questions.keys():
        raise EvaluationError(
            f"{first.folder} asked {len(first.questions)} questions and {second.folder}"
            f" {len(second.questions)}, not the same ones: their figures cannot be compared."
        )
    for question_id, question in first.questions.items():
        other = second.questions[question_id]
        if (question["question"], set(question["gold"])) != (other["question"], set(other["gold"])):
            raise EvaluationError(f"Question {question_id!r} differs between the two runs.")


def _changed(first: dict[str, Any], second: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for name in sorted({*first, *second} - _NOT_COMPARED):
        if first.get(name) != second.get(name):
            yield name, [first.get(name), second.get(name)]


def _row(name: str, first: SavedRun, second: SavedRun, rounds: int, seed: int) -> dict[str, Any]:
    before, after = first.outcomes[name], second.outcomes[name]
    measure = next(iter(next(iter(before.values()))["scores"]))
    ids = list(first.questions)
    then = [before[each]["scores"][measure] for each in ids]
    now = [after[each]["scores"][measure] for each in ids]
    comparison = paired_permutation(now, then, rounds=rounds, seed=seed)
    pairs = list(zip(ids, then, now, strict=True))
    return {
        "row": name,
        "measure": measure,
        "first": sum(then) / len(then),
        "second": sum(now) / len(now),
        **comparison.as_dict(),
        "won": [each for each, old, new in pairs if new > old],
        "lost": [each for each, old, new in pairs if new < old],
    }
