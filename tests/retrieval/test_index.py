"""The index is as detailed as its budget allows, and every entry can be reached."""

from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.retrieval.listing import DEFAULT_BUDGET, list_contents
from contextpull.tools import ToolSession
from tests.conftest import Files, Tools


def pages(count: int, folder: str = "") -> dict[str, str]:
    return {
        f"{folder}page-{n:04}.md": f"# Title {n}\n\nWhat page {n} is about is said in a sentence.\n"
        for n in range(count)
    }


def entries(session: ToolSession, path: str = "") -> list[str]:
    """Every line of a listing, page by page."""
    lines: list[str] = []
    offset: int | None = 0
    while offset is not None:
        result = session.call("index", {"path": path, "offset": offset})
        assert not result.is_error
        assert len(result.text) <= DEFAULT_BUDGET
        assert len(result.data["lines"]) > 0
        lines += result.data["lines"]
        offset = result.data["next_offset"]
        remaining = result.data["remaining"]
        hint = f"\n{remaining:,} more: offset={offset}"
        assert result.text.endswith(hint) == (offset is not None) == (remaining > 0)
    return lines


def test_a_small_corpus_is_listed_with_titles_and_summaries(tools: Tools) -> None:
    assert tools({**pages(2), "sub/notes.txt": "Some notes.\n"}).call("index", {}).text == (
        "Everything: 3 documents, 3 sections.\n"
        "page-0000.md (1): Title 0. What page 0 is about is said in a sentence.\n"
        "page-0001.md (1): Title 1. What page 1 is about is said in a sentence.\n"
        "sub/notes.txt (1): notes. Some notes."
    )


@pytest.mark.parametrize(
    ("files", "first"),
    [
        (pages(100), "page-0000.md (1): Title 0. What page 0 is about is said in a sentence."),
        (pages(250), "page-0000.md (1): Title 0"),
        (pages(400, "a/") | pages(300, "b/"), "a/: page-0000.md, page-0001.md, page-0002.md"),
        (pages(900, "a/") | pages(3, "b/"), "a/ (900 documents, 900 sections): Title 0, Title 1"),
    ],
    ids=["with summaries", "with titles", "names by folder", "folders"],
)
def test_the_form_is_the_most_telling_one_that_fits(tools: Tools, files: Files, first: str) -> None:
    result = tools(files).call("index", {})
    assert len(result.text) <= DEFAULT_BUDGET
    assert result.data["next_offset"] is None
    assert result.text.splitlines()[1].startswith(first)


def test_four_hundred_files_in_one_folder_are_all_listed_with_titles(tools: Tools) -> None:
    session = tools(pages(900))
    assert entries(session) == [f"page-{n:04}.md (1): Title {n}" for n in range(900)]


def test_a_corpus_whose_files_lie_under_one_folder_is_listed_from_where_it_branches(
    tools: Tools,
) -> None:
    session = tools(pages(500, "docs/en/a/") | pages(500, "docs/en/b/"))
    result = session.call("index", {})
    assert [line.partition(" (")[0] for line in result.data["lines"]] == [
        "docs/en/a/",
        "docs/en/b/",
    ]


def test_a_folder_lists_its_documents(tools: Tools) -> None:
    session = tools(pages(3, "guide/") | pages(2, "other/"))
    for path in ("guide", "guide/", "./guide/", "GUIDE"):
        result = session.call("index", {"path": path})
        assert result.data["heading"] == "guide/: 3 documents, 3 sections."
        assert [line.partition(" ")[0] for line in result.data["lines"]] == [
            f"guide/page-000{n}.md" for n in range(3)
        ]


def test_a_glob_lists_what_it_matches(tools: Tools) -> None:
    session = tools(pages(3, "guide/") | pages(2, "other/") | {"other/x.txt": "Text.\n"})
    result = session.call("index", {"path": "**/page-0001.md"})
    assert result.data["heading"] == "**/page-0001.md: 2 documents, 2 sections."
    assert [line.partition(" ")[0] for line in result.data["lines"]] == [
        *("guide/page-0001.md", "other/page-0001.md")
    ]
    assert "x.txt" in session.call("index", {"path": "*.txt"}).text


def test_a_document_lists_its_sections_with_ids_and_sizes(tools: Tools) -> None:
    guide = (
        "Before the first heading there are some words, too.\n\n# Guide\n\n"
        "The guide begins here, with a few words.\n\n## Install it\n\n"
        "How it is installed, in a few more words.\n"
    )
    session = tools({"guide.md": guide})
    text = session.call("index", {"path": "guide.md"}).text
    assert text == (
        "guide.md: Guide. 3 sections, 153 characters. Ids are guide.md#slug; sizes are characters."
        "\n#top | (before the first heading) | 53"
        "\n#guide | Guide | 51"
        "\n  #install-it | Install it | 57"
    ).replace("153", str(len(guide)))
    sizes = [int(line.rpartition("| ")[2]) for line in text.splitlines()[1:]]
    assert sum(sizes) == len(guide)
    ids = [line.strip().partition(" ")[0] for line in text.splitlines()[1:]]
    read = session.call("read", {"ids": [f"guide.md{slug}" for slug in ids]}).data["sections"]
    assert [section["id"] for section in read] == [f"guide.md{slug}" for slug in ids]


def test_a_long_outline_is_paged_to_its_end(tools: Tools) -> None:
    headings = "".join(
        f"## Heading number {n}\n\nThe text of the heading number {n}, which is short.\n\n"
        for n in range(700)
    )
    session = tools({"a.md": headings})
    slugs = [line.strip().partition(" ")[0] for line in entries(session, "a.md")]
    assert slugs == [f"#heading-number-{n}" for n in range(700)]


def test_an_offset_behind_the_end_is_an_error(tools: Tools) -> None:
    result = tools(pages(3)).call("index", {"offset": 3})
    assert result.is_error
    assert result.text == "There is no entry 3: the listing has 3, from 0 on."


def test_titles_of_any_kind_stay_on_one_line_of_their_own(tools: Tools) -> None:
    session = tools(
        {
            "a.md": '---\ntitle: "First\\nline\\r\\nand\\tmore"\n'
            "description: |\n  one\n  two\n---\nx",
            "b.md": "---\ntitle: " + "very " * 190 + "long\n---\n\nText.\n",
        }
    )
    lines = session.call("index", {}).text.splitlines()
    assert lines[1] == "a.md (1): First line and more. one two"
    assert lines[2].startswith("b.md (1): very very")
    assert len(lines) == 3
    assert all(len(line) < 250 for line in lines)
    assert len(session.call("index", {"path": "b.md"}).text) < 400


@pytest.mark.parametrize("budget", [0, 1, 50])
def test_the_smallest_budget_still_gives_one_entry_and_the_way_on(
    tools: Tools, tmp_path: Path, budget: int
) -> None:
    tools(pages(3))
    listing = list_contents(open_store(tmp_path / "store").snapshot(), budget=budget)
    assert len(listing.lines) == 1
    assert (listing.next_offset, listing.remaining) == (1, 2)
    assert len(listing.text) < 170


def test_the_form_changes_with_one_character_of_the_budget(tools: Tools, tmp_path: Path) -> None:
    tools(pages(3, "guide/") | pages(2, "other/"))
    snapshot = open_store(tmp_path / "store").snapshot()
    forms = [list_contents(snapshot)]
    for _ in range(3):
        size = len(forms[-1].text)
        assert list_contents(snapshot, budget=size).lines[0] == forms[-1].lines[0]
        forms.append(list_contents(snapshot, budget=size - 1))
    assert [form.lines[0] for form in forms] == [
        "guide/page-0000.md (1): Title 0. What page 0 is about is said in a sentence.",
        "guide/page-0000.md (1): Title 0",
        "guide/: page-0000.md, page-0001.md, page-0002.md",
        "guide/ (3 documents, 3 sections): Title 0, Title 1, Title 2",
    ]
