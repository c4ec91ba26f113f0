"""Figures of a run's report as values, and as text with three decimals."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, nan
from typing import Any

from contextpull.eval.run_directory import SavedRun
from contextpull.eval.runs import clusters_of
from contextpull.eval.statistics import Interval, bootstrap_interval
from contextpull.eval.table import p_value

__all__ = [
    "UNDEFINED",
    "bounds",
    "interval",
    "mean_over_documents",
    "number",
    "p_value",
    "plain",
    "signed",
    "tokens",
    "written",
]

UNDEFINED = "–"
"""What stands where there is no figure."""


def interval(record: Mapping[str, Any]) -> Interval:
    """A mean with its bounds, as `report.json` has them; nan where it has none."""
    return Interval(*(nan if record[name] is None else record[name] for name in Interval.__slots__))


def number(value: float | None) -> float:
    """A figure that may be absent; nan where it is."""
    return nan if value is None else float(value)


def mean_over_documents(run: SavedRun, ids: Sequence[str], values: Sequence[float]) -> Interval:
    """The mean of values of these questions, with an interval made as the run's own are."""
    clusters = clusters_of(run.questions[each] for each in ids)
    settings = run.manifest["settings"]
    return bootstrap_interval(values, clusters, rounds=settings["rounds"], seed=settings["seed"])


def plain(value: float, decimals: int = 3) -> str:
    """A figure, or a dash where it is undefined."""
    return f"{value:.{decimals}f}" if isfinite(value) else UNDEFINED


def signed(value: float) -> str:
    """A difference with its sign, which is a minus and no hyphen."""
    return f"{value:+.3f}".replace("-", "−") if isfinite(value) else UNDEFINED


def bounds(value: Interval, write: Any = plain) -> str:
    """`[low, high]`, or a dash where there are no bounds."""
    return f"[{write(value.low)}, {write(value.high)}]" if isfinite(value.low) else f"[{UNDEFINED}]"


def written(value: Interval, write: Callable[[float], str] = plain) -> str:
    """`mean [low, high]`."""
    return f"{write(value.mean)} {bounds(value, write)}"


def tokens(value: float) -> str:
    """A count with thousands separators, or a dash."""
    return f"{value:,.0f}" if isfinite(value) else UNDEFINED
