"""Workbooks: every sheet a heading, every range a table."""

from collections.abc import Callable

import pytest

from contextpull.documents.xlsx import read_xlsx
from contextpull.errors import DocumentError
from tests.documents.office_files import (
    ENCRYPTED,
    PLACES,
    SHEET,
    docx,
    moved,
    paragraph,
    replaced,
    rows,
    xlsx,
)
from tests.documents.reading import assert_sound, headings

DATES = (
    f'<styleSheet xmlns="{SHEET}"><numFmts count="1">'
    '<numFmt numFmtId="170" formatCode="yyyy-mm-dd"/>'
    '</numFmts><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>'
)


def text_of(sheet: str, **parts: str) -> str:
    document = read_xlsx(xlsx({"Data": sheet}, **parts))
    assert_sound(document)
    return document.text.decode().removeprefix("# Data\n\n")


def test_each_sheet_is_a_heading_and_empty_ones_are_left_out() -> None:
    sheets = {"Q1": rows(("a", "b"), (1, 2)), "Nothing": "<sheetData/>", "Q2": rows(("x",))}
    document = read_xlsx(xlsx(sheets))
    assert [each.title for each in headings(document)] == ["Q1", "Q2"]
    assert document.text == b"# Q1\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n# Q2\n\nx\n"


SHARED = f'<sst xmlns="{SHEET}"><si><t>fruit</t></si></sst>'
SHARED_CELLS = (
    '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>0</v></c></row>'
    '<row r="2"><c r="A2" s="1"><v>45352</v></c><c r="B2"><v>7</v></c></row></sheetData>'
)


@pytest.mark.parametrize("place", PLACES)
def test_a_workbook_is_found_wherever_its_relations_lead(place: str) -> None:
    workbook = xlsx({"S": SHARED_CELLS}, shared=SHARED, styles=DATES)
    expected = "# S\n\n| fruit | fruit |\n|---|---|\n| 2024-03-01 | 7 |\n"
    assert read_xlsx(moved(workbook, "xl", place)).text.decode() == expected


@pytest.mark.parametrize("spelled", [str.upper, lambda name: "/" + name.replace("/", "\\")])
def test_case_and_slashes_of_the_names_of_parts_do_not_matter(
    spelled: Callable[[str], str],
) -> None:
    workbook = moved(xlsx({"S": SHARED_CELLS}, shared=SHARED), "xl", "xl/", spelled=spelled)
    assert "| fruit | fruit |" in read_xlsx(workbook).text.decode()


def test_tabs_of_one_name_are_both_read() -> None:
    workbook = xlsx({"A": rows(("x", "y")), "B": rows(("v", "w"))})
    text = read_xlsx(replaced(workbook, "xl/workbook.xml", 'name="B"', 'name="A"')).text.decode()
    assert text == "# A\n\n| x | y |\n|---|---|\n\n# A\n\n| v | w |\n|---|---|\n"


def test_dates_count_from_1904_where_the_workbook_says_so() -> None:
    workbook = xlsx({"S": SHARED_CELLS}, shared=SHARED, styles=DATES)
    since_1904 = '<workbookPr date1904="true"/><sheets>'
    text = read_xlsx(replaced(workbook, "xl/workbook.xml", "<sheets>", since_1904)).text.decode()
    assert "| 2028-03-02 | 7 |" in text


def test_values_are_written_as_a_person_would() -> None:
    sheet = rows(("n", "x", "ok"), (2, 0.1 + 0.2, True), (1e20, -3.5, False))
    assert text_of(sheet).splitlines()[2:] == ["| 2 | 0.3 | TRUE |", "| 1e+20 | -3.5 | FALSE |"]


def test_dates_are_dates() -> None:
    sheet = (
        '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>day</t></is></c>'
        '<c r="B1" t="inlineStr"><is><t>n</t></is></c></row>'
        '<row r="2"><c r="A2" s="1"><v>45352</v></c><c r="B2"><v>45352</v></c></row></sheetData>'
    )
    assert text_of(sheet, styles=DATES).splitlines()[2] == "| 2024-03-01 | 45352 |"


def test_a_formula_shows_its_saved_value_or_itself() -> None:
    sheet = rows(
        ("saved", "empty", "text", "bare"),
        (
            "<f>1+1</f><v>2</v>",
            "<f>SUM(A1:A9)&amp;&quot;x&quot;</f>",
            "plain",
            "<f>NOW()</f><v></v>",
        ),
    )
    assert text_of(sheet).splitlines()[2] == '| 2 | =SUM(A1:A9)&"x" | plain | =NOW() |'


def test_merged_cells_are_filled() -> None:
    sheet = rows(("kind", "n"), ("fruit", 1), (None, 2))
    sheet += '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
    assert text_of(sheet).splitlines()[2:] == ["| fruit | 1 |", "| fruit | 2 |"]


def test_ranges_between_empty_rows_and_columns_are_tables_of_their_own() -> None:
    sheet = rows(
        ("Prices", None, None, None, None),
        ("a", "b", None, "p", "q"),
        (1, 2, None, 3, 4),
        (None,),
        ("c", "d"),
        (5, 6),
    )
    assert text_of(sheet) == (
        "Prices\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| p | q |\n|---|---|\n| 3 | 4 |\n\n"
        "| c | d |\n|---|---|\n| 5 | 6 |\n"
    )


def test_rows_that_go_on_below_a_gap_keep_the_header() -> None:
    sheet = rows(("a", "b"), (1, 2), (None,), (3, 4), (5, 6))
    assert text_of(sheet).splitlines()[4:] == ["| a | b |", "|---|---|", "| 3 | 4 |", "| 5 | 6 |"]


def test_numbers_without_a_header_stand_under_the_letters_of_their_columns() -> None:
    assert text_of(rows((1, 2), (3, 4))).splitlines()[0] == "| A | B |"


def test_all_rows_are_read() -> None:
    lines = text_of(rows(("id", "twice"), *((n, 2 * n) for n in range(1, 3001)))).splitlines()
    assert lines[-1] == "| 3000 | 6000 |"
    assert len(lines) == 3002


def test_a_sheet_whose_cells_lie_worlds_apart_is_reported() -> None:
    far = '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">'
    far += '<c r="XFD1048576"><v>2</v></c></row></sheetData>'
    document = read_xlsx(xlsx({"Far": far, "Near": rows(("x", "y"))}))
    assert [each.title for each in headings(document)] == ["Near"]
    assert document.warnings == (
        "sheet 'Far' is not read: its cells spread over 17,179,869,184 places",
    )


def test_a_place_cannot_be_hidden_behind_a_sign_that_ends_no_tag() -> None:
    far = rows(("a", "b"), (1, 2)).replace('<c r="A2"', '<c s=">" r="XFD1048576"')
    assert "cells spread over" in read_xlsx(xlsx({"Far": far})).warnings[0]


def test_formats_without_values_do_not_inflate_a_sheet() -> None:
    sheet = rows(("a", "b"), (1, 2)).replace(
        "</sheetData>", '<row r="1048576"><c r="XFD1048576" s="0"/></row></sheetData>'
    )
    assert text_of(sheet) == "| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_one_long_text_in_many_cells_is_refused_before_it_is_unrolled() -> None:
    shared = f'<sst xmlns="{SHEET}"><si><t>{"x" * 30_000}</t></si></sst>'
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 5000))
    with pytest.raises(DocumentError, match="more than 100,000,000 bytes of text"):
        read_xlsx(xlsx({"S": f"<sheetData>{cells}</sheetData>"}, shared=shared))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0\1", "not an .xlsx file: no readable zip file"),
        (ENCRYPTED, "encrypted; save it without a password and ingest again"),
        (ENCRYPTED[:8], "an old binary Office file; save it as an .xlsx"),
        (docx(paragraph("x")), "not an .xlsx file: its content is of another kind"),
        (xlsx({"S": "<row><c s='>' r=B2><v>1</v></c></row>"}), "cells in it are not valid XML"),
        (xlsx({"S": "<sheetData><row><c><v>1</row>"}), "damaged: its sheets cannot be read"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        read_xlsx(data)
