"""Odd files that others published end as their manifest says, and what a person sees is found."""

from pathlib import Path

import pytest

from tests.documents.published import expected, missed, outcome

FORMATS = {
    "mdx/mdx__what-is-mdx.mdx": "Markdown for the component era",
    "mdx/mdx__extending-mdx.mdx": "This article explains how to extend MDX content",
    "mdx/mdx__gfm.mdx": "This guide explores how to support GFM features",
    "mdx/mdx__frontmatter.mdx": "This guide explores how to support YAML frontmatter",
    "mdx/mdx__v2.mdx": "Improvements to the MDX format",
    "csv/unstructured__stanley-cups-utf-16.csv": "Maple Leafs",
    "tsv/unstructured__stanley-cups.tsv": "Maple Leafs",
    "csv/unstructured__semicolon-delimited.csv": "tempor incididunt",
    "csv/unstructured__csv-with-escaped-commas.csv": '"A,A"',
    "csv/docling__csv-too-few-columns.csv": "a,'b',c,d",
    "csv/docling__csv-too-many-columns.csv": "a,b,c,d,e",
    "csv/docling__csv-inconsistent-header.csv": "1,2,3",
    "ipynb/nbformat__test4.ipynb": "Printed Using Python",
    "ipynb/nbformat__test2.ipynb": "You can re-execute the same cell over and over",
    "ipynb/nbformat__test3.ipynb": "Printed Using Python",
    "ipynb/nbformat__no_min_version.ipynb": "test",
    "ipynb/nbformat__many_tracebacks.ipynb": "name 'iAmNotDefined' is not defined",
    "ipynb/markitdown__test_notebook.ipynb": "Code Cell Below",
    "ods/docling__odf_table_with_title_01.ods": "Freshwater Ducks",
    "odt/unstructured__fake.odt": "Lorem ipsum dolor sit amet",
    "rtf/unstructured__fake-doc.rtf": "My first paragraph",
    "eml/unstructured__fake-email-malformed-encoding.eml": "Violets are blue",
    "eml/unstructured__email-no-utf8-2014-03-17.111517.eml": "Google Account password changed",
    "eml/unstructured__fake-email-utf-16.eml": "Violets are blue",
    "eml/unstructured__mime-word-encoded-subject.eml": "Simple email with ☸☿ Unicode subject",
    "eml/unstructured__test-invalid-date.eml": "test-email with an invalid date format",
    "eml/unstructured__mime-different-plain-html.eml": "This is the `text/html` part",
    "eml/docling__eml_with_attachment.eml": "This email contains an attachment",
    "eml/tika__testRFC822_multipart_attachments.eml": "Test TxtB.txt",
}
MARKUP = {
    "asciidoc/docling__asciidoc_01.asciidoc": "Sample Document Title",
    "asciidoc/docling__asciidoc_02.asciidoc": "2nd Sample Document Title",
    "rst/unstructured__README.rst": "The sample docs directory contains",
    "html/docling__wiki_duck.html": "Ducks are sometimes confused with several types",
    "html/docling__html_rich_table_cells.html": "Riverbank",
    "html/docling__html_description_list.html": "Detail for sub-term D",
    "html/docling__html_nested_block_in_list_item.html": "Second paragraph block",
    "html/markitdown__test_blog.html": "tuning the inference parameters",
    "html/unstructured__example-10k-1p.html": "OTCQB marketplace",
    "html/unstructured__fake-html-cp1252.html": "Die schöne Frau",
    "html/unstructured__example-with-scripts.html": "Russian milbloggers accused",
    "html/unstructured__fake-html-with-base64-image.html": "Test page",
    "html/unstructured__ideas-page.html": "new ideas is to notice anomalies",
    "html/tika__testHTMLNoisyMetaEncoding_1.html": "الاتحاد الجزائري",
    "html/tika__testHTML_charset_utf16le.html": "This is a sample text",
    "html/tika__testArabicMisleadingCharset.html": "قرية من القرى",
    "html/tika__testBrokenHTMLContainingRFC822.html": "An exciting subject",
    "sharealike/html/wikitablequestions__0.html": "Esther Shahamorov",
}
OFFICE = {
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
FORMAT_SUFFIXES = tuple({Path(name).suffix for name in FORMATS})
MARKUP_SUFFIXES = (".html", ".rst", ".asciidoc")
OFFICE_SUFFIXES = (".docx", ".pdf", ".pptx", ".xlsx")

pytestmark = pytest.mark.corpus


def test_every_published_file_ends_as_its_manifest_says() -> None:
    wanted = expected()
    assert {name: outcome(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("phrases", "suffixes"),
    [(FORMATS, FORMAT_SUFFIXES), (MARKUP, MARKUP_SUFFIXES), (OFFICE, OFFICE_SUFFIXES)],
    ids=["formats", "markup", "office"],
)
def test_what_a_person_sees_in_a_file_is_found_by_search_and_grep(
    phrases: dict[str, str], suffixes: tuple[str, ...], tmp_path: Path
) -> None:
    read = {name for name, ends in expected().items() if ends == "ok"}
    assert {name for name in read if name.endswith(suffixes)} == set(phrases)
    assert missed(phrases, tmp_path) == []
