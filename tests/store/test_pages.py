"""Pages: kept by the store, shown by every tool, absent from stores of an older format."""

import sqlite3
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.eval.seen import seen
from contextpull.store.database import FILE, Database
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import tools_over, write_corpus
from tests.documents.office_files import pptx, shape
from tests.documents.pdf_files import lines, pdf

SENTENCE = "The pump is checked every month by whoever holds the key"


@pytest.fixture
def tools(tmp_path: Path) -> ToolSession:
    pages = [lines(*[f"{SENTENCE} number {page}{n}" for n in range(9)]) for page in range(3)]
    files = {"manual.pdf": pdf(*pages), "notes.md": "# Pumps\n\nThe pump stands still.\n"}
    return tools_over(tmp_path, files)


def test_a_page_without_headings_is_read_by_its_number(tools: ToolSession) -> None:
    result = tools.call("read", {"ids": ["manual.pdf#page=2"]})
    assert result.text.startswith("[manual.pdf#page=2] Page 2 (lines 5-7, p. 2)\n")
    assert "number 10" in result.text
    assert seen("read", result.text, {"ids": ["manual.pdf#page=2"]}).read == ("manual.pdf#page=2",)


def test_a_file_without_titles_goes_by_its_name(tools: ToolSession, tmp_path: Path) -> None:
    words = shape("Words of a slide, enough of them to be a section of its own.")
    slides = pptx([words, shape("Plan", holder="title") + words])
    write_corpus(tmp_path / "docs", {"plan.pptx": slides})
    ingest(tmp_path / "docs", tmp_path / "store")
    documents = open_store(tmp_path / "store").snapshot().documents
    assert [(path, each.title) for path, each in documents.items()] == [
        *(("manual.pdf", "manual"), ("notes.md", "Pumps"), ("plan.pptx", "Plan"))
    ]


def test_hits_and_matches_name_the_page(tools: ToolSession) -> None:
    assert "manual.pdf#page=3 | Page 3 | p. 3" in tools.call("search", {"query": "number 24"}).text
    assert "manual.pdf#page=2 | Page 2 | p. 2" in tools.call("grep", {"pattern": "number 14"}).text


def test_programs_get_the_pages_and_none_where_there_are_none(tools: ToolSession) -> None:
    hits = tools.call("search", {"query": "pump"}).data["hits"]
    pages = {hit["id"]: (hit["page"], hit["last_page"]) for hit in hits}
    assert pages["manual.pdf#page=1"] == (1, 1)
    assert pages["notes.md#pumps"] == (0, 0)


def test_a_store_of_the_first_format_is_read_and_migrated_by_the_next_change(
    tools: ToolSession, tmp_path: Path
) -> None:
    file = tmp_path / "store" / FILE
    with sqlite3.connect(file) as connection:
        connection.execute("DROP INDEX sections_by_page")
        connection.execute("ALTER TABLE sections DROP COLUMN page")
        connection.execute("ALTER TABLE sections DROP COLUMN last_page")
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    connection.close()
    old = ToolSession(open_store(tmp_path / "store"))
    assert old.call("read", {"ids": ["notes.md#pumps"]}).text.endswith("The pump stands still.")
    write_corpus(tmp_path / "docs", {"new.pdf": pdf(lines("Brand new"))})
    ingest(tmp_path / "docs", tmp_path / "store")
    new = ToolSession(open_store(tmp_path / "store"))
    assert "p. 1)" in new.call("read", {"ids": ["new.pdf#page=1"]}).text
    assert "p." not in new.call("read", {"ids": ["manual.pdf#page=1"]}).text.split("\n")[0]
    assert Database(file).format == 2
