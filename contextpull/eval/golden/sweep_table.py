"""A sweep as data, as text for a terminal, and as Markdown."""

from collections.abc import Iterator
from shlex import quote
from typing import Any

from contextpull import __version__
from contextpull.eval.golden.report_table import markdown_list, markdown_table
from contextpull.eval.golden.reporting import summary_record
from contextpull.eval.golden.sweep import SweepReport, SweepRow
from contextpull.eval.statistics import LEVEL
from contextpull.eval.table import Line, aligned, figure, p_value, printable, unit_of

KIND = "sweep"
FORMAT = 1


def sweep_record(sweep: SweepReport) -> dict[str, Any]:
    """The sweep as JSON-ready values, rows best first; undefined figures are None."""
    report, first = sweep.report, sweep.rows[0]
    return {
        "kind": KIND,
        "format": FORMAT,
        "made_by": f"contextpull {__version__}",
        "by": report.by,
        "k": list(report.cutoffs),
        "questions": report.questions,
        "scored": len(report.asked.wanted),
        "unlabelled": list(report.asked.unlabelled),
        "too_coarse": list(report.asked.too_coarse),
        "notes": [*sweep.notes, *report.asked.notes],
        "interval": {"level": LEVEL, "rounds": first.measured.row.rounds},
        "documents": len(sweep.corpus.sources),
        "rows": [_row_record(row) for row in sweep.rows],
        "best": first.name,
        "ingest": ingest_command(sweep),
        "comparisons": [
            {
                "other": each.other,
                **each.comparison.as_dict(),
                "p_holm": each.p_holm,
                "could_be_luck": each.could_be_luck,
            }
            for each in sweep.comparisons
        ],
    }


def render_sweep(sweep: SweepReport) -> str:
    """The rows, the best one, and how to ingest so; a table of the least and the largest k."""
    lines = [*aligned(_lines(sweep), range(20)), "", *_verdict(sweep), "", *_notes(sweep)]
    return "\n".join(lines) + "\n"


def render_sweep_markdown(sweep: SweepReport) -> str:
    """The same as Markdown, every row on one line."""
    told = markdown_list([*_verdict(sweep), *_notes(sweep)])
    return f"{markdown_table(_lines(sweep))}\n\n{told}\n"


def ingest_command(sweep: SweepReport) -> str:
    """How to ingest as the best row that an ingest can make; empty where none is among them."""
    row = next((each for each in sweep.rows if _can_be_ingested(each)), None)
    if row is None:
        return ""
    options = [row.build.ingest_options] if row.build.ingest_options else []
    if row.measured.setting.mode != "lexical":
        options.append(f"--embedder {quote(sweep.embedder)}")
    corpus = sweep.corpus
    reading = [f"--as {corpus.name}"] * bool(corpus.name)
    reading += [f"--read-as {quote(corpus.read_as)}"] * bool(corpus.read_as)
    return " ".join(["contextpull ingest", quote(str(corpus.root)), *reading, *options])


def _can_be_ingested(row: SweepRow) -> bool:
    return row.build.cutter == "sections" and row.build.headings


def _lines(sweep: SweepReport) -> list[Line]:
    k = sweep.report.cutoffs[-1]
    names = (f"ndcg@{k}", f"mrr@{k}", f"recall@{k}", f"hit_rate@{k}")
    has_settings = len({row.measured.setting for row in sweep.rows}) > 1
    head = (*["setting"] * has_settings, *names, "sections", "build s", "ms")
    lines = [Line("build", head)]
    for row in sweep.rows:
        measures = row.measured.row.overall.measures
        lines.append(
            Line(
                printable(row.build.name),
                (
                    *[printable(row.measured.setting.name)] * has_settings,
                    figure(measures[names[0]]),
                    *(f"{measures[name].mean:.3f}" for name in names[1:]),
                    f"{row.sections:,}",
                    f"{row.build_seconds:.1f}",
                    f"{row.measured.median_ms:.1f}",
                ),
            )
        )
    return lines


def _verdict(sweep: SweepReport) -> Iterator[str]:
    best = sweep.rows[0]
    if not sweep.comparisons:
        yield printable(f"Only {best.name} was measured: there is nothing to set it beside.")
    else:
        next_best = sweep.comparisons[0]
        lag = next_best.comparison.difference.mean
        luck = "could be luck" if next_best.could_be_luck else "is more than luck"
        count = len(sweep.comparisons)
        corrected = f", Holm over {count} comparisons with the best" if count > 1 else ""
        yield printable(
            f"best: {best.name}; {next_best.other} comes next, {lag:.3f} lower in"
            f" {sweep.measure}, which {luck} (p {p_value(next_best.p_holm)}{corrected})."
        )
        alike = sum(each.could_be_luck for each in sweep.comparisons)
        if alike > 1:
            yield f"{alike} of {count} other rows may be as good: the questions cannot tell."
    command = ingest_command(sweep)
    if not command:
        yield "An ingest cuts by sections and searches headings: none of these can be ingested."
    elif _can_be_ingested(best):
        yield f"To use it: {command}"
    else:
        yield f"An ingest cuts by sections and searches headings; the best row of that: {command}"


def _notes(sweep: SweepReport) -> Iterator[str]:
    report, row = sweep.report, sweep.rows[0].measured.row
    yield (
        f"{len(report.asked.wanted)} of {report.questions} questions scored by {report.by};"
        f" {len(report.asked.unlabelled)} without labels and {len(report.asked.too_coarse)} with"
        " coarser ones were left out."
    )
    yield from map(printable, [*sweep.notes, *report.asked.notes])
    yield (
        f"[low, high]: {LEVEL:.0%} interval, bootstrap over"
        f" {unit_of(row.overall.n, row.clusters)}; those of the other measures with --json."
    )
    yield "Ranked by nDCG, then MRR, then the median ms of a search. No store was changed."
    failed = {each.name: len(each.measured.row.failures) for each in sweep.rows}
    yield from (
        printable(f"{name}: {count} searches failed and count as misses.")
        for name, count in failed.items()
        if count
    )


def _row_record(row: SweepRow) -> dict[str, Any]:
    measured = row.measured
    return {
        "name": row.name,
        **row.build._asdict(),
        "setting": measured.setting.name,
        "sections": row.sections,
        "build_seconds": row.build_seconds,
        "median_ms": measured.median_ms,
        "p95_ms": measured.p95_ms,
        **summary_record(measured.row.overall),
        "misses": [each.id for each in measured.misses],
        "failures": [
            {"id": each.question.id, "error": each.error} for each in measured.row.failures
        ],
    }
