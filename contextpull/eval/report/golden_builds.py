"""What `golden sweep` and `golden chunking` measured: ways to cut a corpus, beside each other."""

from collections.abc import Iterator
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
    whole,
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
        title="Ways to cut and to search",
        claim=_best_build(record, measure, written(shown[0][1])),
        caption=title,
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
        others = len(record["comparisons"])
        which = "All" if alike == others else f"{alike} of"
        said += f" {which} {others} others may be as good."
    return said


def _builds(rows: list[tuple[str, Any]]) -> Table:
    names = list(rows[0][1]["measures"])[::-1]  # what they are ranked by first
    return Table(
        "builds",
        "Builds, best first",
        (
            Column("build", "text"),
            *(Column(name, "interval") for name in names),
            Column("sections", "count"),
            Column("build s", "tenth"),
            Column("median ms", "tenth"),
            Column("found nothing", "count"),
        ),
        tuple(
            (
                name,
                *(interval(each["measures"][measure]) for measure in names),
                whole(each["sections"]),
                number(each["build_seconds"]),
                number(each["median_ms"]),
                len(each["misses"]),
            )
            for name, each in rows
        ),
    )


def _beside_best(record: Record, measure: str) -> Table:
    return Table(
        "beside-best",
        f"{measure} of the best build, less that of",
        (Column("build", "text"), *compared_columns("could be luck")),
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
        title="Techniques of chunking",
        claim=_most_right(techniques),
        caption=title,
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


def _techniques(techniques: list[tuple[str, Any]]) -> Table:
    return Table(
        "techniques",
        "Techniques, each by its best build",
        (
            *(Column(name, "text") for name in ("technique", "what it does", "best build")),
            Column("right", "count"),
            Column("of", "count"),
            Column("share", "interval"),
            Column("pieces", "count"),
            Column("tie", "text"),
        ),
        tuple(
            (
                name,
                str(each["about"]),
                str(each["build"]["name"]),
                whole(each["right"]),
                whole(each["of"]),
                interval(each["share"]),
                whole(each["pieces"]),
                "yes" if each["is_tie"] else "no",
            )
            for name, each in techniques
        ),
    )


def _pairs(record: Record) -> Table:
    counted = ("only_first", "only_second", "both", "neither")
    return Table(
        "pairs",
        "Pairs of techniques, question by question",
        (
            Column("first", "text"),
            Column("second", "text"),
            *(Column(name.replace("_", " "), "count") for name in counted),
            Column("p", "p"),
            Column("p (Holm)", "p"),
        ),
        tuple(
            (
                str(each["first"]),
                str(each["second"]),
                *(whole(each[field]) for field in counted),
                number(each["p"]),
                number(each["p_holm"]),
            )
            for each in record["pairs"]
        ),
    )


def _chunkings(record: Record) -> Table:
    questions = record["questions"]
    choosing, told = len(questions["choosing"]), len(questions["told"])
    return Table(
        "chunkings",
        "Builds that the best ones were chosen from",
        (
            Column("build", "text"),
            Column(f"right of the {choosing} chosen by", "count"),
            Column(f"found of {choosing + told}", "count"),
            Column("pieces", "count"),
            Column("mean characters", "count"),
            Column("seconds", "tenth"),
        ),
        tuple(
            (
                str(each["name"]),
                whole(each["right"]),
                whole(each["found"]),
                whole(each["pieces"]),
                number(each["mean_chars"]),
                number(each["seconds"]),
            )
            for each in record["builds"]
        ),
    )


def _left_out(record: Record) -> Table:
    return Table(
        "left-out",
        "Left out",
        (Column("what", "text"), Column("why", "text")),
        tuple((str(each["name"]), str(each["reason"])) for each in record["left_out"]),
    )


def _without_verdict(record: Record) -> Iterator[str]:
    if record["errors"]:
        yield f"{len(record['errors']):,} answers have no verdict, and are not right."
