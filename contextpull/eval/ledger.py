"""Transcripts that outlive the run which made them, kept under all that would change them."""

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from contextpull.errors import EvaluationError
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.transcripts import Transcript

FINAL = frozenset(
    {"ok", "max_turns", "loop", "no_answer", "output_limit", "refused", "context_length"}
)
"""Outcomes that are the model's own doing, and so are results; every other one is tried again."""
_KEY_DIGITS = 32


def ledger_key(**parts: object) -> str:
    """32 hexadecimal digits for everything that changes an answer, by name."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


def transcript_key(
    fingerprint: str, row: str, corpus: str, question_id: str, text: str, repeat: int
) -> str:
    """What the ledger keeps a transcript under: the agent's fingerprint, what it was asked."""
    return ledger_key(
        agent=fingerprint,
        row=row,
        corpus=corpus,
        id=question_id,
        question=text,
        repeat=repeat,
    )


class Ledger:
    """A file of transcripts, one a line, for any number of threads; see KeptLines."""

    def __init__(self, path: Path) -> None:
        """Read what is there. Raises EvaluationError for a line that is no transcript."""
        self._lines = KeptLines(path, "the transcripts")
        self._lock = threading.Lock()
        self._kept: dict[str, Transcript] = dict(_read(self._lines))

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Transcript | None:
        """The transcript under a key, or None."""
        return self._kept.get(key)

    def add(self, key: str, row: str, transcript: Transcript) -> bool:
        """Keep a transcript, on the disk when this returns; False for one that is no result."""
        if transcript.outcome not in FINAL:
            return False
        record = {"key": key, "row": row, "transcript": transcript.model_dump(mode="json")}
        line = json.dumps(record)
        with self._lock:
            self._lines.add(line)
            self._kept[key] = transcript
        return True


def _read(lines: KeptLines) -> Iterator[tuple[str, Transcript]]:
    for number, record in lines.records():
        try:
            transcript = Transcript.model_validate(record["transcript"])
            yield str(record["key"]), transcript
        except (KeyError, TypeError, ValidationError) as error:
            raise EvaluationError(
                f"{lines.path}, line {number}: this is no transcript of this version ({error})."
                " Name another folder, or delete that file: the questions will be asked again."
            ) from error
