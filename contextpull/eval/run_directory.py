"""A run as a folder that can be looked into, gone on with, replayed and compared.

run.json           what was measured: versions, settings of every row, fingerprints, the command
questions.jsonl    the questions that were asked
transcripts.jsonl  what agents did, one run a line, under a key of all that would change it
failures.jsonl     what agents did where that came to no result, for this run only
outcomes.jsonl     what each row returned for each question, and how that scores
report.json        the figures
table.txt          the same for people
judgements.jsonl   what judges said of agents' answers, one verdict a line, under such a key, too
writer.lock        held by the one process that writes; empty

docs/runs.md describes them field by field.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from contextpull.adapters.files import replacing
from contextpull.adapters.ragbisect import load_questions, save_questions
from contextpull.errors import EvaluationError
from contextpull.eval.ledger import Ledger, transcript_key
from contextpull.eval.runs import Row
from contextpull.eval.transcripts import Transcript
from contextpull.types import Question

FORMAT = 1
"""The version of the files above. A folder with a higher one is refused."""

MANIFEST = "run.json"
QUESTIONS = "questions.jsonl"
TRANSCRIPTS = "transcripts.jsonl"
FAILURES = "failures.jsonl"
OUTCOMES = "outcomes.jsonl"
REPORT = "report.json"
TABLE = "table.txt"
JUDGEMENTS = "judgements.jsonl"
"""The files of a run's folder."""
_LOCK = "writer.lock"
_PROBE = ".probe.tmp"
_ROOM = 1 << 20
"""Bytes that must find room before anybody is asked: some thirty transcripts."""


Failures = Mapping[tuple[str, str, int], Transcript]
"""What came to no result, by agent, question id and repeat."""


class AgentRun(NamedTuple):
    """What an agent did for one question in one repeat."""

    key: str
    """What its transcript is kept under."""
    question: Question
    repeat: int
    transcript: Transcript | None
    """None where it was not asked."""


class SavedRun(NamedTuple):
    """A run as it was written."""

    folder: Path
    manifest: dict[str, Any]
    report: dict[str, Any]
    questions: dict[str, Question]
    """By id."""
    outcomes: dict[str, dict[str, dict[str, Any]]]
    """By row and question id."""
    failures: Failures

    def runs_of(
        self, agent: str, ledger: Ledger, questions: Iterable[Question]
    ) -> Iterator[AgentRun]:
        """What an agent did, question by question and repeat by repeat."""
        corpus, repeats = self.manifest["corpus"], self.manifest["settings"]["repeats"]
        fingerprint = self.report["agents"][agent]["fingerprint"]
        for question in questions:
            for repeat in range(repeats):
                asked = (question.id, question.text, repeat)
                key = transcript_key(fingerprint, agent, corpus, *asked)
                failure = self.failures.get((agent, question.id, repeat))
                yield AgentRun(key, question, repeat, ledger.get(key) or failure)

    def copies_of(self, question: Question) -> tuple[str, ...]:
        """Word-for-word copies of a question's gold that count as it."""
        copies = (self.manifest.get("close_gold") or {}).get("copies", {})
        return tuple(copy for copy, of in copies.items() if of in question.gold)


def open_ledger(folder: Path) -> Ledger:
    """The transcripts of a run's folder, to read; see `writing_run`.

    Raises EvaluationError for a folder that holds something else, or a newer run.
    """
    _check(folder)
    return Ledger(folder / TRANSCRIPTS)


@contextmanager
def writing_run(folder: Path) -> Iterator[Ledger]:
    """The transcripts of a run's folder, which nobody else writes to while the block runs.

    The folder is made if it is not there. Raises EvaluationError where it cannot be used, before
    anything has been asked: it holds something else or a newer run, another process writes to it,
    nothing can be written, or there is no room.
    """
    _check(folder)
    lock = FileLock(folder / _LOCK, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise EvaluationError(
            f"Another process is writing to the run in {str(folder)!r}."
            " Wait until it has ended, or name another folder."
        ) from error
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        _check_room(folder)
        yield open_ledger(folder)
    finally:
        lock.release()


def _check_room(folder: Path) -> None:
    probe = folder / _PROBE
    try:
        with probe.open("wb") as file:
            file.write(bytes(_ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        with suppress(OSError):
            probe.unlink()


def _unwritable(folder: Path, error: OSError) -> EvaluationError:
    return EvaluationError(
        f"Nothing can be kept in {str(folder)!r}: {error.strerror}."
        " Make room there, or name another folder."
    )


def write_run(
    folder: Path,
    *,
    manifest: Mapping[str, Any],
    questions: Sequence[Question],
    rows: Sequence[Row],
    failures: Failures,
    report: Mapping[str, Any],
    table: str,
) -> None:
    """Put a finished run down, `run.json` last: with that there, all files are of one run.

    `failures` is what is not in the ledger.
    """
    with suppress(OSError):  # what cannot be removed cannot be written either
        (folder / MANIFEST).unlink()
    save_questions(folder / QUESTIONS, questions)
    write_failures(folder, failures)
    _write_lines(folder / OUTCOMES, (each for row in rows for each in _outcome_records(row)))
    _write(folder / REPORT, _json(report))
    _write(folder / TABLE, table)
    _write(folder / MANIFEST, _json({"format": FORMAT, **manifest}))


def write_failures(folder: Path, failures: Failures) -> None:
    """Put down what came to no result."""
    _write_lines(
        folder / FAILURES,
        (
            {"row": row, "repeat": repeat, "transcript": each.model_dump(mode="json")}
            for (row, _, repeat), each in failures.items()
        ),
    )


def load_run(folder: Path) -> SavedRun:
    """Read a finished run. Raises EvaluationError where there is none, or it cannot be read."""
    _check(folder)
    if not (folder / MANIFEST).is_file():
        raise EvaluationError(
            f"{str(folder)!r} holds no finished run. Make one: contextpull eval run --out {folder}"
        )
    try:
        outcomes: dict[str, dict[str, dict[str, Any]]] = {}
        for record in _lines(folder / OUTCOMES):
            outcomes.setdefault(record["row"], {})[record["id"]] = record
        return SavedRun(
            folder=folder,
            manifest=json.loads((folder / MANIFEST).read_bytes()),
            report=json.loads((folder / REPORT).read_bytes()),
            questions={each.id: each for each in load_questions(folder / QUESTIONS)},
            outcomes=outcomes,
            failures={
                (each["row"], each["transcript"]["question_id"], each["repeat"]): (
                    Transcript.model_validate(each["transcript"])
                )
                for each in _lines(folder / FAILURES)
            },
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
    known = {MANIFEST, QUESTIONS, TRANSCRIPTS, FAILURES, OUTCOMES, REPORT, TABLE, JUDGEMENTS, _LOCK}
    names = {each.name for each in folder.iterdir()} if folder.exists() else set()
    if names and not names & known:
        raise EvaluationError(
            f"The folder {str(folder)!r} holds other files than a run's. Name one of its own."
        )
    if MANIFEST in names:
        _check_format(folder)


def _check_format(folder: Path) -> None:
    try:
        version = int(json.loads((folder / MANIFEST).read_bytes())["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"The run in {str(folder)!r} cannot be read: {error}.") from error
    if version > FORMAT:
        raise EvaluationError(
            f"The run in {str(folder)!r} has format {version}; this contextpull reads up to format"
            f" {FORMAT}. Upgrade contextpull."
        )


def _outcome_records(row: Row) -> Iterable[dict[str, Any]]:
    for outcome in row.outcomes:
        yield {
            "row": row.name,
            "id": outcome.question.id,
            "ranking": list(outcome.ranking),
            "scores": dict(outcome.scores),
            "answer": outcome.answer,
            "answer_error": outcome.answer_error,
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
