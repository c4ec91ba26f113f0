"""What a judge said, as plain text for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

from contextpull.eval.judging.running import NO_TEXT, WHY_UNDEFINED
from contextpull.eval.statistics import LEVEL, Interval
from contextpull.eval.table import UNDEFINED, Line, aligned, figure, printable

_HEADS = ("measure", "judged", "undefined", "errors", "mean")
_NUMBERS = (1, 2, 3)
_KINDS = {"read": "  on what was read", "snippets": "  on snippets alone"}
_CELLS = {
    "both_yes": "both yes",
    "judge_only": "judge only",
    "person_only": "person only",
    "both_no": "both no",
}
_ERRORS_SHOWN = 5


def render_judging(report: Mapping[str, Any]) -> str:
    """The rows by measure, what is not among them and why, and how far the judge can be trusted."""
    lines = [Line("row", _HEADS)]
    for each in report["rows"]:
        lines.append(_line(each["row"], each["measure"], each))
        for kind, figures in each.get("by_evidence", {}).items():
            if figures["judged"]:
                lines.append(_line("", _KINDS[kind], figures))
        for shape, figures in each.get("shapes", {}).items():
            lines.append(_line("", f"  {printable(shape)}", figures))
    return "\n".join([*aligned(lines, _NUMBERS), "", *_notes(report)]) + "\n"


def _line(name: str, measure: str, figures: Mapping[str, Any]) -> Line:
    counts = (
        figures["judged"],
        sum(figures["undefined"].values()),
        sum(figures["errors"].values()),
    )
    return Line(printable(name), (measure, *map(str, counts), shown_interval(figures["mean"])))


def shown_interval(interval: Mapping[str, float | None]) -> str:
    """A mean with its interval, of a report."""
    fields = {name: nan if value is None else value for name, value in interval.items()}
    return figure(Interval(**fields))


def _notes(report: Mapping[str, Any]) -> Iterator[str]:
    settings = report["settings"]
    yield (
        f"[low, high]: {LEVEL:.0%} interval, bootstrap over documents, {settings['rounds']:,}"
        f" rounds, seed {settings['seed']}."
    )
    for row, each in {each["row"]: each for each in report["rows"]}.items():
        if each["unanswered"]:
            asked = each["answers"] + each["unanswered"]
            yield f"{printable(row)}: no answer, so not judged: {each['unanswered']} of {asked}."
    for each in report["rows"]:
        yield from _not_judged(each)
    if any("no_text" in each["undefined"] for each in report["rows"]):
        yield NO_TEXT
    yield from _errors([each["error"] for each in report["judgements"] if each["error"]])
    yield from _agreement(report["agreement"])
    yield from _consistency(report["consistency"])
    yield ""
    tokens = report["tokens"]["input"] + report["tokens"]["output"]
    dollars = f", ${report['dollars']:.2f}" if report["dollars"] else ""
    yield (
        f"Judge: {printable(report['judge'])}; {report['asked']} verdicts asked for"
        f" ({tokens:,} tokens{dollars}), {report['kept']} kept from before."
    )
    if report["stopped"]:
        yield printable(report["stopped"])


def _not_judged(record: Mapping[str, Any]) -> Iterator[str]:
    place = f"{printable(record['row'])}, {record['measure']}"
    for why, count in record["undefined"].items():
        yield f"{place}: {count} undefined, since {WHY_UNDEFINED[why]}."
    if record["cut"]:
        yield f"{place}: {record['cut']} judged on evidence that was cut to fit."
    if record["errors"]:
        counts = ", ".join(f"{count} {name}" for name, count in record["errors"].items())
        yield f"{place}: {sum(record['errors'].values())} without a verdict: {counts}."


def _agreement(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table for labels of 0 and 1, one for graded labels."""
    yes_no = [each for each in records if each["kind"] == "yes_no"]
    if yes_no:
        heads = ("labels", "kappa (Cohen)", "base rate", *_CELLS.values())
        yield from _table(
            "beside people", heads, [(each["measure"], _yes_no(each)) for each in yes_no]
        )
    graded = [each for each in records if each["kind"] == "graded"]
    if graded:
        cells = [
            (each["measure"], (_compared(each), shown_interval(each["mean_absolute_difference"])))
            for each in graded
        ]
        yield from _table("beside people", ("labels", "mean absolute difference"), cells)
    for each in records:
        if each["not_judged"]:
            yield f"{each['measure']}: labels without a score beside them: {each['not_judged']}."


def _yes_no(record: Mapping[str, Any]) -> tuple[str, ...]:
    rate = UNDEFINED if record["base_rate"] is None else f"{record['base_rate']:.2f}"
    counts = (str(record["confusion"][cell]) for cell in _CELLS)
    return (_compared(record), shown_interval(record["kappa"]), rate, *counts)


def _compared(record: Mapping[str, Any]) -> str:
    return str(record["labels"] - record["not_judged"])


def _consistency(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not records:
        return
    cells = [
        (
            each["measure"],
            (
                str(each["answers"]),
                shown_interval(each["differ"]),
                shown_interval(each["mean_absolute_difference"]),
            ),
        )
        for each in records
    ]
    heads = ("answers", "share that differ", "mean absolute difference")
    yield from _table("judged twice", heads, cells)


def _table(
    name: str, heads: tuple[str, ...], cells: Sequence[tuple[str, tuple[str, ...]]]
) -> Iterator[str]:
    yield ""
    yield from aligned([Line(name, heads), *(Line(*each) for each in cells)], (0,))


def _errors(errors: Sequence[str]) -> Iterator[str]:
    yield from (f"  {printable(each)}" for each in errors[:_ERRORS_SHOWN])
    if len(errors) > _ERRORS_SHOWN:
        yield f"  and {len(errors) - _ERRORS_SHOWN} more (all with --json)"
