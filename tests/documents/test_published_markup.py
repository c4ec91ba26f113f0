"""Odd HTML, reStructuredText and AsciiDoc that others published: what a person sees is found."""

import json
import os
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.documents.formats import reader_of
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus
from tests.documents.reading import assert_sound

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
HOSTILE = DATA / "hostile"
SUFFIXES = (".html", ".rst", ".asciidoc")
PHRASES = {
    "permissive/asciidoc/docling__asciidoc_01.asciidoc": "Sample Document Title",
    "permissive/asciidoc/docling__asciidoc_02.asciidoc": "2nd Sample Document Title",
    "permissive/rst/unstructured__README.rst": "The sample docs directory contains",
    "permissive/html/docling__wiki_duck.html": "Ducks are sometimes confused with several types",
    "permissive/html/docling__html_rich_table_cells.html": "Riverbank",
    "permissive/html/docling__html_description_list.html": "Detail for sub-term D",
    "permissive/html/docling__html_nested_block_in_list_item.html": "Second paragraph block",
    "permissive/html/markitdown__test_blog.html": "tuning the inference parameters",
    "permissive/html/unstructured__example-10k-1p.html": "OTCQB marketplace",
    "permissive/html/unstructured__fake-html-cp1252.html": "Die schöne Frau",
    "permissive/html/unstructured__example-with-scripts.html": "Russian milbloggers accused",
    "permissive/html/unstructured__fake-html-with-base64-image.html": "Test page",
    "permissive/html/unstructured__ideas-page.html": "new ideas is to notice anomalies",
    "permissive/html/tika__testHTMLNoisyMetaEncoding_1.html": "الاتحاد الجزائري",
    "permissive/html/tika__testHTML_charset_utf16le.html": "This is a sample text",
    "permissive/html/tika__testArabicMisleadingCharset.html": "قرية من القرى",
    "permissive/html/tika__testBrokenHTMLContainingRFC822.html": "An exciting subject",
    "sharealike/html/wikitablequestions__0.html": "Esther Shahamorov",
}

pytestmark = pytest.mark.corpus


@pytest.fixture
def expected() -> set[str]:
    """The published files of these formats; all of them are to be read."""
    file = HOSTILE / "manifest.jsonl"
    if not file.is_file():
        pytest.skip(f"no files under {HOSTILE}")
    entries = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    return {
        each["file"]
        for each in entries
        if each["file"].endswith(SUFFIXES) and each["expect"] == "ok"
    }


def test_every_published_file_is_read(expected: set[str]) -> None:
    for name in expected:
        document = reader_of(name)((HOSTILE / name).read_bytes())
        assert document.text.strip()
        assert_sound(document)


def test_what_a_person_sees_in_a_file_is_found_by_search_and_grep(
    expected: set[str], tmp_path: Path
) -> None:
    assert expected == set(PHRASES)
    files = {name: (HOSTILE / name).read_bytes() for name in PHRASES}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    tools = ToolSession(open_store(tmp_path / "store"))
    missed = [
        (tool, name)
        for name, phrase in PHRASES.items()
        for tool, argument in (("search", "query"), ("grep", "pattern"))
        if f"{name}#" not in tools.call(tool, {argument: phrase, "paths": name}).text
    ]
    assert missed == []
