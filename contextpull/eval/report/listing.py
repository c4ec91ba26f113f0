"""The page that lists runs."""

from contextpull.eval.report.finding import DEEPEST, FoundRuns
from contextpull.eval.report.rendering import Page, page_of
from contextpull.eval.report.serving import report_query, shown_time


def list_page(found: FoundRuns, folder: str) -> Page:
    """The runs under a folder, each with a link to its report, and boxes to tick two or more."""
    return page_of(
        "list.html",
        title="Runs",
        folder=folder,
        runs=[(each, report_query([each.name]), shown_time(each.finished)) for each in found.runs],
        is_cut=found.is_cut,
        deepest=DEEPEST,
    )
