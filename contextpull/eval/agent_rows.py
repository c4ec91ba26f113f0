"""Rows of agents: one set of transcripts, scored by what was read and by what was shown."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

from contextpull.eval.asking import Asked
from contextpull.eval.behaviour import behaviour
from contextpull.eval.measures import at_cutoff, distinct, miss, recall_at, score
from contextpull.eval.runs import Outcome, Row, summarize
from contextpull.eval.statistics import ROUNDS
from contextpull.eval.transcripts import Transcript

Seen = Literal["read", "surfaced"]


def agent_row(
    asked: Sequence[Asked], seen: Seen, *, name: str, k: int, rounds: int = ROUNDS, seed: int = 0
) -> Row:
    """The row that these runs make, over the ids that were read or over those that were shown.

    A question that was not answered counts as a miss and is listed. With repeats a question's
    outcome is the mean of its runs, and its ranking that of the first.
    """
    by_question: dict[str, list[Asked]] = {}
    for each in asked:
        by_question.setdefault(each.question.id, []).append(each)
    outcomes = [_outcome(runs, seen, k) for runs in by_question.values()]
    return summarize(outcomes, name=name, k=k, rounds=rounds, seed=seed)


def agent_record(asked: Sequence[Asked], k: int) -> dict[str, Any]:
    """How the agent behaved, as JSON-ready values; see `behaviour`.

    `leakage` is recall over what was shown, less recall over what was read. `flips` is the share
    of questions that some repeats hit and others miss, in each view; None without repeats.
    """
    made = [(each.question.gold, each.transcript) for each in asked if each.transcript]
    shown = _mean([recall_at(each.ids_surfaced, gold, k) for gold, each in made])
    read = _mean([recall_at(each.ids_read, gold, k) for gold, each in made])
    return {
        **behaviour(each for _, each in made),
        "leakage": shown - read,
        "flips": {"read": _flips(asked, "read", k), "surfaced": _flips(asked, "surfaced", k)},
        "not_asked": sum(each.transcript is None for each in asked),
    }


def _outcome(runs: Sequence[Asked], seen: Seen, k: int) -> Outcome:
    measures = at_cutoff(k)
    question = runs[0].question
    rankings = [_ranking(run.transcript, seen)[:k] for run in runs]
    reasons = [_reason(run.transcript) for run in runs]
    scores = [
        miss(measures) if reason else score(ranking, question.gold, measures)
        for ranking, reason in zip(rankings, reasons, strict=True)
    ]
    return Outcome(
        question=question,
        ranking=rankings[0],
        scores={name: fmean(each[name] for each in scores) for name in scores[0]},
        error=next((reason for reason in reasons if reason), None),
        seconds=_mean([run.transcript.seconds for run in runs if run.transcript]),
    )


def _ranking(transcript: Transcript | None, seen: Seen) -> tuple[str, ...]:
    """What counts as retrieved; nothing where there was no answer."""
    if transcript is None or not transcript.is_ok:
        return ()
    return distinct(transcript.ids_read if seen == "read" else transcript.ids_surfaced)


def _reason(transcript: Transcript | None) -> str | None:
    """Why there is no answer; None where there is one."""
    if transcript is None:
        return "not asked: the budget was spent"
    if transcript.is_ok:
        return None
    return ": ".join([transcript.outcome, *transcript.errors[:1]])


def _flips(asked: Sequence[Asked], seen: Seen, k: int) -> float | None:
    hits: dict[str, list[bool]] = {}
    for each in asked:
        found = set(_ranking(each.transcript, seen)[:k]) & set(each.question.gold)
        hits.setdefault(each.question.id, []).append(bool(found))
    if len(hits) == len(asked):
        return None
    return _mean([len(set(each)) > 1 for each in hits.values()])


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
