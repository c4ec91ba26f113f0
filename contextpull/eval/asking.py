"""Asks an agent many questions at once: kept, resumed, stopped when it must be, replayed."""

import threading
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from contextpull.errors import EvaluationError
from contextpull.eval.ledger import FINAL, Ledger, transcript_key
from contextpull.eval.metered import Budget, Meter, Price, Progress, ask_for_all
from contextpull.eval.transcripts import Transcript
from contextpull.types import Question

HOPELESS = frozenset({"key_refused", "model_not_found", "unreachable", "rate_limited"})
"""Outcomes that the next question would have, too."""
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
    done = len(jobs) - len(missing)
    meter = Meter(budget, price, on_progress, total=len(jobs), done=done)
    failures = _Failures(has_results=done > 0)
    made: dict[_Job, Transcript] = {}

    def ask(job: tuple[Question, int]) -> str:
        question, repeat = job
        transcript = agent.run(question)
        made[question.id, repeat] = transcript
        is_result = ledger.add(keys[question.id, repeat], agent.row_name, transcript)
        meter.count(transcript.tokens, failed=not is_result)
        return failures.note(transcript)

    threads = min(concurrency or agent.concurrency, len(missing))
    why_not = ask_for_all(missing, ask, concurrency=threads, meter=meter)
    return [
        _asked(q, repeat, kept[q.id, repeat], made.get((q.id, repeat)), why_not)
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
    """Tells when further questions can only fail as the last ones did; for several threads."""

    def __init__(self, has_results: bool) -> None:
        """`has_results` says whether the row has been answered anything, at whatever time."""
        self._has_results = has_results
        self._answers = self._failed = self._hopeless = 0
        self._lock = threading.Lock()

    def note(self, transcript: Transcript) -> str:
        """Why to stop, in a sentence; nothing where it is worth going on."""
        with self._lock:
            return self._note(transcript)

    def _note(self, transcript: Transcript) -> str:
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
