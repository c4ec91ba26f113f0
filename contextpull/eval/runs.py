"""Asks a retriever every question and turns its answers into one row of the table."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import isfinite
from statistics import median
from time import perf_counter
from typing import Any

from contextpull.adapters.custom import concurrency_of
from contextpull.errors import EvaluationError
from contextpull.eval.measures import (
    NO_COPIES,
    Copies,
    Gold,
    Measure,
    Scores,
    Terms,
    as_one,
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
    wilson_interval,
)
from contextpull.types import Question, Retriever

_IDS_SHOWN = 10
_ERROR_CHARS = 300
_STATS = ("queries", "tool_calls", "tokens_in", "tokens_out", "usd")
SHAPES_FIRST = ("conceptual", "exact_lookup", "comparison", "aggregation", "table")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one retriever answered to one question, and how that scores."""

    question: Question
    ranking: tuple[str, ...]
    """At most k section ids, best first, without repeats; empty where the question failed."""
    scores: Scores
    hit: bool
    """Whether any gold is in the ranking."""
    error: str | None
    """Why the question failed, on one line; `None` where it was answered."""
    seconds: float
    """Wall time of the retrieval, with what it was spared by another row's work."""
    answer: str = ""
    """What the retriever answered, where it was asked for that."""
    answer_error: str | None = None
    """Why there is no answer, on one line; the ranking counts all the same."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The measures of some outcomes; failed questions count in `n` and as misses."""

    n: int
    errors: int
    hits: int
    """Questions with any gold among the first k, in the first run of those asked repeatedly."""
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
    stats: dict[str, float | str] = field(default_factory=dict)
    """What the retriever counted itself; see `evaluate`."""

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The questions that failed, in order."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)

    @property
    def unanswered(self) -> tuple[Outcome, ...]:
        """The questions that an answer was asked for in vain, in order."""
        return tuple(outcome for outcome in self.outcomes if outcome.answer_error is not None)

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
    copies: Copies = NO_COPIES,
    rounds: int = ROUNDS,
    seed: int = 0,
    answers: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Row:
    """Ask every question once and score the first k distinct ids of each answer.

    A retriever with `concurrency` is asked that many questions at once, in threads; the outcomes
    keep the order of the questions. Of what its `stats()` says in the end, the row keeps the
    numbers `queries`, `tool_calls`, `tokens_in`, `tokens_out` and `usd`, or the `error`. With
    `answers` a retriever with `generate` is also asked for the answer to each question.

    The measures are those `at_cutoff` k, unless others are given. `grades` says by question id
    what each section is worth, where not all gold is worth the same. A section that `copies`
    names counts as the one that stands for it, which must be the one that gold names.
    A question whose retrieval raises, or returns anything but a list of ids, which must be
    `known_ids` where these are given, is a failure: it keeps its message and scores as a miss.
    `on_progress` gets (asked, all) after each question.
    Raises `InvalidInput` for a k below 1 or a `concurrency` that is none, `MissingExtra` without
    numpy, and `EvaluationError` for no questions or, given `known_ids` and no `grades`, for gold
    that is not among them.
    """
    check_cutoff(k)
    require_numpy()
    if not questions:
        raise EvaluationError("There is no question to ask. Give at least one.")
    known = None if known_ids is None else frozenset(known_ids)
    if known is not None and grades is None:
        check_gold(questions, known)
    measures = at_cutoff(k) if measures is None else measures
    generate = getattr(retriever, "generate", None) if answers else None

    def ask(question: Question) -> Outcome:
        gold = grades[question.id] if grades else question.gold
        outcome = _ask(retriever, question, gold, k, measures, copies, known)
        return outcome if generate is None else _answered(outcome, generate)

    outcomes = []
    for outcome in _in_order(ask, questions, concurrency_of(retriever)):
        outcomes.append(outcome)
        if on_progress is not None:
            on_progress(len(outcomes), len(questions))
    row = summarize(outcomes, name=name, k=k, measures=measures, rounds=rounds, seed=seed)
    return replace(row, stats=_stats(retriever))


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
    shapes = [shape for shape in SHAPES_FIRST if shape in by_shape]
    shapes += sorted(set(by_shape) - set(shapes))
    return Row(
        name=name,
        k=k,
        outcomes=tuple(outcomes),
        overall=_summary(outcomes, measures, rounds, seed),
        shapes={shape: _summary(by_shape[shape], measures, rounds, seed) for shape in shapes},
        clusters=len(set(clusters_of(each.question for each in outcomes))),
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


def _in_order(
    ask: Callable[[Question], Outcome], questions: Sequence[Question], concurrency: int
) -> Iterator[Outcome]:
    if concurrency == 1:
        yield from map(ask, questions)
        return
    with ThreadPoolExecutor(concurrency, "contextpull-asking") as pool:
        yield from pool.map(ask, questions)


def _ask(
    retriever: Retriever,
    question: Question,
    gold: Gold,
    k: int,
    measures: Sequence[Measure],
    copies: Copies,
    known: Collection[str] | None,
) -> Outcome:
    started = perf_counter()
    ranking: tuple[str, ...] = ()
    spared = 0.0
    error = None
    try:
        spared = _spared_seconds(retriever, question.text)
        ranking = _checked(retriever.retrieve(question.text, k), known)[:k]
    except Exception as reason:  # whatever a retriever raises, the other questions go on
        error = _one_line(reason)
    seconds = perf_counter() - started + spared
    found = as_one(ranking, copies)
    scores = score(found, gold, measures) if error is None else miss(measures)
    return Outcome(question, ranking, scores, any(scores.values()), error, seconds)


def _spared_seconds(retriever: Retriever, query: str) -> float:
    """What a push row need not do for a query, as another row has done it; see `Push`."""
    spared: Callable[[str], float] | None = getattr(retriever, "spared_seconds", None)
    return 0.0 if spared is None else spared(query)


def _checked(ranking: object, known: Collection[str] | None) -> tuple[str, ...]:
    """The distinct ids of a retriever's answer; a foreign retriever may return anything."""
    if not isinstance(ranking, (list, tuple)):
        kind = type(ranking).__name__
        raise EvaluationError(f"retrieve must return a list of section ids, not {kind}")
    for each in ranking:
        if not isinstance(each, str):
            kind = type(each).__name__
            raise EvaluationError(
                f"retrieve must return a list of section ids, not of {kind}: {each!r}"
            )
        if known is not None and each not in known:
            raise EvaluationError(f"retrieve returned {each!r}, which is the id of no section")
    return distinct(ranking)


def _answered(outcome: Outcome, generate: Callable[[str, list[str]], Any]) -> Outcome:
    """The outcome with an answer, or with the reason why there is none."""
    if outcome.error is not None:
        return outcome
    try:
        answer = generate(outcome.question.text, list(outcome.ranking))
    except Exception as reason:  # as in `_ask`
        return replace(outcome, answer_error=_one_line(reason))
    if not isinstance(answer, str):
        kind = type(answer).__name__
        return replace(outcome, answer_error=f"generate must return text, not {kind}")
    return replace(outcome, answer=answer)


def _stats(retriever: Retriever) -> dict[str, float | str]:
    """What a retriever counted itself, as far as it is a number; or why that is not known."""
    stats = getattr(retriever, "stats", None)
    if stats is None:
        return {}
    try:
        found = dict(stats() or {})
    except Exception as reason:
        return {"error": _one_line(reason)}
    numbers = {name: found[name] for name in _STATS if isinstance(found.get(name), (int, float))}
    return {name: each for name, each in numbers.items() if isfinite(each) and each >= 0}


def _one_line(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _ERROR_CHARS else f"{text[:_ERROR_CHARS]}…"


def _summary(
    outcomes: Sequence[Outcome], measures: Sequence[Measure], rounds: int, seed: int
) -> Summary:
    clusters = clusters_of(each.question for each in outcomes)
    terms = headline([outcome.scores for outcome in outcomes], measures)
    return Summary(
        n=len(outcomes),
        errors=sum(outcome.error is not None for outcome in outcomes),
        hits=sum(outcome.hit for outcome in outcomes),
        measures={
            each.name: _interval(each, terms[each.name], clusters, rounds, seed)
            for each in measures
        },
    )


def _interval(
    measure: Measure, terms: Terms, clusters: Sequence[Hashable], rounds: int, seed: int
) -> Interval:
    values = terms.numerators
    if measure.is_share:
        return wilson_interval(sum(each > 0 for each in values), len(values))
    return bootstrap_ratio(values, terms.denominators, clusters, rounds=rounds, seed=seed)


def clusters_of(questions: Iterable[Question]) -> list[Hashable]:
    """What is drawn together: questions of one document, or a question that names none."""
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
        "unanswered": [
            {"id": each.question.id, "error": each.answer_error} for each in row.unanswered
        ],
        "stats": row.stats,
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
        "hits": {"yes": summary.hits, **wilson_interval(summary.hits, summary.n).as_dict()},
        "measures": {name: each.as_dict() for name, each in summary.measures.items()},
    }
