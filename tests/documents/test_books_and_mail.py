"""EPUB, OpenDocument and mail: what comes out of them, and what is refused."""

from email.message import EmailMessage

import pytest

from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from tests.documents.archives import epub, opendocument, zipped
from tests.documents.reading import outline

MB = 1_000_000


def content(name: str, data: bytes) -> str:
    return reader_of(name)(data).text.decode()


def test_a_book_is_read_along_its_spine() -> None:
    book = epub({"b.xhtml": "<h1>Second</h1><p>two</p>", "a.xhtml": "<h1>First</h1><p>one</p>"})
    document = reader_of("x.epub")(book)
    assert outline(document) == [(1, "Second"), (1, "First")]
    assert document.title == "The book"


def test_a_chapter_without_headings_gets_its_title_of_the_contents() -> None:
    book = epub({"a.xhtml": "<p>one</p><script>no()</script>"}, contents={"a.xhtml": "Chapter I"})
    document = reader_of("x.epub")(book)
    assert outline(document) == [(1, "Chapter I")]
    assert b"no()" not in document.text


def test_a_missing_chapter_costs_itself() -> None:
    book = epub({"a.xhtml": "<p>one</p>"}, also_in_spine=["gone.xhtml"])
    document = reader_of("x.epub")(book)
    assert b"one" in document.text
    assert "gone.xhtml" in document.warnings[0]


def test_a_protected_book_is_refused_and_one_with_obscured_fonts_is_read() -> None:
    def protected(uri: str) -> bytes:
        reference = f"<e><CipherReference URI='{uri}'/></e>".encode()
        return epub({"a.xhtml": "<p>one</p>"}, {"META-INF/encryption.xml": reference})

    assert "one" in content("x.epub", protected("OEBPS/f.otf"))
    with pytest.raises(DocumentError, match="copy protection"):
        content("x.epub", protected("OEBPS/a.xhtml"))


def test_a_text_has_headings_lists_tables_and_notes() -> None:
    body = (
        "<text:h text:outline-level='2'>Part  one</text:h>"
        "<text:p>a<text:s text:c='2'/>b<text:note><text:note-body><text:p>why</text:p>"
        "</text:note-body></text:note><office:annotation><text:p>secret</text:p>"
        "</office:annotation></text:p>"
        "<text:list><text:list-item><text:p>x</text:p><text:list><text:list-item><text:p>y"
        "</text:p></text:list-item></text:list></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell>"
        "<table:table-cell><text:p>B</text:p></table:table-cell></table:table-row>"
        "<table:table-row><table:table-cell table:number-columns-repeated='2'><text:p>1</text:p>"
        "</table:table-cell></table:table-row></table:table>"
    )
    assert content("a.odt", opendocument("text", body)) == (
        "## Part one\n\na  b [why]\n\n- x\n  - y\n\n| A | B |\n|---|---|\n| 1 | 1 |\n"
    )


def test_ranges_of_a_sheet_are_tables_and_empty_repeats_cost_nothing() -> None:
    def row(*cells: str, repeated: int = 1) -> str:
        inner = "".join(f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in cells)
        rest = "<table:table-cell table:number-columns-repeated='16384'/>"
        times = f"table:number-rows-repeated='{repeated}'"
        return f"<table:table-row {times}>{inner}{rest}</table:table-row>"

    rows = row("Title") + row("a", "b") + row("1", "2") + row(repeated=1_048_576) + row("c", "d")
    sheet = f"<table:table table:name='Data'>{rows}{row('3', '4')}</table:table>"
    assert content("a.ods", opendocument("spreadsheet", sheet)) == (
        "# Data\n\nTitle\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |\n"
    )


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"content.xml": b"<a>" + b" " * (70 * MB) + b"</a>"}, "unpacks to"),
        ({"content.xml": b"<a>" + b" " * (30 * MB) + b"</a>"}, "unpacks to"),
        ({"content.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}, "entities"),
        ({"content.xml": b"<a>" * 10_000}, "nested deeper"),
        ({"content.xml": b"<a>"}, "not valid XML"),
        ({"content.xml": b"<a/>"}, "another kind"),
        ({"other": b""}, "content.xml is missing"),
        ({"META-INF/manifest.xml": b"<m><encryption-data/></m>"}, "without a password"),
    ],
)
def test_hostile_archives_are_refused(members: dict[str, bytes], reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        content("a.odt", zipped(members))


@pytest.mark.parametrize("name", ["a.odt", "a.ods", "a.epub"])
def test_what_is_no_archive_is_refused(name: str) -> None:
    with pytest.raises(DocumentError, match="no readable zip file"):
        content(name, b"PK\x03\x04 no")


def test_repeated_cells_are_bounded() -> None:
    many = "table:number-columns-repeated='2000'"
    cell = f"<table:table-cell {many}><text:p>x</text:p></table:table-cell>"
    rows = f"<table:table-row table:number-rows-repeated='1048576'>{cell}</table:table-row>"
    sheet = f"<table:table table:name='Data'>{rows}</table:table>"
    with pytest.raises(DocumentError, match="filled cells"):
        content("a.ods", opendocument("spreadsheet", sheet))


def mail(**headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in ({"From": "a@b.example", "Subject": "Über uns"} | headers).items():
        message[name] = value
    return message


def test_a_message_has_its_headers_its_text_and_the_names_of_attachments() -> None:
    message = mail(Date="Mon, 01 Jan 2024 10:00:00 +0000")
    message.set_content("Hello\n")
    message.add_attachment(b"\0\1", maintype="image", subtype="png", filename="é.png")
    document = reader_of("a.eml")(message.as_bytes())
    assert outline(document) == [(1, "Über uns")]
    text = document.text.decode()
    assert "From: a@b.example\nDate: Mon, 01 Jan 2024" in text
    assert "Hello" in text
    assert "- Attachment: é.png (image/png, 2 bytes)" in text


def test_html_beside_plain_text_adds_what_is_new() -> None:
    message = mail()
    message.set_content("The same words stand here, and here once more.\n")
    page = "<p>The same words stand here, and here once more.</p><p>Here a novelty.</p>"
    message.add_alternative(page, subtype="html")
    text = content("a.eml", message.as_bytes())
    assert text.count("same words") == 1
    assert "novelty" in text


def test_html_alone_is_read_as_text() -> None:
    message = mail()
    message.set_content("<h2>Offer</h2><p>For <b>you</b>.</p><script>x()</script>", subtype="html")
    document = reader_of("a.eml")(message.as_bytes())
    assert outline(document) == [(1, "Über uns"), (3, "Offer")]
    assert b"x()" not in document.text


def test_an_attached_message_is_read() -> None:
    inner, outer = mail(Subject="Inner"), mail()
    inner.set_content("inner text\n")
    outer.set_content("outer text\n")
    outer.add_attachment(inner)
    document = reader_of("a.eml")(outer.as_bytes())
    assert [title for _, title in outline(document)] == ["Über uns", "Inner"]
    assert b"inner text" in document.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no header here\n", "not a mail message"),
        ("From: a\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\nx\n--b--\n", "decrypt"),
        ("From: a\nContent-Type: application/pkcs7-mime\n\nAAAA\n", "decrypt"),
    ],
)
def test_what_cannot_be_read_of_mail_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        content("a.eml", text.encode())


def test_parts_nested_without_end_are_refused() -> None:
    text = "From: a\n"
    for number in range(300):
        text += f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n"
    with pytest.raises(DocumentError, match="nested deeper"):
        content("a.eml", text.encode())
