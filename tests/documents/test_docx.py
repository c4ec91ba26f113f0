"""Word documents: what a reader sees on the page, as clean text."""

import pytest

from contextpull.documents.docx import read_docx
from contextpull.errors import DocumentError
from tests.documents.office_files import (
    ENCRYPTED,
    PLACES,
    STRICT,
    cell,
    docx,
    moved,
    paragraph,
    pptx,
    relations,
    replaced,
    table,
    with_part,
    word_part,
    zipped,
)
from tests.documents.reading import assert_sound, headings, pieces

MAIN = {"m": "officeDocument word/document.xml"}
STYLES = word_part(
    "styles",
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="Clause"/><w:basedOn w:val="H2"/></w:style>'
    '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Out"><w:name w:val="Out"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr>'
    "</w:style>"
    '<w:style w:styleId="Src"><w:name w:val="Source Code"/></w:style>',
)
NUMBERING = word_part(
    "numbering",
    '<w:abstractNum w:abstractNumId="7">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/>'
    "</w:lvl>"
    '<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>'
    "</w:abstractNum>"
    '<w:abstractNum w:abstractNumId="8">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="upperRoman"/><w:start w:val="9"/>'
    '<w:lvlText w:val="Part %2"/>'
    "</w:lvl></w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="7"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>',
)


def item(text: str, key: int, level: int = 0) -> str:
    numbered = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{key}"/></w:numPr>'
    return paragraph(text, properties=numbered)


def text_of(body: str, parts: dict[str, str] | None = None) -> str:
    document = read_docx(docx(body, parts))
    assert_sound(document)
    return document.text.decode()


def test_headings_come_from_styles_their_bases_and_outline_levels() -> None:
    body = "".join(paragraph(f"in {style}", style) for style in ("H1", "Own", "Out", "Plain"))
    document = read_docx(docx(body, {"styles": STYLES}))
    assert [(each.level, each.title) for each in headings(document)] == [
        *((1, "in H1"), (2, "in Own"), (3, "in Out"))
    ]


def test_lists_carry_the_numbers_that_word_shows() -> None:
    body = item("a", 1) + item("b", 1, 1) + item("c", 1, 1) + item("d", 1) + item("e", 1, 1)
    assert text_of(body, {"numbering": NUMBERING}) == ("1. a\n  1.a) b\n  1.b) c\n2. d\n  2.a) e\n")


def test_bullets_roman_numbers_and_restarts() -> None:
    body = item("x", 2) + item("y", 2, 1) + item("z", 2, 1) + paragraph("-") + item("five", 3)
    assert text_of(body, {"numbering": NUMBERING}) == (
        "- x\n  Part IX y\n  Part X z\n\n-\n\n5. five\n"
    )


def test_a_numbered_heading_shows_its_number() -> None:
    numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    parts = {"styles": STYLES, "numbering": NUMBERING}
    document = read_docx(docx(paragraph("Scope", "H1", numbered), parts))
    assert [each.title for each in headings(document)] == ["1. Scope"]


def test_merged_cells_are_repeated_and_nested_tables_become_text() -> None:
    inner = f"<w:tc>{table(cell('p') + cell('q'))}<w:p/></w:tc>"
    body = table(
        cell("Region") + cell("Sales", '<w:gridSpan w:val="2"/>'),
        cell("North", '<w:vMerge w:val="restart"/>') + cell("1") + cell("2"),
        cell("", "<w:vMerge/>") + cell("3") + inner,
    )
    assert text_of(body) == (
        "| Region | Sales | Sales |\n|---|---|---|\n| North | 1 | 2 |\n| North | 3 | p, q |\n"
    )


def test_text_that_merged_cells_cover_is_not_read() -> None:
    covering = cell("seen", '<w:vMerge w:val="restart"/>') + cell("1")
    rows = [covering, cell("covered", "<w:vMerge/>") + cell("2")]
    assert "covered" not in text_of(table(*rows))
    nested = table(f"<w:tc>{table(*rows)}<w:p/></w:tc>" + cell("x"), cell("y") + cell("z"))
    assert text_of(nested) == "| seen, 1 2 | x |\n|---|---|\n| y | z |\n"


def test_a_table_of_one_cell_is_a_frame_around_text() -> None:
    assert text_of(table(cell("Note well"))) == "Note well\n"


def test_notes_and_comments_stand_behind_their_paragraph() -> None:
    body = (
        "<w:p><w:r><w:t>Claim</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r>"
        "<w:r><w:commentReference w:id='0'/></w:r></w:p>" + paragraph("After")
    )
    parts = {
        "footnotes": word_part(
            "footnotes", f'<w:footnote w:id="2">{paragraph("Proof")}</w:footnote>'
        ),
        "comments": word_part(
            "comments", f'<w:comment w:id="0" w:author="Ada">{paragraph("Sure?")}</w:comment>'
        ),
    }
    assert text_of(body, parts) == "Claim[^2]\n\n[^2]: Proof\n\nComment by Ada: Sure?\n\nAfter\n"


def test_text_boxes_are_read_once() -> None:
    box = f"<w:txbxContent>{paragraph('Boxed')}</w:txbxContent>"
    body = (
        '<w:p><w:r><w:t>Before</w:t><mc:AlternateContent xmlns:mc="urn:mc">'
        f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>"
    )
    assert text_of(body) == "Before\n\nBoxed\n"


def test_headers_come_first_footers_last_and_each_once() -> None:
    parts = {
        "header1": word_part("hdr", paragraph("Confidential")),
        "header2": word_part("hdr", paragraph("Confidential")),
        "footer1": word_part("ftr", paragraph("7") + paragraph("Draft 3")),
    }
    assert text_of(paragraph("Body"), parts) == "Confidential\n\nBody\n\nDraft 3\n"


def test_deleted_and_hidden_text_is_left_out() -> None:
    body = (
        "<w:p><w:r><w:t>stays</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t> new</w:t></w:r></w:ins>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>"
    )
    assert text_of(body) == "stays new\n"


def test_paragraphs_in_a_code_style_are_one_block_of_code() -> None:
    body = paragraph("def f():", "Src") + paragraph("    return 1", "Src") + paragraph("End")
    document = read_docx(docx(body, {"styles": STYLES}))
    assert pieces(document) == [("code", "```\ndef f():\n    return 1\n```\n"), ("prose", "End\n")]


def test_the_strict_namespaces_are_read() -> None:
    assert read_docx(docx(paragraph("Strict"), types=STRICT)).text == b"Strict\n"


@pytest.mark.parametrize("place", PLACES)
def test_a_document_is_found_wherever_its_relations_lead(place: str) -> None:
    document = docx(paragraph("In", "H1") + paragraph("Text"), {"styles": STYLES})
    assert read_docx(moved(document, "word", place)).text == b"# In\n\nText\n"
    shouted = moved(document, "word", place, spelled=str.upper)
    assert read_docx(shouted).text == b"# In\n\nText\n"


def test_a_document_without_a_body_is_empty() -> None:
    empty = replaced(docx(""), "word/document.xml", "<w:body></w:body>", "")
    assert read_docx(empty).text == b""


def test_what_a_program_wrote_for_an_author_who_said_nothing_is_no_description() -> None:
    core = "<c><title>Plan</title><description>generated by python-docx</description></c>"
    named = relations({**MAIN, "c": "core-properties core.xml"})
    described = replaced(docx(paragraph("Text")), "_rels/.rels", relations(MAIN), named)
    document = read_docx(with_part(described, "core.xml", core))
    assert (document.title, document.description) == ("Plan", "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a .docx file: no readable zip file"),
        (b"plain text", "not a .docx file: no readable zip file"),
        (zipped({"a": b""}), "no part in it is the document"),
        (ENCRYPTED, "encrypted; save it without a password and ingest again"),
        (ENCRYPTED[:8] + b"WordDocument", "an old binary Office file; save it as a .docx"),
        (docx("<w:p>"), "not valid XML"),
        (docx("").replace(b"PK\x03\x04", b"PK\x00\x00", 1), "damaged|no readable zip file"),
        (docx("<w:sdt>" * 600 + "</w:sdt>" * 600), "nested deeper than"),
        (docx(paragraph("x" * 90_000_000)), "unpacks to"),
        (docx(table(cell("x", '<w:gridSpan w:val="999"/>') * 11)), "more than 10,000 columns"),
        (pptx([]), "not a .docx file: its content is of another kind"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        read_docx(data)


def test_entities_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    data = zipped(
        {
            "_rels/.rels": '<R><r Id="m" Type="x/officeDocument" Target="d.xml"/></R>',
            "d.xml": f"{bomb}<d><body><p><t>&a;&b;</t></p></body></d>",
        }
    )
    with pytest.raises(DocumentError, match="declares XML entities"):
        read_docx(data)
