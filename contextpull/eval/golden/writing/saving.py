"""The files of drafts: the golden file, what became of the rest, the models' answers."""

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from contextpull import __version__
from contextpull.adapters.files import check_absent, replacing
from contextpull.errors import EvaluationError
from contextpull.eval.generation.saving import Files
from contextpull.eval.golden.questions import save_golden
from contextpull.eval.golden.writing.drafting import Drafted

FORMAT = 1


def files_of(out: Path, answers: Path | None = None) -> Files:
    """`drafts.jsonl`, `drafts.set-aside.json` and `drafts.answers.jsonl`, or other answers."""
    stem = out.name.removesuffix(".jsonl")
    sidecar = out.with_name(f"{stem}.set-aside.json")
    return Files(out, sidecar, answers or out.with_name(f"{stem}.answers.jsonl"))


def check_target(files: Files) -> None:
    """Raise `EvaluationError` if the drafts cannot be written; call it before anybody is asked."""
    if len({path.absolute() for path in files}) < len(files):
        raise EvaluationError("The drafts and the answers of the models need two different files.")
    check_absent(files.questions)
    for folder in {files.questions.parent, files.answers.parent}:
        try:
            with TemporaryFile(dir=folder) as probe:
                probe.write(b"room")
        except OSError as error:
            raise EvaluationError(
                f"Nothing can be written to the folder {str(folder)!r}: {error.strerror}."
                " Make it, or name another."
            ) from error


def save(drafted: Drafted, files: Files, *, writer: str, critic: str) -> None:
    """Write the drafts, if there are any, and beside them what was set aside and why.

    Raises `EvaluationError` where a file of that name came in the meantime; it stays as it is.
    """
    if drafted.questions:
        try:
            save_golden(files.questions, drafted.questions)
        except EvaluationError as error:
            raise EvaluationError(
                f"{error} What the models answered is kept in {files.answers}: with another --out"
                f" and --answers {files.answers} the same command asks nobody again."
            ) from error
    record = {"writer": writer, "critic": critic, **drafted_record(drafted)}
    with replacing(files.sidecar) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def drafted_record(drafted: Drafted) -> dict[str, Any]:
    """What became of a plan, as JSON-ready values; the same for the same plan and answers."""
    plan, choice = drafted.plan, drafted.choice
    told = ("seed", "tries", "evolve", "threshold", "similarity", "examples", "scenario", "task")
    return {
        "format": FORMAT,
        "made_by": f"contextpull {__version__}",
        "drafts": len(drafted.questions),
        "wanted": plan.count,
        "why_fewer": drafted.why_fewer,
        "kinds": {
            kind: {"drafts": count, "wanted": plan.counts.get(kind, 0)}
            for kind, count in drafted.kinds.items()
        },
        "evolved": drafted.evolved,
        "two_places_found_by": drafted.found_by or None,
        "two_places_missing": drafted.without_neighbour,
        "corpus": {
            "fingerprint": drafted.corpus.fingerprint,
            "documents": len(drafted.corpus.sizes),
            "sections": len(drafted.corpus.sections),
            "usable": len(choice.all),
            "passed_over": dict(choice.passed_over),
        },
        "plan": {"mix": dict(plan.mix), **{name: getattr(plan, name) for name in told}},
        "set_aside": [
            {"kind": kind, "about": about, "reason": reason, "question": question}
            for kind, about, reason, question in drafted.set_aside
        ],
    }
