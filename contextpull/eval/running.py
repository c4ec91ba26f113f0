"""Rows side by side: agents asked and scored, every row compared with the best push."""

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.agent_rows import agent_record, agent_row
from contextpull.eval.asking import Agent, Budget, Price, Progress, ask_all
from contextpull.eval.comparing import Comparison, holm, paired_permutation
from contextpull.eval.ledger import Ledger
from contextpull.eval.runs import Row, clusters_of, report
from contextpull.eval.transcripts import Tokens
from contextpull.store import Snapshot
from contextpull.types import Question

_ONE_OF_EACH = Tokens(input=1, output=1)


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


class Compared(NamedTuple):
    """A row beside the best push row, in recall@k."""

    row: str
    baseline: str
    comparison: Comparison
    p_holm: float


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
    offline: bool = False,
    on_progress: Progress | None = None,
) -> AgentRows:
    """Ask an agent everything once, or as often as is repeated, and score it twice.

    Raises InvalidInput for a budget in dollars where the model's price is unknown.
    """
    probe = price(_ONE_OF_EACH)
    if budget.dollars is not None and probe is None:
        raise InvalidInput("The price of this model is unknown: give --max-tokens, not --max-usd.")
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
    shared: dict[str, Any] = {
        "k": settings.k,
        "rounds": settings.rounds,
        "seed": settings.seed,
    }
    name = agent.row_name
    costs = [price(each.transcript.tokens) for each in asked if each.transcript]
    known = [cost for cost in costs if cost is not None]
    record = {
        **agent_record(asked, settings.k),
        "replayed": sum(each.was_kept for each in asked),
        "dollars": sum(known) if len(known) == len(costs) else None,
        "fingerprint": agent.fingerprint,
    }
    return AgentRows(
        agent_row(asked, "read", name=f"{name}, read", **shared),
        agent_row(asked, "surfaced", name=f"{name}, surfaced", **shared),
        record,
    )


def compared_with_best_push(
    rows: Sequence[Row], push: Iterable[str], settings: Settings
) -> list[Compared]:
    """Every other row beside the push row with the best recall@k, question by question.

    The p-values are corrected for their number (Holm). Nothing without a push row.
    """
    names = set(push)
    pushes = [row for row in rows if row.name in names]
    if not pushes:
        return []
    measure = f"recall@{settings.k}"
    best = max(pushes, key=lambda row: row.overall.measures[measure].mean)
    others = [row for row in rows if row is not best]
    found = [
        paired_permutation(
            _values(row, measure),
            _values(best, measure),
            clusters_of(row.outcomes),
            rounds=settings.rounds,
            seed=settings.seed,
        )
        for row in others
    ]
    corrected = holm([each.p for each in found])
    return [
        Compared(row.name, best.name, comparison, p)
        for row, comparison, p in zip(others, found, corrected, strict=True)
    ]


def full_report(
    rows: Sequence[Row],
    agents: Mapping[str, Mapping[str, Any]],
    compared: Sequence[Compared],
    settings: Settings,
) -> dict[str, Any]:
    """All figures of a run as JSON-ready values."""
    return {
        **report(rows, settings.k),
        "agents": {name: dict(record) for name, record in agents.items()},
        "comparisons": [
            {
                "row": each.row,
                "baseline": each.baseline,
                "measure": f"recall@{settings.k}",
                **each.comparison.as_dict(),
                "p_holm": each.p_holm,
            }
            for each in compared
        ],
    }


def _values(row: Row, measure: str) -> list[float]:
    return [outcome.scores[measure] for outcome in row.outcomes]
