"""What a judge is asked: one measure of one answer, with what it is judged against."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from contextpull.eval.transcripts import ToolCall, Transcript

Measure = Literal["faithfulness", "correctness", "completeness", "helpfulness"]
"""Faithfulness is judged against what the model was shown, the others against the reference."""
MEASURES: tuple[Measure, ...] = get_args(Measure)

Kind = Literal["read", "snippets", "none"]
"""What the model had seen of the corpus when it answered: sections, or hits alone, or nothing."""

Undefined = Literal["nothing_shown", "no_text", "no_reference"]
"""Why an answer has no score: nothing was shown, its text is not kept, the question has no
reference answer."""

MOST_CHARS = 60_000
"""Evidence above this many characters is cut."""


class Evidence(NamedTuple):
    """What the model was shown before it answered."""

    kind: Kind
    text: str = ""
    """As the model saw it; nothing where the run was kept without the text of results."""
    left_out: int = 0
    """Characters that did not fit."""


class Item(NamedTuple):
    """One measure of one answer."""

    measure: Measure
    row: str
    question_id: str
    repeat: int
    question: str
    answer: str
    reference: str
    """The answer that the question comes with; may be empty."""
    evidence: Evidence
    may_lack_reference: bool = False
    """Whether helpfulness is judged by the question alone where there is no reference."""

    @property
    def lacks_reference(self) -> bool:
        """Whether this is judged by the question alone."""
        is_allowed = self.may_lack_reference and self.measure == "helpfulness"
        return is_allowed and not self.reference.strip()

    @property
    def undefined(self) -> Undefined | None:
        """Why this cannot be judged; None where it can."""
        if self.measure != "faithfulness":
            return None if self.reference.strip() or self.lacks_reference else "no_reference"
        if self.evidence.kind == "none":
            return "nothing_shown"
        return None if self.evidence.text.strip() else "no_text"

    def as_dict(self) -> dict[str, Any]:
        """The fields that bear on the measure, as JSON-ready values."""
        against = (
            {"evidence": self.evidence.text, "evidence_kind": self.evidence.kind}
            if self.measure == "faithfulness"
            else {"reference": self.reference}
        )
        return {
            "measure": self.measure,
            "id": self.question_id,
            "row": self.row,
            "repeat": self.repeat,
            "question": self.question,
            "answer": self.answer,
            **against,
        }


def evidence_of(transcript: Transcript, most: int = MOST_CHARS) -> Evidence:
    """The results that showed sections; where none was read, the hits of search and grep.

    Of more than `most` characters the longest results are cut first, at their ends.
    """
    good = [call for call in transcript.calls if not call.is_error]
    read = [call for call in good if call.read]
    shown = read or [call for call in good if call.surfaced]
    if not shown:
        return Evidence("none")
    return evidence_in(_results(shown), "read" if read else "snippets", most)


def evidence_in(texts: Iterable[str], kind: Kind = "read", most: int = MOST_CHARS) -> Evidence:
    """These texts, each once; of more than `most` characters the longest are cut first."""
    shown, left_out = _cut(list(dict.fromkeys(texts)), most)
    return Evidence(kind, "\n\n".join(shown), left_out)


def _results(calls: Sequence[ToolCall]) -> list[str]:
    return [call.result for call in calls if call.result.strip()]


def _cut(texts: Sequence[str], most: int) -> tuple[list[str], int]:
    """The texts, none longer than a share that lets all of them fit, and what that left out."""
    share, room = most, most
    for done, size in enumerate(sorted(map(len, texts))):
        share = room // (len(texts) - done)
        if size > share:
            break
        room -= size
    else:
        share = most
    cut = [text[:share] for text in texts]
    return cut, sum(map(len, texts)) - sum(map(len, cut))
