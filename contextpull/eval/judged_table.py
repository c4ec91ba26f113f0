"""Rows over judged collections as plain text for a terminal of 100 columns."""

from contextpull.eval.judged import COMPARED, Block, Compared, JudgedRun
from contextpull.eval.measures import JUDGED
from contextpull.eval.runs import Row
from contextpull.eval.statistics import LEVEL, Interval
from contextpull.eval.table import (
    COMPARISON_HEADS,
    Line,
    aligned,
    comparison_cells,
    failure_notes,
    figure,
    printable,
)

_BARE = [measure.name for measure in JUDGED[1:]]
"""The measures that stand in the table without their intervals, which --json has."""
_NUMBERS = (0, 2, 3, 4, 5, 6)
"""The columns that hold single numbers."""
_COMPARISON_NOTES = (
    "p: two-sided sign-flip permutation test over queries; Holm: corrected for the number of",
    "comparisons; detectable: the smallest difference that 80 of 100 such samples would show.",
)


def render_judged(run: JudgedRun) -> str:
    """One block a collection, then the means over them, the comparisons, and the notes.

    Ends with a line feed.
    """
    parts = [_block(block) for block in run.blocks]
    if run.means:
        parts.append(_means(run))
    if run.comparisons:
        parts.append(_comparisons(run))
    parts.append(_notes(run))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _block(block: Block) -> list[str]:
    collection = block.collection
    title = (
        f"{printable(collection.name)}: {len(collection.documents):,} documents, "
        f"{len(collection.queries):,} queries, {printable(collection.split)}"
    )
    head = Line("row", ("n", COMPARED, *_BARE, "ms/query", "errors"))
    lines = [head, *(_row_line(row) for row in block.rows)]
    notes = [f"  {note}" for note in collection.notes]
    return [title, *aligned(lines, _NUMBERS), *notes]


def _row_line(row: Row) -> Line:
    summary = row.overall
    cells = (str(summary.n), *_figures(summary.measures), f"{1_000 * row.median_seconds:8.1f}")
    return Line(printable(row.name), (*cells, str(summary.errors)))


def _figures(measures: dict[str, Interval]) -> list[str]:
    return [figure(measures[COMPARED]), *(f"{measures[name].mean:.3f}" for name in _BARE)]


def _means(run: JudgedRun) -> list[str]:
    lines = [Line("row", (COMPARED, *_BARE))]
    for name, measures in run.means.items():
        lines.append(Line(printable(name), tuple(_figures(measures))))
    title = f"mean over {len(run.blocks)} collections, each of which weighs the same"
    return [title, *aligned(lines, range(1, len(JUDGED)))]


def _comparisons(run: JudgedRun) -> list[str]:
    lines = [Line("collection", ("row", *COMPARISON_HEADS))]
    lines += [_compared_line(each, len(run.blocks)) for each in run.comparisons]
    title = f"{COMPARED} beside the row {printable(run.baseline)}"
    return [title, *aligned(lines, (2, 3, 4))]


def _compared_line(compared: Compared, blocks: int) -> Line:
    name = compared.collection or f"mean over {blocks}"
    cells = comparison_cells(compared.comparison, compared.p_holm)
    return Line(printable(name), (printable(compared.row), *cells))


def _notes(run: JudgedRun) -> list[str]:
    """What the figures mean, then which queries failed."""
    notes = [
        f"[low, high]: {LEVEL:.0%} interval, bootstrap over queries, {run.rounds:,} rounds, "
        f"seed {run.seed}.",
    ]
    if run.comparisons:
        notes += _COMPARISON_NOTES
    if not run.failed:
        notes.append("No query failed.")
    for block in run.blocks:
        for row in block.rows:
            name = f"{block.collection.name}, {row.name}"
            notes += failure_notes(name, row.failures)
    return notes
