"""Asks a judge many things at once: kept as verdicts land, stopped at a budget, replayed."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.judging.items import Item
from contextpull.eval.judging.judges import Judge, JudgeFailed, Verdict, verdict_of
from contextpull.eval.judging.prompts import prompt_fingerprint
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.ledger import ledger_key
from contextpull.eval.metered import Budget, Meter, Price, Progress, Spent, ask_for_all

_SAME_FOR_ALL = frozenset({"key", "not_found"})
"""Failures that every other item would meet, too."""
_OUT_OF_REACH = frozenset({"unreachable", "rate_limited"})
_MOST_IN_A_ROW = 3
"""So many items in a row that nobody took end the asking."""


class Task(NamedTuple):
    """One item to be judged once."""

    item: Item
    transcript: str
    """The key of the transcript that the answer stands in."""
    asking: int = 0
    """0, or 1 where the judge is asked the same a second time."""

    def key(self, judge: Judge) -> str:
        """What the verdict is kept under: everything that changes it."""
        return ledger_key(
            judge=judge.fingerprint,
            prompt=prompt_fingerprint(self.item.measure, lacks_reference=self.item.lacks_reference),
            transcript=self.transcript,
            asking=self.asking,
            left_out=self.item.evidence.left_out,
            **self.item.as_dict(),
        )


class KeptVerdicts:
    """A file of verdicts, one a line, for any number of threads; see KeptLines."""

    def __init__(self, path: Path | None) -> None:
        """Read what is there; without a path verdicts are kept in memory alone.

        Raises EvaluationError for a line that is no verdict.
        """
        self._lines = KeptLines(path, "the judgements")
        self._lock = threading.Lock()
        self._kept: dict[str, Verdict | None] = {}
        for number, record in self._lines.records():
            try:
                self._kept[str(record["key"])] = _verdict(record)
            except (KeyError, TypeError, JudgeFailed) as error:
                raise EvaluationError(
                    f"{path}, line {number}: this is no judgement of this version ({error})."
                    " Delete that file: the judge will be asked again."
                ) from error

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def get(self, key: str) -> Verdict | None:
        """The verdict under a key, or None."""
        return self._kept.get(key)

    def add(self, key: str, task: Task, judge: Judge, verdict: Verdict | None) -> None:
        """Keep a verdict, or that there can be none, on the disk when this returns."""
        line = json.dumps({"key": key, **judgement_record(task, judge.name, verdict)})
        with self._lock:
            self._lines.add(line)
            self._kept[key] = verdict


def _verdict(record: dict[str, Any]) -> Verdict | None:
    return None if record["undefined"] else verdict_of(record)


def judgement_record(task: Task, judge: str, verdict: Verdict | None) -> dict[str, Any]:
    """A judgement as JSON-ready values, without its key; no score where it is undefined."""
    item = task.item
    return {
        "row": item.row,
        "id": item.question_id,
        "repeat": item.repeat,
        "transcript": task.transcript,
        "measure": item.measure,
        "score": verdict.score if verdict else None,
        "reason": verdict.reason if verdict else "",
        "evidence": item.evidence.kind,
        "left_out": item.evidence.left_out,
        "undefined": item.undefined,
        "judge": judge,
        "asking": task.asking,
    }


class Asked(NamedTuple):
    """What asking brought."""

    failures: dict[str, JudgeFailed]
    """By key."""
    spent: Spent
    stopped: str
    """Why some were not asked, as a sentence; nothing where all were."""


def ask_judge(
    judge: Judge,
    tasks: Sequence[tuple[str, Task]],
    kept: KeptVerdicts,
    *,
    concurrency: int,
    budget: Budget,
    price: Price,
    on_progress: Progress | None = None,
) -> Asked:
    """Ask for a verdict on each task, by key, and keep what comes; failures are never kept."""
    meter = Meter(budget, price, on_progress, total=len(tasks))
    failures: dict[str, JudgeFailed] = {}
    in_a_row = _InARow()

    def ask(job: tuple[str, Task]) -> str:
        key, task = job
        try:
            verdict = judge.judge(task.item)
        except JudgeFailed as error:
            failures[key] = error
            meter.count(error.tokens, failed=True)
            return in_a_row.note(error)
        kept.add(key, task, judge, verdict)
        meter.count(verdict.tokens, failed=False)
        return in_a_row.note(None)

    threads = min(concurrency, len(tasks))
    why_not = ask_for_all(tasks, ask, concurrency=threads, meter=meter)
    stopped = f"The rest was not asked: {why_not}" if why_not else ""
    return Asked(failures, meter.spent, stopped)


class _InARow:
    """Tells when further items can only fail as the last ones did; for several threads."""

    def __init__(self) -> None:
        self._failed = 0
        self._lock = threading.Lock()

    def note(self, error: JudgeFailed | None) -> str:
        """Why to stop, in a sentence; nothing where it is worth going on."""
        with self._lock:
            if error is None:
                self._failed = 0
                return ""
            self._failed += error.outcome in _OUT_OF_REACH
            is_hopeless = error.outcome in _SAME_FOR_ALL or self._failed >= _MOST_IN_A_ROW
            return str(error) if is_hopeless else ""
