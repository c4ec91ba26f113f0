"""What a run shows of pull beside push, in sentences that say no more than its figures do."""

from collections import Counter
from math import isfinite
from typing import NamedTuple

from contextpull.eval.report.changes import Changes
from contextpull.eval.report.figures import p_value, plain, signed, tokens, written
from contextpull.eval.report.model import ComparisonView, RowView, RunView


class Claim(NamedTuple):
    """The first sentence of a report, and what it rests on."""

    verdict: str
    """better, worse, none differs, cannot tell; empty where nothing is compared."""
    sentence: str
    support: tuple[str, ...]
    """Sentences."""


def claim_of(run: RunView) -> Claim:
    """What the run says of pull: by the agent's row with the best recall of what was read."""
    pulls = [row for row in run.rows if row.seen == "read"]
    if not pulls:
        return _without_pull(run)
    best = max(pulls, key=lambda row: row.overall.measures[run.measure].mean)
    compared = {each.row: each for each in run.comparisons}
    push = run.best_push
    if push is None or best.name not in compared:
        sentence = f"{_named(best)} reached {_recall(run, best)}, at {_cost(best)}."
        why = "No push row was measured: nothing is said of pull beside push."
        return Claim("", sentence, (why, *_failed(run)))
    found = compared[best.name]
    sentence = f"{_opening(found, best, push)}: {_beside(run, best, push)}, at {_cost(best)}."
    others = [compared[row.name] for row in pulls if row is not best]
    return Claim(found.verdict, sentence, (*_support(found), *_others(others), *_failed(run)))


def change_of(changed: Changes) -> str:
    """What became of the rows from one run to the next."""
    if changed.refused:
        return "The last two runs cannot be compared with each other."
    verdicts = Counter(row.comparison.verdict for row in changed.rows)
    rows = f"{len(changed.rows):,} row{'' if len(changed.rows) == 1 else 's'}"
    named = (
        f" {verdict.capitalize()}: {', '.join(_quoted(changed, verdict))}."
        for verdict in ("better", "worse")
        if verdicts[verdict]
    )
    return (
        f"“{changed.second.name}” beside “{changed.first.name}”: of {rows} that both have,"
        f" {_counted(verdicts)}.{''.join(named)}"
    )


def _quoted(changed: Changes, verdict: str) -> list[str]:
    return [f"“{row.name}”" for row in changed.rows if row.comparison.verdict == verdict]


def _without_pull(run: RunView) -> Claim:
    best = run.best_push or max(run.rows, key=lambda row: row.overall.measures[run.measure].mean)
    verdicts = Counter(each.verdict for each in run.comparisons)
    sentence = f"{_named(best)} has the best recall of the push rows: {_recall(run, best)}."
    if len(run.rows) == 1:
        sentence = f"{_named(best)} reached {_recall(run, best)}."
    counted = _counted(verdicts)
    others = len(run.comparisons)
    support = f"Of {others:,} other row{'' if others == 1 else 's'} {counted}." if counted else ""
    why = "No agent was asked: nothing is said of pull."
    return Claim("", sentence, (*([support] if support else []), why, *_failed(run)))


def _opening(found: ComparisonView, best: RowView, push: RowView) -> str:
    row, other = _named(best), _named(push)
    if found.verdict == "better":
        return f"{row} found more of the gold than the best push row, {other}"
    if found.verdict == "worse":
        return f"{row} found less of the gold than the best push row, {other}"
    if found.verdict == "none differs":
        return f"{row} scores as the best push row, {other}, on every question"
    return (
        f"{_questions(found.n)} cannot tell whether {row} finds more or less than the best push"
        f" row, {other}"
    )


def _questions(count: int) -> str:
    return "One question" if count == 1 else f"These {count:,} questions"


def _number_of(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"


def _beside(run: RunView, best: RowView, push: RowView) -> str:
    means = [row.overall.measures[run.measure].mean for row in (best, push)]
    return f"{run.measure} {plain(means[0])} against {plain(means[1])}"


def _recall(run: RunView, row: RowView) -> str:
    figure = row.overall.measures[run.measure]
    n = _number_of(row.overall.n)
    return f"{run.measure} {written(figure)} over {n}"


def _support(found: ComparisonView) -> tuple[str, ...]:
    difference = written(found.difference, signed)
    p = p_value(found.p_holm)
    equals = "" if p.startswith("<") else "= "
    test = (
        f"The difference is {difference} over {_number_of(found.n)}, p {equals}{p} after"
        " Holm's correction."
    )
    if found.verdict != "cannot tell":
        return (test,)
    if isfinite(found.detectable):
        seen = (
            f"So many questions show a difference of {plain(found.detectable)} in 80 of 100 cases"
        )
        return test, f"{seen}; a smaller one may be there all the same."
    return test, "So few questions could not have shown a difference."


def _others(found: list[ComparisonView]) -> tuple[str, ...]:
    """What the other agents' rows of what was read come to."""
    if not found:
        return ()
    verdicts = ", ".join(f"“{each.row}” {each.verdict}" for each in found)
    return (f"Beside the same push row: {verdicts}.",)


def _counted(verdicts: "Counter[str]") -> str:
    words = {
        "better": ("is better", "are better"),
        "worse": ("is worse", "are worse"),
        "none differs": ("does not differ", "do not differ"),
        "cannot tell": ("cannot be told apart", "cannot be told apart"),
    }
    return ", ".join(
        f"{verdicts[name]:,} {few if verdicts[name] == 1 else many}"
        for name, (few, many) in words.items()
        if verdicts[name]
    )


def _cost(row: RowView) -> str:
    cost = row.cost
    parts = [f"{tokens(cost.tokens.mean)} tokens" if isfinite(cost.tokens.mean) else ""]
    parts.append(f"${cost.dollars:.4f}" if isfinite(cost.dollars) else "")
    parts.append(f"{cost.seconds.mean:.1f} s")
    known = [each for each in parts if each]
    return f"{', '.join(known[:-1])} and {known[-1]} a question"


def _failed(run: RunView) -> tuple[str, ...]:
    """How often agents came to no answer."""
    rows = [row for row in run.rows if row.overall.errors and row.seen != "surfaced"]
    if not rows:
        return ()
    counted = ", ".join(
        f"{row.overall.errors:,} of {row.overall.n:,} in “{row.agent or row.name}”" for row in rows
    )
    return (f"Questions that failed count as misses: {counted}.",)


def _named(row: RowView) -> str:
    return f"“{row.name}”"
