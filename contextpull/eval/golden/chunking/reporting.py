"""A comparison of chunkings as data for other programs, as text for a terminal, as Markdown."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contextpull import __version__
from contextpull.adapters.files import replacing
from contextpull.errors import EvaluationError
from contextpull.eval.golden.chunking.answering import RIGHT_FROM
from contextpull.eval.golden.chunking.comparing import Pair, TechniqueRow
from contextpull.eval.golden.chunking.corpus import SourceCorpus
from contextpull.eval.golden.chunking.plan import ABOUT, Build
from contextpull.eval.golden.chunking.running import BuildRow, ChunkingReport
from contextpull.eval.golden.report_table import markdown_list, markdown_table
from contextpull.eval.statistics import LEVEL
from contextpull.eval.table import Line, aligned, figure, p_value, printable

KIND = "chunking"
FORMAT = 1
FILE = "report.json"
_ERRORS_SHOWN = 5


def chunking_record(
    report: ChunkingReport, corpus: SourceCorpus, golden: Mapping[str, Any]
) -> dict[str, Any]:
    """The report as JSON-ready values; `golden` says which questions it is of."""
    plan = report.plan
    return {
        "kind": KIND,
        "format": FORMAT,
        "made_by": f"contextpull {__version__}",
        "settings": {
            "techniques": list(plan.techniques),
            "sizes": list(plan.sizes),
            "headings": list(plan.headings),
            "overlaps": list(plan.overlaps),
            "children": list(plan.children),
            "notes": plan.notes,
            "budget": report.budget,
            "setting": report.setting,
            "seed": plan.seed,
            "alpha": plan.alpha,
        },
        "golden": dict(golden),
        "corpus": {
            "root": str(corpus.root),
            "name": corpus.name,
            "read_as": corpus.read_as,
            "documents": len(corpus.sources),
            "characters": sum(len(each.text) for each in corpus.sources),
            "fingerprint": corpus.fingerprint,
            "left_out": [each._asdict() for each in corpus.unread],
        },
        "scored": report.scored,
        "questions": {
            "choosing": list(report.halves.choosing),
            "told": list(report.halves.told),
            "with_evidence": report.by_evidence,
            "unlabelled": list(report.unlabelled),
            "without_reference": list(report.unanswerable),
            "coarser": list(report.coarser),
        },
        "rules": list(rules(report)),
        "best": report.techniques[0].technique,
        "techniques": [_technique_record(each) for each in report.techniques],
        "pairs": [pair._asdict() for pair in report.pairs],
        "builds": [_build_row_record(each) for each in report.builds],
        "left_out": [each._asdict() for each in report.left_out],
        "errors": [
            {"technique": technique, "id": name, "error": error}
            for technique, name, error in report.errors
        ],
    }


def check_out(folder: Path) -> None:
    """Make the folder; raise `EvaluationError` where its report is another program's or cannot be.

    Call it before anything is built.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        record = json.loads(path.read_bytes()) if path.exists() else {"kind": KIND}
    except OSError as error:
        raise EvaluationError(
            f"The folder {str(folder)!r} cannot be used: {error.strerror}. Name another with --out."
        ) from error
    except ValueError:
        record = None
    if not isinstance(record, Mapping) or record.get("kind") != KIND:
        raise EvaluationError(
            f"{path} is no report of this command and is left as it is. Name another --out."
        )


def save_record(record: Mapping[str, Any], folder: Path) -> Path:
    """Write the report whole, over an earlier one of its kind."""
    path = folder / FILE
    with replacing(path) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
    return path


def rules(report: ChunkingReport) -> Iterator[str]:
    """How to read the figures, in sentences."""
    told, choosing = len(report.halves.told), len(report.halves.choosing)
    yield (
        f"For each question the best hits of a build were handed over, best first, until"
        f" {report.budget:,} characters were spent; the last one was cut to fit."
    )
    yield (
        "A piece costs all its characters, those too that one before it held."
        if any(report.plan.overlaps)
        else "Pieces do not overlap."
    )
    if report.scored == "answered":
        yield (
            "right: an answer written from these characters alone was judged against the reference"
            f" with a correctness of {RIGHT_FROM:g} or more; one without a verdict is not right."
        )
    else:
        yield (
            "right: all words of the evidence were among them, whole; without evidence, a page or"
            " document that is expected."
        )
    yield (
        f"The best build of each technique was chosen on {choosing} questions; right is told of"
        f" the {told} others (seed {report.plan.seed})."
    )
    yield (
        "p: exact McNemar test, two-sided; Holm: corrected for all pairs of techniques. tie: the"
        f" distance to the best could be luck (Holm p of {report.plan.alpha:g} or more)."
    )


def render_chunking(report: ChunkingReport) -> str:
    """Techniques, pairs with the best, builds, and what was left out, for 100 columns."""
    lines = [
        *aligned(_technique_lines(report), (0, 2)),
        "",
        *_verdict(report),
        "",
        *_pair_lines(report),
        *aligned(_build_lines(report), range(5)),
        "",
        *_notes(report),
    ]
    return "\n".join(lines) + "\n"


def render_chunking_markdown(report: ChunkingReport) -> str:
    """The same as Markdown, every table line whole."""
    parts = [
        markdown_table(_technique_lines(report)),
        markdown_list(_verdict(report)),
        markdown_table(_build_lines(report)),
        markdown_list(_notes(report)),
    ]
    return "\n\n".join(parts) + "\n"


def _technique_lines(report: ChunkingReport) -> list[Line]:
    lines = [Line("technique", ("right", "share", "pieces", "best build", ""))]
    for row in report.techniques:
        share = f"{row.right} of {len(row.outcomes)}"
        mark = "tie" if row.is_tie else "best" if row == report.techniques[0] else ""
        built = row.build.name.removeprefix(f"{row.technique} ")
        lines.append(Line(row.technique, (share, figure(row.share), str(row.pieces), built, mark)))
    return lines


def _verdict(report: ChunkingReport) -> Iterator[str]:
    best, *others = report.techniques
    yield f"{best.technique} has the most right: {best.right} of {len(best.outcomes)}."
    ties = [each.technique for each in others if each.is_tie]
    if ties:
        yield (
            f"The questions cannot tell it from {', '.join(ties)}: the distance could be luck, and"
            " more questions would say more."
        )


def _pair_lines(report: ChunkingReport) -> list[str]:
    beside = [each for each in report.pairs if each.first == report.techniques[0].technique]
    if not beside:
        return []
    heads = ("only best", "only it", "both", "neither", "p", "p (Holm)")
    lines = [Line("beside the best", heads), *(_pair_line(each) for each in beside)]
    return [*aligned(lines, range(6)), ""]


def _pair_line(pair: Pair) -> Line:
    counts = (pair.only_first, pair.only_second, pair.both, pair.neither)
    return Line(pair.second, (*map(str, counts), p_value(pair.p), p_value(pair.p_holm)))


def _build_lines(report: ChunkingReport) -> list[Line]:
    questions = len(report.halves.choosing) + len(report.halves.told)
    heads = (
        f"right of {len(report.halves.choosing)}",
        f"found of {questions}",
        "pieces",
        "mean chars",
        "seconds",
    )
    return [Line("build", heads), *(_build_line(each) for each in report.builds)]


def _build_line(row: BuildRow) -> Line:
    sizes = (str(row.pieces), f"{row.mean_chars:.0f}", f"{row.seconds:.1f}")
    return Line(row.build.name, (str(row.right), str(row.found), *sizes))


def _notes(report: ChunkingReport) -> Iterator[str]:
    scored = len(report.halves.choosing) + len(report.halves.told)
    yield (
        f"{scored} questions count, {report.by_evidence} of them with evidence;"
        f" {len(report.unlabelled)} without labels were left out."
    )
    if report.unanswerable:
        yield f"{len(report.unanswerable)} without a reference answer were left out."
    if report.coarser:
        yield (
            f"{len(report.coarser)} without evidence name sections: any part of the document"
            " counts, which tells little. Give them evidence."
        )
    yield f"Searched: {report.setting}. [low, high]: {LEVEL:.0%} interval (Wilson)."
    yield from rules(report)
    yield from (printable(f"Left out: {name}: {reason}.") for name, reason in report.left_out)
    shown = report.errors[:_ERRORS_SHOWN]
    yield from (printable(f"No verdict: {row}, {name}: {error}") for row, name, error in shown)
    if len(report.errors) > _ERRORS_SHOWN:
        yield f"and {len(report.errors) - _ERRORS_SHOWN} more (all with --json)"


def _technique_record(row: TechniqueRow) -> dict[str, Any]:
    return {
        "technique": row.technique,
        "about": ABOUT[row.technique],
        "build": _build_record(row.build),
        "pieces": row.pieces,
        "right": row.right,
        "of": len(row.outcomes),
        "share": row.share.as_dict(),
        "is_tie": row.is_tie,
        "outcomes": list(row.outcomes),
    }


def _build_record(build: Build) -> dict[str, Any]:
    return {"name": build.name, **build._asdict()}


def _build_row_record(row: BuildRow) -> dict[str, Any]:
    return {
        **_build_record(row.build),
        "pieces": row.pieces,
        "mean_chars": row.mean_chars,
        "seconds": row.seconds,
        "found": row.found,
        "right": row.right,
        "errors": [{"id": name, "error": error} for name, error in row.errors],
    }
