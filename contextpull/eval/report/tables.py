"""Every table of a report as plain values."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from contextpull.eval.report.model import ComparisonView, RunView, Summary
from contextpull.eval.statistics import Interval

Kind = Literal["text", "count", "figure", "p", "interval", "difference", "counts"]
"""How the values of a column are written; the last three are intervals: of figures, of signed
ones, of counts."""
INTERVALS = frozenset({"interval", "difference", "counts"})
Cell = str | int | float | Interval | None
"""None, and a number that is none (nan), where there is nothing to say."""


class Column(NamedTuple):
    """The head of a column."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """One table; every line has a cell for each column."""

    name: str
    """Short, and good for a file's name."""
    title: str
    columns: tuple[Column, ...]
    lines: tuple[tuple[Cell, ...], ...]


def tables_of(views: Sequence[RunView]) -> tuple[Table, ...]:
    """All tables of these runs; the first column of each says which run a line is of."""
    measures = _measures_of(views)
    rows = list(dict.fromkeys(row.name for view in views for row in view.rows))
    return (
        Table(
            "rows",
            "Rows",
            (_RUN, *_ROW, *_summary_columns(measures), *_COST),
            _lines(views, partial(_row_lines, measures=measures)),
        ),
        Table(
            "shapes",
            "By shape",
            (_RUN, Column("row", "text"), Column("shape", "text"), *_summary_columns(measures)),
            _lines(views, partial(_shapes, measures=measures)),
        ),
        Table(
            "comparisons",
            "Beside the best push row",
            (_RUN, *_COMPARISON),
            _lines(views, _comparisons),
        ),
        Table("hits", "Hits beside the best push row", (_RUN, *_HITS), _lines(views, _hits)),
        Table("behaviour", "Behaviour", (_RUN, *_BEHAVIOUR), _lines(views, _behaviour)),
        Table("judgements", "Judgements", (_RUN, *_JUDGED), _lines(views, _judged)),
        Table(
            "questions",
            "Questions",
            (_RUN, *_QUESTION, *(Column(f"recall: {each}", "figure") for each in rows)),
            _lines(views, partial(_questions, rows=rows)),
        ),
    )


def results_of(views: Sequence[RunView]) -> Table:
    """What each row returned for each question, one a line: too long for anything but a program."""
    measures = _measures_of(views)
    return Table(
        "results",
        "Results",
        (
            _RUN,
            Column("question", "text"),
            Column("row", "text"),
            Column("hit", "text"),
            *(Column(each, "figure") for each in measures),
            Column("seconds", "figure"),
            Column("error", "text"),
            Column("ranking", "text"),
        ),
        _lines(views, partial(_results, measures=measures)),
    )


_RUN = Column("run", "text")
_ROW = (Column("row", "text"), Column("kind", "text"), Column("best push", "text"))
_COST = (
    Column("tokens a question", "counts"),
    Column("tokens sent a question", "count"),
    Column("tokens cached a question", "count"),
    Column("tokens written a question", "count"),
    Column("dollars a question", "figure"),
    Column("seconds a question", "interval"),
)
_COMPARISON = (
    Column("row", "text"),
    Column("baseline", "text"),
    Column("shape", "text"),
    Column("measure", "text"),
    Column("n", "count"),
    Column("difference", "difference"),
    Column("p", "p"),
    Column("p holm", "p"),
    Column("verdict", "text"),
    Column("detectable", "figure"),
)
_HITS = (
    Column("row", "text"),
    Column("baseline", "text"),
    Column("gained", "count"),
    Column("lost", "count"),
    Column("p", "p"),
    Column("p holm", "p"),
)
_BEHAVIOUR = (Column("agent", "text"), Column("figure", "text"), Column("value", "figure"))
_JUDGED = (
    Column("judge", "text"),
    Column("agent", "text"),
    Column("measure", "text"),
    Column("judged", "count"),
    Column("undefined", "count"),
    Column("mean", "interval"),
)
_QUESTION = (
    Column("question", "text"),
    Column("shape", "text"),
    Column("text", "text"),
    Column("gold", "text"),
    Column("answer", "text"),
    Column("source", "text"),
)


_Lines = Iterator[tuple[Cell, ...]]


def _lines(
    views: Sequence[RunView], lines_of: Callable[[RunView], _Lines]
) -> tuple[tuple[Cell, ...], ...]:
    """The lines of all runs, each behind the name of its run."""
    named = zip(_names(views), views, strict=True)
    return tuple((name, *line) for name, view in named for line in lines_of(view))


def _names(views: Sequence[RunView]) -> list[str]:
    """What the runs are called: by their folders' names, by the whole path where two share one."""
    counted = Counter(view.name for view in views)
    return [view.name if counted[view.name] == 1 else str(view.folder) for view in views]


def _measures_of(views: Sequence[RunView]) -> list[str]:
    """The measures of all runs, each once."""
    found = (view.rows[0].overall.measures for view in views if view.rows)
    return list(dict.fromkeys(name for measures in found for name in measures))


def _summary_columns(measures: Sequence[str]) -> tuple[Column, ...]:
    of_measures = (Column(each, "interval") for each in measures)
    counted = (Column("n", "count"), Column("errors", "count"))
    return (*counted, *of_measures, Column("hits", "count"), Column("hit share", "interval"))


def _summary(summary: Summary, measures: Sequence[str]) -> tuple[Cell, ...]:
    found = (summary.measures.get(each) for each in measures)
    return (summary.n, summary.errors, *found, summary.hits, summary.hit)


def _row_lines(view: RunView, measures: Sequence[str]) -> _Lines:
    for row in view.rows:
        cost = row.cost
        yield (
            row.name,
            "pull" if row.is_pull else "push or own",
            "yes" if row.is_best_push else "no",
            *_summary(row.overall, measures),
            cost.tokens,
            cost.tokens_in,
            cost.tokens_cached,
            cost.tokens_out,
            cost.dollars,
            cost.seconds,
        )


def _shapes(view: RunView, measures: Sequence[str]) -> _Lines:
    for row in view.rows:
        for shape, summary in row.shapes.items():
            yield (row.name, shape, *_summary(summary, measures))


def _comparisons(view: RunView) -> _Lines:
    for each in (*view.comparisons, *view.comparisons_by_shape):
        yield _comparison(each)


def _comparison(each: ComparisonView) -> tuple[Cell, ...]:
    return (
        each.row,
        each.baseline,
        each.shape or "all",
        each.measure,
        each.n,
        each.difference,
        each.p,
        each.p_holm,
        each.verdict,
        each.detectable,
    )


def _hits(view: RunView) -> _Lines:
    for each in view.hits:
        yield each.row, each.baseline, each.gained, each.lost, each.p, each.p_holm


def _behaviour(view: RunView) -> _Lines:
    for agent in view.agents:
        for figure, value in _leaves("", agent.record):
            yield agent.name, figure, value


def _leaves(place: str, record: Mapping[str, Any]) -> Iterator[tuple[str, Cell]]:
    """The values of a record under `outer.inner`, as docs/runs.md names them."""
    for name, value in record.items():
        at = f"{place}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(f"{at}.", value)
        else:
            yield at, value


def _judged(view: RunView) -> _Lines:
    for each in view.judged:
        yield each.judge, each.agent, each.measure, each.judged, each.undefined, each.mean


def _questions(view: RunView, rows: Sequence[str]) -> _Lines:
    at = {row.name: number for number, row in enumerate(view.rows)}
    for each in view.questions:
        recalls = (
            each.results[at[row]].scores.get(view.measure) if row in at else None for row in rows
        )
        facts = (each.id, each.shape, each.text, _listed(each.gold), each.answer, each.source)
        yield (*facts, *recalls)


def _results(view: RunView, measures: Sequence[str]) -> _Lines:
    for question in view.questions:
        for row, each in zip(view.rows, question.results, strict=True):
            yield (
                question.id,
                row.name,
                "yes" if each.hit else "no",
                *(each.scores.get(measure) for measure in measures),
                each.seconds,
                each.error,
                _listed(each.ranking),
            )


def _listed(ids: Sequence[str]) -> str:
    """Ids as a list that programs read: a path may hold any character."""
    return json.dumps(list(ids), ensure_ascii=False)
