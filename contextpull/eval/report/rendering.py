"""A report as one page of HTML that needs nothing else: no network, no files, no server.

The page carries a policy (CSP) under which only its own style and script run; both are named by
their hashes. Whatever comes from runs is escaped here, or put into the page by the script as text.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from contextpull import __version__
from contextpull.errors import InvalidInput
from contextpull.eval.report import charts, figures, histograms
from contextpull.eval.report.caveats import caveats_of
from contextpull.eval.report.cells import cell_text
from contextpull.eval.report.changes import changes, history
from contextpull.eval.report.claims import change_of, claim_of
from contextpull.eval.report.model import RunView, view_of
from contextpull.eval.report.packing import as_json, pack
from contextpull.eval.runs import SHAPES_FIRST
from contextpull.eval.table import printable

_PAGE = Path(__file__).parent / "page"


class Page(NamedTuple):
    """A page of HTML, and the policy that it carries."""

    html: str
    policy: str
    """A Content-Security-Policy, for a server to send as a header as well."""


def report_page(folders: Sequence[Path], golden: Sequence[object] = ()) -> Page:
    """The page of the runs in these folders; see `page_of_views`.

    Raises EvaluationError for a folder without a run that can be read.
    """
    return page_of_views([view_of(folder) for folder in folders], golden)


def page_of_views(runs: Sequence[RunView], golden: Sequence[object] = ()) -> Page:
    """The report of the last of these runs; of more than one also what changed.

    `golden` is what `page/golden.html` shows. Raises InvalidInput without either.
    """
    if not runs and not golden:
        raise InvalidInput("Name the folder of at least one run.")
    run = runs[-1] if runs else None
    return page_of(
        "report.html",
        script="report.js",
        title=run.name if run else "Golden files",
        golden=golden,
        **(_values(run, runs) if run else {"run": None, "changed": None}),
    )


def page_of(template: str, *, script: str = "", **values: object) -> Page:
    """A page of a template of this folder, which extends `layout.html`."""
    style = _text("report.css")
    code = _text(script) if script else ""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(code)}" if code else "script-src 'none'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'self'",
        )
    )
    html = (
        _environment()
        .get_template(template)
        .render(policy=policy, style=Markup(style), script=Markup(code), **values)
    )
    # A lone surrogate can be in JSON, but in no file.
    return Page(html.encode("utf-8", "replace").decode(), policy)


def _values(run: RunView, runs: Sequence[RunView]) -> dict[str, object]:
    changed = changes(runs[-2], run) if len(runs) > 1 else None
    is_comparable = changed is not None and not changed.refused
    packed = pack(run, changed.first if changed and is_comparable else None)
    names, lines = history(runs)
    return {
        "run": run,
        "nan": nan,
        "skipped": _skipped(run),
        "shape_sizes": run.shape_sizes,
        "claim": claim_of(run),
        "caveats": caveats_of(run),
        "drawn": [(axis, charts.trade_off(run, axis)) for axis in charts.AXES],
        "compared": {each.row: each for each in run.comparisons},
        "changed": changed,
        "changed_claim": change_of(changed) if changed else "",
        "all_alike": not any(line.unlike_last for line in lines),
        "same_k": not any("k" in line.unlike_last for line in lines),
        "runs": runs,
        "history_names": names,
        "history_lines": lines,
        "index": Markup(as_json(packed.index)),
        "chunks": packed.chunks,
    }


def _skipped(run: RunView) -> dict[str, str]:
    """Shapes without a question, and why; empty where the run does not say. None without shapes."""
    if not run.shapes:
        return {}
    reasons = run.provenance.skipped
    names = dict.fromkeys([*SHAPES_FIRST, *reasons])
    return {each: reasons.get(each, "") for each in names if each not in run.shapes}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        bounds=figures.bounds,
        plain=figures.plain,
        signed=figures.signed,
        signed_bounds=lambda value: figures.bounds(value, figures.signed),
        p_value=figures.p_value,
        tokens=figures.tokens,
        dollars=_dollars,
        about=_about,
        seconds=_seconds,
        shown=lambda name: printable(str(name)),
        broken=_broken,
        words=lambda name: printable(str(name)).replace("_", " "),
    )
    environment.globals.update(
        cell_text=cell_text, charts=charts, histograms=histograms, version=__version__
    )
    return environment


def _broken(name: object) -> Markup:
    """A name that may break behind its signs rather than inside a word."""
    return Markup("<wbr>").join(map(escape, re.split(r"(?<=[+/:,-])", printable(str(name)))))


def _dollars(value: float) -> str:
    if not isfinite(value):
        return figures.UNDEFINED
    return f"${value:.4f}" if value else "$0"


def _about(value: float) -> str:
    """A mean or quantile of counts, with a decimal where that says something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _seconds(value: float) -> str:
    """Seconds with the digits that matter."""
    if not isfinite(value):
        return figures.UNDEFINED
    if value >= 1:
        return f"{value:,.1f}"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


@cache
def _text(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
