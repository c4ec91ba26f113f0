"""AsciiDoc: titles, ids and blocks as they stand; nothing read beside the file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.asciidoc import read_asciidoc
from tests.documents.reading import (
    assert_kept,
    assert_sound,
    assert_sound_or_refused,
    headings,
    outline,
    pieces,
)
from tests.properties import same_every_time


def titles(text: str) -> list[tuple[int, str]]:
    return outline(read_asciidoc(text.encode()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("= Page\nAn Author\n\n== One\n\n=== Two ===\n", [(1, "Page"), (2, "One"), (3, "Two")]),
        ("# Page\n\n## One\n", [(1, "Page"), (2, "One")]),
        ("Page\n====\n\nOne\n---\n\nTwo\n~~~\n", [(1, "Page"), (2, "One"), (3, "Two")]),
        ("= Page\n\n= Part\n\n== One\n", [(1, "Page"), (2, "Part"), (3, "One")]),
        ("// comment\n:name: value\n\n= Page\n", [(1, "Page")]),
        ("Text\n== One\n", []),
        (" == One\n", []),
        ("==One\n", []),
        ("[discrete]\n== One\n", []),
        ("----\n== One\n----\n\n== Two\n", [(2, "Two")]),
        ("====\n== One\n====\n\n== Two\n", [(2, "Two")]),
        ("--\n----\n--\n----\n--\n\n== Two\n", [(2, "Two")]),
        ("////\n== One\n////\n\n== Two\n", [(2, "Two")]),
        ("```\n== One\n```\n\n== Two\n", [(2, "Two")]),
        ("|===\n== One\n|===\n\n== Two\n", [(2, "Two")]),
        ("----\n\n== One\n", [(2, "One")]),
        ("= Page\r\n\r\n== One\r\n", [(1, "Page"), (2, "One")]),
    ],
)
def test_titles_follow_the_language(text: str, expected: list[tuple[int, str]]) -> None:
    assert titles(text) == expected


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("The `--flag` and *so* _on_", "The --flag and so on"),
        ("A snake_case_name", "A snake_case_name"),
        ("xref:a.adoc#b[A page] and <<id,that>>", "A page and that"),
        ("https://example.com[Example^]", "Example"),
        ("`<tx:advice/>` Settings", "<tx:advice/> Settings"),
        ("What's New in {version}", "What's New in {version}"),
        ("`+{name}+` verbatim", "{name} verbatim"),
    ],
)
def test_a_title_is_what_a_reader_sees(source: str, title: str) -> None:
    assert titles(f"== {source}\n") == [(2, title)]


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("[[my-id]]\n== T\n", "my-id"),
        ("[#my-id]\n== T\n", "my-id"),
        ("[appendix#my-id.role]\n== T\n", "my-id"),
        ("[id=my-id]\n== T\n", "my-id"),
        ("[role=x,id='my-id']\n== T\n", "my-id"),
        ("== [[my-id]]T\n", "my-id"),
        ("== T [[my-id]]\n", "my-id"),
        ("[[my-id]]\nText\n\n== T\n", None),
    ],
)
def test_a_title_has_the_id_that_the_file_gives_it(text: str, anchor: str | None) -> None:
    (block,) = headings(read_asciidoc(text.encode()))
    assert (block.title, block.anchor) == ("T", anchor)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("[source,java]\n----\nx\n\ny\n----\n\nText\n", ["prose", "code", "prose"]),
        ("....\nx\n....\n", ["code"]),
        ("```java\nx\n```\n", ["code"]),
        (" literal\n", ["code"]),
        ("* a\n* b\n** c\n\n. d\n", ["list"]),
        ("term:: meaning\nother:: too\n", ["list"]),
        ("* a\n+\n----\nx\n----\n", ["list", "code"]),
        ("|===\n|a |b\n\n|1 |2\n|===\n", ["table"]),
        ("NOTE: Text\n", ["prose"]),
        (".Title\n----\nx\n----\n", ["prose", "code"]),
    ],
)
def test_each_kind_of_block_is_told(text: str, kinds: list[str]) -> None:
    document = read_asciidoc(text.encode())
    assert [kind for kind, _ in pieces(document)] == kinds
    assert document.text == text.encode()


def test_a_table_splits_before_its_rows_and_knows_its_header() -> None:
    text = "|===\n|a |b\n\n|1 |2\n|3 |4\n|===\n"
    (table,) = read_asciidoc(text.encode()).blocks
    assert table.header == "|===\n|a |b"
    assert [text[at:].partition("\n")[0] for at in table.breaks] == ["|1 |2", "|3 |4"]


def test_an_include_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.adoc").write_text("== Secret")
    text = f"include::{tmp_path}/secret.adoc[]\n"
    assert pieces(read_asciidoc(text.encode())) == [("prose", text)]


@pytest.mark.parametrize(
    "text",
    [
        "----\nx\n" * 50_001,
        "\n".join("=" * (4 + number % 50) for number in range(50_000)),
        "= " + "*_`+" * 100_000,
        "= " + "[[" * 100_000,
        "[" * 1_000_000,
        "a:: b\n" * 50_000,
        "word " * 1_000_000,
    ],
)
def test_odd_files_are_read_all_the_same(text: str) -> None:
    assert_sound(read_asciidoc(text.encode()))


MARKUP = st.text(alphabet="=-.*_+`|/[]#:<>{} \n\r\tab1é東", max_size=300)


@same_every_time(300)
@given(MARKUP)
def test_any_markup_becomes_blocks_in_order(text: str) -> None:
    assert_kept(read_asciidoc, f"text {text}")


@same_every_time(200)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_document_or_a_reason(data: bytes) -> None:
    assert_sound_or_refused(read_asciidoc, data)
