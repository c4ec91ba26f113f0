"""How well the settings of a search find what golden questions expect, and what each takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any

from contextpull import __version__
from contextpull.errors import ContextPullError, InvalidInput
from contextpull.eval.golden.grains import Asked, Grain, Target, Wanted, asked_of
from contextpull.eval.golden.picks import Choice, choose
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.settings import Searcher, Setting, parse_settings
from contextpull.eval.measures import (
    Gold,
    Measure,
    hit_rate_at,
    miss,
    ndcg_at,
    reciprocal_rank_at,
    score,
)
from contextpull.eval.runs import Outcome, Row, Summary, summarize
from contextpull.eval.statistics import LEVEL, ROUNDS, require_numpy
from contextpull.retrieval.models import Models
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection
from contextpull.types import Question

CUTOFFS = (1, 3, 5, 10)
MOST_RESULTS = 1_000
_GOT = 5
_WARM_UP = "where is this described"
_UNFOUND = "\0"
"""What no result is named: a target that no result meets."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A question that found nothing of what it expects, with what came instead."""

    id: str
    question: str
    expected: tuple[str, ...]
    got: tuple[str, ...]
    """Section ids, best first; each the best of its document, where documents are counted."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting over the questions."""

    setting: Setting
    row: Row
    misses: tuple[Missed, ...]

    @property
    def median_ms(self) -> float:
        """The median time of a search, in milliseconds; the warm-up is not among them."""
        return 1_000 * self.row.median_seconds

    @property
    def p95_ms(self) -> float:
        """The 95th percentile by nearest rank: 95 of 100 searches took no longer."""
        times = sorted(outcome.seconds for outcome in self.row.outcomes)
        return 1_000 * times[ceil(0.95 * len(times)) - 1]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, in the order in which the settings were named."""

    by: Grain
    cutoffs: tuple[int, ...]
    questions: int
    """How many there are in the file, those that were left out among them."""
    asked: Asked
    rows: tuple[SettingRow, ...]


@dataclass(frozen=True, slots=True)
class GoldenReport(Measured):
    """What was measured, and what to choose by it."""

    choice: Choice


def golden_report(
    snapshot: Snapshot,
    questions: Sequence[GoldenQuestion],
    settings: Sequence[Setting] = parse_settings("lexical"),
    *,
    by: Grain = "doc",
    k: Sequence[int] = CUTOFFS,
    models: Models | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> GoldenReport:
    """Ask every question of every setting, as `measured` does, and choose between the settings."""
    found = measured(
        snapshot,
        questions,
        settings,
        by=by,
        k=k,
        models=models,
        rounds=rounds,
        seed=seed,
        on_progress=on_progress,
    )
    rows = [each.row for each in found.rows]
    choice = choose(rows, found.cutoffs[-1], rounds=rounds, seed=seed)
    return GoldenReport(found.by, found.cutoffs, found.questions, found.asked, found.rows, choice)


def measured(
    snapshot: Snapshot,
    questions: Sequence[GoldenQuestion],
    settings: Sequence[Setting],
    *,
    by: Grain = "doc",
    k: Sequence[int] = CUTOFFS,
    models: Models | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Ask every question of every setting, in turns, and score what comes back at one grain.

    The measures are recall@k, the share of what a question expects among the first k, and
    hit_rate@k, whether any of it is there, for each `k`; MRR and nDCG for the largest. A search
    goes as deep as the largest k needs, and that is what its time is of. Questions without labels,
    or with coarser ones than the grain, are left out and counted. A search that fails is a miss.
    `on_progress` gets (asked, all) after each question.
    Raises what `asked_of` raises; `InvalidInput` for a k that is no whole number from 1;
    `StoreError` and `ModelUnavailable` for a setting that the store or a model does not allow.
    """
    cutoffs = checked_cutoffs(k)
    require_numpy()
    asked = asked_of(snapshot, questions, by)
    # Settings are asked the same questions: each is embedded once, and the time counts in all.
    models = models or Models(keep_all_vectors=True)
    searchers = [Searcher(snapshot, each, models) for each in settings]
    if not searchers:
        raise InvalidInput("There is no setting to measure. Name one, such as lexical.")
    for each in searchers:
        each.results(_WARM_UP, cutoffs[-1], by)
    measures = _measures(cutoffs)
    outcomes: list[list[Outcome]] = [[] for _ in searchers]
    got: list[list[tuple[str, ...]]] = [[] for _ in searchers]
    for done, wanted in enumerate(asked.wanted, start=1):
        for at, searcher in enumerate(searchers):
            outcome, ids = _ask(snapshot, searcher, wanted, by, cutoffs[-1], measures)
            outcomes[at].append(outcome)
            got[at].append(ids)
        if on_progress is not None:
            on_progress(done, len(asked.wanted))
    rows = []
    for searcher, answered, ids_of in zip(searchers, outcomes, got, strict=True):
        name = searcher.setting.name
        row = summarize(
            answered, name=name, k=cutoffs[-1], measures=measures, rounds=rounds, seed=seed
        )
        rows.append(SettingRow(searcher.setting, row, _missed(answered, ids_of)))
    return Measured(by, cutoffs, len(questions), asked, tuple(rows))


def checked_cutoffs(k: Sequence[int]) -> tuple[int, ...]:
    """The cut-offs in ascending order, each once; `InvalidInput` unless all are whole, from 1."""
    if isinstance(k, (str, bytes)) or not isinstance(k, Sequence) or not k:
        raise InvalidInput(f"k must be a list of whole numbers such as [1, 3, 10], not {k!r}.")
    for each in k:
        if isinstance(each, bool) or not isinstance(each, int) or not 1 <= each <= MOST_RESULTS:
            raise InvalidInput(
                f"Each k must be a whole number from 1 to {MOST_RESULTS:,}, not {each!r}."
            )
    return tuple(sorted(set(k)))


def report_record(report: GoldenReport) -> dict[str, Any]:
    """The report as JSON-ready values; undefined figures are None."""
    first = report.rows[0].row
    return {
        "contextpull": __version__,
        "by": report.by,
        "k": list(report.cutoffs),
        "questions": report.questions,
        "scored": len(report.asked.wanted),
        "unlabelled": list(report.asked.unlabelled),
        "too_coarse": list(report.asked.too_coarse),
        "notes": list(report.asked.notes),
        "interval": {
            "level": LEVEL,
            "rounds": first.rounds,
            "seed": first.seed,
            "clusters": first.clusters,
        },
        "settings": [_row_record(each) for each in report.rows],
        **report.choice.as_dict(),
    }


def _row_record(row: SettingRow) -> dict[str, Any]:
    return {
        "setting": row.setting.name,
        **summary_record(row.row.overall),
        "shapes": {shape: summary_record(each) for shape, each in row.row.shapes.items()},
        "median_ms": row.median_ms,
        "p95_ms": row.p95_ms,
        "misses": [
            {
                "id": each.id,
                "question": each.question,
                "expected": list(each.expected),
                "got": list(each.got),
            }
            for each in row.misses
        ],
        "failures": [{"id": each.question.id, "error": each.error} for each in row.row.failures],
    }


def summary_record(summary: Summary) -> dict[str, Any]:
    """How many questions, and each measure with its interval, as JSON-ready values."""
    measures = {name: each.as_dict() for name, each in summary.measures.items()}
    return {"n": summary.n, "measures": measures}


def _ask(
    snapshot: Snapshot,
    searcher: Searcher,
    wanted: Wanted,
    by: Grain,
    k: int,
    measures: Sequence[Measure],
) -> tuple[Outcome, tuple[str, ...]]:
    """How one question fared, and the ids of the first sections that came."""
    asked = wanted.question
    question = Question(
        asked.id, asked.question, asked.shape, asked.expected, source=wanted.document
    )
    spared = searcher.spared_seconds(asked.question)
    started = perf_counter()
    try:
        results = searcher.results(asked.question, k, by)
    except ContextPullError as error:
        seconds = perf_counter() - started
        return Outcome(question, (), miss(measures), False, str(error), seconds), ()
    seconds = perf_counter() - started + spared
    names = tuple(each.name for each in results)
    sections = snapshot.database.sections([each.number for each in results])
    scores = score(names, _grades(names, sections, wanted.targets), measures)
    ids = tuple(each.id for each in sections[:_GOT])
    return Outcome(question, names, scores, any(scores.values()), None, seconds), ids


def _grades(
    names: Sequence[str], sections: Sequence[StoredSection], targets: Sequence[Target]
) -> dict[str, int]:
    """How many targets each result is the first to meet, and 1 for each that none does."""
    open_targets = list(targets)
    grades = {}
    for name, section in zip(names, sections, strict=True):
        left = [each for each in open_targets if not each(section)]
        grades[name] = len(open_targets) - len(left)
        open_targets = left
    return grades | {f"{_UNFOUND}{at}": 1 for at in range(len(open_targets))}


def _measures(cutoffs: Sequence[int]) -> tuple[Measure, ...]:
    deepest = cutoffs[-1]
    return (
        *(Measure(f"recall@{k}", partial(_share_at, k=k)) for k in cutoffs),
        *(Measure(f"hit_rate@{k}", partial(hit_rate_at, k=k), is_share=True) for k in cutoffs),
        Measure(f"mrr@{deepest}", partial(reciprocal_rank_at, k=deepest)),
        Measure(f"ndcg@{deepest}", partial(ndcg_at, k=deepest)),
    )


def _share_at(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """recall@k where one result may be worth several targets: the share of them that is met."""
    grades = gold if isinstance(gold, Mapping) else dict.fromkeys(gold, 1)
    return sum(grades.get(each, 0) for each in ranking[:k]) / sum(grades.values())


def _missed(outcomes: Sequence[Outcome], ids_of: Sequence[tuple[str, ...]]) -> tuple[Missed, ...]:
    return tuple(
        Missed(each.question.id, each.question.text, each.question.gold, ids)
        for each, ids in zip(outcomes, ids_of, strict=True)
        if not each.hit and each.error is None
    )
