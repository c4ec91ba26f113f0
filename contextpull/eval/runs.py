"""Asks a retriever every question and turns its answers into one row of the table."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from contextpull.errors import EvaluationError
from contextpull.eval.measures import (
    Gold,
    Measure,
    Scores,
    at_cutoff,
    check_cutoff,
    distinct,
    headline,
    miss,
    score,
)
from contextpull.eval.statistics import (
    LEVEL,
    ROUNDS,
    Interval,
    bootstrap_ratio,
    require_numpy,
)
from contextpull.types import Question, Retriever

_IDS_SHOWN = 10
_ERROR_CHARS = 300
_SHAPES_FIRST = ("conceptual", "exact_lookup", "comparison", "aggregation", "table")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one retriever answered to one question, and how that scores."""

    question: Question
    ranking: tuple[str, ...]
    """At most k section ids, best first, without repeats; empty where the question failed."""
    scores: Scores
    error: str | None
    """Why the question failed, on one line; `None` where it was answered."""
    seconds: float
    """Wall time."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The measures of some outcomes; failed questions count in `n` and as misses."""

    n: int
    errors: int
    measures: dict[str, Interval]
    """By name, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Row:
    """One retriever over one eval set."""

    name: str
    k: int
    outcomes: tuple[Outcome, ...]
    """One a question, in the order of the questions."""
    overall: Summary
    shapes: dict[str, Summary]
    """By shape: the five of the format first, then others by name; questions may have none."""
    clusters: int
    """How many documents, and questions that share none, each bootstrap round draws from."""
    rounds: int
    seed: int

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The questions that failed, in order."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)

    @property
    def seconds(self) -> float:
        """The wall time of all questions together."""
        return sum(outcome.seconds for outcome in self.outcomes)

    @property
    def median_seconds(self) -> float:
        """The wall time of the median question."""
        return median(outcome.seconds for outcome in self.outcomes)


def evaluate(
    retriever: Retriever,
    questions: Sequence[Question],
    *,
    name: str,
    k: int,
    known_ids: Collection[str] | None = None,
    measures: Sequence[Measure] | None = None,
    grades: Mapping[str, Mapping[str, int]] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Row:
    """Ask every question once, in order, and score the first k distinct ids of each answer.

    The measures are those `at_cutoff` k, unless others are given. `grades` says by question id
    what each section is worth, where not all gold is worth the same.
    A question whose retrieval raises, or returns anything but a list of ids, is a failure: it
    keeps its message and scores as a miss. `on_progress` gets (asked, all) after each question.
    Raises `InvalidInput` for a k below 1, `MissingExtra` without numpy, and `EvaluationError`
    for no questions or, given `known_ids`, for gold that is not among them.
    """
    check_cutoff(k)
    require_numpy()
    if not questions:
        raise EvaluationError("There is no question to ask. Give at least one.")
    if known_ids is not None:
        check_gold(questions, known_ids)
    measures = at_cutoff(k) if measures is None else measures
    outcomes = []
    for question in questions:
        gold = grades[question.id] if grades else question.gold
        outcomes.append(_ask(retriever, question, gold, k, measures))
        if on_progress is not None:
            on_progress(len(outcomes), len(questions))
    return summarize(outcomes, name=name, k=k, measures=measures, rounds=rounds, seed=seed)


def summarize(
    outcomes: Sequence[Outcome],
    *,
    name: str,
    k: int,
    measures: Sequence[Measure] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Row:
    """The row that these outcomes make, with an interval around every measure."""
    measures = at_cutoff(k) if measures is None else measures
    by_shape: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.question.shape:
            by_shape.setdefault(outcome.question.shape, []).append(outcome)
    shapes = [shape for shape in _SHAPES_FIRST if shape in by_shape]
    shapes += sorted(set(by_shape) - set(shapes))
    return Row(
        name=name,
        k=k,
        outcomes=tuple(outcomes),
        overall=_summary(outcomes, measures, rounds, seed),
        shapes={shape: _summary(by_shape[shape], measures, rounds, seed) for shape in shapes},
        clusters=len(set(clusters_of(outcomes))),
        rounds=rounds,
        seed=seed,
    )


def check_gold(questions: Sequence[Question], known_ids: Collection[str]) -> None:
    """Raise `EvaluationError` if a gold id is not among the ids of the sections.

    Such a question can never be answered, so its score would be wrong without a sign.
    """
    known = known_ids if isinstance(known_ids, (set, frozenset, dict)) else set(known_ids)
    absent: dict[str, str] = {}
    affected = 0
    for question in questions:
        missing = [each for each in question.gold if each not in known]
        affected += bool(missing)
        for each in missing:
            absent.setdefault(each, question.id)
    if not absent:
        return
    shown = [f"{gold!r} (question {asker})" for gold, asker in list(absent.items())[:_IDS_SHOWN]]
    more = f" and {len(absent) - _IDS_SHOWN} more" if len(absent) > _IDS_SHOWN else ""
    example = f", such as {min(known)!r}" if known else ""
    raise EvaluationError(
        f"{affected} of {len(questions)} questions have gold that the sections do not hold: "
        f"{', '.join(shown)}{more}. There are {len(known)} sections{example}. "
        "Use the sections that the questions were written for: the same corpus, cut the same way."
    )


def report(rows: Sequence[Row], k: int) -> dict[str, object]:
    """The rows as JSON-ready values; undefined figures are `None`.

    Raises `EvaluationError` if a row has another k or was asked other questions than the first:
    their figures must not stand side by side.
    """
    check_comparable(rows, k)
    return {"k": k, "rows": [row_record(row) for row in rows]}


def check_comparable(rows: Sequence[Row], k: int) -> None:
    """Raise `EvaluationError` unless all rows have this k and the same questions."""
    for row in rows:
        if row.k != k:
            raise EvaluationError(f"The row {row.name!r} has k = {row.k}, not {k}. Run it again.")
        first = rows[0]
        if _questions(row) != _questions(first):
            raise EvaluationError(
                f"The rows {first.name!r} and {row.name!r} were asked different questions. "
                "Run both over the same question file."
            )


def _ask(
    retriever: Retriever, question: Question, gold: Gold, k: int, measures: Sequence[Measure]
) -> Outcome:
    started = perf_counter()
    ranking: tuple[str, ...] = ()
    error = None
    try:
        ranking = _checked(retriever.retrieve(question.text, k))[:k]
    except Exception as reason:  # whatever a retriever raises, the other questions go on
        error = _one_line(reason)
    seconds = perf_counter() - started
    scores = score(ranking, gold, measures) if error is None else miss(measures)
    return Outcome(question, ranking, scores, error, seconds)


def _checked(ranking: object) -> tuple[str, ...]:
    """The distinct ids of a retriever's answer; a foreign retriever may return anything."""
    if not isinstance(ranking, (list, tuple)) or not all(isinstance(each, str) for each in ranking):
        kind = type(ranking).__name__
        raise EvaluationError(f"retrieve must return a list of section ids, not {kind}")
    return distinct(ranking)


def _one_line(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _ERROR_CHARS else f"{text[:_ERROR_CHARS]}…"


def _summary(
    outcomes: Sequence[Outcome], measures: Sequence[Measure], rounds: int, seed: int
) -> Summary:
    clusters = clusters_of(outcomes)
    terms = headline([outcome.scores for outcome in outcomes], measures)
    return Summary(
        n=len(outcomes),
        errors=sum(outcome.error is not None for outcome in outcomes),
        measures={
            name: bootstrap_ratio(
                each.numerators, each.denominators, clusters, rounds=rounds, seed=seed
            )
            for name, each in terms.items()
        },
    )


def clusters_of(outcomes: Sequence[Outcome]) -> list[Hashable]:
    """What is drawn together: questions of one document, or a question that names none."""
    questions = [outcome.question for outcome in outcomes]
    return [("source", each.source) if each.source else ("id", each.id) for each in questions]


def _questions(row: Row) -> dict[str, tuple[str, frozenset[str]]]:
    questions = [outcome.question for outcome in row.outcomes]
    return {each.id: (each.text, frozenset(each.gold)) for each in questions}


def row_record(row: Row) -> dict[str, object]:
    """A row as JSON-ready values; undefined figures are `None`."""
    return {
        "row": row.name,
        **_summary_record(row.overall),
        "shapes": {shape: _summary_record(each) for shape, each in row.shapes.items()},
        "failures": [{"id": each.question.id, "error": each.error} for each in row.failures],
        "seconds": row.seconds,
        "interval": {
            "level": LEVEL,
            "rounds": row.rounds,
            "seed": row.seed,
            "clusters": row.clusters,
        },
    }


def _summary_record(summary: Summary) -> dict[str, object]:
    return {
        "n": summary.n,
        "errors": summary.errors,
        "measures": {name: each.as_dict() for name, each in summary.measures.items()},
    }
