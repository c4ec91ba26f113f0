"""Rows as plain text for a terminal of 100 columns."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from rich.cells import cell_len

from contextpull.eval.comparing import Comparison
from contextpull.eval.families import Compared
from contextpull.eval.runs import Outcome, Row, Summary, check_comparable
from contextpull.eval.statistics import LEVEL, Interval

_NAME_COLUMNS = 20
_FAILURES_SHOWN = 5
_ERROR_CHARS = 70
UNDEFINED = "-"
COMPARISON_HEADS = ("difference", "p", "p (Holm)", "detectable")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table before it is aligned."""

    name: str
    cells: tuple[str, ...]


def render_table(rows: Sequence[Row], *, by_shape: bool = True) -> str:
    """The rows, each with its shapes indented under it, and the notes that explain them.

    Without `by_shape` the shapes are left out.

    Every line but a long name fits 100 columns for up to 9,999 questions; a name that is too
    long for its column stands alone above its figures. Raises `EvaluationError` for rows of
    different k or questions. Ends with a line feed.
    """
    if not rows:
        return "No rows.\n"
    check_comparable(rows, rows[0].k)
    lines = [Line("row", ("n", *rows[0].overall.measures, "errors"))]
    for row in rows:
        lines.append(_line(row.name, row.overall))
        if by_shape:
            lines += [_line(f"  {shape}", each) for shape, each in row.shapes.items()]
    first_and_last = (0, len(lines[0].cells) - 1)
    return "\n".join([*aligned(lines, first_and_last), "", *_notes(rows)]) + "\n"


def _line(name: str, summary: Summary) -> Line:
    figures = [figure(each) for each in summary.measures.values()]
    return Line(printable(name), (str(summary.n), *figures, str(summary.errors)))


def figure(interval: Interval) -> str:
    """A mean with its interval; dashes for what is undefined."""
    if not isfinite(interval.mean):
        return UNDEFINED
    bounds = f"{interval.low:.3f}, {interval.high:.3f}" if isfinite(interval.low) else UNDEFINED
    return f"{interval.mean:.3f} [{bounds}]"


def comparison_cells(comparison: Comparison, p_holm: float) -> tuple[str, ...]:
    """How two rows differ, under `COMPARISON_HEADS`; dashes for what is undefined."""
    sure = isfinite(comparison.detectable)
    return (
        _difference(comparison.difference),
        p_value(comparison.p),
        p_value(p_holm),
        f"{comparison.detectable:.3f}" if sure else UNDEFINED,
    )


def compared_rows(overall: Sequence[Compared], shapes: Sequence[Compared]) -> Iterable[str]:
    """A table of comparisons, one row each with its shapes indented under it."""
    heads = ("n", "difference", "p", "p (Holm)", "verdict", "detectable")
    lines = [Line("row", heads)]
    for row in overall:
        lines.append(_compared(row.row, row))
        lines += [_compared(f"  {each.shape}", each) for each in shapes if each.row == row.row]
    yield from aligned(lines, (0, 2, 3, 5))


def _compared(name: str, compared: Compared) -> Line:
    difference, p, p_holm, detectable = comparison_cells(compared.comparison, compared.p_holm)
    shown = UNDEFINED if detectable == UNDEFINED else f"from {detectable} on"
    cells = (str(compared.comparison.n), difference, p, p_holm, compared.verdict, shown)
    return Line(printable(name), cells)


def comparison_notes(unit: str) -> Iterable[str]:
    """What the columns of `compared_rows` mean; `unit` is what the test flips and draws."""
    yield f"p: two-sided sign-flip permutation test over {unit}. Holm: corrected for the number of"
    yield "comparisons over all questions, and for those by shape."
    yield "cannot tell: not significant at 5%, which is no sign that rows are alike. detectable:"
    yield f"what 80 of 100 such samples would show, uncorrected; {UNDEFINED}: too few to say."


def unit_of(questions: int, clusters: int) -> str:
    """What is drawn: documents where questions share them."""
    return "questions" if clusters == questions else "documents"


def _difference(interval: Interval) -> str:
    if not isfinite(interval.low):
        return f"{interval.mean:+.3f} [{UNDEFINED}]"
    return f"{interval.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def p_value(p: float) -> str:
    """A p-value with three decimals; smaller ones are only said to be so."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def aligned(lines: Sequence[Line], right: Collection[int]) -> Iterable[str]:
    """The lines with their columns below each other; the cells numbered in `right` to the right.

    A name that is too long for its column stands alone above its cells.
    """
    name_width = min(_NAME_COLUMNS, max(cell_len(line.name) for line in lines))
    widths = [
        max(map(cell_len, column)) for column in zip(*(line.cells for line in lines), strict=True)
    ]
    for line in lines:
        name = line.name
        if cell_len(name) > name_width:
            yield name
            name = ""
        cells = [name + " " * (name_width - cell_len(name))]
        for at, (cell, width) in enumerate(zip(line.cells, widths, strict=True)):
            room = " " * (width - cell_len(cell))
            cells.append(room + cell if at in right else cell + room)
        yield "  ".join(cells)


def _notes(rows: Sequence[Row]) -> Iterable[str]:
    """What the figures mean, then which questions failed."""
    first = rows[0]
    hit = list(first.overall.measures)[-1]
    unit = unit_of(first.overall.n, first.clusters)
    yield (
        f"[low, high]: {LEVEL:.0%} interval, bootstrap over {first.clusters:,} {unit}, "
        f"{first.rounds:,} rounds, seed {first.seed}."
    )
    yield f"{hit}: mean over the questions with a hit. {UNDEFINED}: too few questions to say."
    if not any(row.failures for row in rows):
        yield "No question failed."
    for _, alike in groupby(rows, lambda row: [(f.question.id, f.error) for f in row.failures]):
        failed = list(alike)
        yield from failure_notes(" and ".join(row.name for row in failed), failed[0].failures)
    for row in rows:
        yield from _own_notes(row)


def _own_notes(row: Row) -> Iterable[str]:
    """What a retriever of the user's counted, and how many answers are missing."""
    if row.unanswered:
        first = row.unanswered[0]
        why = f"{first.question.id}: {first.answer_error}"
        yield printable(f"{row.name}: {len(row.unanswered)} answers failed, the first of {why}")
    if row.stats:
        counted = ", ".join(f"{name} {value}" for name, value in row.stats.items())
        yield printable(f"{row.name} counted: {counted}.")


def failure_notes(name: str, failures: Sequence[Outcome]) -> Iterable[str]:
    """The first questions that failed in what `name` says, and how many; nothing without any."""
    if not failures:
        return
    noun = "question, counted as a miss" if len(failures) == 1 else "questions, counted as misses"
    yield f"{printable(name)}: {len(failures)} failed {noun}:"
    yield from (f"  {_failure(each)}" for each in failures[:_FAILURES_SHOWN])
    if len(failures) > _FAILURES_SHOWN:
        yield f"  and {len(failures) - _FAILURES_SHOWN} more (all with --json)"


def _failure(outcome: Outcome) -> str:
    error = outcome.error or ""
    cut = error if len(error) <= _ERROR_CHARS else f"{error[:_ERROR_CHARS]}…"
    return printable(f"{outcome.question.id}: {cut}")


def printable(text: str) -> str:
    """Names come from files: nothing in them may steer the terminal."""
    return "".join(each if each.isprintable() else "�" for each in text)
