"""What `golden cutoff` measured: where to decline, and what that costs."""

from collections.abc import Iterator

from contextpull.eval.report.figures import plain, written
from contextpull.eval.report.golden_charts import Share, cutoff_chart
from contextpull.eval.report.golden_view import (
    GoldenTable,
    GoldenView,
    Record,
    interval,
    notes_of,
    number,
)
from contextpull.eval.statistics import Interval
from contextpull.eval.table import UNDEFINED


def cutoff_view(name: str, record: Record) -> GoldenView:
    """A cut-off, from the file of this name."""
    values: dict[str, list[float]] = {"answer": [], "near miss": []}
    for each in record["tops"]:
        if each["value"] is not None:
            values[each["kind"]].append(number(each["value"]))
    shares = [Share(*(number(each[field]) for field in Share._fields)) for each in record["table"]]
    chosen = record["cutoff_interval"]
    cutoff = None if chosen is None else interval(chosen)
    title = f"{record['measure']} of the first result: answers, near misses, and what a cut keeps"
    tables = [_costs(record)] if cutoff else []
    candidates = _candidates(record)
    return GoldenView(
        name=name,
        title="Golden questions: where to decline",
        claim=_decline(record, cutoff),
        chart=cutoff_chart(title, values["answer"], values["near miss"], shares, cutoff),
        tables=(*tables, *([candidates] if candidates.lines else [])),
        notes=(
            *_separation(record),
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


def _costs(record: Record) -> GoldenTable:
    lines = (("by these questions", record["at_cutoff"]), ("held out", record["held_out"]))
    return GoldenTable(
        "What the cut-off costs",
        ("", *_COSTS),
        tuple((name, *_cost(each)) for name, each in lines),
    )


def _candidates(record: Record) -> GoldenTable:
    chosen = record["at_cutoff"] and record["at_cutoff"]["cutoff"]
    return GoldenTable(
        "Other cut-offs",
        ("", *_COSTS),
        tuple(
            ("chosen" if each["cutoff"] == chosen else "", *_cost(each)) for each in record["table"]
        ),
    )


_COSTS = ("answer from", "right", "answers kept", "near misses declined", "J")


def _cost(record: Record) -> tuple[str, ...]:
    shares = (record[name] for name in ("precision", "answered", "declined"))
    written = (UNDEFINED if each is None else f"{number(each):.1%}" for each in shares)
    return (f"{number(record['cutoff']):.4f}", *written, plain(number(record["youden"])))
