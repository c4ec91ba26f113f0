"""What `golden cutoff` measured: where to decline, and what that costs."""

from collections.abc import Iterator

from contextpull.eval.report.cells import Cell, Column, Table
from contextpull.eval.report.figures import written
from contextpull.eval.report.golden_charts import Share, cutoff_chart
from contextpull.eval.report.golden_view import (
    GoldenView,
    Record,
    interval,
    notes_of,
    number,
)
from contextpull.eval.statistics import Interval


def cutoff_view(name: str, record: Record) -> GoldenView:
    """A cut-off, from the file of this name."""
    values: dict[str, list[float]] = {"answer": [], "near miss": []}
    for each in record["tops"]:
        if each["value"] is not None:
            values[each["kind"]].append(number(each["value"]))
    shares = [Share(*(number(each[field]) for field in Share._fields)) for each in record["table"]]
    chosen = record["cutoff_interval"]
    cutoff = None if chosen is None else interval(chosen)
    measure = str(record["measure"]).capitalize()
    title = f"{measure} of the first result: answers, near misses, and what a cut keeps"
    tables = [_costs(record)] if cutoff else []
    candidates = _candidates(record)
    return GoldenView(
        name=name,
        title="Where to decline",
        claim=_decline(record, cutoff),
        caption=title,
        chart=cutoff_chart(title, values["answer"], values["near miss"], shares, cutoff),
        tables=(*tables, *([candidates] if candidates.lines else [])),
        notes=(
            *_separation(record),
            "Right: the share of answers among what is not declined.",
            "J: answers kept and near misses declined, less 1.",
            "A cut-off belongs to one value, one model and one corpus.",
            *notes_of(record),
        ),
    )


def _separation(record: Record) -> Iterator[str]:
    if record["separation"]["mean"] is not None:
        yield (
            f"Separation {written(interval(record['separation']))}: how often an answer has a"
            " higher value than a near miss; 0.5 is a coin."
        )
    if record["unmeasured"]:
        yield (
            f"{len(record['unmeasured']):,} questions found nothing, or a value that is no number:"
            " they count on neither side."
        )


def _decline(record: Record, cutoff: Interval | None) -> str:
    if cutoff is None:
        return f"These questions support no cut-off: {record['reason']}"
    held = record["held_out"]
    kept, declined = (f"{number(held[name]):.1%}" for name in ("answered", "declined"))
    return (
        f"Decline below a {record['measure']} of {written(cutoff)}. On questions that it was not"
        f" chosen by, such a cut-off keeps {kept} of the answers and declines {declined} of the"
        " near misses."
    )


_COSTS = (
    Column("answer from", "fine"),
    Column("right", "percent"),
    Column("answers kept", "percent"),
    Column("near misses declined", "percent"),
    Column("J", "figure"),
)


def _costs(record: Record) -> Table:
    lines = (("by these questions", record["at_cutoff"]), ("held out", record["held_out"]))
    return Table(
        "costs",
        "What the cut-off costs",
        (Column("measured", "text"), *_COSTS),
        tuple((name, *_cost(each)) for name, each in lines),
    )


def _candidates(record: Record) -> Table:
    chosen = record["at_cutoff"] and record["at_cutoff"]["cutoff"]
    return Table(
        "candidates",
        "Cut-offs to choose from",
        (*_COSTS, Column("choice", "text")),
        tuple(
            (*_cost(each), "chosen" if each["cutoff"] == chosen else "") for each in record["table"]
        ),
    )


def _cost(record: Record) -> tuple[Cell, ...]:
    shares = (record[name] for name in ("precision", "answered", "declined"))
    return (
        number(record["cutoff"]),
        *(None if each is None else number(each) for each in shares),
        number(record["youden"]),
    )
