"""Suggestions for what a question expects: what a search with its reference answer finds.

A search with the answer finds the text that says it far more often than one with the question.
That is a fair way to propose a label and an unfair way to score one, so every row with a suggestion
is a draft until a person has compared it with its passage.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from contextpull.config import Mode
from contextpull.errors import InvalidInput
from contextpull.eval.golden.bedrock import is_bedrock, load_bedrock
from contextpull.eval.golden.grains import check_questions
from contextpull.eval.golden.questions import GoldenQuestion, load_golden
from contextpull.eval.golden.reading import on_one_line
from contextpull.retrieval.models import Models
from contextpull.retrieval.search import MOST_HITS, Hit, search
from contextpull.store import Snapshot

LabelGrain = Literal["section", "doc"]
Query = Literal["reference answer", "question"]

_PASSAGE_CHARS = 400
_DEEPEST = 2_000


class Proposal(NamedTuple):
    """One id, and the passage that it was proposed for."""

    expected: str
    section_id: str
    passage: str
    copies: tuple[str, ...]
    """Ids of other sections with the same text."""


class Suggestion(NamedTuple):
    """What is proposed for one question; nothing where the search found nothing."""

    question: GoldenQuestion
    searched_with: Query
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Labelling:
    """A file's questions with what was proposed."""

    questions: tuple[GoldenQuestion, ...]
    """All of them, in their order; those with a proposal are drafts, and their hints quote it."""
    suggestions: tuple[Suggestion, ...]
    """For the questions that expected nothing."""
    labelled: int
    """Questions that had labels already and are as they were."""
    notes: tuple[str, ...]
    """What the searches could not do, in sentences."""


def load_unlabelled(path: Path) -> list[GoldenQuestion]:
    """The questions of a golden file, template rows too, or the turns of a Bedrock dataset.

    Raises `EvaluationError` that lists the faults of the file.
    """
    return load_bedrock(path).questions if is_bedrock(path) else load_golden(path, unfilled=True)


def suggest_labels(
    snapshot: Snapshot,
    questions: Sequence[GoldenQuestion],
    *,
    by: LabelGrain = "section",
    top: int = 1,
    mode: Mode | None = None,
    models: Models | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Labelling:
    """Propose the `top` sections or documents for each question that expects nothing yet.

    The search is made with the reference answer, or with the question where there is none.
    Raises as `check_questions` does, and `InvalidInput` for a grain that is none and for a `top`
    that is no whole number from 1.
    """
    _check(questions, by, top)
    wanted = [each for each in questions if not each.expected and each.question.strip()]
    suggestions, notes = [], {}
    for done, question in enumerate(wanted, start=1):
        proposals, said = _proposals(snapshot, question, by, top, mode, models)
        notes.update(dict.fromkeys(said))
        suggestions.append(Suggestion(question, _searched_with(question), tuple(proposals)))
        if on_progress:
            on_progress(done, len(wanted))
    drafts = {each.question.id: _draft(each) for each in suggestions}
    return Labelling(
        questions=tuple(drafts.get(each.id, each) for each in questions),
        suggestions=tuple(suggestions),
        labelled=sum(bool(each.expected) for each in questions),
        notes=tuple(notes),
    )


def _check(questions: Sequence[GoldenQuestion], by: LabelGrain, top: int) -> None:
    check_questions(questions)
    if by not in get_args(LabelGrain):
        raise InvalidInput(f"`by` must be section or doc, not {by!r}.")
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InvalidInput(f"`top` must be a whole number from 1, not {top!r}.")


def _searched_with(question: GoldenQuestion) -> Query:
    return "reference answer" if question.reference.strip() else "question"


def _proposals(
    snapshot: Snapshot,
    question: GoldenQuestion,
    by: LabelGrain,
    top: int,
    mode: Mode | None,
    models: Models | None,
) -> tuple[list[Proposal], tuple[str, ...]]:
    by_answer = _searched_with(question) == "reference answer"
    query = question.reference if by_answer else question.question
    found: dict[str, Proposal] = {}
    notes: tuple[str, ...] = ()
    for offset in range(0, _DEEPEST, MOST_HITS):
        page = search(
            snapshot,
            query,
            limit=MOST_HITS if by == "doc" else top,
            offset=offset,
            mode=mode,
            models=models,
            snippets="heading",
        )
        notes = page.notes
        for hit in page.hits:
            expected = hit.section.path if by == "doc" else hit.section.id
            found.setdefault(expected, _proposal(expected, hit))
        if len(found) >= top or not page.has_more or by == "section":
            break
    return list(found.values())[:top], notes


def _proposal(expected: str, hit: Hit) -> Proposal:
    passage = on_one_line(hit.section.text, _PASSAGE_CHARS)
    return Proposal(expected, hit.section.id, passage, hit.copies)


def _draft(suggestion: Suggestion) -> GoldenQuestion:
    question = suggestion.question
    if not suggestion.proposals:
        return question
    return replace(
        question,
        expected=tuple(each.expected for each in suggestion.proposals),
        hint="\n".join(filter(None, (question.hint, *_hints(suggestion)))),
        draft=True,
    )


def _hints(suggestion: Suggestion) -> Iterator[str]:
    for each in suggestion.proposals:
        copies = f" (the same text: {', '.join(each.copies)})" if each.copies else ""
        yield (
            f"Suggested by a search with the {suggestion.searched_with}: "
            f"{each.section_id}{copies}: {each.passage}"
        )
