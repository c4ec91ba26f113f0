"""What `golden sweep` and `golden chunking` measured: ways to cut a corpus, beside each other."""

from collections.abc import Iterator
from typing import Any

from contextpull.eval.report.figures import p_value, written
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
from contextpull.eval.statistics import LEVEL

_MOST_DRAWN = 40
"""Rows of a drawing; the table has all."""


def sweep_view(name: str, record: Record) -> GoldenView:
    """Builds by nDCG, from the file of this name."""
    measure = f"ndcg@{max(record['k'])}"
    rows = [(str(each["name"]), each) for each in record["rows"]]
    shown = [(row, interval(each["measures"][measure])) for row, each in rows[:_MOST_DRAWN]]
    title = f"{measure} by {record['by']}, a line a build, best first"
    tables = (_builds(rows), _beside_best(record, measure))
    return GoldenView(
        name=name,
        title="Golden questions: ways to cut and to search",
        claim=_best_build(record, measure, written(shown[0][1])),
        chart=intervals_chart(title, shown),
        tables=tuple(each for each in tables if each.lines),
        notes=(*_ingest(record), *notes_of(record)),
    )


def _best_build(record: Record, measure: str, figure: str) -> str:
    first = f"“{record['best']}” ranks first: {measure} {figure} over {record['scored']} questions."
    if not record["comparisons"]:
        return first
    after = comes_next(record["comparisons"][0], "all comparisons with the best")
    said = f"{first} {after}"
    alike = sum(bool(each["could_be_luck"]) for each in record["comparisons"])
    if alike > 1:
        said += f" {alike} of {len(record['comparisons'])} others may be as good."
    return said


def _builds(rows: list[tuple[str, Any]]) -> GoldenTable:
    names = list(rows[0][1]["measures"])[::-1]  # what they are ranked by first
    return GoldenTable(
        "Builds, best first",
        ("build", *names, "sections", "build s", "median ms", "found nothing"),
        tuple(
            (
                name,
                *(written(interval(each["measures"][measure])) for measure in names),
                f"{each['sections']:,}",
                f"{number(each['build_seconds']):.1f}",
                f"{number(each['median_ms']):.1f}",
                f"{len(each['misses']):,}",
            )
            for name, each in rows
        ),
    )


def _beside_best(record: Record, measure: str) -> GoldenTable:
    return GoldenTable(
        f"{measure} of the best build, less that of",
        ("build", "n", "difference", "p", "p (Holm)", "could be luck", "detectable"),
        tuple(
            (str(each["other"]), *compared(each, "yes" if each["could_be_luck"] else "no"))
            for each in record["comparisons"]
        ),
    )


def _ingest(record: Record) -> Iterator[str]:
    if record["ingest"]:
        yield f"The best of those that an ingest can make: {record['ingest']}."


def chunking_view(name: str, record: Record) -> GoldenView:
    """Techniques by what they had right, from the file of this name."""
    techniques = [(str(each["technique"]), each) for each in record["techniques"]]
    shown = [(technique, interval(each["share"])) for technique, each in techniques]
    found = "answered right" if record["scored"] == "answered" else "found"
    title = f"Share of questions {found}, a line a technique"
    tables = (_techniques(techniques), _pairs(record), _chunkings(record), _left_out(record))
    return GoldenView(
        name=name,
        title="Golden questions: techniques of chunking",
        claim=_most_right(techniques),
        chart=intervals_chart(title, shown),
        tables=tuple(each for each in tables if each.lines),
        notes=(
            f"[low, high]: {LEVEL:.0%} interval (Wilson).",
            f"Searched: {record['settings']['setting']}.",
            *map(str, record["rules"]),
            *_without_verdict(record),
        ),
    )


def _most_right(techniques: list[tuple[str, Any]]) -> str:
    best, first = techniques[0]
    level = [f"“{name}”" for name, each in techniques[1:] if each["right"] == first["right"]]
    share = f"{first['right']} of {first['of']} questions"
    said = f"“{best}” has the most right: {share}."
    if level:
        said = f"“{best}” has {share} right, as has {', '.join(level)}."
    ties = [f"“{name}”" for name, each in techniques[1:] if each["is_tie"]]
    if ties:
        said += f" These questions cannot tell it from {', '.join(ties)}."
    return said


def _techniques(techniques: list[tuple[str, Any]]) -> GoldenTable:
    return GoldenTable(
        "Techniques, each by its best build",
        ("technique", "what it does", "best build", "right", "of", "share", "pieces", "tie"),
        tuple(
            (
                name,
                str(each["about"]),
                str(each["build"]["name"]),
                f"{each['right']:,}",
                f"{each['of']:,}",
                written(interval(each["share"])),
                f"{each['pieces']:,}",
                "yes" if each["is_tie"] else "no",
            )
            for name, each in techniques
        ),
        texts=3,
    )


def _pairs(record: Record) -> GoldenTable:
    counted = ("only_first", "only_second", "both", "neither")
    return GoldenTable(
        "Pairs of techniques, question by question",
        ("first", "second", "only first", "only second", "both", "neither", "p", "p (Holm)"),
        tuple(
            (
                str(each["first"]),
                str(each["second"]),
                *(f"{each[field]:,}" for field in counted),
                p_value(number(each["p"])),
                p_value(number(each["p_holm"])),
            )
            for each in record["pairs"]
        ),
        texts=2,
    )


def _chunkings(record: Record) -> GoldenTable:
    questions = record["questions"]
    choosing, told = len(questions["choosing"]), len(questions["told"])
    return GoldenTable(
        "Builds that the best ones were chosen from",
        (
            "build",
            f"right of the {choosing} chosen by",
            f"found of {choosing + told}",
            "pieces",
            "mean characters",
            "seconds",
        ),
        tuple(
            (
                str(each["name"]),
                f"{each['right']:,}",
                f"{each['found']:,}",
                f"{each['pieces']:,}",
                f"{number(each['mean_chars']):,.0f}",
                f"{number(each['seconds']):.1f}",
            )
            for each in record["builds"]
        ),
    )


def _left_out(record: Record) -> GoldenTable:
    lines = ((str(each["name"]), str(each["reason"])) for each in record["left_out"])
    return GoldenTable("Left out", ("what", "why"), tuple(lines), texts=2)


def _without_verdict(record: Record) -> Iterator[str]:
    if record["errors"]:
        yield f"{len(record['errors']):,} answers have no verdict, and are not right."
