"""All shapes of a plan, one after the other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

from contextpull.errors import EvaluationError
from contextpull.eval.generation.aggregation import aggregation
from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.comparison import comparison, near_pairs
from contextpull.eval.generation.conceptual import conceptual, exact_by_writer
from contextpull.eval.generation.corpus import Corpus
from contextpull.eval.generation.exact import exact_lookup
from contextpull.eval.generation.names import NameIndex
from contextpull.eval.generation.near_duplicates import Pair
from contextpull.eval.generation.plan import SHAPES, Made, Plan
from contextpull.eval.generation.table import table
from contextpull.eval.generation.writing import AskedWriter
from contextpull.eval.generation.written import Progress
from contextpull.eval.statistics import require_numpy
from contextpull.types import Question, Shape

NEEDS_WRITER = "needs --writer MODEL"
WRITTEN = ("conceptual", "comparison")
"""Shapes that only a writer can make; with one, `exact_lookup` is written too."""


@dataclass(frozen=True, slots=True)
class Generated:
    """An eval set in the making, and what became of each shape."""

    corpus: Corpus
    plan: Plan
    made: list[Made] = field(default_factory=list)

    @property
    def questions(self) -> list[Question]:
        """All questions, shape by shape."""
        return [question for each in self.made for question in each.questions]


def generate(
    corpus: Corpus,
    plan: Plan,
    writer: AskedWriter | None = None,
    on_progress: Callable[[Shape, int, int], None] | None = None,
) -> Generated:
    """The questions of a plan over a corpus; the same plan and answers give the same questions.

    `on_progress` gets the shape, how many questions it has, and how many are wanted.
    Raises `EvaluationError` for a corpus without sections, `MissingExtra` where a writer is given
    and numpy is absent, and `ModelUnavailable` when the writer fails for good.
    """
    if not corpus.sections:
        raise EvaluationError("There are no sections to make questions from.")
    if writer is not None:
        require_numpy()  # before the writer is asked in vain
    generated = Generated(corpus, plan)
    makers = _Makers(corpus, plan, writer, Kept())
    for shape in SHAPES:
        if shape in plan.shapes:
            report = partial(on_progress, shape) if on_progress else None
            generated.made.append(makers.make(shape, report))
            if report is not None:
                report(len(generated.made[-1].questions), plan.per_shape)
    return generated


class _Makers:
    """What the shapes share, made when the first of them needs it."""

    def __init__(self, corpus: Corpus, plan: Plan, writer: AskedWriter | None, kept: Kept) -> None:
        self._corpus = corpus
        self._plan = plan
        self._writer = writer
        self._kept = kept

    @cached_property
    def _names(self) -> NameIndex:
        return NameIndex(self._corpus)

    @cached_property
    def _pairs(self) -> list[Pair]:
        return near_pairs(self._corpus)

    @cached_property
    def _crowded(self) -> frozenset[int]:
        """Sections that are nearly the same as another: a question about one fits both."""
        return frozenset(number for pair in self._pairs for number in pair[:2])

    def make(self, shape: Shape, report: Progress | None) -> Made:
        """The questions of one shape."""
        corpus, plan, kept = self._corpus, self._plan, self._kept
        if shape == "aggregation":
            return aggregation(corpus, self._names, plan, kept)
        if shape == "table":
            return table(corpus, plan, kept)
        if self._writer is None:
            if shape in WRITTEN:
                return Made(shape, by="writer", skipped=NEEDS_WRITER)
            return exact_lookup(corpus, self._names, plan, kept)
        if shape == "comparison":
            return comparison(corpus, self._pairs, self._writer, plan, kept, report)
        write = conceptual if shape == "conceptual" else exact_by_writer
        return write(corpus, self._names, self._crowded, self._writer, plan, kept, report)
