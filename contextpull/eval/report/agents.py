"""How an agent went about its questions: figures, and one value a run behind each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextpull.eval.report.figures import interval
from contextpull.eval.run_directory import AgentRun, SavedRun
from contextpull.eval.statistics import Interval


@dataclass(frozen=True, slots=True)
class Distribution:
    """One value for each run of an agent."""

    name: str
    unit: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AgentView:
    """How an agent went about its questions."""

    name: str
    record: dict[str, Any]
    """The figures of `report.json`; see docs/runs.md."""
    answered_share: Interval
    distributions: tuple[Distribution, ...]


def agent_view(run: SavedRun, name: str, runs: Sequence[AgentRun]) -> AgentView:
    """An agent by its figures in the report and by what it did, run by run."""
    record = run.report["agents"][name]
    made = [each.transcript for each in runs if each.transcript]
    values: dict[tuple[str, str], list[float]] = {
        ("sections read", "sections"): [len(each.ids_read) for each in made],
        ("calls of tools", "calls"): [len(each.calls) for each in made],
        ("turns", "turns"): [len(each.turns) for each in made],
        ("tokens", "tokens"): [each.tokens.input + each.tokens.output for each in made],
        ("seconds", "s"): [each.seconds for each in made],
    }
    return AgentView(
        name=name,
        record=record,
        answered_share=interval(record["answered_share"]),
        distributions=tuple(
            Distribution(title, unit, tuple(found)) for (title, unit), found in values.items()
        ),
    )
