"""Asks a model many things at once: several tries each, kept as answers land."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from contextpull.errors import EvaluationError
from contextpull.eval.generation.writing import AskedWriter, CallFailed
from contextpull.eval.metered import Meter, ask_for_all
from contextpull.eval.untrusted import inert, mark_for

TRIES = 2


class NoAnswer(EvaluationError):
    """A model gave no usable answer to something, however often it was asked."""


class Stopped(EvaluationError):
    """The budget was spent, or the asking was ended, before everything was asked."""


class Job(NamedTuple):
    """One thing to ask."""

    about: str
    """How it is called in an error."""
    prompt: Callable[[int], str]
    """Takes the number of the try, from 1, which must change the prompt: answers are kept by it."""
    answer: type[BaseModel]
    fault: Callable[[Any], str] = lambda _answer: ""
    """What is wrong with an answer that fits the schema; nothing where it is right."""


class Asking(NamedTuple):
    """Who is asked, and within which bounds."""

    writer: AskedWriter
    meter: Meter
    concurrency: int = 4

    def answers(self, jobs: Sequence[Job]) -> list[BaseModel | NoAnswer]:
        """The answer to each job, or why there is none.

        Raises `Stopped` at the end of the budget, and `ModelUnavailable` for a model that fails
        for good; what was answered until then is kept.
        """
        found: dict[int, BaseModel | NoAnswer] = {}
        lock = threading.Lock()

        def ask(numbered: tuple[int, Job]) -> str:
            number, job = numbered
            answer = self._one(job)
            with lock:
                found[number] = answer
            return ""

        threads = max(1, min(self.concurrency, len(jobs)))
        why = ask_for_all(enumerate(jobs), ask, concurrency=threads, meter=self.meter)
        if len(found) < len(jobs):
            raise Stopped(
                f"{len(jobs) - len(found)} of {len(jobs)} answers are missing: {why}. What was"
                " answered is kept with --out: the same command goes on from there."
            )
        return [found[number] for number in range(len(jobs))]

    def _one(self, job: Job) -> BaseModel | NoAnswer:
        reason = ""
        for number in range(1, TRIES + 1):
            try:
                answer = self.writer.ask(job.prompt(number), job.answer)
            except (CallFailed, ValueError) as error:
                reason = str(error)
                continue
            reason = job.fault(answer)
            if not reason:
                return answer
        return NoAnswer(f"{self.writer.name}: no usable answer for {job.about}: {reason}.")


def marked(name: str, *texts: str) -> str:
    """Texts as a part of a prompt that can only be read as data."""
    shown = [inert(text) for text in texts]
    mark = mark_for(*shown)
    parts = [f"{name} {number}:\n{mark}\n{text}\n{mark}" for number, text in enumerate(shown, 1)]
    return "\n\n".join([f"Each {name} stands between two lines of the mark {mark}.", *parts])
