"""Blocks other than headings: where they begin, of what kind they are, where they may split."""

import pytest

from contextpull.documents.markdown import read_markdown
from contextpull.documents.plain import read_plain
from tests.documents.reading import pieces


def pieces_of(text: str) -> list[tuple[str, str]]:
    return pieces(read_markdown(text.encode()))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Some text\nover lines.\n", "prose"),
        ("- one\n- two\n", "list"),
        ("1. one\n2. two\n", "list"),
        ("- [x] done\n", "list"),
        ("Term\n: definition\n", "list"),
        ("| a |\n|---|\n| b |\n", "table"),
        ("a | b\n--|--\nc | d\n", "table"),
        ("<table><tr><td>a</td></tr></table>\n", "table"),
        ("```\ncode\n```", "code"),
        ("    indented\n", "code"),
        ("> quoted\n", "prose"),
        ("<div>raw</div>\n", "prose"),
        ("[^1]: a note\n", "prose"),
    ],
)
def test_each_kind_of_block_is_told(text: str, kind: str) -> None:
    assert pieces_of(text) == [(kind, text)]


@pytest.mark.parametrize("block", ["    code\n", "  | a |\n  |---|\n  | b |\n", "  - item\n"])
def test_a_block_begins_with_its_indentation(block: str) -> None:
    assert pieces_of(f"Text.\n\n{block}")[1][1] == block


@pytest.mark.parametrize("opening", ["!!! note", "??? tip", "???+ tip", '=== "Tab"', '!!! note ""'])
def test_the_body_of_an_admonition_is_prose(opening: str) -> None:
    text = f"{opening}\n\n    Body.\n\n    ```\n    # code\n    ```\n\nAfter.\n"
    assert [kind for kind, _ in pieces_of(text)] == ["prose", "prose", "prose"]
    assert "".join(piece for _, piece in pieces_of(text)).count("    Body.") == 1


def test_an_admonition_whose_body_follows_at_once_goes_on_behind_a_blank_line() -> None:
    assert [kind for kind, _ in pieces_of("!!! note\n    One.\n\n    Two.\n")] == ["prose", "prose"]


def test_indented_text_behind_ordinary_prose_is_code() -> None:
    assert [kind for kind, _ in pieces_of("See below:\n\n    code\n")] == ["prose", "code"]
    assert [kind for kind, _ in pieces_of("!!! note\n```\ncode\n```\n")] == ["prose", "code"]


def table_of(text: str):
    return next(each for each in read_markdown(text.encode()).blocks if each.kind == "table")


def test_a_pipe_table_splits_before_each_row_and_knows_its_header() -> None:
    text = "Text.\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 | 4 |\n"
    table = table_of(text)
    assert table.header == "| a | b |\n|:--|--:|"
    assert [text[point:].partition("\n")[0] for point in table.breaks] == ["| 1 | 2 |", "| 3 | 4 |"]


def test_a_pipe_table_without_rows_has_no_place_to_split() -> None:
    assert table_of("| a |\n|---|\n").breaks == ()


def test_an_html_table_over_blank_lines_is_one_block() -> None:
    table = "<table>\n\n<tr><th>a</th></tr>\n\n    <tr><td>\n\n# b\n\n</td></tr>\n\n</table>\n"
    assert pieces_of(f"Before.\n\n{table}\nAfter.\n") == [
        ("prose", "Before.\n"),
        ("table", table),
        ("prose", "After.\n"),
    ]
    assert table_of(table).header == "<table>\n\n<tr><th>a</th></tr>"


def test_text_around_an_html_table_in_one_block_stays() -> None:
    assert pieces_of("<div>x\n<table><tr></table>\ny</div>\n") == [
        ("prose", "<div>x\n"),
        ("table", "<table><tr></table>\n"),
        ("prose", "y</div>\n"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Use `<table>` so.\n\n# H\n\nAnd `</table>`.\n",
        "<!-- <table> -->\n\n# H\n\n<!-- </table> -->\n",
        "```html\n<table>\n```\n\n# H\n\n```html\n</table>\n```\n",
        "<table>\n\n# H\n\nNever closed.\n",
        "# H\n\n</table>\n",
        "<tablet>\n\n# H\n\n</tablet>\n",
    ],
)
def test_what_only_looks_like_an_html_table_hides_no_heading(text: str) -> None:
    assert ("heading", "# H\n") in pieces_of(text)
    assert "table" not in {kind for kind, _ in pieces_of(text)}


def test_a_table_that_is_never_closed_spoils_no_later_one() -> None:
    text = "<table>\n\n# H\n\n<table><tr><td>x</td></tr></table>\n"
    assert [kind for kind, _ in pieces_of(text)] == ["prose", "heading", "table"]


def test_a_table_in_a_list_or_quote_is_a_block_of_its_own() -> None:
    listed = "- before\n\n  | a |\n  |---|\n  | b |\n\n- after\n"
    assert [kind for kind, _ in pieces_of(listed)] == ["list", "table", "list"]
    assert "".join(piece for _, piece in pieces_of(listed)) == listed
    assert [kind for kind, _ in pieces_of("> | a |\n> |---|\n> | b |\n")] == ["table"]


def test_code_in_a_list_stays_whole() -> None:
    text = "- item\n\n  ```\n  code\n  ```\n- next\n"
    (block,) = read_markdown(text.encode()).blocks
    assert [text[a:b] for a, b in block.solid] == ["  ```\n  code\n  ```"]


def test_plain_text_is_one_stream_of_prose() -> None:
    document = read_plain("# no heading\r\n\r\ntext\r\n".encode("utf-16"))
    assert document.text == b"# no heading\r\n\r\ntext\r\n"
    assert [(block.kind, block.start, block.end) for block in document.blocks] == [
        ("prose", 0, len(document.text))
    ]
    assert read_plain(b" \n").blocks == ()


def test_a_file_of_too_many_blocks_ends_as_plain_text() -> None:
    document = read_markdown(b"# Heading\n" * 310_000)
    assert len(document.blocks) == 300_001
    assert (document.blocks[-1].kind, document.blocks[-1].end) == ("prose", 3_100_000)
    assert "more than 300,000 blocks" in document.warnings[0]


def test_a_definition_list_takes_nothing_of_what_follows() -> None:
    assert pieces_of("term\n:\nText.\n") == [("list", "term\n:\n"), ("prose", "Text.\n")]
