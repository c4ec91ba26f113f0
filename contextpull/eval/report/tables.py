"""Every table of a report as plain values."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from contextpull.eval.report.cells import Cell, Column, Table
from contextpull.eval.report.changes import ChangedRow, Changes, changes
from contextpull.eval.report.model import ComparisonView, RunView, Summary


def tables_of(views: Sequence[RunView]) -> tuple[Table, ...]:
    """All tables of these runs; the first column of each says which run a line is of.

    Of several runs also what the last changed, beside the one before; without a line where these
    two cannot be compared.
    """
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
        *(_changed_tables(views) if len(views) > 1 else ()),
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
    Column("dollars a question", "fine"),
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


_BEFORE = Column("run before", "text")
_CHANGED = (
    _RUN,
    _BEFORE,
    Column("row", "text"),
    Column("shape", "text"),
    Column("measure", "text"),
    Column("n", "count"),
    Column("before", "figure"),
    Column("now", "figure"),
    *_COMPARISON[5:],
    Column("won", "text"),
    Column("lost", "text"),
)
_SETTINGS = (
    _RUN,
    _BEFORE,
    Column("setting", "text"),
    Column("before", "text"),
    Column("now", "text"),
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


def _changed_tables(views: Sequence[RunView]) -> tuple[Table, ...]:
    before, run = _names(views)[-2:]
    changed = changes(*views[-2:])
    rows = (_changed(each.comparison, each) for each in changed.rows)
    shapes = (_changed(each, None) for each in changed.by_shape)
    return (
        Table(
            "changes",
            "Beside the run before",
            _CHANGED,
            tuple((run, before, *line) for line in (*rows, *shapes)),
        ),
        Table(
            "settings",
            "Settings that differ from the run before",
            _SETTINGS,
            tuple((run, before, *line) for line in _settings(changed)),
        ),
    )


def _changed(each: ComparisonView, row: ChangedRow | None) -> tuple[Cell, ...]:
    """The line of a row, or without one of a shape, whose questions are not listed again."""
    name, _, shape, measure, n, *compared = _comparison(each)
    means = (row.first, row.second) if row else (None, None)
    listed = (_listed(row.won), _listed(row.lost)) if row else ("", "")
    return (name, shape, measure, n, *means, *compared, *listed)


def _settings(changed: Changes) -> _Lines:
    for name, old, new in changed.settings:
        yield name, *("" if each is None else str(each) for each in (old, new))


def _listed(ids: Sequence[str]) -> str:
    """Ids as a list that programs read: a path may hold any character."""
    return json.dumps(list(ids), ensure_ascii=False)
