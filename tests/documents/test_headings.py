"""Headings in every dialect, and what only looks like one."""

import pytest

from contextpull.documents.markdown import read_markdown
from contextpull.types import Block


def headings_of(text: str) -> list[Block]:
    document = read_markdown(text.encode())
    return [block for block in document.blocks if block.kind == "heading"]


def titles(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in headings_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n###### Six\n", [(1, "One"), (6, "Six")]),
        ("####### Seven\n", []),
        ("#No space\n", []),
        ("   # Indented\n", [(1, "Indented")]),
        ("## Trailing ##\n", [(2, "Trailing")]),
        ("## Trailing ####   \n", [(2, "Trailing")]),
        ("# C#\n## F# #\n", [(1, "C#"), (2, "F#")]),
        ("Short\n=\n", [(1, "Short")]),
        ("Short\n-\n", [(2, "Short")]),
        ("Two\nlines\n---\n", [(2, "Two lines")]),
        ("Setext\r\n======\r\n\r\ntext\r\n", [(1, "Setext")]),
        ("# A\r\r## B\r", [(1, "A"), (2, "B")]),
        ("# Über 東京 🚀\n", [(1, "Über 東京 🚀")]),
        ("# `code` *em* [link](x) &amp; <b>bold</b>\n", [(1, "code em link & bold")]),
        ("#  Many   spaces \n", [(1, "Many spaces")]),
        ("#\n", [(1, "")]),
        ("# ![](logo.png)\n", [(1, "")]),
        ("text\n# Right behind\ntext\n", [(1, "Right behind")]),
        ("# A\n***\n## B\n", [(1, "A"), (2, "B")]),
        ("# A\n\n---\n", [(1, "A")]),
        (":::note\n\n# Inside\n\n:::\n", [(1, "Inside")]),
        ("<details>\n<summary>x</summary>\n\n# Inside\n\n</details>\n", [(1, "Inside")]),
        ("[^1]: note\n\n# Behind\n", [(1, "Behind")]),
    ],
)
def test_headings_are_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert titles(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "```\n# fenced\n```\n",
        "~~~~\n# fenced\n~~~\n# still\n~~~~\n",
        "```\n# never closed\n# nor followed by a lone heading\n",
        "    # indented code\n",
        "<!--\n# in a comment\n\n## here too\n-->\n",
        "<!-- never closed\n\n# x\n",
        "- # in a list\n\n  ## here too\n",
        "> # quoted\n",
        "<div>\n# in raw HTML\n</div>\n",
        "<pre>\n# preformatted\n\n# here too\n</pre>\n",
        "<script>\n\n# code\n</script>\n",
        "!!! note\n\n    # in an admonition\n",
        "\\# escaped\n",
        "| # a |\n|---|\n| # b |\n",
        "text\n\n---\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert titles(text) == []


@pytest.mark.parametrize(
    ("line", "title", "anchor"),
    [
        ("# A {#given}", "A", "given"),
        ("# A {: #given }", "A", "given"),
        ("# A {:#given}", "A", "given"),
        ("# A {#given .class key=value}", "A", "given"),
        ('# A {.class #given title="two words"}', "A", "given"),
        ("# A {/* #given */}", "A", "given"),
        ("# A ## {#given}", "A", "given"),
        ("# A {#given} ##", "A", "given"),
        ("A {#given}\n===", "A", "given"),
        ("# `code` {#given}", "code", "given"),
        ("# A {.class}", "A", None),
        ('# <a name="given"></a>A', "A", "given"),
        ("# A <a id='given'></a>", "A", "given"),
        ("# A <a class=x id=given>", "A", "given"),
        ("# A <a data-id='no' href='x'>", "A", None),
        ("# Use {name}", "Use {name}", None),
        ("### GET /items/{item_id}", "GET /items/{item_id}", None),
        ("# {only}", "{only}", None),
        ("# A {{ value }}", "A {{ value }}", None),
        ("# A `{#code}`", "A {#code}", None),
        ("# A #notanchor", "A #notanchor", None),
    ],
)
def test_anchors_are_taken_and_other_braces_stay(line: str, title: str, anchor: str | None) -> None:
    (heading,) = headings_of(line + "\n")
    assert (heading.title, heading.anchor) == (title, anchor)


def test_the_source_of_a_heading_stays_as_it_was_written() -> None:
    text = "##  A  ##  {#x}\n\nB\n---\r\n"
    document = read_markdown(text.encode())
    assert document.text == text.encode()
    assert [document.text[block.start : block.end] for block in document.blocks] == [
        b"##  A  ##  {#x}\n",
        b"B\n---\r\n",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<h2>Plain</h2>\n", [(2, "Plain", None)]),
        ('<H3 class="x" ID="given">Up &amp; <b>down</b></H3>\n', [(3, "Up & down", "given")]),
        ("<h2><a name='given'></a>Title</h2>\n", [(2, "Title", "given")]),
        ("<h2 data-id='no'>Title</h2>\n", [(2, "Title", None)]),
        ("<div>\n<h1>\n  Over\n  lines\n</h1>\n</div>\n", [(1, "Over lines", None)]),
        ("<h1>One</h1><h2>Two</h2>\n", [(1, "One", None), (2, "Two", None)]),
        ("<h2>Never closed\n\ntext\n", []),
        ("<h2>Closed by another</h3>\n", []),
        ("<!-- <h2>Hidden</h2> -->\n", []),
        ("<pre><h2>Shown</h2></pre>\n<h2>Real</h2>\n", [(2, "Real", None)]),
        ("```html\n<h2>Code</h2>\n```\n", []),
        ("Say `<h2>x</h2>` here.\n", []),
    ],
)
def test_headings_in_html(text: str, expected: list[tuple[int, str, str | None]]) -> None:
    found = [(each.level, each.title, each.anchor) for each in headings_of(text)]
    assert found == expected


def test_text_around_a_heading_in_html_stays() -> None:
    document = read_markdown(b"<div>\nbefore <h2>Title</h2> after\n</div>\n")
    kinds = [(block.kind, document.text[block.start : block.end]) for block in document.blocks]
    assert kinds == [
        ("prose", b"<div>\nbefore "),
        ("heading", b"<h2>Title</h2>"),
        ("prose", b" after\n</div>\n"),
    ]


def test_a_long_title_is_cut_and_the_source_is_not() -> None:
    (heading,) = headings_of("# " + "word " * 1_000 + "\n")
    assert len(heading.title) == 300
    assert heading.end - heading.start == 5_003


@pytest.mark.parametrize("mark", ["```", "~~~", "`````"])
def test_a_fence_that_is_never_closed_is_reported(mark: str) -> None:
    closed = f"# A\n\n{mark}sh\ncode\n{mark}\n"
    assert read_markdown(closed.encode()).warnings == ()
    document = read_markdown(f"{closed}\n\n{mark}\n# code\n".encode())
    (warning,) = document.warnings
    assert "the code fence on line 8 is never closed" in warning
    assert [block.kind for block in document.blocks] == ["heading", "code", "code"]


@pytest.mark.parametrize("mark", ["```py", "~~~", "`````"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_fence_that_is_never_closed_hides_no_lone_heading(mark: str, end: str) -> None:
    text = f"# A\n\n{mark}\n# comment\ncode\n\n## B\n\ntext\n\n{mark}x\ncode\n\n### C\n\nend\n"
    text = text.replace("\n", end)
    document = read_markdown(text.encode())
    assert titles(text) == [(1, "A"), (2, "B"), (3, "C")]
    assert "line 3 is never closed: taken to end before line 7" in document.warnings[0]
    (code, *_) = (block for block in document.blocks if block.kind == "code")
    assert document.text[code.start : code.end].decode().strip().endswith("code")


def test_a_shorter_fence_closes_nothing() -> None:
    assert read_markdown(b"````\ncode\n```\n").warnings != ()
    assert read_markdown(b"    ```\n    indented code\n").warnings == ()
