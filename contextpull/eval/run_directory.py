"""A run as a folder that can be looked into, gone on with, replayed and compared.

run.json           what was measured: versions, settings of every row, fingerprints, the command
questions.jsonl    the questions that were asked
transcripts.jsonl  what agents did, one run a line, under a key of all that would change it
outcomes.jsonl     what each row returned for each question, and how that scores
report.json        the figures
table.txt          the same for people
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.adapters.files import replacing
from contextpull.errors import EvaluationError
from contextpull.eval.ledger import Ledger
from contextpull.eval.runs import Row
from contextpull.types import Question

FORMAT = 1
"""The version of the files above. A folder with a higher one is refused."""

_MANIFEST = "run.json"
_QUESTIONS = "questions.jsonl"
_TRANSCRIPTS = "transcripts.jsonl"
_OUTCOMES = "outcomes.jsonl"
_REPORT = "report.json"
_TABLE = "table.txt"


class SavedRun(NamedTuple):
    """A run as it was written."""

    folder: Path
    manifest: dict[str, Any]
    report: dict[str, Any]
    questions: dict[str, dict[str, Any]]
    """By id."""
    outcomes: dict[str, dict[str, dict[str, Any]]]
    """By row and question id."""


def open_ledger(folder: Path) -> Ledger:
    """The transcripts of a run's folder, which is made if it is not there.

    Raises EvaluationError for a folder that holds something else, or a newer run.
    """
    _check(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvaluationError(f"{str(folder)!r} cannot be made: {error.strerror}.") from error
    return Ledger(folder / _TRANSCRIPTS)


def write_run(
    folder: Path,
    *,
    manifest: Mapping[str, Any],
    questions: Sequence[Question],
    rows: Sequence[Row],
    report: Mapping[str, Any],
    table: str,
) -> None:
    """Put a finished run down; each file is whole or as it was before, `run.json` comes last."""
    _write_lines(folder / _QUESTIONS, (_question_record(each) for each in questions))
    _write_lines(folder / _OUTCOMES, (each for row in rows for each in _outcome_records(row)))
    _write(folder / _REPORT, _json(report))
    _write(folder / _TABLE, table)
    _write(folder / _MANIFEST, _json({"format": FORMAT, **manifest}))


def load_run(folder: Path) -> SavedRun:
    """Read a finished run. Raises EvaluationError where there is none, or it cannot be read."""
    _check(folder)
    if not (folder / _MANIFEST).is_file():
        raise EvaluationError(
            f"{str(folder)!r} holds no finished run. Make one: contextpull eval run --out {folder}"
        )
    try:
        outcomes: dict[str, dict[str, dict[str, Any]]] = {}
        for record in _lines(folder / _OUTCOMES):
            outcomes.setdefault(record["row"], {})[record["id"]] = record
        return SavedRun(
            folder=folder,
            manifest=json.loads((folder / _MANIFEST).read_bytes()),
            report=json.loads((folder / _REPORT).read_bytes()),
            questions={each["id"]: each for each in _lines(folder / _QUESTIONS)},
            outcomes=outcomes,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"The run in {str(folder)!r} cannot be read: {error}.") from error


def questions_digest(questions: Iterable[Question]) -> str:
    """16 hexadecimal digits for questions and their gold, whatever their order."""
    lines = sorted(json.dumps([each.id, each.text, sorted(each.gold)]) for each in questions)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _check(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise EvaluationError(f"{str(folder)!r} is a file. Name a folder for the run.")
    known = {_MANIFEST, _QUESTIONS, _TRANSCRIPTS, _OUTCOMES, _REPORT, _TABLE}
    names = {each.name for each in folder.iterdir()} if folder.exists() else set()
    if names and not names & known:
        raise EvaluationError(
            f"The folder {str(folder)!r} holds other files than a run's. Name one of its own."
        )
    if _MANIFEST in names:
        _check_format(folder)


def _check_format(folder: Path) -> None:
    try:
        version = int(json.loads((folder / _MANIFEST).read_bytes())["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"The run in {str(folder)!r} cannot be read: {error}.") from error
    if version > FORMAT:
        raise EvaluationError(
            f"The run in {str(folder)!r} has format {version}; this contextpull reads up to format"
            f" {FORMAT}. Upgrade contextpull."
        )


def _question_record(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "question": question.text,
        "shape": question.shape,
        "gold": list(question.gold),
        "answer": question.answer,
        "source": question.source,
    }


def _outcome_records(row: Row) -> Iterable[dict[str, Any]]:
    for outcome in row.outcomes:
        yield {
            "row": row.name,
            "id": outcome.question.id,
            "ranking": list(outcome.ranking),
            "scores": dict(outcome.scores),
            "error": outcome.error,
            "seconds": outcome.seconds,
        }


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            yield json.loads(line)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    lines = (json.dumps(each, ensure_ascii=False, allow_nan=False) for each in records)
    _write(path, "".join(f"{line}\n" for line in lines))


def _write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text)
