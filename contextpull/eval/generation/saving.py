"""The files of an eval set: the questions, what became of the rest, the writer's answers."""

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from contextpull import __version__
from contextpull.adapters.files import replacing
from contextpull.adapters.ragbisect import save_questions
from contextpull.errors import EvaluationError
from contextpull.eval.generation.generating import Generated
from contextpull.eval.generation.plan import Made

FORMAT = 1
_SUFFIX = ".jsonl"


class Files(NamedTuple):
    """Where an eval set lies; the names follow from that of its questions."""

    questions: Path
    sidecar: Path
    """How it was made, and everything that was tried and set aside."""
    answers: Path
    """What the writer has answered so far, so that nothing is asked twice."""


def files_of(out: Path) -> Files:
    """`set.jsonl`, `set.report.json` and `set.answers.jsonl`.

    Not `set.meta.json`: that is ragbisect's own, which it reads beside any questions.
    """
    stem = out.name.removesuffix(_SUFFIX)
    return Files(out, out.with_name(f"{stem}.report.json"), out.with_name(f"{stem}.answers.jsonl"))


def check_target(files: Files, *, force: bool) -> None:
    """Raise `EvaluationError` if the files cannot be written; call it before any work is done."""
    folder = files.questions.parent
    if not folder.is_dir():
        raise EvaluationError(f"There is no folder {str(folder)!r} to write to. Make it first.")
    if not os.access(folder, os.W_OK):
        raise EvaluationError(f"The folder {str(folder)!r} cannot be written to.")
    if files.questions.is_dir():
        raise EvaluationError(f"{str(files.questions)!r} is a folder. Name a file.")
    if not force:
        for path in (files.questions, files.sidecar):
            if path.exists():
                raise _exists(path)


def save(generated: Generated, files: Files, *, writer: str = "", force: bool = False) -> None:
    """Write the questions and their sidecar; each appears whole or not at all.

    Raises `EvaluationError` when a file is there already, unless `force` says to replace it.
    """
    if not force:
        _reserve(files.questions)
    try:
        _write(files.sidecar, sidecar_record(generated, writer))
        save_questions(files.questions, generated.questions)
    except BaseException:
        if not force:
            with suppress(OSError):
                files.questions.unlink()
        raise


def sidecar_record(generated: Generated, writer: str) -> dict[str, Any]:
    """How the set was made, as JSON-ready values; the same for the same plan and answers."""
    plan = asdict(generated.plan)
    del plan["workers"]  # changes nothing but the time it takes
    made = generated.made
    return {
        "format": FORMAT,
        "made_by": f"contextpull {__version__}",
        "questions": len(generated.questions),
        "corpus": corpus_record(generated),
        "plan": plan,
        "writer": writer or None,
        "shapes": {each.shape: shape_record(each, generated.plan.per_shape) for each in made},
        "set_aside": [item._asdict() for each in made for item in each.set_aside],
        "evidence": {key: quotes for each in made for key, quotes in each.evidence.items()},
    }


def skipped_shapes(questions: Path) -> dict[str, str]:
    """Why a generated set has no question of a shape, by shape, as its sidecar says.

    Empty for questions without a sidecar, or with another file in its place.
    """
    try:
        shapes = json.loads(files_of(questions).sidecar.read_bytes())["shapes"]
        return {str(name): str(made["skipped"]) for name, made in shapes.items() if made["skipped"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def corpus_record(generated: Generated) -> dict[str, Any]:
    """What the questions were made from."""
    corpus = generated.corpus
    return {
        "fingerprint": corpus.fingerprint,
        "documents": len(corpus.sizes),
        "sections": len(corpus.sections),
    }


def shape_record(made: Made, wanted: int) -> dict[str, Any]:
    """What became of a shape, in figures."""
    return {
        "questions": len(made.questions),
        "wanted": wanted,
        "by": made.by,
        "candidates": made.candidates,
        "set_aside": len(made.set_aside),
        "skipped": made.skipped or None,
        "stopped": made.stopped or None,
    }


def _reserve(path: Path) -> None:
    """Take the name, so that no file which came in the meantime is replaced."""
    try:
        path.open("x").close()
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise EvaluationError(f"Cannot write {path}: {error.strerror}.") from error


def _exists(path: Path) -> EvaluationError:
    return EvaluationError(f"{path} is there already. Name another file, or replace it: --force.")


def _write(path: Path, record: dict[str, Any]) -> None:
    with replacing(path) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
