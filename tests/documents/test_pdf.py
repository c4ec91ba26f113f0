"""PDF files: lines in reading order, headings, tables, pages."""

import pytest

from contextpull.documents.pdf import read_pdf
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.types import ParsedDocument
from tests.documents.pdf_files import FF, Text, lines, pdf
from tests.documents.reading import assert_sound, headings, pieces

PROSE = (
    "The committee reviewed every claim that the parties had",
    "brought before it and found that most of them rested on",
    "the same three documents, which nobody had translated.",
)


def read(data: bytes) -> ParsedDocument:
    document = read_pdf(data)
    assert_sound(document)
    return document


def body(data: bytes) -> str:
    """The text without the heading that a page gets."""
    return read(data).text.decode().removeprefix("# Page 1\n\n")


def test_lines_are_joined_to_paragraphs_and_gaps_part_them() -> None:
    texts = [*lines(*PROSE), *lines(*PROSE, top=640)]
    paragraph = " ".join(PROSE)
    assert body(pdf(texts)) == f"{paragraph}\n\n{paragraph}\n"


def test_words_that_were_broken_are_whole_again() -> None:
    broken = (
        "The state-of-",
        "the-art reader knows that a docu-",
        "ment was well-",
        "known be well-known.",
    )
    assert body(pdf(lines(*broken))).replace("\n", " ").strip() == (
        "The state-of-the-art reader knows that a document was well-known be well-known."
    )


@pytest.mark.parametrize(
    ("end", "begin", "joined"),
    [
        ("a system built of the Lucene-", "BM25 kind", "Lucene-BM25 kind"),
        ("every point of the space is d-", "dimensional", "d-dimensional"),
        ("what was written in the years 2019-", "2021 is here", "2019-2021 is here"),
        ("the price that was agreed on -", "Five pounds", "on - Five pounds"),
    ],
)
def test_a_hyphen_that_belongs_to_a_word_stays_in_it(end: str, begin: str, joined: str) -> None:
    text = body(pdf(lines(end, f"{begin} and so on to the other side")))
    assert joined in text


def test_pages_without_headings_have_their_numbers() -> None:
    document = read(pdf(lines(*PROSE), lines("Second page")))
    assert [(each.title, each.anchor) for each in headings(document)] == [
        *(("Page 1", "page=1"), ("Page 2", "page=2"))
    ]
    sections = cut(document)
    assert [(each.slug, each.anchors, each.page, each.last_page) for each in sections] in (
        [("page=1", (), 1, 1), ("page=2", (), 2, 2)],
        [("page=1", ("page=2",), 1, 2)],
    )


def test_larger_and_bold_lines_are_headings() -> None:
    texts = [
        Text(72, 730, "Annual report", 20),
        *lines(*PROSE, top=700),
        Text(72, 640, "1 Revenue", 10, "F2"),
        *lines(*PROSE, top=620),
        Text(72, 560, "Outlook", 14),
        *lines(*PROSE, top=540),
    ]
    document = read(pdf(texts))
    assert [(each.level, each.title, each.page) for each in headings(document)] == [
        *((1, "Annual report", 1), (3, "1 Revenue", 1), (2, "Outlook", 1))
    ]


def test_the_outline_says_what_is_a_heading() -> None:
    first = [Text(72, 720, "Scope", 10), *lines(*PROSE), Text(72, 600, "Not this", 14)]
    second = [Text(72, 720, "2.  Terms and limits", 10), *lines(*PROSE)]
    outline = [("Scope", 0), ("Terms and limits", 1)]
    document = read(pdf(first, second, outline=outline))
    assert [(each.title, each.page) for each in headings(document)] == [
        *(("Scope", 1), ("2. Terms and limits", 2))
    ]


def test_two_columns_are_read_one_after_the_other() -> None:
    left = [f"Left line number {n} has some words" for n in range(8)]
    right = [f"Right line number {n} has some words" for n in range(8)]
    title = Text(72, 740, "A title that crosses the whole of the page and both of its columns", 10)
    foot = Text(72, 500, "A note that crosses the whole of the page and both of its columns", 10)
    mixed = [t for pair in zip(lines(*left), lines(*right, x=320), strict=True) for t in pair]
    text = body(pdf([title, *mixed, foot])).replace("\n", " ")
    places = [
        text.index(each) for each in ("A title", left[0], left[7], right[0], right[7], "A note")
    ]
    assert places == sorted(places)


def test_rows_that_stand_in_columns_are_a_table() -> None:
    grid = [
        ("Item", "Price", "Stock"),
        ("Bolt", "0.10", "500"),
        ("Nut", "", "20"),
        ("Pin", "1", ""),
    ]
    texts = [
        Text(x, 700 - 14 * at, value)
        for at, row in enumerate(grid)
        for x, value in zip((72, 200, 300), row, strict=True)
        if value
    ]
    assert body(pdf([*texts, *lines(*PROSE, top=600)])).startswith(
        "| Item | Price | Stock |\n|---|---|---|\n| Bolt | 0.10 | 500 |\n"
        "| Nut |  | 20 |\n| Pin | 1 |  |\n"
    )


def test_lines_between_two_rules_are_one_row() -> None:
    rules = "".join(f"72 {y} m 500 {y} l S\n" for y in (712, 692, 664, 640))
    cells = [
        *((72, 700, "Name"), (250, 700, "Meaning"), (400, 700, "Since")),
        *((72, 680, "ttl"), (250, 680, "how long an entry"), (400, 680, "1.2")),
        (250, 668, "is kept"),
        *((72, 650, "max"), (250, 650, "how many there are"), (400, 650, "1.3")),
    ]
    content = rules.encode() + b"".join(
        f"BT /F1 10 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n".encode() for x, y, text in cells
    )
    assert body(pdf(content)) == (
        "| Name | Meaning | Since |\n|---|---|---|\n"
        "| ttl | how long an entry is kept | 1.2 |\n| max | how many there are | 1.3 |\n"
    )


def test_items_keep_their_numbers_and_bullets() -> None:
    texts = lines("1. Open the valve", "2. Wait", "\u2022 Close the valve") + lines(*PROSE, top=600)
    assert body(pdf(texts)).startswith("1. Open the valve\n2. Wait\n- Close the valve\n")


def test_code_keeps_its_lines_and_indentation() -> None:
    code = [
        Text(72, 600, "def f():", 10, "F3"),
        Text(96, 588, "return 1", 10, "F3"),
    ]
    document = read(pdf([*lines(*PROSE), *code]))
    assert pieces(document)[-1] == ("code", "```\ndef f():\n    return 1\n```\n")


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_turned_pages_are_read_along_their_text(rotate: int) -> None:
    turned = [
        Text(300, 100, "First line of it", matrix="0 1 -1 0"),
        Text(312, 100, "and its second", matrix="0 1 -1 0"),
    ]
    assert body(pdf(turned, rotate=rotate)) == "First line of it and its second\n"


def test_text_across_the_page_comes_last() -> None:
    stamp = Text(30, 100, "DRAFT", 30, matrix="0 1 -1 0")
    document = read(pdf([stamp, *lines(*PROSE)]))
    assert document.text.decode().endswith(f"{' '.join(PROSE)}\n\nDRAFT\n")


def test_what_repeats_on_every_page_stands_once() -> None:
    pages = [
        [Text(72, 760, "Acme handbook"), *lines(f"Content number {n}"), Text(300, 30, f"Page {n}")]
        for n in range(1, 6)
    ]
    text = read(pdf(*pages)).text.decode()
    assert text.count("Acme handbook") == 1
    assert all(f"Content number {n}" in text for n in range(1, 6))


def test_letters_drawn_twice_count_once() -> None:
    content = b"".join(
        f"BT /F1 12 Tf 1 0 0 1 {72 + at * 8.664 + shift} 700 Tm ({letter}) Tj ET\n".encode()
        for at, letter in enumerate("HUND")
        for shift in (0, 0.4)
    )
    assert body(pdf(content)) == "HUND\n"


def test_both_letters_of_a_ligature_count() -> None:
    assert body(pdf(lines(f"The di{FF}erence of two o{FF}ers"))) == "The difference of two offers\n"


def test_the_title_comes_from_the_file() -> None:
    document = read(pdf(lines("x"), info="/Title (The plan) /Subject (What we do)"))
    assert (document.title, document.description) == ("The plan", "What we do")


def test_the_title_on_the_front_page_serves_where_the_file_names_none() -> None:
    front = [
        *(Text(72, 700, "The book", 24), Text(72, 670, "of pumps", 24)),
        *(Text(72, 640, "by Ada Lovelace", 14), *lines(*PROSE, top=600)),
    ]
    inside = [Text(72, 700, "1 Intake", 14), *lines(*PROSE, top=670)]
    last = [Text(72, 700, "2 Outlet", 14), *lines(*PROSE, top=670)]
    document = read(pdf(front, inside, last, outline=[("1 Intake", 1), ("2 Outlet", 2)]))
    assert next(each.title for each in headings(document)) == "by Ada Lovelace"
    assert document.title == "The book of pumps"
    assert read(pdf(lines(*PROSE), lines(*PROSE))).title == ""


def test_what_a_program_wrote_for_an_author_who_said_nothing_is_no_description() -> None:
    info = "/Title (untitled) /Subject (unspecified) /Keywords (\\(unspecified\\))"
    document = read(pdf(lines("x"), info=info))
    assert (document.title, document.description, document.keywords) == ("", "", "")


def test_scanned_files_are_refused_with_what_to_do() -> None:
    with pytest.raises(DocumentError, match=r"scanned: .* OCR .* ingest again"):
        read_pdf(pdf([], [], image=True))


def test_pages_that_were_scanned_are_named() -> None:
    document = read_pdf(pdf(lines(*PROSE), [], image=True))
    assert document.warnings == ("no text on 1 pages with images (scanned?): 2",)


def test_an_empty_page_is_no_error() -> None:
    assert read_pdf(pdf([])).text == b""


def test_a_file_that_needs_a_password_says_what_to_do() -> None:
    encrypt = b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <%s> /U <%s> >>" % (
        *(b"11" * 32, b"22" * 32),
    )
    ids = b" /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]"
    data = pdf(lines("secret")).replace(b"/Root 1 0 R", b"/Root 1 0 R " + encrypt + ids)
    with pytest.raises(DocumentError, match="encrypted; save it without a password"):
        read_pdf(data)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"not a pdf at all", pdf([])[:60]])
def test_what_is_no_pdf_file_says_so(data: bytes) -> None:
    with pytest.raises(DocumentError, match="not a readable PDF file"):
        read_pdf(data)


def test_a_broken_table_of_objects_is_repaired() -> None:
    data = pdf(lines("Still here")).replace(b"startxref\n", b"startxref\n9")
    assert body(data) == "Still here\n"
