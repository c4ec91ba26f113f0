"""Several runs in one report: what the last changed, and how figures went from run to run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from contextpull.errors import EvaluationError
from contextpull.eval.comparing_runs import compare_runs, compared_report
from contextpull.eval.report.model import ComparisonView, RunView, comparison_view
from contextpull.eval.run_directory import SavedRun
from contextpull.eval.statistics import Interval


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that two runs have."""

    name: str
    first: float
    """Recall in the first run."""
    second: float
    comparison: ComparisonView
    """The second run less the first."""
    won: tuple[str, ...]
    """Ids of the questions that the second run does better."""
    lost: tuple[str, ...]

    @property
    def is_moved(self) -> bool:
        """Whether any question was won or lost."""
        return bool(self.won or self.lost)


@dataclass(frozen=True, slots=True)
class Changes:
    """The last run beside the one before."""

    first: RunView
    second: RunView
    refused: str
    """Why they cannot be compared; empty where they are."""
    corpora_differ: bool
    settings: tuple[tuple[str, Any, Any], ...]
    """What differs, with both values."""
    rows: tuple[ChangedRow, ...]
    by_shape: tuple[ComparisonView, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def moves(self) -> int:
        """How many questions were won and lost, over all rows."""
        return sum(len(row.won) + len(row.lost) for row in self.rows)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A run among others."""

    run: RunView
    recalls: dict[str, Interval]
    """By row, without those that the run lacks."""
    unlike_last: tuple[str, ...]
    """What it has other than the last run: questions, k, corpus."""


@lru_cache(maxsize=1)  # a page and the files beside it tell of the same two
def changes(first: RunView, second: RunView) -> Changes:
    """Compare two runs with the settings of the second; see `compare_runs`."""
    settings = second.provenance
    try:
        compared = compare_runs(
            _named(first),
            _named(second),
            rounds=settings.rounds,
            seed=settings.seed,
            across_corpora=True,
        )
    except EvaluationError as error:
        return Changes(first, second, str(error), False, (), (), (), (), ())
    report = compared_report(compared)
    return Changes(
        first,
        second,
        refused="",
        corpora_differ=first.provenance.corpus != settings.corpus,
        settings=tuple(
            (name, *values) for name, values in compared.changed.items() if name != "has_text"
        ),
        rows=tuple(_row(each, compared.measure) for each in report["rows"]),
        by_shape=tuple(_comparison(each, compared.measure) for each in report["shapes"]),
        only_first=tuple(compared.only_first),
        only_second=tuple(compared.only_second),
    )


def _named(run: RunView) -> SavedRun:
    """The run under its name: a page tells no folders of the machine that drew it."""
    return run.saved._replace(folder=Path(run.name))


def history(runs: Sequence[RunView]) -> tuple[tuple[str, ...], tuple[HistoryLine, ...]]:
    """The names of all rows, those of the last run first, and their recall in each run."""
    last = runs[-1]
    names = tuple(dict.fromkeys(row.name for run in reversed(runs) for row in run.rows))
    lines = []
    for run in runs:
        recalls = {row.name: row.overall.measures[run.measure] for row in run.rows}
        lines.append(HistoryLine(run, recalls, tuple(_unlike(run, last))))
    return names, tuple(lines)


def _unlike(run: RunView, last: RunView) -> Iterator[str]:
    for name in ("questions", "k", "corpus"):
        if getattr(run.provenance, name) != getattr(last.provenance, name):
            yield name


def _row(record: dict[str, Any], measure: str) -> ChangedRow:
    return ChangedRow(
        record["row"],
        record["first"],
        record["second"],
        _comparison(record, measure),
        tuple(record["won"]),
        tuple(record["lost"]),
    )


def _comparison(record: dict[str, Any], measure: str) -> ComparisonView:
    return comparison_view(record, "the run before", measure)
