"""Rows of agents: one set of transcripts, scored by what was read and by what was shown."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

from contextpull.eval.asking import Asked
from contextpull.eval.behaviour import behaviour
from contextpull.eval.measures import (
    NO_COPIES,
    Copies,
    as_one,
    at_cutoff,
    distinct,
    miss,
    recall_at,
    score,
)
from contextpull.eval.runs import Outcome, Row, summarize
from contextpull.eval.statistics import ROUNDS
from contextpull.eval.transcripts import Transcript

Seen = Literal["read", "surfaced"]


def agent_row(
    asked: Sequence[Asked],
    seen: Seen,
    *,
    name: str,
    k: int,
    copies: Copies = NO_COPIES,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Row:
    """The row that these runs make, over the ids that were read or over those that were shown.

    A question that was not answered counts as a miss and is listed. With repeats a question's
    outcome is the mean of its runs; its ranking, and whether that is a hit, are the first run's.
    For `copies` see `evaluate`.
    """
    by_question: dict[str, list[Asked]] = {}
    for each in asked:
        by_question.setdefault(each.question.id, []).append(each)
    outcomes = [_outcome(runs, seen, k, copies) for runs in by_question.values()]
    return summarize(outcomes, name=name, k=k, rounds=rounds, seed=seed)


def agent_record(asked: Sequence[Asked], k: int, copies: Copies = NO_COPIES) -> dict[str, Any]:
    """How the agent behaved, as JSON-ready values; see `behaviour`.

    `leakage` is recall over what was shown, less recall over what was read. `flips` is the share
    of questions that some repeats hit and others miss, in each view; None without repeats.
    `stopped` says why `not_asked` were not asked; None where all were.
    """
    made = [(each.question.gold, each.transcript) for each in asked if each.transcript]
    shown = _mean(
        [recall_at(as_one(each.ids_surfaced[:k], copies), gold, k) for gold, each in made]
    )
    read = _mean([recall_at(as_one(each.ids_read[:k], copies), gold, k) for gold, each in made])
    return {
        **behaviour(each for _, each in made),
        "leakage": shown - read,
        "flips": {
            "read": _flips(asked, "read", k, copies),
            "surfaced": _flips(asked, "surfaced", k, copies),
        },
        "not_asked": sum(each.transcript is None for each in asked),
        "stopped": next((each.why_not for each in asked if each.why_not), None),
    }


def _outcome(runs: Sequence[Asked], seen: Seen, k: int, copies: Copies) -> Outcome:
    measures = at_cutoff(k)
    question = runs[0].question
    rankings = [_ranking(run.transcript, seen)[:k] for run in runs]
    reasons = [_reason(run) for run in runs]
    scores = [
        miss(measures) if reason else score(as_one(ranking, copies), question.gold, measures)
        for ranking, reason in zip(rankings, reasons, strict=True)
    ]
    return Outcome(
        question=question,
        ranking=rankings[0],
        scores={name: fmean(each[name] for each in scores) for name in scores[0]},
        hit=any(scores[0].values()),
        error=next((reason for reason in reasons if reason), None),
        seconds=_mean([run.transcript.seconds for run in runs if run.transcript]),
    )


def _ranking(transcript: Transcript | None, seen: Seen) -> tuple[str, ...]:
    """What counts as retrieved; nothing where there was no answer."""
    if transcript is None or not transcript.is_ok:
        return ()
    return distinct(transcript.ids_read if seen == "read" else transcript.ids_surfaced)


def _reason(run: Asked) -> str | None:
    """Why there is no answer; None where there is one."""
    transcript = run.transcript
    if transcript is None:
        return f"not asked: {run.why_not}"
    if transcript.is_ok:
        return None
    return ": ".join([transcript.outcome, *transcript.errors[:1]])


def _flips(asked: Sequence[Asked], seen: Seen, k: int, copies: Copies) -> float | None:
    hits: dict[str, list[bool]] = {}
    for each in asked:
        ranking = _ranking(each.transcript, seen)[:k]
        found = set(as_one(ranking, copies)) & set(each.question.gold)
        hits.setdefault(each.question.id, []).append(bool(found))
    if len(hits) == len(asked):
        return None
    return _mean([len(set(each)) > 1 for each in hits.values()])


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
