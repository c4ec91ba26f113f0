"""Rows side by side: agents asked and scored, every row compared with the best push."""

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.agent_rows import agent_record, agent_row
from contextpull.eval.asking import Agent, Asked, ask_all
from contextpull.eval.closing import ClosedGold
from contextpull.eval.comparing import holm, mcnemar
from contextpull.eval.families import Compared, ComparedHits, Paired, by_shape, compare_family
from contextpull.eval.ledger import FINAL, Ledger
from contextpull.eval.measures import NO_COPIES, Copies
from contextpull.eval.metered import Budget, Price, Progress, check_price
from contextpull.eval.runs import Row, clusters_of, report
from contextpull.eval.statistics import wilson_interval
from contextpull.eval.transcripts import Transcript
from contextpull.store import Snapshot
from contextpull.types import Question


class Settings(NamedTuple):
    """What all rows of a run share."""

    k: int
    rounds: int
    seed: int
    repeats: int = 1


class AgentRows(NamedTuple):
    """What one agent makes of an eval set."""

    read: Row
    surfaced: Row
    record: dict[str, Any]
    """How it behaved, and what that cost; see `agent_record`."""
    failed: dict[tuple[str, int], Transcript]
    """What came to no result, by question id and repeat; it is not in the ledger."""


class BesideBestPush(NamedTuple):
    """Every other row beside the push row with the best recall@k, in three families.

    The p-values of each are corrected among themselves. Those over all questions are what a run
    is about; those by shape and those of hits only say where a difference comes from.
    """

    baseline: str
    measure: str
    """What `overall` and `shapes` compare: recall@k."""
    overall: list[Compared]
    """Over all questions, one a row."""
    shapes: list[Compared]
    """Row by row, over the questions of one shape; nothing where there is one shape only."""
    hits: list[ComparedHits]
    """Questions with any gold among the first k; of those asked repeatedly, in the first run."""


def chosen(
    questions: Sequence[Question], shapes: Sequence[str], sample: int | None, seed: int
) -> list[Question]:
    """The questions of these shapes, all without any; of them a sample, in the order of the file.

    Raises EvaluationError for a shape that no question has.
    """
    for shape in shapes:
        if not any(question.shape == shape for question in questions):
            known = ", ".join(sorted({question.shape for question in questions}))
            raise EvaluationError(f"No question has the shape {shape!r}. There are: {known}.")
    wanted = [each for each in questions if not shapes or each.shape in shapes]
    if sample is None or sample >= len(wanted):
        return wanted
    drawn = set(random.Random(seed).sample(range(len(wanted)), sample))
    return [each for at, each in enumerate(wanted) if at in drawn]


def corpus_fingerprint(snapshot: Snapshot) -> str:
    """16 hexadecimal digits for the ids and texts of all sections."""
    state = hashlib.sha256()
    numbers = [n for each in snapshot.documents.values() for n in each.section_numbers]
    addresses = snapshot.database.addresses(numbers).values()
    for section_id, text in sorted((each.id, each.fingerprint) for each in addresses):
        state.update(f"{section_id}\0{text}\n".encode())
    return state.hexdigest()[:16]


def measure_agent(
    agent: Agent,
    questions: Sequence[Question],
    ledger: Ledger,
    settings: Settings,
    *,
    corpus: str,
    price: Price,
    budget: Budget,
    copies: Copies = NO_COPIES,
    offline: bool = False,
    on_progress: Progress | None = None,
) -> AgentRows:
    """Ask an agent everything once, or as often as is repeated, and score it twice.

    Raises InvalidInput for a budget in dollars where the model's price is unknown.
    """
    check_price(budget, price, "this model")
    asked = ask_all(
        agent,
        questions,
        ledger,
        corpus=corpus,
        repeats=settings.repeats,
        budget=budget,
        price=price,
        offline=offline,
        on_progress=on_progress,
    )
    return agent_rows(
        asked,
        settings,
        name=agent.row_name,
        fingerprint=agent.fingerprint,
        price=price,
        copies=copies,
    )


def agent_rows(
    asked: Sequence[Asked],
    settings: Settings,
    *,
    name: str,
    fingerprint: str,
    price: Price,
    copies: Copies = NO_COPIES,
) -> AgentRows:
    """Score what an agent was asked, by what it read and by what it was shown."""
    shared: dict[str, Any] = {
        "k": settings.k,
        "copies": copies,
        "rounds": settings.rounds,
        "seed": settings.seed,
    }
    costs = [price(each.transcript.tokens) for each in asked if each.transcript]
    known = [cost for cost in costs if cost is not None]
    record = {
        **agent_record(asked, settings.k, copies),
        "answered_share": _answered(asked),
        "replayed": sum(each.was_kept for each in asked),
        "dollars": sum(known) if len(known) == len(costs) else None,
        "fingerprint": fingerprint,
    }
    return AgentRows(
        agent_row(asked, "read", name=f"{name}, read", **shared),
        agent_row(asked, "surfaced", name=f"{name}, surfaced", **shared),
        record,
        {
            (each.question.id, each.repeat): each.transcript
            for each in asked
            if each.transcript and each.transcript.outcome not in FINAL
        },
    )


def compared_with_best_push(
    rows: Sequence[Row], push: Iterable[str], settings: Settings
) -> BesideBestPush | None:
    """Every other row beside the best push row, question by question; None without a push row."""
    names = set(push)
    pushes = [row for row in rows if row.name in names]
    if not pushes:
        return None
    measure = f"recall@{settings.k}"
    best = max(pushes, key=lambda row: row.overall.measures[measure].mean)
    others = [row for row in rows if row is not best]
    clusters = clusters_of(outcome.question for outcome in best.outcomes)
    pairs = [
        Paired(row.name, "", _values(row, measure), _values(best, measure), clusters)
        for row in others
    ]
    of_shapes = by_shape(pairs, [outcome.question.shape for outcome in best.outcomes])
    return BesideBestPush(
        baseline=best.name,
        measure=measure,
        overall=compare_family(pairs, rounds=settings.rounds, seed=settings.seed),
        shapes=compare_family(of_shapes, rounds=settings.rounds, seed=settings.seed),
        hits=_compared_hits(others, best),
    )


def full_report(
    rows: Sequence[Row],
    agents: Mapping[str, Mapping[str, Any]],
    beside: BesideBestPush | None,
    settings: Settings,
    closed: ClosedGold | None = None,
) -> dict[str, Any]:
    """All figures of a run as JSON-ready values."""
    return {
        **report(rows, settings.k),
        "close_gold": closed and {"questions": closed.affected, "copies": len(closed.copies)},
        "agents": {name: dict(record) for name, record in agents.items()},
        "comparisons": _comparison_records(beside.overall, beside) if beside else [],
        "comparisons_by_shape": _comparison_records(beside.shapes, beside) if beside else [],
        "comparisons_of_hits": [
            {
                "row": each.row,
                "baseline": beside.baseline,
                **asdict(each.discordance),
                "p_holm": each.p_holm,
            }
            for each in beside.hits
        ]
        if beside
        else [],
    }


def _comparison_records(family: Sequence[Compared], beside: BesideBestPush) -> list[dict[str, Any]]:
    shared = {"baseline": beside.baseline, "measure": beside.measure}
    return [{**shared, **each.as_dict()} for each in family]


def _compared_hits(rows: Sequence[Row], best: Row) -> list[ComparedHits]:
    found = [mcnemar(_hits(row), _hits(best)) for row in rows]
    corrected = holm([each.p for each in found])
    return [
        ComparedHits(row.name, discordance, p)
        for row, discordance, p in zip(rows, found, corrected, strict=True)
    ]


def _answered(asked: Sequence[Asked]) -> dict[str, float | None]:
    """The share of questions that the first run of each answered, with its interval."""
    first = [each.transcript for each in asked if each.repeat == 0]
    return wilson_interval(sum(bool(run and run.is_ok) for run in first), len(first)).as_dict()


def _values(row: Row, measure: str) -> list[float]:
    return [outcome.scores[measure] for outcome in row.outcomes]


def _hits(row: Row) -> list[bool]:
    return [outcome.hit for outcome in row.outcomes]
