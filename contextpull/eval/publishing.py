"""A copy of a run for those who may not see the documents."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from contextpull.adapters.files import replacing
from contextpull.adapters.ragbisect import save_questions
from contextpull.errors import EvaluationError
from contextpull.eval import run_directory
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.ledger import Ledger
from contextpull.eval.run_directory import SavedRun
from contextpull.eval.transcripts import Transcript

_TAKEN_OVER = (run_directory.OUTCOMES, run_directory.REPORT, run_directory.TABLE)


def publish(run: SavedRun, ledger: Ledger, copy: Path) -> None:
    """Copy a run's own transcripts and figures, without the text that tools returned.

    Judgements lose their reasons and questions the fields that other programs gave them, which may
    quote. What models wrote stays. `copy` must not be there, or be an empty folder.
    Raises EvaluationError where it is not, or cannot be written to.
    """
    if copy.exists() and not (copy.is_dir() and not any(copy.iterdir())):
        raise EvaluationError(f"There is something at {str(copy)!r} already. Name another folder.")
    try:
        copy.mkdir(parents=True, exist_ok=True)
        for name in _TAKEN_OVER:
            shutil.copyfile(run.folder / name, copy / name)
    except OSError as error:
        raise EvaluationError(f"{str(copy)!r} cannot be written: {error.strerror}.") from error
    questions = [replace(each, extra={}) for each in run.questions.values()]
    save_questions(copy / run_directory.QUESTIONS, questions)
    _copy_transcripts(run, ledger, copy)
    _copy_judgements(run.folder, copy)
    with replacing(copy / run_directory.MANIFEST) as stream:
        manifest: dict[str, Any] = {**run.manifest, "has_text": False}
        stream.write(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")


def _copy_transcripts(run: SavedRun, ledger: Ledger, copy: Path) -> None:
    published = Ledger(copy / run_directory.TRANSCRIPTS)
    for agent in run.report["agents"]:
        for each in run.runs_of(agent, ledger, run.questions.values()):
            if each.transcript:
                published.add(each.key, agent, without_text(each.transcript))
    failures = {job: without_text(each) for job, each in run.failures.items()}
    run_directory.write_failures(copy, failures)


def _copy_judgements(folder: Path, copy: Path) -> None:
    kept = KeptLines(folder / run_directory.JUDGEMENTS, "the judgements")
    published = KeptLines(copy / run_directory.JUDGEMENTS, "the judgements")
    for _, record in kept.records():
        published.add(json.dumps({**record, "reason": ""}, ensure_ascii=False))


def without_text(transcript: Transcript) -> Transcript:
    """A transcript whose calls have lost what they returned, but for its ids."""
    turns = tuple(
        turn.model_copy(
            update={"calls": tuple(each.model_copy(update={"result": ""}) for each in turn.calls)}
        )
        for turn in transcript.turns
    )
    return transcript.model_copy(update={"turns": turns})
