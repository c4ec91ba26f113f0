"""Odd PDF and Office files that others published: what a person sees in them is found."""

import json
import os
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus
from tests.documents.reading import assert_sound

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
HOSTILE = DATA / "hostile"
FOLDERS = ("docx", "pdf", "pptx", "xlsx")
PHRASES = {
    "docx/docling__Strict.docx": "Some text",
    "docx/docling__docx_rich_cells.docx": "Rich cell A nested table",
    "docx/docling__docx_comments.docx": "sample reviewer comment",
    "docx/markitdown__rlink.docx": "Testing Linked Images",
    "docx/unstructured__tables-with-incomplete-rows.docx": "one or more rows is missing cells",
    "docx/unstructured__docx-hdrftr.docx": "First header para",
    "docx/unstructured__page-breaks.docx": "no-break hyphen here",
    "docx/tika__footnotes.docx": "snoska",
    "docx/tika__EmbeddedPDF.docx": "Test Document with embedded pdf",
    "xlsx/docling__xlsx_04_inflated.xlsx": "second",
    "xlsx/unstructured__xlsx-subtable-cases.xlsx": "2. e",
    "xlsx/unstructured__more-than-1k-cells.xlsx": "x",
    "xlsx/unstructured__emoji.xlsx": "🤠",
    "xlsx/tika__protectedSheets.xlsx": "защищена формула",
    "xlsx/tika__testDataConnections.xlsx": "Test data connections",
    "pptx/docling__powerpoint_bad_text.pptx": "customisable and copyright-free",
    "pptx/docling__pptx_chart.pptx": "Saltwater Ducks",
    "pptx/unstructured__fake-power-point-malformed.pptx": "Test Slide",
    "pptx/unstructured__fake-power-point-table.pptx": "Tangerine",
    "pptx/unstructured__group-shapes-nested.pptx": "Slide 1",
    "pdf/pypdf__crazyones.pdf": "status quo",
    "pdf/pypdf__issue-297.pdf": "test example",
    "pdf/pypdf__outlines-with-invalid-destinations.pdf": "5 Bar",
    "pdf/pypdf__outline-without-title.pdf": "1 Foo",
    "pdf/pypdf__r6-empty-password.pdf": "pdf encryption test",
    "pdf/pypdf__indirect-rotation.pdf": "International Council of Containership Operators",
    "pdf/pypdf__attachment.pdf": "The round pegs in the square holes",
    "pdf/pypdf__bytes.pdf": "PDF with bytes title",
    "pdf/docling__invisible_text_layer.pdf": "Invisible OCR text layer",
    "pdf/docling__multi_page.pdf": "Magnetic Tape/Selectric Typewriter",
    "pdf/markitdown__masterformat_partial_numbering.pdf": "qualified Construction Managers",
    "pdf/markitdown__SPARSE-2024-INV-1234_borderless_table.pdf": "SKU-4563",
    "pdf/unstructured__multi-column-2p.pdf": "complementary to sparse representations",
    "pdf/unstructured__fake-bold-sample.pdf": "BOLD TEXT SAMPLE",
    "pdf/unstructured__rotated-page-90.pdf": "Hello World Test Text",
    "pdf/tika__testOverlappingText.pdf": "Text the first time",
}

pytestmark = pytest.mark.corpus


@pytest.fixture
def expected() -> dict[str, str]:
    """What must come of each file of these formats."""
    file = HOSTILE / "manifest.jsonl"
    if not file.is_file():
        pytest.skip(f"no files under {HOSTILE}")
    entries = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    names = {entry["file"].removeprefix("permissive/"): entry["expect"] for entry in entries}
    return {name: ends for name, ends in names.items() if name.split("/")[0] in FOLDERS}


def outcome(name: str) -> str:
    try:
        document = reader_of(name)((HOSTILE / "permissive" / name).read_bytes())
    except DocumentError as error:
        return "encrypted" if str(error).startswith("encrypted") else "error"
    assert_sound(document)
    return "ok" if document.text.strip() else "empty"


def test_every_published_file_ends_as_its_manifest_says(expected: dict[str, str]) -> None:
    assert {name: outcome(name) for name in expected} == expected


def test_what_a_person_sees_in_a_file_is_found_by_search_and_grep(
    expected: dict[str, str], tmp_path: Path
) -> None:
    assert {name for name, ends in expected.items() if ends == "ok"} == set(PHRASES)
    files = {name: (HOSTILE / "permissive" / name).read_bytes() for name in PHRASES}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    tools = ToolSession(open_store(tmp_path / "store"))
    missed = [
        (tool, name)
        for name, phrase in PHRASES.items()
        for tool, argument in (("search", "query"), ("grep", "pattern"))
        if f"{name}#" not in tools.call(tool, {argument: phrase, "paths": name}).text
    ]
    assert missed == []
