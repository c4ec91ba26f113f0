"""Asks an agent many questions at once: kept, resumed, stopped when it must be, replayed."""

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.ledger import FINAL, Ledger, transcript_key
from contextpull.eval.transcripts import Tokens, Transcript
from contextpull.types import Question

HOPELESS = frozenset({"key_refused", "model_not_found", "unreachable", "rate_limited"})
"""Outcomes that the next question would have, too."""
_BUDGET_SPENT = "the budget was spent"
_INTERRUPTED = "interrupted"
_HOPELESS_IN_A_ROW = 3
_FAILED_AT_FIRST = 10
_IDS_SHOWN = 5


_Job = tuple[str, int]
"""The id of a question, and which repeat of it."""


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


class Budget:
    """The most that new answers may cost; what is under way when it is spent is still finished.

    Rows that share one share what it holds. What is kept from before costs nothing.
    """

    def __init__(self, tokens: int | None = None, dollars: float | None = None) -> None:
        """None for no limit. Raises InvalidInput for one that is not above 0."""
        if tokens is not None and tokens < 1:
            raise InvalidInput(f"A budget of {tokens} tokens asks nothing. Give 1 or more.")
        if dollars is not None and not 0 < dollars < math.inf:
            raise InvalidInput(f"A budget must be a sum of dollars above 0, not {dollars:g}.")
        self.tokens = tokens
        self.dollars = dollars
        self._tokens_spent = 0
        self._dollars_spent = 0.0

    def add(self, tokens: Tokens, dollars: float | None) -> None:
        """Count what one answer cost; `dollars` are None where its price is unknown."""
        self._tokens_spent += tokens.input + tokens.output
        self._dollars_spent += dollars or 0.0

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is to be asked."""
        if self.tokens is not None and self._tokens_spent >= self.tokens:
            return True
        return self.dollars is not None and self._dollars_spent >= self.dollars


class Asked(NamedTuple):
    """What became of one question in one repeat."""

    question: Question
    repeat: int
    transcript: Transcript | None
    """None where it was not asked."""
    was_kept: bool
    """Whether it came from the ledger."""
    why_not: str = ""
    """Why it was not asked; nothing where it was."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What new answers have cost so far."""

    questions: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    dollars: float | None = 0.0
    """None once a price is unknown."""
    failures: int = 0
    """New answers that are no result."""
    is_interrupted: bool = False
    """Whether nothing more is asked, and only what is under way is finished."""


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
    budget: Budget | None = None,
    price: Price = lambda _tokens: None,
    offline: bool = False,
    on_progress: Progress | None = None,
) -> list[Asked]:
    """Ask every question `repeats` times, except those whose transcript the ledger holds.

    `corpus` is the fingerprint of what is searched. Transcripts are kept as they land, so that a
    run that is killed goes on from there. Asking ends early where the budget is spent, and where
    further questions can only fail as the last ones did; what was not asked says why.

    A KeyboardInterrupt ends it when what is under way has been finished and kept; a second one
    drops that. Raises EvaluationError with `offline` when the ledger lacks a transcript: nobody is
    asked then; and what an agent raises.
    """
    jobs = [(question, repeat) for repeat in range(repeats) for question in questions]
    of_agent = (agent.fingerprint, agent.row_name, corpus)
    keys = {(q.id, repeat): transcript_key(*of_agent, q.id, q.text, repeat) for q, repeat in jobs}
    kept = {job: ledger.get(key) for job, key in keys.items()}
    missing = [(question, repeat) for question, repeat in jobs if kept[question.id, repeat] is None]
    if offline:
        _check_complete(agent, [(question.id, repeat) for question, repeat in missing])
    work = _Work(agent, ledger, budget or Budget(), price, on_progress, len(jobs), len(missing))
    made = work.run(missing, keys, concurrency or agent.concurrency)
    return [
        _asked(q, repeat, kept[q.id, repeat], made.get((q.id, repeat)), work.why_not)
        for q, repeat in jobs
    ]


def _asked(
    question: Question,
    repeat: int,
    kept: Transcript | None,
    made: Transcript | None,
    why_not: str,
) -> Asked:
    found = kept or made
    return Asked(question, repeat, found, kept is not None, "" if found else why_not)


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


class _Failures:
    """Tells when further questions can only fail as the last ones did."""

    def __init__(self, has_results: bool) -> None:
        """`has_results` says whether the row has been answered anything, at whatever time."""
        self._has_results = has_results
        self._answers = self._failed = self._hopeless = 0

    def note(self, transcript: Transcript) -> str:
        """Why to stop, in a sentence; nothing where it is worth going on."""
        if transcript.outcome in FINAL:
            self._answers += 1
            self._hopeless = 0
            return ""
        self._failed += 1
        self._hopeless += transcript.outcome in HOPELESS
        patience = _HOPELESS_IN_A_ROW if self._answers else 1
        never_worked = not self._answers and not self._has_results
        if self._hopeless >= patience or (never_worked and self._failed >= _FAILED_AT_FIRST):
            return transcript.errors[-1] if transcript.errors else transcript.outcome
        return ""


class _Work:
    """The questions under way, and what they have cost.

    The threads are daemons: a process that is to end at once does not wait for a model's answer.
    """

    def __init__(
        self,
        agent: Agent,
        ledger: Ledger,
        budget: Budget,
        price: Price,
        on_progress: Progress | None,
        total: int,
        missing: int,
    ) -> None:
        self._agent = agent
        self._ledger = ledger
        self._budget = budget
        self._price = price
        self._on_progress = on_progress
        self._total = total
        self._done = total - missing
        self._failures = _Failures(has_results=missing < total)
        self._lock = threading.Lock()
        self._spent = Spent()
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._made: dict[_Job, Transcript] = {}
        self.why_not = ""
        """Why no further question is asked; nothing while they are."""

    def run(
        self, jobs: Sequence[tuple[Question, int]], keys: Mapping[_Job, str], concurrency: int
    ) -> dict[_Job, Transcript]:
        """The transcripts of these jobs, as far as they could be asked."""
        remaining = iter(jobs)

        def work() -> None:
            try:
                while (job := self._next(remaining)) is not None:
                    question, repeat = job
                    self._ask(question, repeat, keys[question.id, repeat])
            except BaseException as error:
                with self._lock:
                    self.why_not = self.why_not or repr(error)
                self._ended.put(error)
            else:
                self._ended.put(None)

        threads = min(concurrency, len(jobs))
        for number in range(threads):
            threading.Thread(target=work, name=f"asking-{number}", daemon=True).start()
        self._wait(threads)
        return self._made

    def _wait(self, threads: int) -> None:
        """Until all threads have ended. Raises what the first of them met, or the interrupt."""
        raised: BaseException | None = None
        while threads:
            try:
                error = self._ended.get()
            except KeyboardInterrupt as interrupt:
                if isinstance(raised, KeyboardInterrupt):
                    raise  # whoever asks twice does not want to wait
                raised = interrupt
                self._interrupt()
            else:
                threads -= 1
                raised = raised or error
        if raised is not None:
            raise raised

    def _next(self, remaining: Iterator[tuple[Question, int]]) -> tuple[Question, int] | None:
        """The next question to ask, None where there is to be none."""
        with self._lock:
            job = None if self.why_not else next(remaining, None)
            if job is not None and self._budget.is_spent:
                self.why_not = _BUDGET_SPENT
                return None
            return job

    def _ask(self, question: Question, repeat: int, key: str) -> None:
        transcript = self._agent.run(question)
        is_result = self._ledger.add(key, self._agent.row_name, transcript)
        with self._lock:
            self._made[question.id, repeat] = transcript
            self._done += 1
            self._count(transcript.tokens, is_result)
            self.why_not = self.why_not or self._failures.note(transcript)
            self._tell()

    def _interrupt(self) -> None:
        with self._lock:
            self.why_not = _INTERRUPTED
            self._spent = replace(self._spent, is_interrupted=True)
            self._tell()

    def _count(self, tokens: Tokens, is_result: bool) -> None:
        cost, spent = self._price(tokens), self._spent
        self._budget.add(tokens, cost)
        self._spent = replace(
            spent,
            questions=spent.questions + 1,
            tokens=spent.tokens + tokens,
            dollars=None if cost is None or spent.dollars is None else spent.dollars + cost,
            failures=spent.failures + (not is_result),
        )

    def _tell(self) -> None:
        if self._on_progress:
            self._on_progress(self._done, self._total, self._spent)
