"""Golden-file results as parts of a page, and how their figures are read and written."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from markupsafe import Markup

from contextpull.eval.report.cells import Cell, Column, Table
from contextpull.eval.report.figures import p_value
from contextpull.eval.statistics import Interval

Record = Mapping[str, Any]
"""What a file holds."""


@dataclass(frozen=True, slots=True)
class GoldenView:
    """One file's results; `page/golden.html` lays them out. All but the chart is text of others."""

    name: str
    """Of the file."""
    title: str
    claim: str
    """What the figures support, in a sentence or two."""
    caption: str
    """What the chart shows."""
    chart: Markup
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def number(value: Any) -> float:
    """A finite number; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def whole(value: Any) -> int:
    """A count; ValueError for anything else."""
    return int(number(value))


def interval(record: Record) -> Interval:
    """A mean with its bounds, which are the mean itself where there are none."""
    mean = number(record["mean"])
    return Interval(
        mean, *(mean if record[name] is None else number(record[name]) for name in ("low", "high"))
    )


def comes_next(record: Record, corrected_for: str) -> str:
    """How far the one that comes next is behind the best, and whether that could be luck."""
    lag = interval(record["difference"]).mean
    luck = "which could be luck" if record["could_be_luck"] else "which is more than luck"
    p = f"p {p_value(number(record['p_holm']))}, corrected for {corrected_for}"
    return f"“{record['other']}” comes next, {lag:.3f} lower, {luck} ({p})."


def compared_columns(verdict: str) -> tuple[Column, ...]:
    """The heads over `compared`; the verdict's is this."""
    return (
        Column("n", "count"),
        Column("difference", "difference"),
        Column("p", "p"),
        Column("p (Holm)", "p"),
        Column(verdict, "text"),
        Column("detectable", "figure"),
    )


def compared(record: Record, verdict: str) -> tuple[Cell, ...]:
    """The cells of a comparison."""
    detectable = record["detectable"]
    return (
        whole(record["n"]),
        interval(record["difference"]),
        number(record["p"]),
        number(record["p_holm"]),
        verdict,
        None if detectable is None else number(detectable),
    )


def notes_of(record: Record) -> tuple[str, ...]:
    """How intervals were made, what was left out, and what the results say themselves."""
    drawn = record["interval"]
    seed = f", seed {drawn['seed']}" if "seed" in drawn else ""
    left_out = len(record["unlabelled"]) + len(record["too_coarse"])
    out = [f"{left_out} questions without labels, or with coarser ones, were left out."]
    return (
        f"[low, high]: {number(drawn['level']):.0%} interval, bootstrap, {drawn['rounds']:,}"
        f" rounds{seed}; of hit rates Wilson's.",
        *(out if left_out else []),
        *map(str, record["notes"]),
    )
