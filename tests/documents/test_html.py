"""HTML: what is shown becomes text, what is not does not."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents import formats
from contextpull.documents.html import read_html, read_html_fragment
from contextpull.errors import DocumentError, MissingExtra
from tests.documents.reading import assert_sound, assert_sound_or_refused, headings, pieces
from tests.properties import same_every_time


def html_pieces(body: str) -> list[tuple[str, str]]:
    return pieces(read_html(body.encode()))


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("<h2>A <em>title</em></h2>", "heading", "## A title\n"),
        ("<p>One\n  two<br>three", "prose", "One two\nthree\n"),
        ("<p>Call <code>f(x)</code>.</p>", "prose", "Call `f(x)`.\n"),
        ("<ul><li>a<li>b<ol start=3><li>c</ol></ul>", "list", "- a\n- b\n  3. c\n"),
        ("<dl><dt>Term<dd>Meaning</dl>", "list", "Term\n: Meaning\n"),
        ("<blockquote><p>Said</blockquote>", "prose", "> Said\n"),
        ("<pre>\n  x\n\ny\n</pre>", "code", "```\n  x\n\ny\n```\n"),
        (
            "<pre><code class='language-py'>a ``` b</code></pre>",
            "code",
            "````py\na ``` b\n````\n",
        ),
        ("<p><img src=x.png alt='A map'></p>", "prose", "![A map]\n"),
        ("<a href=x><div>linked</div></a>", "prose", "linked\n"),
    ],
)
def test_each_kind_of_block_becomes_text(body: str, kind: str, text: str) -> None:
    assert html_pieces(body) == [(kind, text)]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>x()</script>",
        "<style>p {}</style>",
        "<template><p>x</template>",
        "<nav><a href=/>x</a></nav>",
        "<footer>x</footer>",
        "<div hidden>x</div>",
        "<div style='display: none'>x</div>",
        "<span aria-hidden=true>x</span>",
        "<!-- x -->",
        "<svg><text>x</text></svg>",
        "<div role=navigation>x</div>",
        "<div class='nav-panel'>x</div>",
        "<table class=navigation><tr><td>x</td></tr></table>",
        "<span class=sortkey>x</span>",
    ],
)
def test_navigation_scripts_and_what_is_hidden_are_left_out(hidden: str) -> None:
    assert html_pieces(f"<p>Before</p>{hidden}<p>After</p>") == [
        ("prose", "Before\n"),
        ("prose", "After\n"),
    ]


def test_the_main_element_goes_before_all_around_it() -> None:
    page = "<div>Banner</div><main><header><h1>T</h1></header><p>Text</p></main><div>Related</div>"
    assert html_pieces(page) == [("heading", "# T\n"), ("prose", "Text\n")]


def test_a_page_of_navigation_alone_keeps_it() -> None:
    assert html_pieces("<nav><p>All there is</p></nav>") == []
    assert html_pieces("<footer><p>All there is</p></footer>") == [("prose", "All there is\n")]


@pytest.mark.parametrize(
    ("body", "anchor"),
    [
        ("<h2 id=own>T</h2>", "own"),
        ("<h2><a name=inner></a>T</h2>", "inner"),
        ("<section id=around><h2>T</h2></section>", "around"),
        ("<a id=before></a><h2>T</h2>", "before"),
        ("<a id=before></a><p>Text</p><h2>T</h2>", None),
        ("<h2 id=own>T<a class=headerlink href=#own>¶</a></h2>", "own"),
    ],
)
def test_a_heading_has_the_id_that_leads_to_it(body: str, anchor: str | None) -> None:
    (block,) = headings(read_html(body.encode()))
    assert (block.title, block.anchor) == ("T", anchor)


def table_rows(body: str) -> list[str]:
    return next(text for kind, text in html_pieces(body) if kind == "table").splitlines()


def test_spans_are_filled_so_that_each_row_tells_all() -> None:
    rows = table_rows(
        "<table><tr><th rowspan=2>Kind<th colspan=2>Price<tr><th>net<th>gross"
        "<tr><td rowspan=2>tea<td>1<td>2<tr><td>3<td>4</table>"
    )
    assert rows == [
        "| Kind | Price / net | Price / gross |",
        "|---|---|---|",
        "| tea | 1 | 2 |",
        "| tea | 3 | 4 |",
    ]


def test_a_table_without_header_cells_has_its_first_row_for_one() -> None:
    assert table_rows("<table><tr><td>a<td>b|c<tr><td>1<td>2</table>") == [
        "| a | b\\|c |",
        "|---|---|",
        "| 1 | 2 |",
    ]


def test_columns_that_only_space_are_left_out() -> None:
    rows = table_rows(
        "<table><tr><td colspan=2>Cash<td><td>1<tr><td colspan=2>Debt<td><td>2</table>"
    )
    assert rows == ["| Cash | 1 |", "|---|---|", "| Debt | 2 |"]


def test_a_table_that_lays_out_a_page_is_read_as_its_content() -> None:
    page = "<table><tr><td><h1>T</h1><p>One<td><p>Two<tr><td>a<td>b</table>"
    assert [text for _, text in html_pieces(page)] == ["# T\n", "One\n", "Two\n", "a\n", "b\n"]


def test_a_table_of_one_column_beside_empty_ones_lays_out() -> None:
    page = "<table><tr><td> <td><p>One</p><p>Two</p><td><tr><td> <td>Three<td> </table>"
    assert [text for _, text in html_pieces(page)] == ["One\n", "Two\n", "Three\n"]


def test_a_table_splits_before_each_row_and_knows_its_header() -> None:
    document = read_html(b"<table><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>")
    (table,) = document.blocks
    assert table.header == "| a | b |\n|---|---|"
    assert [document.text[at : at + 9] for at in table.breaks] == [b"| 1 | 2 |", b"| 3 | 4 |"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<meta charset=windows-1251><p>Привет".encode("cp1251"), "Привет\n"),
        ("<meta charset=iso-8859-1><p>Grüße".encode(), "Grüße\n"),
        ("<meta charset=latin1><p>10 €".encode("cp1252"), "10 €\n"),
        ("<meta charset=iso-2022-jp><p>日本語".encode("iso-2022-jp"), "日本語\n"),
        (b"<meta charset=nonsense><p>plain", "plain\n"),
        ("<p>wide".encode("utf-16"), "wide\n"),
    ],
)
def test_the_declared_encoding_counts_where_it_can_be_true(data: bytes, text: str) -> None:
    assert pieces(read_html(data)) == [("prose", text)]


def test_xhtml_may_close_any_element_at_once() -> None:
    page = (
        b"<?xml version='1.0'?><html><head><title/></head><body><a id='x'/><p>Text<![CDATA[ 1<2]]>"
    )
    assert pieces(read_html(page)) == [("prose", "Text 1<2\n")]


def test_what_the_head_says_of_the_page_is_kept() -> None:
    page = (
        b"<title>T\n t</title><meta name=description content=D><meta name=Keywords content='k, l'>x"
    )
    document = read_html(page)
    assert (document.title, document.description, document.keywords) == ("T t", "D", "k, l")


def test_a_fragment_is_content_from_end_to_end() -> None:
    assert pieces(read_html_fragment("<footer>Kept</footer>")) == [("prose", "Kept\n")]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("<div>" * 2_000, "inside each other"),
        ("".join(f"<font a={n}>" for n in range(999)) + "<p>x" * 9_000, "inside each other"),
        (f"<p {' '.join(f'a{n}' for n in range(9_000))}>", "attributes"),
        ("<b>" * 2_100_000, "more than 2,000,000 tags"),
        (
            "<table><tr>" + "<th rowspan=9999 colspan=1000>x" * 9 + "<tr>" * 900 + "</table>",
            "cells",
        ),
        ("\0\1\2" * 100, "binary"),
    ],
)
def test_a_page_that_costs_too_much_is_refused_with_a_reason(page: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        read_html(page.encode())


@pytest.mark.parametrize(
    "page",
    [
        "x<!--" * 100_000,
        "<script>" * 100_000,
        "<p>" + "word " * 1_000_000,
        "<?xml?>" + "<![CDATA[" * 100_000,
        "<ul>" + "<li>a" * 50_000,
        "<a " * 300_000,
    ],
)
def test_odd_pages_are_read_all_the_same(page: str) -> None:
    assert_sound(read_html(page.encode()))


TAGS = st.sampled_from(
    [
        *("<p>", "</p>", "<div>", "<ul>", "<ol>", "<li>", "</ul>", "<dl>", "<dt>", "<dd>", "<br>"),
        *("<table>", "<tr>", "<td>", "<th>", "<thead>", "<td colspan=3 rowspan=2>", "</table>"),
        *("<h1>", "</h1>", "<h3 id=x>", "<pre>", "</pre>", "<code>", "</code>", "<img alt=i>"),
        *("<main>", "</main>", "<nav>", "<!--", "-->", "<a name=y>", "<script>", "</script>"),
        *("<blockquote>", "</blockquote>", "<b>", "&lt;", "é", "|", "<", ">"),
    ]
)


@same_every_time(200)
@given(
    st.lists(
        st.one_of(
            TAGS, st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z"]), max_size=5)
        ),
        max_size=30,
    ).map("".join)
)
def test_any_markup_becomes_blocks_in_order(page: str) -> None:
    assert_sound(read_html(f"<p>text{page}".encode()))


@same_every_time(200)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_document_or_a_reason(data: bytes) -> None:
    assert_sound_or_refused(read_html, data)


def test_without_its_library_a_page_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    monkeypatch.delitem(sys.modules, "contextpull.documents.html")
    monkeypatch.delitem(sys.modules, "contextpull.documents.html_walk")
    formats._imported.cache_clear()
    with pytest.raises(MissingExtra, match=r"HTML needs .* pip install 'contextpull\[formats\]'"):
        formats.reader_of("a.html")
