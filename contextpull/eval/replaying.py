"""A kept run, scored anew from what its folder holds: nobody is asked, no corpus is needed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isclose
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.asking import Asked
from contextpull.eval.closing import ClosedGold
from contextpull.eval.ledger import Ledger
from contextpull.eval.measures import NO_COPIES, Copies, as_one, at_cutoff, miss, score
from contextpull.eval.pricing import price_of
from contextpull.eval.run_directory import SavedRun
from contextpull.eval.run_table import render_run
from contextpull.eval.running import (
    AgentRows,
    Settings,
    agent_rows,
    compared_with_best_push,
    full_report,
)
from contextpull.eval.runs import Outcome, Row, summarize
from contextpull.types import Question

_NOT_THE_RUN_S = frozenset({"replayed", "dollars"})
"""What says how the report was made, and prices, which change."""
_ROUNDING = 1e-9


class Replay(NamedTuple):
    """What a kept run comes to when it is scored anew."""

    report: dict[str, Any]
    table: str
    differences: tuple[str, ...]
    """The places in the report where it is not what was kept."""


def replay(run: SavedRun, ledger: Ledger, *, by_shape: bool = True) -> Replay:
    """Score the rankings of push rows and the transcripts of agents again.

    Without `by_shape` the table shows only figures over all questions.
    Raises EvaluationError where the folder lacks a transcript that the run was made of.
    """
    settings = Settings(**run.manifest["settings"])
    closed = _closed_gold(run)
    copies = closed.copies if closed else NO_COPIES
    agents = {
        name: _agent_rows(name, run, ledger, settings, copies) for name in run.report["agents"]
    }
    of_agents = [row for each in agents.values() for row in (each.read, each.surfaced)]
    push = [name for name in run.outcomes if name not in {row.name for row in of_agents}]
    rows = [*(_push_row(name, run, settings, copies) for name in push), *of_agents]
    records = {name: each.record for name, each in agents.items()}
    beside = compared_with_best_push(rows, push, settings)
    report = full_report(rows, records, beside, settings, closed)
    table = render_run(rows, records, beside, closed, run.manifest["model"], by_shape=by_shape)
    return Replay(report, table, tuple(_differences(run.report, report)))


def _closed_gold(run: SavedRun) -> ClosedGold | None:
    record = run.manifest.get("close_gold")
    if record is None:
        return None
    return ClosedGold(tuple(run.questions.values()), record["copies"], record["questions"])


def _push_row(name: str, run: SavedRun, settings: Settings, copies: Copies) -> Row:
    outcomes = [
        _outcome(question, run.outcomes[name][question.id], settings.k, copies)
        for question in run.questions.values()
    ]
    row = summarize(outcomes, name=name, k=settings.k, rounds=settings.rounds, seed=settings.seed)
    stats = next(each["stats"] for each in run.report["rows"] if each["row"] == name)
    return replace(row, stats=stats)


def _outcome(question: Question, kept: Mapping[str, Any], k: int, copies: Copies) -> Outcome:
    measures, ranking = at_cutoff(k), tuple(kept["ranking"])
    scores = score(as_one(ranking, copies), question.gold, measures)
    if kept["error"] is not None:
        scores = miss(measures)
    return Outcome(
        question,
        ranking,
        scores,
        hit=any(scores.values()),
        error=kept["error"],
        seconds=kept["seconds"],
        answer=kept["answer"],
        answer_error=kept["answer_error"],
    )


def _agent_rows(
    name: str, run: SavedRun, ledger: Ledger, settings: Settings, copies: Copies
) -> AgentRows:
    record = run.report["agents"][name]
    return agent_rows(
        list(_asked(name, run, ledger)),
        settings,
        name=name,
        fingerprint=record["fingerprint"],
        price=price_of(run.manifest["model"] or ""),
        copies=copies,
    )


def _asked(name: str, run: SavedRun, ledger: Ledger) -> Iterator[Asked]:
    why_not = run.report["agents"][name]["stopped"]
    for _, question, repeat, transcript in run.runs_of(name, ledger, run.questions.values()):
        if transcript is None and why_not is None:
            raise EvaluationError(
                f"The run in {str(run.folder)!r} lacks the transcript of {question.id!r} in the row"
                f" {name!r}, so it cannot be scored anew. Copy the folder whole, or run it again."
            )
        is_there = transcript is not None
        yield Asked(question, repeat, transcript, is_there, "" if is_there else why_not)


def _differences(kept: Any, made: Any, place: str = "") -> Iterator[str]:
    """Where two JSON values differ by more than rounding, by their places."""
    if isinstance(kept, dict) and isinstance(made, dict):
        for name in sorted({*kept, *made} - _NOT_THE_RUN_S):
            at = f"{place}.{name}" if place else name
            yield from _differences(kept.get(name), made.get(name), at)
    elif isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for number, pair in enumerate(zip(kept, made, strict=True)):
            yield from _differences(*pair, f"{place}[{number}]")
    elif not _is_same(kept, made):
        yield f"{place}: {kept} was kept, {made} is found"


def _is_same(kept: Any, made: Any) -> bool:
    if isinstance(kept, float) and isinstance(made, float):
        return isclose(kept, made, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    return bool(kept == made)
