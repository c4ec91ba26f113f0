"""A run as plain text for a terminal: the rows, how agents behaved, what beats the best push."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contextpull.eval.running import Compared
from contextpull.eval.runs import Row
from contextpull.eval.table import (
    COMPARISON_HEADS,
    Line,
    aligned,
    comparison_cells,
    printable,
    render_table,
)

_THOUSAND = 1_000


def render_run(
    rows: Sequence[Row],
    agents: Mapping[str, Mapping[str, Any]],
    compared: Sequence[Compared],
) -> str:
    """The rows, then a line an agent, then every row beside the best push row."""
    parts = [render_table(rows)]
    if agents:
        parts.append("\n".join(_agents(agents)) + "\n")
    if compared:
        parts.append("\n".join(_compared(compared)) + "\n")
    return "\n".join(parts)


def _agents(agents: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    heads = ("asked", "answered", "reads", "unread", "leakage", "calls", "tokens", "s", "$")
    lines = [Line("agent", heads)]
    lines += [Line(printable(name), _agent_cells(record)) for name, record in agents.items()]
    yield from aligned(lines, range(len(heads)))
    yield ""
    yield (
        "reads: sections read a question; unread: answers given without reading; leakage: recall"
        " of what was shown less that of what was read; calls, tokens (sent and written) and"
        " seconds a question; $: all questions, - where the price is unknown."
    )


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


def _compared(compared: Sequence[Compared]) -> Iterable[str]:
    yield f"recall beside the best push row, {printable(compared[0].baseline)}"
    lines = [Line("row", COMPARISON_HEADS)]
    lines += [
        Line(printable(each.row), comparison_cells(each.comparison, each.p_holm))
        for each in compared
    ]
    yield from aligned(lines, range(1, len(COMPARISON_HEADS)))
