"""Asks an agent many questions at once: kept, resumed, stopped at a budget, replayed."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from contextpull.errors import EvaluationError
from contextpull.eval.ledger import Ledger, ledger_key
from contextpull.eval.transcripts import Tokens, Transcript
from contextpull.types import Question

_IDS_SHOWN = 5


class Agent(Protocol):
    """Whatever answers a question by calling tools."""

    @property
    def row_name(self) -> str:
        """The name of its row: the kind of agent and its variant."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with everything that changes an answer: model, prompt, tools, limits."""
        ...

    @property
    def concurrency(self) -> int:
        """How many questions it may be asked at once."""
        ...

    def run(self, question: Question) -> Transcript:
        """Answer one question; what fails becomes the outcome of the transcript."""
        ...


class Budget(NamedTuple):
    """Where a run stops asking; None for no limit. What is under way is still finished."""

    tokens: int | None = None
    dollars: float | None = None


class Asked(NamedTuple):
    """What became of one question in one repeat."""

    question: Question
    repeat: int
    transcript: Transcript | None
    """None where the budget ended before."""
    was_kept: bool
    """Whether it came from the ledger."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What new answers have cost so far."""

    questions: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    dollars: float | None = 0.0
    """None once a price is unknown."""


Price = Callable[[Tokens], float | None]
Progress = Callable[[int, int, Spent], None]
"""Called with the questions done, all of them, and what new ones have cost."""


def ask_all(
    agent: Agent,
    questions: Sequence[Question],
    ledger: Ledger,
    *,
    corpus: str,
    repeats: int = 1,
    concurrency: int | None = None,
    budget: Budget = Budget(),  # noqa: B008 - it never changes
    price: Price = lambda _tokens: None,
    offline: bool = False,
    on_progress: Progress | None = None,
) -> list[Asked]:
    """Ask every question `repeats` times, except those whose transcript the ledger holds.

    `corpus` is the fingerprint of what is searched. Transcripts are kept as they land, so that a
    run that is killed goes on from there. Raises EvaluationError with `offline` when the ledger
    lacks a transcript: nobody is asked then.
    """
    jobs = [(question, repeat) for repeat in range(repeats) for question in questions]
    keys = {(q.id, repeat): _key(agent, q, corpus, repeat) for q, repeat in jobs}
    kept = {job: ledger.get(key) for job, key in keys.items()}
    if offline:
        _check_complete(agent, [job for job, transcript in kept.items() if transcript is None])
    work = _Work(agent, ledger, budget, price, on_progress, len(jobs))
    work.done = sum(transcript is not None for transcript in kept.values())
    missing = [(question, repeat) for question, repeat in jobs if kept[question.id, repeat] is None]
    made = work.run(missing, keys, concurrency or agent.concurrency)
    return [
        Asked(q, repeat, kept[q.id, repeat] or made.get((q.id, repeat)), bool(kept[q.id, repeat]))
        for q, repeat in jobs
    ]


def _key(agent: Agent, question: Question, corpus: str, repeat: int) -> str:
    return ledger_key(
        agent=agent.fingerprint,
        row=agent.row_name,
        corpus=corpus,
        id=question.id,
        question=question.text,
        repeat=repeat,
    )


def _check_complete(agent: Agent, missing: Sequence[tuple[str, int]]) -> None:
    if not missing:
        return
    shown = ", ".join(question_id for question_id, _ in missing[:_IDS_SHOWN])
    more = f" and {len(missing) - _IDS_SHOWN} more" if len(missing) > _IDS_SHOWN else ""
    raise EvaluationError(
        f"Nothing is kept of the row {agent.row_name!r} for {shown}{more}, asked as they are now:"
        " the model, its prompt, the tools or the corpus differ, or it was never asked."
        " Run it again without --offline."
    )


class _Work:
    """The questions under way, and what they have cost."""

    def __init__(
        self,
        agent: Agent,
        ledger: Ledger,
        budget: Budget,
        price: Price,
        on_progress: Progress | None,
        total: int,
    ) -> None:
        self._agent = agent
        self._ledger = ledger
        self._budget = budget
        self._price = price
        self._on_progress = on_progress
        self._total = total
        self._lock = threading.Lock()
        self._spent = Spent()
        self.done = 0

    def run(
        self,
        jobs: Sequence[tuple[Question, int]],
        keys: dict[tuple[str, int], str],
        concurrency: int,
    ) -> dict[tuple[str, int], Transcript]:
        """The transcripts of these jobs, as far as the budget goes."""
        made: dict[tuple[str, int], Transcript] = {}
        waiting: dict[Future[Transcript], tuple[str, int]] = {}
        remaining: Iterator[tuple[Question, int]] = iter(jobs)
        with ThreadPoolExecutor(max(1, concurrency), "contextpull-asking") as pool:
            for question, repeat in remaining:
                if self._is_spent():
                    break
                job = (question.id, repeat)
                waiting[pool.submit(self._ask, question, keys[job])] = job
                while len(waiting) >= concurrency:
                    self._collect(waiting, made)
            while waiting:
                self._collect(waiting, made)
        return made

    def _collect(
        self,
        waiting: dict[Future[Transcript], tuple[str, int]],
        made: dict[tuple[str, int], Transcript],
    ) -> None:
        finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            made[waiting.pop(future)] = future.result()

    def _ask(self, question: Question, key: str) -> Transcript:
        transcript = self._agent.run(question)
        self._ledger.add(key, self._agent.row_name, transcript)
        with self._lock:
            self._spent = self._with(transcript.tokens)
            self.done += 1
            if self._on_progress:
                self._on_progress(self.done, self._total, self._spent)
        return transcript

    def _with(self, tokens: Tokens) -> Spent:
        cost, before = self._price(tokens), self._spent.dollars
        dollars = None if cost is None or before is None else before + cost
        return Spent(self._spent.questions + 1, self._spent.tokens + tokens, dollars)

    def _is_spent(self) -> bool:
        spent, budget = self._spent, self._budget
        tokens = spent.tokens.input + spent.tokens.output
        if budget.tokens is not None and tokens >= budget.tokens:
            return True
        return budget.dollars is not None and (spent.dollars or 0.0) >= budget.dollars
