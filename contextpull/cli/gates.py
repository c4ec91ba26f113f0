"""Gates for continuous integration: `--min recall@5=0.9`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

Figures = Mapping[str, Mapping[str, float]]
"""The figures of each row, by the row's name and the measure's."""


class Gate(NamedTuple):
    """A figure that a row must reach; every row without a name."""

    row: str
    measure: str
    least: float


def _gates(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[Gate, ...]:
    return tuple(_gate(value) for value in values)


def _gate(value: str) -> Gate:
    name, equals, least = value.rpartition("=")
    row, _, measure = name.rpartition(":")
    try:
        return Gate(row.strip(), measure.strip() if equals else "", float(least))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no gate. Write recall@5=0.9, or bm25:recall@5=0.9 for one row."
        ) from None


gates_option = click.option(
    "--min",
    "gates",
    metavar="[ROW:]MEASURE=LEAST",
    multiple=True,
    callback=_gates,
    help="Exit with 1 unless every row, or that row, reaches this; may be given several times.",
)


def check_gates(gates: Sequence[Gate], rows: Figures) -> bool:
    """Whether all gates are passed; those that are not are told on stderr.

    Raises UsageError for a row or a measure that the run does not have.
    """
    passed = True
    for gate in gates:
        for row in _rows_of(gate, rows):
            mean = rows[row][gate.measure]
            if not mean >= gate.least:
                click.echo(
                    f"contextpull: {row}: {gate.measure} is {mean:.4f}, below {gate.least}",
                    err=True,
                )
                passed = False
    return passed


def _rows_of(gate: Gate, rows: Figures) -> list[str]:
    chosen = [row for row in rows if gate.row in ("", row)]
    if not chosen:
        raise click.UsageError(f"--min: there is no row {gate.row!r} in this run.")
    measures = list(rows[chosen[0]])
    if gate.measure not in measures:
        known = ", ".join(measures)
        raise click.UsageError(f"--min: {gate.measure!r} is no measure. There are: {known}.")
    return chosen
