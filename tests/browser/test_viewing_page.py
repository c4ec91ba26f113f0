"""The list of runs and the reports behind it, as a browser shows them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Tab
from tests.eval.report.kept_runs import FINDS_ALL, FINDS_ONE, keep_run

pytest.importorskip("jinja2")

from contextpull.eval.report.listing import list_page
from contextpull.eval.report.rendering import report_page
from contextpull.eval.report.serving import RunsServer

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"


@contextmanager
def serving(root: Path) -> Iterator[str]:
    with RunsServer(root, 0, list_page=list_page, report_page=report_page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("runs")
    push = {"bm25": FINDS_ONE, "hybrid": FINDS_ALL}
    keep_run(root / "first", push, {"pull": FINDS_ONE}, finished=1_000_000_000)
    keep_run(root / "second", push, {"pull": FINDS_ALL}, finished=1_100_000_000)
    keep_run(root / "hostile", {HOSTILE: FINDS_ALL}, model=HOSTILE, finished=900_000_000)
    with serving(root) as found:
        yield found


def test_the_list_opens_a_report_and_the_way_back_leads_to_it(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    assert tab.page.title() == "Runs"
    tab.page.get_by_role("link", name="second").click()
    assert "recall@5" in tab.page.get_by_role("main").inner_text()
    tab.page.go_back()
    assert tab.page.get_by_role("heading", level=1).inner_text() == "3 runs"
    assert tab.problems == []
    assert all(each.startswith((address, "data:")) for each in tab.requested)


def test_two_runs_are_compared_with_the_keyboard_alone(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    for name in ("second", "first"):
        tab.page.get_by_role("checkbox", name=f"Compare {name}").focus()
        tab.page.keyboard.press("Space")
    tab.page.get_by_role("button").focus()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/report?run=second&run=first")
    assert "What changed from first to second" in tab.page.get_by_role("main").inner_text()
    assert tab.problems == []


def test_what_a_run_says_of_itself_changes_no_page(tab: Tab, address: str) -> None:
    tab.page.on("dialog", lambda dialog: tab.problems.append(dialog.message))
    tab.page.goto(address)
    assert tab.page.title() == "Runs"
    tab.page.get_by_role("link", name="hostile").click()
    assert tab.page.title() == "hostile"
    assert tab.page.locator("img").count() == 0
    assert tab.problems == []


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_list_can_be_read_by_everybody(
    tab: Tab, address: str, colours: Any, width: int
) -> None:
    tab.page.emulate_media(color_scheme=colours)
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.page.goto(address)
    assert tab.grave_findings() == []
    overflow = "document.documentElement.scrollWidth <= window.innerWidth"
    assert tab.page.evaluate(overflow), "the page itself scrolls sideways"
    assert tab.problems == []
