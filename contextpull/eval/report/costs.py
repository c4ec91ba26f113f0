"""What one question of a row costs: tokens, dollars, seconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from statistics import fmean
from typing import Any

from contextpull.adapters.custom import names_retriever
from contextpull.eval.report.figures import mean_over_documents, number
from contextpull.eval.run_directory import AgentRun, SavedRun
from contextpull.eval.statistics import Interval


@dataclass(frozen=True, slots=True)
class Cost:
    """Means a question, with 95% intervals over documents; nan where unknown.

    A push row asks no model while it searches, so its tokens are 0: what a prompt with its k
    sections costs afterwards is not in a run. Tokens of an agent are its whole conversation.
    """

    tokens: Interval
    """Sent and written."""
    tokens_in: float
    """Sent, cached ones included."""
    tokens_cached: float
    tokens_out: float
    dollars: float
    """nan where no price is known."""
    seconds: Interval


def agent_cost(run: SavedRun, agent: str, made: Iterable[AgentRun]) -> Cost:
    """The cost of an agent by its transcripts; with repeats the mean of a question's runs.

    It is that of both its rows.
    """
    record = run.report["agents"][agent]
    spent: dict[str, list[int]] = {}
    for each in made:
        if each.transcript:
            tokens = each.transcript.tokens
            spent.setdefault(each.question.id, []).append(tokens.input + tokens.output)
    asked = record["queries"]
    return Cost(
        tokens=_interval(run, {name: fmean(values) for name, values in spent.items()}),
        tokens_in=_share(record["tokens_in"], asked),
        tokens_cached=_share(record["tokens_cached"], asked),
        tokens_out=_share(record["tokens_out"], asked),
        dollars=_share(record["dollars"], asked),
        seconds=_seconds(run, f"{agent}, read"),
    )


def row_cost(run: SavedRun, row: str, stats: Mapping[str, Any]) -> Cost:
    """The cost of a row without transcripts.

    Push rows of ours ask no model; of a retriever of the user's is known what it counted itself.
    """
    asked = stats.get("queries") or len(run.questions)
    unknown = nan if names_retriever(row) else 0.0
    sent, written, dollars = (
        _share(stats[name], asked) if name in stats else unknown
        for name in ("tokens_in", "tokens_out", "usd")
    )
    return Cost(
        tokens=Interval(sent + written, nan, nan),
        tokens_in=sent,
        tokens_cached=unknown,
        tokens_out=written,
        dollars=dollars,
        seconds=_seconds(run, row),
    )


def _share(total: float | None, asked: float) -> float:
    return number(total) / asked if asked else nan


def _seconds(run: SavedRun, row: str) -> Interval:
    outcomes = run.outcomes[row]
    return _interval(run, {name: each["seconds"] for name, each in outcomes.items()})


def _interval(run: SavedRun, values: Mapping[str, float]) -> Interval:
    return mean_over_documents(run, list(values), list(values.values()))
