"""reStructuredText: titles in any style, ids from targets, and nothing read beside the file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.rst import read_rst
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
    return outline(read_rst(text.encode()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One\n===\n\nTwo\n---\n\nThree\n=====\n", [(1, "One"), (2, "Two"), (1, "Three")]),
        ("One\n---\n\nTwo\n===\n\nThree\n~~~~~\n", [(1, "One"), (2, "Two"), (3, "Three")]),
        ("=====\nTitle\n=====\n\nTitle\n=====\n", [(1, "Title"), (2, "Title")]),
        ("=======\n Title\n=======\n", [(1, "Title")]),
        ("Much too long\n====\n", [(1, "Much too long")]),
        ("Much too long\n===\n", []),
        ("東京\n====\n", [(1, "東京")]),
        ("First line\nTitle\n=====\n", []),
        ("  Title\n  =====\n", []),
        (".. note::\n\n   Title\n   =====\n", []),
        ("- Title\n-------\n", []),
        ("1. Title\n========\n", [(1, "1. Title")]),
        (".. comment\nTitle\n=====\n", [(1, "Title")]),
        ("a\n=\n\nb\n-\n\nc\n~\n\nd\n=\n\ne\n~\n", [(1, "a"), (2, "b"), (3, "c"), (1, "d")]),
        ("=====  =====\na      b\n=====  =====\n", []),
        ("Text\n\n-----\n\nText\n", []),
        ("Code::\n\n    Title\n    =====\n", []),
        ("Title\r\n=====\r\n", [(1, "Title")]),
        ("Title\r=====\r", [(1, "Title")]),
    ],
)
def test_titles_follow_the_specification(text: str, expected: list[tuple[int, str]]) -> None:
    assert titles(text) == expected


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("``--flag`` and *so* **on**", "--flag and so on"),
        (":class:`~a.b.Name` here", "Name here"),
        (":func:`the call <a.b>`", "the call"),
        ("`A link <https://example.com>`_", "A link"),
        ("See `that`_ and other_", "See that and other"),
        (r"A \*star\* of 2*3*4", "A *star* of 2*3*4"),
        ("|name| of __init__", "name of __init__"),
    ],
)
def test_a_title_is_what_a_reader_sees(source: str, title: str) -> None:
    assert titles(f"{source}\n{'=' * 60}\n") == [(1, title)]


@pytest.mark.parametrize(
    ("before", "anchor"),
    [
        (".. _my-name:\n\n", "my-name"),
        (".. _One_two:\n.. _Last Name:\n\n", "last-name"),
        (".. _`a: b`:\n\n", "a-b"),
        (".. _far: https://example.com\n\n", None),
        (".. _my-name:\n\nText\n\n", None),
    ],
)
def test_a_target_gives_the_title_behind_it_its_id(before: str, anchor: str | None) -> None:
    (block,) = headings(read_rst(f"{before}T\n=\n".encode()))
    assert block.anchor == anchor


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Code::\n\n    x\n\n    y\n\nText\n", ["prose", "code", "prose"]),
        ("Code::\n\n> x\n> y\n\nText\n", ["prose", "code", "prose"]),
        (".. code-block:: py\n   :linenos:\n\n   x\n\nText\n", ["code", "prose"]),
        (".. note::\n\n   Text::\n\n      x\n", ["prose", "prose", "code"]),
        (">>> x\n1\n\nText\n", ["code", "prose"]),
        ("- a\n- b\n\n  c\n\n#. d\n", ["list", "prose", "list"]),
        ("+--+--+\n|a |b |\n+--+--+\n\nText\n", ["table", "prose"]),
        ("== ==\na  b\n== ==\n1  2\n\n3  4\n== ==\n\nText\n", ["table", "prose"]),
        (".. list-table::\n\n   * - a\n     - b\n   * - c\n     - d\n", ["table"]),
    ],
)
def test_each_kind_of_block_is_told(text: str, kinds: list[str]) -> None:
    document = read_rst(text.encode())
    assert [kind for kind, _ in pieces(document)] == kinds
    assert document.text == text.encode()


@pytest.mark.parametrize(
    ("text", "header", "rows"),
    [
        (
            "== ==\na  b\n== ==\n1  2\n3  4\n== ==\n",
            "== ==\na  b\n== ==",
            ["1  2", "3  4"],
        ),
        (
            "+--+--+\n|a |b |\n+==+==+\n|1 |2 |\n+--+--+\n|3 |4 |\n+--+--+\n",
            "+--+--+\n|a |b |\n+==+==+",
            ["|1 |2 |", "|3 |4 |"],
        ),
    ],
)
def test_a_table_splits_before_each_row(text: str, header: str, rows: list[str]) -> None:
    (table,) = read_rst(text.encode()).blocks
    assert table.header == header
    assert [text[at:].partition("\n")[0] for at in table.breaks] == rows


@pytest.mark.parametrize(
    "directive",
    [".. include:: {}", ".. raw:: html\n   :file: {}", ".. csv-table::\n   :file: {}"],
)
def test_no_directive_reads_another_file(directive: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    text = directive.format(tmp_path / "secret")
    assert read_rst(text.encode()).text.decode() == text


@pytest.mark.parametrize(
    "text",
    [
        "== ==\nx\n\n" * 20_000,
        "  == ==\n  x\n\n" * 20_000 + "y",
        "a::\n\n" * 50_000,
        "`` " * 100_000 + "\n" + "=" * 300_000,
        ".. _" + "a" * 1_000_000,
        "\t" * 100_000 + "x",
        "word " * 1_000_000,
    ],
)
def test_odd_files_are_read_all_the_same(text: str) -> None:
    assert_sound(read_rst(text.encode()))


MARKUP = st.text(alphabet="=-~`*_|:.+#>\\ \n\r\tab1é東", max_size=300)


@same_every_time(300)
@given(MARKUP)
def test_any_markup_becomes_blocks_in_order(text: str) -> None:
    assert_kept(read_rst, f"text {text}")


@same_every_time(200)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_document_or_a_reason(data: bytes) -> None:
    assert_sound_or_refused(read_rst, data)
