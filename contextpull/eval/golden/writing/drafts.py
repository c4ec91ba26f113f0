"""What the writer and the critic answer, and what no model needs to be asked to find wrong."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from contextpull.eval.generation.checks import Kept, fault_of
from contextpull.eval.generation.corpus import Corpus, SourceSection
from contextpull.eval.generation.words import word_count
from contextpull.eval.golden.writing.plan import KINDS, TWO_PLACES
from contextpull.eval.golden.writing.verbatim import verbatim

LEAST_ANSWERED = 0.7
LEAST_ALONE = 0.6
MOST_QUOTES = 4
_SHORTEST = 5
_LONGEST = 500
_FEWEST_QUOTED = 3
_IDS_SHOWN = 3


class Quote(BaseModel):
    """Words of a passage."""

    model_config = ConfigDict(extra="forbid")

    passage: int = Field(description="The number of the passage.")
    words: str = Field(description="One sentence or line of it, copied character by character.")


class GoldenDraft(BaseModel):
    """What the writer answers; every field is there, empty where there is nothing to say."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    # The quotes come first, so that the question follows from them; nothing asks a model to rate
    # its question before it has written it.
    quotes: list[Quote] = Field(description="The words of the passages that give the answer.")
    question: str = Field(description="The question, in the language of the passage.")
    answer: str = Field(description="The answer that a person would accept, one or two sentences.")
    declined: str = Field(description="Where no question can be asked: why not. Else empty.")


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{value} is not from 0 to 1")
    return value


# The bounds stand in words: several vendors refuse a schema with `minimum`.
_Score = Annotated[float, Field(strict=True, allow_inf_nan=False), AfterValidator(_share)]


class Verdict(BaseModel):
    """What the critic answers."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    feedback: str = Field(description="What is wrong and how to do better, one or two sentences.")
    alone: _Score = Field(description="Stands alone: a number from 0 to 1.")
    clear: _Score = Field(description="Is clear: a number from 0 to 1.")
    answered: _Score = Field(description="Is answered by the passages: a number from 0 to 1.")

    @property
    def mean(self) -> float:
        """Of the three."""
        return (self.alone + self.clear + self.answered) / 3


class Sound(NamedTuple):
    """A draft that passed every check."""

    question: str
    answer: str
    expected: tuple[SourceSection, ...]
    """The passages that were quoted, in their order."""
    evidence: tuple[tuple[SourceSection, str], ...]
    """Each quote as it stands in its passage."""


def checked(
    draft: GoldenDraft, kind: str, passages: Sequence[SourceSection], corpus: Corpus, kept: Kept
) -> Sound:
    """The draft, its quotes found. Raises ValueError whose text is the fault."""
    if not draft.answer:
        raise ValueError("it has no answer")
    evidence = tuple(_found(quote, passages, corpus) for quote in draft.quotes)
    if not 1 <= len(evidence) <= MOST_QUOTES:
        raise ValueError(f"it has {len(evidence)} quotes; 1 to {MOST_QUOTES} are allowed")
    quoted = {section.id for section, _ in evidence}
    if kind == TWO_PLACES and len(quoted) < len(passages):
        raise ValueError("it does not quote both passages, though it is to need both")
    fault = _word_fault(draft.question, kind) or fault_of(
        draft.question, passages, shortest=_SHORTEST, longest=_LONGEST
    )
    fault = fault or kept.fault(draft.question)
    if fault:
        raise ValueError(fault)
    expected = tuple(section for section in passages if section.id in quoted)
    return Sound(draft.question, draft.answer, expected, tuple(dict.fromkeys(evidence)))


def verdict_fault(verdict: Verdict, threshold: float) -> str:
    """Why a question that was judged so is not kept; empty for one that is.

    A good mean never carries a question whose answer is not there, or which does not stand alone.
    """
    floors = (
        ("is answered by the passages", verdict.answered, LEAST_ANSWERED),
        ("stands alone", verdict.alone, LEAST_ALONE),
        ("is good on the whole", verdict.mean, threshold),
    )
    below = [
        f"the critic gave {value:.2f} for whether it {what}; {least} is the least"
        for what, value, least in floors
        if value < least - 1e-9
    ]
    said = [verdict.feedback.rstrip(".")] if verdict.feedback and below else []
    return "; ".join([*below, *said])


def _word_fault(question: str, kind: str) -> str:
    count, (_, fewest, most, _) = word_count(question), KINDS[kind]
    if fewest <= count <= most:
        return ""
    return f"it has {count:g} words; {fewest} to {most} are allowed"


def _found(
    quote: Quote, passages: Sequence[SourceSection], corpus: Corpus
) -> tuple[SourceSection, str]:
    """The passage and the quote as it stands there; a ValueError whose text is the fault, else."""
    if not 1 <= quote.passage <= len(passages):
        raise ValueError(f"there is no passage {quote.passage} to quote")
    section = passages[quote.passage - 1]
    words = verbatim(quote.words, section.text)
    if not words:
        raise ValueError(
            f"the quote does not stand in passage {quote.passage} word for word: {quote.words!r}"
        )
    if word_count(words) < _FEWEST_QUOTED:
        raise ValueError(f"the quote {words!r} has fewer than {_FEWEST_QUOTED} words")
    own = {each.id for each in passages}
    holders = [each.id for each in corpus.at(corpus.holding(words, len(own) + _IDS_SHOWN))]
    others = [section_id for section_id in holders if section_id not in own][:_IDS_SHOWN]
    if others:
        raise ValueError(
            f"the quote stands in {', '.join(others)}, too: quote, and ask about, what only this"
            f" passage says; not {words!r}"
        )
    return section, words
