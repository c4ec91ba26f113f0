"""What is asked for, what was made, and what was set aside on the way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contextpull.errors import InvalidInput
from contextpull.eval.generation.corpus import SourceSection, shared_document
from contextpull.eval.generation.sampling import draw
from contextpull.types import Question, Shape

SHAPES = ("conceptual", "exact_lookup", "comparison", "aggregation", "table")
"""In the order of the file."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many questions of which shapes, and the bounds that they keep."""

    shapes: tuple[Shape, ...] = SHAPES
    per_shape: int = 100
    seed: int = 0
    most_gold: int = 5
    """No question has more gold; with more than k of it, recall@k could not reach 1."""
    tries: int = 3
    """How often a writer may try one question."""
    workers: int = 4
    """How many questions a writer is asked at once."""

    def __post_init__(self) -> None:
        unknown = [shape for shape in self.shapes if shape not in SHAPES]
        if unknown:
            raise InvalidInput(f"{unknown[0]!r} is no shape. Choose from: {', '.join(SHAPES)}.")
        if not self.shapes:
            raise InvalidInput(f"Name at least one shape: {', '.join(SHAPES)}.")
        if min(self.per_shape, self.tries, self.workers) < 1:
            raise InvalidInput("per_shape, tries and workers must be at least 1.")
        if self.most_gold < 2:
            raise InvalidInput("most_gold must be at least 2: some shapes have two gold sections.")


class SetAside(NamedTuple):
    """Something that was tried and is no question of the set."""

    shape: Shape
    about: str
    """The name, the section ids or the table cell that it was to be about."""
    reason: str
    question: str = ""
    """The question itself, where there was one."""


@dataclass(slots=True)
class Made:
    """What became of one shape."""

    shape: Shape
    by: Literal["rule", "writer"]
    candidates: int = 0
    """How many things of the corpus a question could have been about."""
    questions: list[Question] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    skipped: str = ""
    """Why there is no question; empty where there are some."""
    evidence: dict[str, list[str]] = field(default_factory=dict)
    """By question id: the quotes that a writer gave for its answer."""
    stopped: str = ""
    """Why no more was tried, where that is not for lack of candidates."""


def new_question(
    shape: Shape,
    text: str,
    gold: Sequence[SourceSection],
    *,
    answer: str,
    identifier: str = "",
) -> Question:
    """A question whose id follows from its text and its gold, so that it stays from run to run."""
    ids = tuple(section.id for section in gold)
    return Question(
        id=f"{shape}-{draw(0, text, *ids):016x}"[: len(shape) + 11],
        text=text,
        shape=shape,
        gold=ids,
        answer=answer,
        source=shared_document(gold),
        identifier=identifier,
    )
