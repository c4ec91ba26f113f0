"""The answers that agents gave in a kept run, each with what it can be judged against."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.judging.items import Evidence, Item, Measure, evidence_of
from contextpull.eval.ledger import Ledger
from contextpull.eval.run_directory import SavedRun
from contextpull.eval.running import chosen
from contextpull.types import Question


class Answer(NamedTuple):
    """What became of one question in one repeat of a row."""

    row: str
    """The agent's: `pull`, not `pull, read`."""
    question: Question
    repeat: int
    transcript: str
    """The key of its transcript."""
    text: str
    """Empty where the run was not kept, ended otherwise, or answered nothing."""
    evidence: Evidence
    may_lack_reference: bool = False
    """See `Item`."""

    def item(self, measure: Measure) -> Item:
        """This answer, to be judged by one measure."""
        return Item(
            measure=measure,
            row=self.row,
            question_id=self.question.id,
            repeat=self.repeat,
            question=self.question.text,
            answer=self.text,
            reference=self.question.answer,
            evidence=self.evidence,
            may_lack_reference=self.may_lack_reference,
        )


def answers_of(
    run: SavedRun, ledger: Ledger, rows: Sequence[str], sample: int | None, seed: int
) -> list[Answer]:
    """What the agents of these rows (all without any) answered, row by row.

    A sample is one of questions, the same for all rows. Raises EvaluationError for a run without
    agents, or a row that it does not have.
    """
    agents: dict[str, dict[str, object]] = run.report.get("agents") or {}
    if not agents:
        raise EvaluationError(
            f"The run in {str(run.folder)!r} has no row of an agent, so there are no answers to"
            " judge. Make one with: contextpull eval run --rows pull --model MODEL --out FOLDER"
        )
    for row in rows:
        if row not in agents:
            raise EvaluationError(f"The run has no agent {row!r}. It has: {', '.join(agents)}.")
    questions = chosen(list(run.questions.values()), (), sample, seed)
    return [each for row in rows or agents for each in _answers(run, ledger, row, questions)]


def _answers(
    run: SavedRun, ledger: Ledger, row: str, questions: Sequence[Question]
) -> Iterator[Answer]:
    for key, question, repeat, transcript in run.runs_of(row, ledger, questions):
        if transcript is None or not transcript.is_ok:
            yield Answer(row, question, repeat, key, "", Evidence("none"))
        else:
            text = transcript.answer if transcript.answer.strip() else ""
            yield Answer(row, question, repeat, key, text, evidence_of(transcript))
