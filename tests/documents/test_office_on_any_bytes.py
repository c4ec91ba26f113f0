"""Any bytes end in a document or in a sentence, in PDF and Office files too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.docx import read_docx
from contextpull.documents.pdf import read_pdf
from contextpull.documents.pptx import read_pptx
from contextpull.documents.xlsx import read_xlsx
from tests.documents.office_files import docx, pptx, xlsx
from tests.documents.pdf_files import Text, lines, pdf
from tests.documents.reading import Reader, assert_sound_or_refused
from tests.properties import same_every_time

TAGS = st.sampled_from(
    [
        *("w:p", "w:r", "w:t", "w:tbl", "w:tr", "w:tc", "w:br", "w:sdt", "w:numPr", "w:hyperlink"),
        *("w:tcPr", "w:pPr", "w:rPr", "w:txbxContent", "w:footnoteReference", "w:sectPr"),
    ]
)
SHAPES = st.sampled_from(
    [
        *("p:sp", "p:nvSpPr", "p:nvPr", "p:ph", "p:txBody", "p:grpSp", "p:graphicFrame", "a:p"),
        *("a:t", "a:graphic", "a:graphicData", "a:tbl", "a:tr", "a:tc", "a:pPr", "a:br"),
    ]
)
CELLS = st.sampled_from(
    [
        *("<row>", "<row r='3'>", "</row>", "<c>", "<c r='B2'>", "<c r='ZZZZ9' t='s'>", "</c>"),
        *("<v>", "</v>", "<f>", "</f>", "1", "x", "<v/>", "<c t='e'>", "<c t='d'>", "<is><t>"),
        *("</t></is>", "<c r='A1048577'>", "<c s='9'>", "-1e999", "<mergeCell ref='A1:B2'/>"),
    ]
)


def nested(tags: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """XML of these elements inside and beside each other."""
    text = st.sampled_from(["a", "é", "🚀", " ", "|", "-"])
    return st.recursive(
        text,
        lambda inner: st.builds(
            "<{0}>{1}</{0}>".format, tags, st.lists(inner, max_size=4).map("".join)
        ),
        max_leaves=25,
    )


@pytest.mark.parametrize("read", [read_docx, read_pdf, read_pptx, read_xlsx])
@same_every_time(60)
@given(st.binary(max_size=200), st.sampled_from([b"", b"%PDF-1.7\n", b"PK\x03\x04"]))
def test_any_bytes(read: Reader, data: bytes, start: bytes) -> None:
    assert_sound_or_refused(read, start + data)


@pytest.mark.parametrize(
    ("read", "whole"),
    [
        (read_docx, docx("<w:p/>")),
        (read_pdf, pdf(lines("one", "two"), lines("three"), outline=[("one", 0)])),
        (read_pptx, pptx(["<p:sp/>"])),
        (read_xlsx, xlsx({"S": "<sheetData><row><c><v>1</v></c></row></sheetData>"})),
    ],
)
@same_every_time(150)
@given(st.integers(0, 4000), st.integers(0, 300), st.binary(max_size=8))
def test_damaged_files(read: Reader, whole: bytes, at: int, gone: int, new: bytes) -> None:
    at %= len(whole)
    assert_sound_or_refused(read, whole[:at] + new + whole[at + gone :])


@same_every_time(150)
@given(nested(TAGS))
def test_any_word_xml(body: str) -> None:
    assert_sound_or_refused(read_docx, docx(body))


@same_every_time(150)
@given(nested(SHAPES))
def test_any_slide_xml(shapes: str) -> None:
    assert_sound_or_refused(read_pptx, pptx([shapes]))


@same_every_time(150)
@given(st.lists(CELLS, max_size=25).map("".join))
def test_any_sheet_xml(cells: str) -> None:
    assert_sound_or_refused(read_xlsx, xlsx({"S": f"<sheetData>{cells}</sheetData>"}))


@same_every_time(150)
@given(
    st.lists(
        st.builds(
            Text,
            st.integers(-50, 650),
            st.integers(-50, 850),
            st.text(st.sampled_from("aB1.-• é("), min_size=1, max_size=40),
            st.sampled_from([0.1, 8, 10, 14, 400]),
            st.sampled_from(["F1", "F2", "F3", "none"]),
            st.sampled_from(["1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 0 0 0", "1e9 0 0 1e9"]),
        ),
        max_size=30,
    )
)
def test_any_text_on_a_page(texts: list[Text]) -> None:
    assert_sound_or_refused(read_pdf, pdf(texts))


@same_every_time(100)
@given(st.binary(max_size=200))
def test_any_content_of_a_page(content: bytes) -> None:
    assert_sound_or_refused(read_pdf, pdf(content))
