"""All questions of a plan: worked on several at once, taken in order."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from contextpull.adapters.push import Searched
from contextpull.errors import EvaluationError
from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.corpus import Corpus
from contextpull.eval.generation.plan import SetAside, new_question
from contextpull.eval.generation.writing import AskedWriter
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.writing.assigning import Assigner
from contextpull.eval.golden.writing.attempts import Attempt, OutOfBudget, Room, pursue
from contextpull.eval.golden.writing.drafts import Sound
from contextpull.eval.golden.writing.passages import Choice, choose_passages
from contextpull.eval.golden.writing.plan import KINDS, TWO_PLACES, WritingPlan
from contextpull.eval.metered import Meter, Spent, ask_for_all
from contextpull.types import Question

MOST_AT_ONCE = 12
"""So many passages are worked on before their questions are taken, whatever the concurrency."""
MOST_IN_VAIN = 12
"""So many passages in a row without a question end a run: the writer is not up to it."""
_BUDGET_SPENT = "the budget was spent"

Progress = Callable[[int, int, Spent], None]
"""Called with the questions there are, those that are wanted, and what new answers have cost."""


@dataclass(slots=True)
class Drafted:
    """The drafts, and what became of everything else."""

    plan: WritingPlan
    corpus: Corpus
    choice: Choice
    questions: list[GoldenQuestion] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    tried: int = 0
    """Passages that were asked about."""
    evolved: int = 0
    """Questions that were made harder."""
    found_by: str = ""
    """By what two places were found to be alike; empty where none were wanted."""
    without_neighbour: int = 0
    """Questions over two places that could not be, for lack of two that are alike."""
    stopped: str = ""
    """Why no more was tried, where that is not for lack of passages."""

    @property
    def kinds(self) -> dict[str, int]:
        """How many questions there are of each kind."""
        counts = Counter(question.shape for question in self.questions)
        return {kind: counts[kind] for kind in KINDS if counts[kind] or self.plan.counts.get(kind)}

    @property
    def about_two_places(self) -> str:
        """What became of questions over two places that could not be; empty where all could."""
        if not self.without_neighbour:
            return ""
        has_others = any(share for kind, share in self.plan.mix.items() if kind != TWO_PLACES)
        instead = "; other kinds were asked in their place" if has_others else ""
        return (
            f"{self.without_neighbour} questions over two places could not be asked: no further two"
            f" sections are alike enough ({self.plan.similarity:g}, by {self.found_by}){instead}."
        )

    @property
    def why_fewer(self) -> list[str]:
        """Why there are fewer than were wanted, in sentences; nothing where there are not."""
        if len(self.questions) >= self.plan.count:
            return []
        usable, every = len(self.choice.all), len(self.corpus.sections)
        reasons = [f"No more was tried: {self.stopped}."] if self.stopped else []
        if usable < self.plan.count:
            reasons.append(
                f"Of {every} sections {usable} can be asked about, each once;"
                f" {every - usable} are passed over."
            )
        if not self.stopped and self.tried > len(self.questions):
            vain = self.tried - len(self.questions)
            reasons.append(f"{vain} of {self.tried} passages gave no question.")
        if self.about_two_places and not reasons:
            reasons.append(self.about_two_places)
        return reasons


def draft_questions(
    corpus: Corpus,
    searched: Searched,
    plan: WritingPlan,
    writer: AskedWriter,
    critic: AskedWriter,
    *,
    meter: Meter | None = None,
    on_progress: Progress | None = None,
) -> Drafted:
    """The questions of a plan; the same plan over the same answers gives the same questions.

    `corpus` holds what may be asked about of `searched`, in which neighbours are looked for.
    Raises `EvaluationError` where no section can be asked about, and `ModelUnavailable` when
    writer or critic fail for good.
    """
    choice = choose_passages(corpus, plan.count, plan.seed)
    if not choice.chosen:
        raise EvaluationError(_nothing(corpus, choice))
    drafting = _Drafting(Drafted(plan, corpus, choice), searched, on_progress)
    drafting.run(writer, critic, meter or Meter(total=plan.count))
    return drafting.drafted


def _nothing(corpus: Corpus, choice: Choice) -> str:
    if not corpus.sections:
        return "There are no sections to write questions about. Ingest documents first."
    why = "; ".join(f"{count}: {reason}" for reason, count in choice.passed_over.items())
    return f"None of the {len(corpus.sections)} sections can be asked about ({why})."


class _Drafting:
    """What is waiting, what was taken, and how long it was in vain."""

    def __init__(self, drafted: Drafted, searched: Searched, on_progress: Progress | None) -> None:
        self.drafted = drafted
        self._kept = Kept()
        self._assigner = Assigner(searched, drafted.choice, drafted.plan)
        self._waiting = deque(self._assigner.first())
        self._in_vain = 0
        self._on_progress = on_progress
        drafted.found_by = self._assigner.found_by
        drafted.without_neighbour = self._assigner.without_neighbour

    def run(self, writer: AskedWriter, critic: AskedWriter, meter: Meter) -> None:
        """Work on what is waiting until there are enough questions, or no more."""
        drafted, plan = self.drafted, self.drafted.plan
        room = Room(plan, drafted.corpus, writer, critic, self._kept, lambda: _is_over(meter))
        while not drafted.stopped and (wave := self._wave()):
            drafted.stopped = self._work(wave, room, meter)
            for attempt in wave:
                if attempt.sound is not None or attempt.is_over:  # else the budget was spent
                    self._settle(attempt)
            if self._in_vain >= MOST_IN_VAIN and not drafted.stopped:
                drafted.stopped = f"{self._in_vain} passages in a row gave no question"
            if self._on_progress is not None:
                self._on_progress(len(drafted.questions), plan.count, meter.spent)

    def _wave(self) -> list[Attempt]:
        """What is worked on next; the same whatever the concurrency, so that results repeat."""
        missing = self.drafted.plan.count - len(self.drafted.questions)
        count = max(0, min(MOST_AT_ONCE, missing, len(self._waiting)))
        return [self._waiting.popleft() for _ in range(count)]

    def _work(self, wave: Sequence[Attempt], room: Room, meter: Meter) -> str:
        def work(attempt: Attempt) -> str:
            try:
                pursue(attempt, room)
            except OutOfBudget:
                return _BUDGET_SPENT
            return ""

        return ask_for_all(wave, work, concurrency=min(room.plan.workers, len(wave)), meter=meter)

    def _settle(self, attempt: Attempt) -> None:
        """Take the question of an attempt, or see what comes in its place."""
        if attempt.sound is not None:
            fault = self._kept.add(_made(attempt.kind, attempt.sound))
            if not fault:
                self._take(attempt, attempt.sound)
                return
            attempt.send_back(attempt.sound.question, fault)
            if not attempt.is_over:
                self._waiting.appendleft(attempt)
                return
        self._in_vain += 1
        self._note(attempt)
        other = self._assigner.in_place_of(attempt)
        if other is not None:
            self._waiting.append(other)

    def _take(self, attempt: Attempt, sound: Sound) -> None:
        self._in_vain = 0
        self._note(attempt)
        self.drafted.evolved += attempt.is_evolved
        self.drafted.questions.append(_question(attempt.kind, sound))

    def _note(self, attempt: Attempt) -> None:
        self.drafted.tried += 1
        self.drafted.set_aside += attempt.set_aside


def _is_over(meter: Meter) -> bool:
    """Whether not even a question that is under way may be asked about any more."""
    return meter.is_over or meter.spent.is_interrupted


def _made(kind: str, sound: Sound) -> Question:
    return new_question(kind, sound.question, sound.expected, answer=sound.answer)


def _question(kind: str, sound: Sound) -> GoldenQuestion:
    made = _made(kind, sound)
    return GoldenQuestion(
        id=made.id,
        question=made.text,
        expected=made.gold,
        reference=made.answer,
        evidence=tuple(quote for _, quote in sound.evidence),
        hint="; ".join(
            f"{' > '.join(section.headings) or section.document} ({section.id}):"
            f" “{' '.join(quote.split())}”"
            for section, quote in sound.evidence
        ),
        draft=True,
        shape=kind,
    )
