"""What `golden report` measured: settings beside each other."""

from typing import Any

from contextpull.eval.report.figures import written
from contextpull.eval.report.golden_charts import intervals_chart
from contextpull.eval.report.golden_view import (
    GoldenTable,
    GoldenView,
    Record,
    comes_next,
    compared,
    interval,
    notes_of,
    number,
)
from contextpull.eval.statistics import Interval
from contextpull.eval.table import UNDEFINED

_MISSES_SHOWN = 200


def settings_view(name: str, record: Record) -> GoldenView:
    """A report of settings, from the file of this name."""
    settings = [(str(each["setting"]), each) for each in record["settings"]]
    measure = str(record["measure"])
    shown = [(setting, interval(each["measures"][measure])) for setting, each in settings]
    title = f"{measure} by {record['by']}, a line a setting"
    best = str(next(iter(record["picks"].values())))
    tables = [_measures(settings)]
    if len(settings) > 1:
        tables += [_picks(record), _pairs(record)]
    return GoldenView(
        name=name,
        title="Golden questions: what each setting finds",
        claim=_found_most(record, best, dict(shown)[best]),
        chart=intervals_chart(title, shown),
        tables=(*tables, _misses(best, dict(settings)[best])),
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


def _measures(settings: list[tuple[str, Any]]) -> GoldenTable:
    names = list(settings[0][1]["measures"])
    lines = [
        (name, *(written(interval(each["measures"][name])) for _, each in settings))
        for name in names
    ]
    lines += [
        (name.replace("_", " "), *(f"{number(each[name]):.1f}" for _, each in settings))
        for name in ("median_ms", "p95_ms")
    ]
    lines.append(("found nothing", *(str(len(each["misses"])) for _, each in settings)))
    lines.append(("failed", *(str(len(each["failures"])) for _, each in settings)))
    return GoldenTable("Measures", ("measure", *(name for name, _ in settings)), tuple(lines))


def _picks(record: Record) -> GoldenTable:
    rules = dict(zip(record["picks"], map(str, record["rules"]), strict=False))
    return GoldenTable(
        "Picks",
        ("pick", "setting", "rule"),
        tuple(
            (str(name), str(setting), rules.get(name, "").removeprefix(f"{name}: "))
            for name, setting in record["picks"].items()
        ),
        texts=3,
    )


def _pairs(record: Record) -> GoldenTable:
    return GoldenTable(
        f"Pairs of settings in {record['measure']}",
        ("better", "other", "n", "difference", "p", "p (Holm)", "verdict", "detectable"),
        tuple(
            (str(each["better"]), str(each["other"]), *compared(each, str(each["verdict"])))
            for each in record["comparisons"]
        ),
        texts=2,
    )


def _misses(best: str, row: Record) -> GoldenTable:
    """What the best setting does not find, and what came instead."""
    misses = row["misses"]
    more = f" (the first {_MISSES_SHOWN})" if len(misses) > _MISSES_SHOWN else ""
    return GoldenTable(
        f"“{best}” found nothing right for {len(misses)}{more}",
        ("id", "question", "expected", "came"),
        tuple(
            (
                str(each["id"]),
                str(each["question"]),
                ", ".join(map(str, each["expected"])),
                ", ".join(map(str, each["got"])) or UNDEFINED,
            )
            for each in misses[:_MISSES_SHOWN]
        ),
        texts=4,
    )
