"""What a report costs to make, to send and to look at, for two synthetic runs.

python benchmarks/report/run.py --chromium /usr/bin/chromium > benchmarks/report/results.md
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright
from synthetic import write_synthetic

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measuring import machine, run, table

SIZES = (221, 2_000)
LOADS = 5
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
FILTER = """
async ([name, value]) => {
  const field = document.querySelector(`#filters [name=${name}]`);
  const start = performance.now();
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}
"""
"""From a change of a filter until the frame that shows it is drawn."""
OPEN = """
async () => {
  const start = performance.now();
  document.querySelector("#list tbody button").click();
  while (!document.querySelector("#detail pre, #detail .turn"))
    await new Promise((done) => setTimeout(done, 1));
  return performance.now() - start;
}
"""
FILTERS = (("text", "the"), ("text", "q1"), ("text", ""), ("outcome", "miss"), ("agree", "differ"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    arguments = parser.parse_args()
    about = machine()
    with TemporaryDirectory(prefix="contextpull-report-") as work, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=QUIET.split())
        rows = [measured(Path(work), size, browser) for size in SIZES]
        version = browser.version
        browser.close()
    print("# What a report costs\n")
    print(f"{about}; Chromium {version}\n")
    print("```\npython benchmarks/report/run.py --chromium /usr/bin/chromium\n```\n")
    print(table(HEADS, rows))
    print(
        f"\nms: the median of {LOADS} loads, and the slowest; CPU ms: of the page's main thread,"
        " without the time that it waited for a core."
    )


HEADS = (
    "questions x rows",
    "run, MB",
    "page, MB",
    "building, CPU s",
    "peak, MB",
    "first paint, ms",
    "ready, ms",
    "filter, ms",
    "filter, CPU ms",
    "opening a question, ms",
)


def measured(work: Path, size: int, browser: Any) -> Sequence[str]:
    """A line of the table."""
    folder, page = work / f"run-{size}", work / f"report-{size}.html"
    write_synthetic(folder, size)
    command = [sys.executable, "-m", "contextpull", "eval", "report", folder, "--out", page]
    cost = run(command)
    loads = [load(browser, page) for _ in range(LOADS)]
    painted, ready, filters, busy, opened = zip(*loads, strict=True)
    return (
        f"{size:,} x 8",
        f"{sum(each.stat().st_size for each in folder.iterdir()) / 1e6:.1f}",
        f"{page.stat().st_size / 1e6:.2f}",
        f"{cost.cpu_s:.1f}",
        f"{cost.peak_mb:.0f}",
        shown(painted),
        shown(ready),
        shown([each for times in filters for each in times]),
        shown([each for times in busy for each in times]),
        shown(opened),
    )


def load(browser: Any, path: Path) -> tuple[float, float, list[float], list[float], float]:
    """Milliseconds until the first paint and until it can be used, of filters, and of opening.

    Those of filters twice: as somebody waits for them, and of CPU.
    """
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    painted, ready = page.evaluate(PAINTED), page.evaluate(READY)
    filters, busy = [], []
    for each in FILTERS:
        before = cpu_ms(session)
        filters.append(page.evaluate(FILTER, list(each)))
        busy.append(cpu_ms(session) - before)
    opened = page.evaluate(OPEN)
    page.close()
    return painted, ready, filters, busy, opened


def cpu_ms(session: Any) -> float:
    """What the main thread of a page has used of a core."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(1_000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def shown(values: Sequence[float]) -> str:
    """The median and the slowest."""
    return f"{statistics.median(values):.0f}, {max(values):.0f}"


if __name__ == "__main__":
    main()
