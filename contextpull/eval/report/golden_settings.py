"""What `golden report` measured: settings beside each other."""

from typing import Any

from contextpull.eval.report.cells import Column, Table
from contextpull.eval.report.figures import written
from contextpull.eval.report.golden_charts import intervals_chart
from contextpull.eval.report.golden_view import (
    GoldenView,
    Record,
    comes_next,
    compared,
    compared_columns,
    interval,
    notes_of,
    number,
)
from contextpull.eval.statistics import Interval

_MISSES_SHOWN = 200


def settings_view(name: str, record: Record) -> GoldenView:
    """A report of settings, from the file of this name."""
    settings = [(str(each["setting"]), each) for each in record["settings"]]
    measure = str(record["measure"])
    shown = [(setting, interval(each["measures"][measure])) for setting, each in settings]
    title = f"{measure} by {record['by']}, a line a setting"
    best = str(next(iter(record["picks"].values())))
    tables = [_measures(settings, measure)]
    if len(settings) > 1:
        tables += [_picks(record), _pairs(record)]
    misses = _misses(best, dict(settings)[best])
    return GoldenView(
        name=name,
        title="What each setting finds",
        claim=_found_most(record, best, dict(shown)[best]),
        caption=title,
        chart=intervals_chart(title, shown),
        tables=(*tables, *([misses] if misses.lines else [])),
        notes=notes_of(record),
    )


def _found_most(record: Record, best: str, found: Interval) -> str:
    measure = record["measure"]
    first = (
        f"“{best}” finds the most: {measure} {written(found)} over {record['scored']} questions."
    )
    after = [each for each in record["comparisons"] if each["better"] == best]
    if not after:
        return first
    if after[0]["verdict"] == "none differs":
        return f"{first} “{after[0]['other']}” is level with it, question for question."
    return f"{first} {comes_next(after[0], 'all pairs')}"


def _measures(settings: list[tuple[str, Any]], first: str) -> Table:
    names = [first, *(each for each in settings[0][1]["measures"] if each != first)]
    return Table(
        "measures",
        "Settings",
        (
            Column("setting", "text"),
            *(Column(name, "interval") for name in names),
            Column("median ms", "tenth"),
            Column("p95 ms", "tenth"),
            Column("found nothing", "count"),
            Column("failed", "count"),
        ),
        tuple(
            (
                setting,
                *(interval(each["measures"][name]) for name in names),
                number(each["median_ms"]),
                number(each["p95_ms"]),
                len(each["misses"]),
                len(each["failures"]),
            )
            for setting, each in settings
        ),
    )


def _picks(record: Record) -> Table:
    picks = dict(record["picks"])
    if "frontier" in record:  # older results have none
        picks["frontier"] = ", ".join(map(str, record["frontier"]))
    rules = dict(zip(picks, map(str, record["rules"]), strict=False))
    return Table(
        "picks",
        "Picks",
        (Column("pick", "text"), Column("setting", "text"), Column("rule", "text")),
        tuple(
            (str(name), str(setting), rules.get(name, "").removeprefix(f"{name}: "))
            for name, setting in picks.items()
        ),
    )


def _pairs(record: Record) -> Table:
    return Table(
        "pairs",
        f"Pairs of settings in {record['measure']}",
        (Column("better", "text"), Column("other", "text"), *compared_columns("verdict")),
        tuple(
            (str(each["better"]), str(each["other"]), *compared(each, str(each["verdict"])))
            for each in record["comparisons"]
        ),
    )


def _misses(best: str, row: Record) -> Table:
    """What the best setting does not find, and what came instead."""
    misses = row["misses"]
    more = f" (the first {_MISSES_SHOWN})" if len(misses) > _MISSES_SHOWN else ""
    return Table(
        "misses",
        f"“{best}” found nothing right for {len(misses)}{more}",
        tuple(Column(name, "text") for name in ("id", "question", "expected", "came")),
        tuple(
            (
                str(each["id"]),
                str(each["question"]),
                ", ".join(map(str, each["expected"])),
                ", ".join(map(str, each["got"])) or "nothing",
            )
            for each in misses[:_MISSES_SHOWN]
        ),
    )
