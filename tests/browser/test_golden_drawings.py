"""Golden-file results in a report, as a browser shows them."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from contextpull.adapters.files import replacing
from contextpull.eval.report.golden import golden_parts
from contextpull.eval.report.rendering import report_page
from tests.browser.conftest import Tab

ENDS = {"low": 0.55, "high": 0.9}
COST = {"cutoff": 0.6, "precision": 0.9, "answered": 0.8, "declined": 0.7, "youden": 0.5}
CUTOFF = {
    **{"by": "doc", "measure": "similarity", "unlabelled": [], "too_coarse": [], "notes": []},
    "unmeasured": [],
    "separation": {"mean": 0.8, **ENDS},
    "cutoff": 0.6,
    "cutoff_interval": {"mean": 0.6, **ENDS},
    "at_cutoff": COST,
    "held_out": COST,
    "table": [{**COST, "cutoff": 0.5, "answered": 1.0, "declined": 0.0}, COST],
    "interval": {"level": 0.95, "rounds": 100, "seed": 0},
    "tops": [
        {"kind": kind, "value": value / 10}
        for kind, values in (("answer", (6, 7, 8)), ("near miss", (3, 4, 6)))
        for value in values
    ],
}


@pytest.mark.parametrize("width", [1440, 390])
def test_golden_results_can_be_read_by_everybody(tab: Tab, tmp_path: Path, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 900})
    (tmp_path / "cutoff.json").write_text(json.dumps(CUTOFF))
    page = report_page([], [golden_parts(tmp_path / "cutoff.json")])
    with replacing(tmp_path / "page.html") as stream:
        stream.write(page.html)
    tab.page.goto((tmp_path / "page.html").as_uri())
    assert "Decline below a similarity of 0.600" in tab.page.get_by_role("main").inner_text()
    assert tab.page.get_by_role("img").count() == 1
    assert tab.page.evaluate("document.documentElement.scrollWidth") == width
    assert tab.grave_findings() == []
    assert tab.problems == []
