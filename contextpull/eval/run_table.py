"""A run as plain text for a terminal: the rows, how agents behaved, what beats the best push."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contextpull.eval.closing import ClosedGold, closing_note
from contextpull.eval.families import ComparedHits
from contextpull.eval.running import BesideBestPush
from contextpull.eval.runs import Row
from contextpull.eval.statistics import LEVEL, Interval, wilson_interval
from contextpull.eval.table import (
    UNDEFINED,
    Line,
    aligned,
    compared_rows,
    comparison_notes,
    figure,
    p_value,
    printable,
    render_table,
    unit_of,
)

_THOUSAND = 1_000


def render_run(
    rows: Sequence[Row],
    agents: Mapping[str, Mapping[str, Any]],
    beside: BesideBestPush | None,
    closed: ClosedGold | None = None,
    model: str | None = None,
    *,
    by_shape: bool = True,
) -> str:
    """The rows, then every row beside the best push row, then hits, then a line an agent.

    `model` is what the agents ask. Without `by_shape` only figures over all questions are shown.
    """
    parts = [render_table(rows, by_shape=by_shape)]
    if closed:
        parts[0] += closing_note(closed) + "\n"
    if beside and beside.overall:
        parts.append(_block(_beside(beside, rows[0], by_shape)))
    parts.append(_block(_hits(rows, beside)))
    if agents:
        parts.append(_block(_agents(agents, model)))
    return "\n".join(parts)


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _agents(agents: Mapping[str, Mapping[str, Any]], model: str | None) -> Iterable[str]:
    if model:
        yield f"agents ask the model {printable(model)}"
    heads = ("asked", "answered", "reads", "unread", "leakage", "calls", "tokens", "s", "$")
    lines = [Line("agent", heads)]
    lines += [Line(printable(name), _agent_cells(record)) for name, record in agents.items()]
    yield from aligned(lines, range(len(heads)))
    yield ""
    for name, record in agents.items():
        share = figure(Interval(**record["answered_share"]))
        yield f"{printable(name)}: {share} of the questions answered when first asked (Wilson)."
    yield from _repeats({name: record["flips"] for name, record in agents.items()})
    yield "reads: sections read a question; unread: answers given without reading; leakage: recall"
    yield "of what was shown less that of what was read; calls, tokens (sent and written) and"
    yield f"seconds a question; $: all questions, {UNDEFINED} where the price is unknown."


def _repeats(flips: Mapping[str, Mapping[str, float | None]]) -> Iterable[str]:
    """What asking the same questions again showed; nothing where each was asked once."""
    repeated = {name: each for name, each in flips.items() if each["read"] is not None}
    for name, each in repeated.items():
        read = f"{each['read']:.3f} of the questions flip by what was read"
        yield f"{printable(name)}: {read}, {each['surfaced']:.3f} by what was surfaced."
    if repeated:
        yield "flip: some runs of a question hit any gold, others none. A question counts with the"
        yield "mean of its runs, in hits with its first, and as failed where one of them failed."


def _agent_cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    asked = record["queries"] or 1
    tokens = (record["tokens_in"] + record["tokens_out"]) / asked
    dollars = record["dollars"]
    return (
        str(record["queries"]),
        str(record["answered"]),
        f"{record['reads_per_query']:.2f}",
        str(record["answered_without_reading"]),
        f"{record['leakage']:.3f}",
        f"{record['tool_calls'] / asked:.1f}",
        f"{tokens / _THOUSAND:.1f}k",
        f"{record['seconds'] / asked:.1f}",
        "-" if dollars is None else f"{dollars:.2f}",
    )


def _beside(beside: BesideBestPush, first: Row, by_shape: bool) -> Iterable[str]:
    yield f"{beside.measure} beside the best push row, {printable(beside.baseline)}"
    yield from compared_rows(beside.overall, beside.shapes if by_shape else ())
    yield ""
    yield from comparison_notes(unit_of(first.overall.n, first.clusters))


def _hits(rows: Sequence[Row], beside: BesideBestPush | None) -> Iterable[str]:
    """How many questions each row answers with any gold, and which the best push row does not."""
    compared = {each.row: each for each in beside.hits} if beside else {}
    heads = ("hits", "of", "share")
    lines = [Line("row", (*heads, "gained", "lost", "p", "p (Holm)") if compared else heads)]
    for row in rows:
        hits, n = row.overall.hits, row.overall.n
        cells = (str(hits), str(n), figure(wilson_interval(hits, n)))
        lines.append(Line(printable(row.name), cells + _discordance(compared, row.name)))
    yield f"hit@{rows[0].k}: questions with any gold among the first {rows[0].k}"
    yield from aligned(lines, (0, 1, 3, 4, 5, 6))
    yield ""
    yield f"[low, high]: {LEVEL:.0%} Wilson interval, questions independent; by shape with --json."
    if beside and compared:
        name = printable(beside.baseline)
        yield f"gained, lost: questions that the row hits and {name} does not, and the reverse."
        yield "p: exact two-sided McNemar test. Holm: corrected for the number of these rows."


def _discordance(compared: Mapping[str, ComparedHits], name: str) -> tuple[str, ...]:
    if not compared:
        return ()
    if name not in compared:
        return (UNDEFINED,) * 4
    found, p_holm = compared[name].discordance, compared[name].p_holm
    return (str(found.only_first), str(found.only_second), p_value(found.p), p_value(p_holm))
