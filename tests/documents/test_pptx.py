"""Presentations: a heading a slide, with what stands on it."""

import pytest

from contextpull.documents.pptx import read_pptx
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from tests.documents.office_files import (
    CHART,
    ENCRYPTED,
    PLACES,
    docx,
    frame,
    moved,
    paragraph,
    pptx,
    shape,
    slide_part,
)
from tests.documents.reading import assert_sound, headings


def text_of(*slides: str) -> str:
    document = read_pptx(pptx(list(slides)))
    assert_sound(document)
    return document.text.decode()


def test_slides_have_their_titles_and_numbers() -> None:
    slides = [shape("Plan", holder="title"), shape("no title here")]
    document = read_pptx(pptx(slides))
    assert [(each.title, each.anchor) for each in headings(document)] == [
        *(("Plan", "slide=1"), ("Slide 2", "slide=2"))
    ]
    assert [each.slug for each in cut(document)][-1] == "slide=2"


def test_a_body_of_several_paragraphs_is_a_list() -> None:
    slide = shape("Agenda", holder="ctrTitle") + shape("First", "Second", holder="body")
    assert text_of(slide) == "# Agenda\n\n- First\n- Second\n"


def test_groups_are_opened() -> None:
    group = f"<p:grpSp>{shape('in')}<p:grpSp>{shape('deep')}</p:grpSp></p:grpSp>"
    assert text_of(group + shape("out")) == "# Slide 1\n\nin\n\ndeep\n\nout\n"


def test_tables_have_a_header_and_merged_cells_are_repeated() -> None:
    def tc(text: str, merge: str = "") -> str:
        return f"<a:tc {merge}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    tall, below = 'rowSpan="2"', 'vMerge="1"'
    table = (
        f"<a:tbl><a:tr>{tc('k')}{tc('v')}{tc('w')}</a:tr>"
        f"<a:tr>{tc('a', tall)}{tc('1')}{tc('2')}</a:tr>"
        f"<a:tr>{tc('', below)}{tc('3')}{tc('4')}</a:tr></a:tbl>"
    )
    assert text_of(frame(table)) == (
        "# Slide 1\n\n| k | v | w |\n|---|---|---|\n| a | 1 | 2 |\n| a | 3 | 4 |\n"
    )


def test_the_numbers_behind_a_chart_are_a_table() -> None:
    def points(*values: str) -> str:
        return "".join(f'<c:pt idx="{at}"><c:v>{v}</c:v></c:pt>' for at, v in enumerate(values))

    chart = (
        f'<c:chartSpace xmlns:c="{CHART}"><c:chart><c:plotArea><c:barChart><c:ser>'
        f"<c:tx><c:strRef><c:strCache>{points('2025')}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{points('Q1', 'Q2')}</c:strCache></c:strRef></c:cat>"
        f"<c:val><c:numRef><c:numCache>{points('10', '20')}</c:numCache></c:numRef></c:val>"
        "</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
    shown = frame(f'<c:chart xmlns:c="{CHART}" r:id="x"/>')
    data = pptx([shown], {"ppt/charts/c.xml": chart}, {0: "chart ../charts/c.xml"})
    assert read_pptx(data).text.decode() == (
        "# Slide 1\n\n|  | 2025 |\n|---|---|\n| Q1 | 10 |\n| Q2 | 20 |\n"
    )


def test_notes_follow_their_slide() -> None:
    notes = slide_part("notes", shape("7", holder="sldNum") + shape("Smile", holder="body"))
    data = pptx([shape("Hi", holder="title")], {"ppt/n.xml": notes}, {0: "notesSlide ../n.xml"})
    assert read_pptx(data).text == b"# Hi\n\nNotes: Smile\n"


def test_footers_are_said_once() -> None:
    slide = shape("Acme", holder="ftr") + shape("1", holder="sldNum")
    assert text_of(slide, slide) == "# Slide 1\n\nAcme\n\n# Slide 2\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a .pptx file"),
        (ENCRYPTED, "encrypted; save it without a password and ingest again"),
        (ENCRYPTED[:8], "an old binary Office file; save it as a .pptx"),
        (pptx(["<p:sp>"]), "not valid XML"),
        (docx(paragraph("x")), "not a .pptx file: its content is of another kind"),
        (pptx(["<p:grpSp>" * 600 + "</p:grpSp>" * 600]), "nested deeper than"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        read_pptx(data)


@pytest.mark.parametrize("place", PLACES)
def test_slides_are_found_wherever_the_relations_lead(place: str) -> None:
    deck = pptx([shape("Plan", holder="title")])
    assert read_pptx(moved(deck, "ppt", place)).text == b"# Plan\n"
    assert read_pptx(moved(deck, "ppt", place, spelled=str.upper)).text == b"# Plan\n"
