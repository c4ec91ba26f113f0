"""Asks a judge many things at once: kept as verdicts land, stopped at a budget, replayed."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.asking import Budget, Price, Progress, Spent
from contextpull.eval.judging.items import Item
from contextpull.eval.judging.judges import Judge, JudgeFailed, Verdict, verdict_of
from contextpull.eval.judging.prompts import prompt_fingerprint
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.ledger import ledger_key
from contextpull.eval.transcripts import Tokens

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
            prompt=prompt_fingerprint(self.item.measure),
            transcript=self.transcript,
            asking=self.asking,
            left_out=self.item.evidence.left_out,
            **self.item.as_dict(),
        )


class KeptVerdicts:
    """A file of verdicts, one a line, for any number of threads; see KeptLines."""

    def __init__(self, path: Path) -> None:
        """Read what is there. Raises EvaluationError for a line that is no verdict."""
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
    work = _Work(judge, kept, budget, price, on_progress, len(tasks))
    work.run(tasks, concurrency)
    return Asked(work.failures, work.spent, work.stopped)


class _Work:
    """The items under way, and what they have cost."""

    def __init__(
        self,
        judge: Judge,
        kept: KeptVerdicts,
        budget: Budget,
        price: Price,
        on_progress: Progress | None,
        total: int,
    ) -> None:
        self._judge = judge
        self._kept = kept
        self._budget = budget
        self._price = price
        self._on_progress = on_progress
        self._total = total
        self._lock = threading.Lock()
        self._in_a_row = 0
        self.failures: dict[str, JudgeFailed] = {}
        self.spent = Spent()
        self.stopped = ""

    def run(self, tasks: Sequence[tuple[str, Task]], concurrency: int) -> None:
        waiting: set[Future[None]] = set()
        with ThreadPoolExecutor(max(1, concurrency), "contextpull-judging") as pool:
            for key, task in tasks:
                if self._budget.is_spent:
                    self.stopped = self.stopped or "The rest was not asked: the budget was spent."
                if self.stopped:
                    break
                waiting.add(pool.submit(self._ask, key, task))
                while len(waiting) >= concurrency:
                    waiting = _collect(waiting)
            while waiting:
                waiting = _collect(waiting)

    def _ask(self, key: str, task: Task) -> None:
        try:
            verdict = self._judge.judge(task.item)
        except JudgeFailed as error:
            self._note(error.tokens, failed=True)
            self._fail(key, error)
        else:
            self._kept.add(key, task, self._judge, verdict)
            self._note(verdict.tokens, failed=False)
            self._in_a_row = 0

    def _note(self, tokens: Tokens, *, failed: bool) -> None:
        cost = self._price(tokens)
        with self._lock:
            spent = self.spent
            self._budget.add(tokens, cost)
            self.spent = Spent(
                questions=spent.questions + 1,
                tokens=spent.tokens + tokens,
                dollars=None if cost is None or spent.dollars is None else spent.dollars + cost,
                failures=spent.failures + failed,
            )
            if self._on_progress:
                self._on_progress(self.spent.questions, self._total, self.spent)

    def _fail(self, key: str, error: JudgeFailed) -> None:
        with self._lock:
            self.failures[key] = error
            self._in_a_row += error.outcome in _OUT_OF_REACH
            if error.outcome in _SAME_FOR_ALL or self._in_a_row >= _MOST_IN_A_ROW:
                self.stopped = f"The rest was not asked, since it would fail likewise: {error}"


def _collect(waiting: set[Future[None]]) -> set[Future[None]]:
    finished, rest = wait(waiting, return_when=FIRST_COMPLETED)
    for future in finished:
        future.result()
    return rest
