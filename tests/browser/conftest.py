"""Chromium for the tests of pages.

`make test-browser` names it in CONTEXTPULL_CHROMIUM, and axe-core in CONTEXTPULL_AXE; without them
these tests are skipped.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("CONTEXTPULL_CHROMIUM", "")
AXE = os.environ.get("CONTEXTPULL_AXE", "")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
GRAVE = {"serious", "critical"}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, one for all tests."""
    if not CHROMIUM:
        pytest.skip("CONTEXTPULL_CHROMIUM names no browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


class Tab:
    """A tab that remembers what went wrong in it, and what it asked the network for."""

    def __init__(self, chromium: Any, **how: Any) -> None:
        self.context = chromium.new_context(**how)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requested: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))

    def grave_findings(self) -> list[str]:
        """What axe-core finds serious or critical."""
        self.page.evaluate(Path(AXE).read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run()")["violations"]
        return [
            f"{each['id']}: {node['html'][:160]}"
            for each in found
            if each["impact"] in GRAVE
            for node in each["nodes"]
        ]

    def _heard(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    """A tab of 1440 x 900 points in light colours."""
    opened = Tab(chromium, viewport={"width": 1440, "height": 900}, color_scheme="light")
    yield opened
    opened.context.close()
