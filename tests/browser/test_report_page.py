"""The report in a browser, opened from the disk as a user opens it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextpull.types import Question
from tests.browser.conftest import Tab
from tests.eval.report.kept_runs import FINDS_ALL, FINDS_ONE, QUESTIONS, READ, keep_run

pytest.importorskip("jinja2")

from contextpull.eval.report.rendering import report_page

PUSH = {"bm25": FINDS_ONE, "hybrid": FINDS_ALL}
HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    " ]]> <!-- {{ 7 * 7 }} \u202eright\u202c \x07 & ' \""
)
MANY = 2_000
MOST_LINES = 60
Ids = Mapping[str, Sequence[str]]


def page_in(folder: Path, *runs: Path) -> str:
    """The address of the report of these runs."""
    path = folder / "report.html"
    path.write_text(report_page(runs).html, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    said: dict[str, Any] = {"result": READ, "answer": "Four minutes, says a.md#red."}
    runs = [
        keep_run(folder / f"run{at}", PUSH, {"pull": found}, dollars=0.01, **said)
        for at, found in enumerate((FINDS_ONE, FINDS_ONE, FINDS_ALL))
    ]
    return page_in(folder, *runs)


@pytest.fixture(scope="module")
def long_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("long")
    questions = [
        replace(QUESTIONS[at % 3], id=f"q{at:04}", text=f"Question {at}?") for at in range(MANY)
    ]
    found = {each.id: each.gold if at % 2 else [] for at, each in enumerate(questions)}
    reads = {each.id: each.gold for each in questions}
    return page_in(
        folder, keep_run(folder / "run", {"bm25": found, "hybrid": reads}, {}, questions=questions)
    )


@pytest.fixture(autouse=True)
def nothing_goes_wrong(tab: Tab) -> Iterator[None]:
    """No test may leave an error in the console, or ask the network for anything."""
    yield
    assert tab.problems == []
    assert [
        each for each in tab.requested if not each.startswith(("file:", "data:", "blob:"))
    ] == []


def counted(tab: Tab) -> str:
    return str(tab.page.get_by_role("status").inner_text())


def lines(tab: Tab) -> list[str]:
    """The ids of the questions that are drawn."""
    return list(tab.page.locator("#list tbody th").all_inner_texts())


def opened(tab: Tab) -> Any:
    """The dialog of a question, with what it is filled with."""
    dialog = tab.page.locator("#question[open]")
    dialog.get_by_role("heading", name="What each row returned").wait_for()
    return dialog


def test_every_part_is_reached_from_the_bar_above(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    links = tab.page.get_by_role("navigation").get_by_role("link")
    names = links.all_inner_texts()
    assert names == [
        "Result", "Differences", "By shape", "Behaviour", "Questions", "Runs", "Provenance",
    ]  # fmt: skip
    for name in names:
        tab.page.get_by_role("navigation").get_by_role("link", name=name).click()
        part = tab.page.url.partition("#")[2]
        assert tab.page.locator(f"section#{part}").is_visible()


def test_the_plot_changes_its_scale(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    for name in ("dollars", "seconds", "tokens"):
        tab.page.get_by_role("radio", name=name).check()
        drawn = tab.page.locator("svg.plot:visible")
        assert drawn.count() == 1
        assert name in drawn.get_by_text(f"{name} a question").first.text_content()


def test_questions_are_filtered_sorted_and_cleared(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    assert (counted(tab), lines(tab)) == ("3 questions", ["q1", "q2", "q3"])
    tab.page.get_by_label("Text or id").fill("BLUE take")
    assert (counted(tab), lines(tab)) == ("1 of 3 questions", ["q2"])
    tab.page.get_by_role("button", name="Clear").click()
    tab.page.get_by_text("3 questions", exact=True).wait_for()
    tab.page.get_by_role("combobox", name="Row", exact=True).select_option("bm25")
    tab.page.get_by_role("combobox", name="Outcome of the row").select_option("no gold found")
    assert lines(tab) == ["q2", "q3"]
    tab.page.get_by_role("combobox", name="Shape").select_option("comparison")
    assert lines(tab) == ["q3"]
    tab.page.get_by_role("button", name="Clear").click()
    tab.page.get_by_text("3 questions", exact=True).wait_for()
    tab.page.get_by_role("combobox", name="Rows", exact=True).select_option("differ in recall")
    assert lines(tab) == ["q2", "q3"]
    tab.page.get_by_role("combobox", name="Rows", exact=True).select_option("only pull finds any")
    assert (counted(tab), lines(tab)) == ("0 of 3 questions", [])
    tab.page.get_by_role("button", name="Clear").click()
    tab.page.get_by_text("3 questions", exact=True).wait_for()
    head = tab.page.locator("#list").get_by_role("columnheader", name="bm25", exact=True)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert lines(tab) == ["q1", "q2", "q3"]
    head.get_by_role("button").click()
    assert (head.get_attribute("aria-sort"), lines(tab)) == ("ascending", ["q2", "q3", "q1"])


def test_a_question_shows_gold_rankings_and_each_step(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    tab.page.get_by_role("button", name="What differs?").click()
    dialog = opened(tab)
    text = dialog.inner_text()
    assert "What differs?" in text
    assert "The same in the run before" in text
    assert "Turn 1 900 sent" in text
    assert 'read({"ids": ["a.md#red", "b.md#blue"]})' in text
    dialog.get_by_text("Nine minutes.").wait_for()
    assert dialog.locator(".gold").first.inner_text() == "a.md#red"


def test_a_click_anywhere_in_its_line_opens_a_question(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    tab.page.locator("#list tbody tr", has_text="q2").locator("td.m").last.click()
    assert "q2" in opened(tab).inner_text()
    assert tab.page.url.endswith("q=q2")


def test_a_citation_opens_the_text_that_was_read(tab: Tab, address: str) -> None:
    tab.page.goto(f"{address}#q=q1")
    opened(tab).locator(".answer .cite", has_text="a.md#red").first.click()
    section = tab.page.locator("#section[open]")
    assert section.locator("pre").inner_text() == "# Red\n\nFour minutes."
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#section").is_hidden()
    assert tab.page.locator("#question").is_visible()


def test_the_address_brings_back_what_was_shown(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    tab.page.get_by_role("combobox", name="Row", exact=True).select_option("bm25")
    tab.page.get_by_role("combobox", name="Outcome of the row").select_option("no gold found")
    tab.page.get_by_role("button", name="What differs?").click()
    opened(tab)
    shared = tab.page.url
    other = tab.context.new_page()
    other.goto(shared)
    dialog = other.locator("#question[open]")
    dialog.get_by_role("heading", name="What differs?").wait_for()
    assert dialog.locator("#place").inner_text() == "2 of 2"
    assert other.locator("#count").inner_text() == "2 of 3 questions"


@pytest.mark.parametrize(
    "place", ["q=nobody", "row=99&outcome=hit", "shape=none&x=1", "=", "q=%E0"]
)
def test_an_address_that_means_nothing_shows_the_page(tab: Tab, address: str, place: str) -> None:
    tab.page.goto(f"{address}#{place}")
    assert tab.page.locator("#question[open]").count() == 0
    assert "of 3" in counted(tab) or counted(tab) == "3 questions"


def test_the_keyboard_alone_reaches_and_leaves_a_question(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the report"
    tab.page.locator("#list").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        tab.page.keyboard.press(key)
    dialog = opened(tab)
    dialog.get_by_role("heading", name="How long does blue take?").wait_for()
    tab.page.keyboard.press("ArrowRight")
    dialog.get_by_role("heading", name="What differs?").wait_for()
    assert dialog.get_by_role("button", name="Next question").is_disabled()
    tab.page.keyboard.press("Escape")
    assert dialog.count() == 0
    tab.page.locator("#list button:focus", has_text="What differs?").wait_for()


def test_a_question_that_was_won_is_one_step_away(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    tab.page.locator("#runs").get_by_role("link", name="q2").first.click()
    opened(tab).get_by_role("heading", name="How long does blue take?").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_keeps_people_out(tab: Tab, address: str, scheme: Any, width: int) -> None:
    tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.page.goto(address)
    tab.page.evaluate(
        "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
    )
    assert tab.page.evaluate("document.documentElement.scrollWidth") == width
    assert tab.grave_findings() == []
    tab.page.goto(f"{address}#q=q3")
    opened(tab).get_by_text("Nine minutes.").wait_for()
    assert tab.grave_findings() == []


def test_only_lines_in_sight_are_drawn_and_all_are_reached(tab: Tab, long_address: str) -> None:
    tab.page.goto(long_address)
    assert counted(tab) == "2,000 questions"
    assert len(lines(tab)) < MOST_LINES
    tab.page.locator("#list").focus()
    tab.page.keyboard.press("End")
    tab.page.locator("#list").get_by_text("q1999").wait_for()
    assert len(lines(tab)) < MOST_LINES
    tab.page.get_by_role("combobox", name="Outcome of the row").select_option("no gold found")
    assert counted(tab) == "1,000 of 2,000 questions"
    assert lines(tab)[0] == "q0000"


def test_paper_gets_a_list_without_gaps(tab: Tab, long_address: str) -> None:
    tab.page.goto(long_address)
    tab.page.get_by_label("Text or id").fill("q01")
    tab.page.emulate_media(media="print")
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert lines(tab) == [f"q{at:04}" for at in range(100, 200)]
    assert tab.page.locator("nav:visible, #filters:visible").count() == 0


def test_paper_gets_the_details_that_are_open(tab: Tab, address: str) -> None:
    tab.page.goto(address)
    tab.page.emulate_media(media="print")
    won = tab.page.get_by_text("Questions won and lost")
    by_shape = tab.page.get_by_text("The same by shape")
    assert (won.is_visible(), by_shape.is_visible()) == (True, False)


def test_what_runs_hold_changes_nothing_and_is_shown(tab: Tab, tmp_path: Path) -> None:
    gold: Ids = {HOSTILE: [HOSTILE]}
    run = keep_run(
        tmp_path / "run",
        {HOSTILE: gold, "fails": {}},
        {f"pull {HOSTILE}": gold},
        questions=[Question(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE)],
        model=HOSTILE,
        result=HOSTILE,
        answer=HOSTILE,
    )
    tab.page.goto(page_in(tmp_path, run))
    tab.page.locator("#list tbody button").click()
    shown = opened(tab).inner_text()
    assert tab.page.title() == "run"
    assert tab.page.locator("img").count() == 0
    assert "<img src=x onerror=" in shown
    assert "{{ 7 * 7 }}" in shown
    assert "[U+202E]right[U+202C] [U+0007]" in shown
    assert "\u202e" not in tab.page.locator("body").inner_text()
