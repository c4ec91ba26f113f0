"""Transcripts that outlive the run which made them, kept under all that would change them."""

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


class Kept(NamedTuple):
    """A transcript, and the row that it was made for."""

    row: str
    transcript: Transcript


class Ledger:
    """A file of transcripts, one a line, for any number of threads; see KeptLines."""

    def __init__(self, path: Path) -> None:
        """Read what is there. Raises EvaluationError for a line that is no transcript."""
        self._lines = KeptLines(path, "the transcripts")
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = dict(_read(self._lines))

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Transcript | None:
        """The transcript under a key, or None."""
        kept = self._kept.get(key)
        return kept.transcript if kept else None

    def of_question(self, question_id: str) -> list[Kept]:
        """All that is kept of one question, in the order in which it was."""
        every = self._kept.values()
        return [kept for kept in every if kept.transcript.question_id == question_id]

    def add(self, key: str, row: str, transcript: Transcript) -> bool:
        """Keep a transcript, on the disk when this returns; False for one that is no result."""
        if transcript.outcome not in FINAL:
            return False
        record = {"key": key, "row": row, "transcript": transcript.model_dump(mode="json")}
        with self._lock:
            self._kept[key] = Kept(row, transcript)
            self._lines.add(json.dumps(record))
        return True


def _read(lines: KeptLines) -> Iterator[tuple[str, Kept]]:
    for number, record in lines.records():
        try:
            transcript = Transcript.model_validate(record["transcript"])
            yield str(record["key"]), Kept(str(record["row"]), transcript)
        except (KeyError, TypeError, ValidationError) as error:
            raise EvaluationError(
                f"{lines.path}, line {number}: this is no transcript of this version ({error})."
                " Name another folder, or delete that file: the questions will be asked again."
            ) from error
