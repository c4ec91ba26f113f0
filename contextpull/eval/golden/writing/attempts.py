"""One question seen through: written, checked, judged, sent back, and made harder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.corpus import Corpus, SourceSection
from contextpull.eval.generation.plan import SetAside
from contextpull.eval.generation.writing import AskedWriter, CallFailed
from contextpull.eval.golden.writing.drafts import (
    GoldenDraft,
    Sound,
    Verdict,
    checked,
    verdict_fault,
)
from contextpull.eval.golden.writing.plan import WritingPlan
from contextpull.eval.golden.writing.prompts import again, critic_prompt, harder, writing_prompt

_VERDICT_TRIES = 2


class OutOfBudget(Exception):
    """Nothing more may be asked."""


class Room(NamedTuple):
    """What all attempts share."""

    plan: WritingPlan
    corpus: Corpus
    writer: AskedWriter
    critic: AskedWriter
    kept: Kept
    """The questions so far; it does not change while attempts are under way."""
    is_over: Callable[[], bool]
    """Whether nothing more may be asked."""


@dataclass(slots=True)
class Attempt:
    """What is to become a question, and what became of it."""

    kind: str
    passages: tuple[SourceSection, ...]
    tries: int = 0
    told: str = ""
    """Why the last one was sent back, in the words of the prompt."""
    sound: Sound | None = None
    """The question, once there is one."""
    is_evolved: bool = False
    is_over: bool = False
    """Whether no further try may bring one."""
    set_aside: list[SetAside] = field(default_factory=list)

    @property
    def about(self) -> str:
        """How it is called in a report."""
        return " + ".join(section.id for section in self.passages)

    def send_back(self, question: str, reason: str) -> None:
        """Note a fault, for the report and for the next try."""
        self.sound, self.is_evolved = None, False
        self.note(reason, question)
        self.told = again(question, reason)

    def note(self, reason: str, question: str = "") -> None:
        """Note why something is no question of the set."""
        self.set_aside.append(SetAside(self.kind, self.about, reason, question))


def pursue(attempt: Attempt, room: Room) -> None:
    """Try until there is a question, the writer declines, or the tries are used up.

    Raises `OutOfBudget`, and what `AskedWriter.ask` raises to end a run.
    """
    while attempt.sound is None and not attempt.is_over:
        attempt.tries += 1
        _try(attempt, room)
        attempt.is_over |= attempt.tries >= room.plan.tries
    if attempt.sound is not None and room.plan.evolve:
        _evolve(attempt, attempt.sound, room)


def _try(attempt: Attempt, room: Room) -> None:
    prompt = writing_prompt(room.plan, attempt.kind, attempt.passages, attempt.tries)
    try:
        attempt.sound = _written(prompt + attempt.told, attempt, room)
    except _Fault as fault:
        if fault.then == "rewrite":
            attempt.send_back(fault.question, str(fault))
        else:
            attempt.note(str(fault), fault.question)
            attempt.is_over = fault.then == "end"


def _evolve(attempt: Attempt, sound: Sound, room: Room) -> None:
    """Make a good question harder; one that fails anything leaves the question as it was."""
    prompt = writing_prompt(room.plan, attempt.kind, attempt.passages, attempt.tries)
    try:
        attempt.sound = _written(prompt + harder(room.plan, attempt.kind, sound), attempt, room)
        attempt.is_evolved = True
    except _Fault as fault:
        attempt.note(f"a harder one in place of {sound.question!r}: {fault}", fault.question)


class _Fault(Exception):
    """Why there is no question, and what is worth doing then."""

    def __init__(
        self, reason: str, then: Literal["again", "rewrite", "end"], question: str = ""
    ) -> None:
        self.then = then
        self.question = question
        super().__init__(reason)


def _written(prompt: str, attempt: Attempt, room: Room) -> Sound:
    """A question that passed everything. Raises `_Fault`, and what `pursue` raises."""
    if room.is_over():
        raise OutOfBudget
    try:
        draft = room.writer.ask(prompt, GoldenDraft)
    except CallFailed as error:
        raise _Fault(str(error), "again") from error
    except ValueError as error:
        raise _Fault(str(error), "rewrite") from error
    if not draft.question:
        raise _Fault(f"the writer declined: {draft.declined or 'no reason given'}", "end")
    try:
        sound = checked(draft, attempt.kind, attempt.passages, room.corpus, room.kept)
    except ValueError as error:
        raise _Fault(str(error), "rewrite", draft.question) from error
    verdict = _verdict(attempt.kind, sound, attempt.passages, room)
    fault = verdict_fault(verdict, room.plan.threshold)
    if fault:
        raise _Fault(fault, "rewrite", draft.question)
    return sound


def _verdict(kind: str, sound: Sound, passages: Sequence[SourceSection], room: Room) -> Verdict:
    """What the critic says; asked again where that is no verdict.

    Raises `_Fault` where it never is: what nobody judged is as little kept as what is bad.
    """
    reason = ""
    for number in range(1, _VERDICT_TRIES + 1):
        if room.is_over():
            raise OutOfBudget
        try:
            return room.critic.ask(critic_prompt(kind, sound, passages, number), Verdict)
        except (CallFailed, ValueError) as error:
            reason = str(error)
    raise _Fault(f"the critic gave no verdict: {reason}", "end", sound.question)
