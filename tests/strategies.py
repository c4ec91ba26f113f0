"""Markdown documents for property tests: pieces of every dialect, in any order and any size."""

from hypothesis import strategies as st

from contextpull.config import CutSettings

WORDS = st.sampled_from(
    [
        *("cache", "the", "Überschrift", "ключ", "東京", "🚀", "C#", "--no-cache", "a_b", "end."),
        *("`x`", "*em*", "[link](a.md#b)", "&amp;", "<b>", "1.", "|", "\\", "{#x}", "don't", "So?"),
        "x" * 60,
    ]
)
TITLES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
SIZES = st.integers(0, 60)


def _lines(template: str, count: int) -> str:
    return "\n".join(template.format(number) for number in range(count))


PARAGRAPHS = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
SENTENCES = SIZES.map(lambda count: _lines("Sentence {} says a thing. And another one!", count))
ATX_HEADINGS = st.builds(
    lambda level, title, closing, anchor: f"{'#' * level} {title}{closing}{anchor}",
    st.integers(1, 6),
    TITLES,
    st.sampled_from(["", " #", " ##"]),
    st.sampled_from(["", " {#given}", " {: #given }", " <a name='given'></a>"]),
)
SETEXT_HEADINGS = st.builds(
    "{}\n{}".format, TITLES, st.sampled_from(["=", "===", "-", "-----", "=  "])
)
BARE_HEADINGS = st.integers(1, 40).map(lambda count: _lines("### Bare {}", count))
FENCES = st.builds(
    lambda mark, count: f"{mark}python\n" + _lines("# comment {}\n\nx = 1", count) + f"\n{mark}",
    st.sampled_from(["```", "~~~", "````"]),
    SIZES,
)
LISTS = SIZES.map(
    lambda count: _lines(
        "- item {0}\n  - inner {0}\n\n    ```\n    # no heading\n    ```\n\n  1. deep", count
    )
)
PIPE_TABLES = SIZES.map(lambda count: "| a | b |\n|---|---|\n" + _lines("| r{} | `x|` |", count))
NESTED_TABLES = SIZES.map(
    lambda count: "- | a | b |\n  |---|---|\n" + _lines("  | n{} | cell |", count)
)
HTML_TABLES = SIZES.map(
    lambda count: (
        "<table>\n\n<tr><th>a</th></tr>\n" + _lines("  <tr><td>h{}</td></tr>\n", count) + "</table>"
    )
)
ODDITIES = st.sampled_from(
    [
        "<h2 id='html'>In <b>HTML</b></h2>",
        "<div>\n<h3>Inside</h3> tail\n</div>",
        "<!--\n# in a comment\n-->",
        "<pre>\n# preformatted\n\n</pre>",
        "<table>",
        "</table>",
        "!!! note\n\n    body\n\n    more body",
        '=== "Tab"\n\n    ```sh\n    # comment\n    ```',
        "> # quoted\n> text",
        "[ref]: https://example.com/x 'title'\n[ref2]: <y>",
        "    # indented\n    code",
        "***",
        "Term\n: definition",
        "[^1]: a note",
        "",
        "\n\n\n",
        " \t ",
    ]
)
UNCLOSED = st.sampled_from(
    ["```\n# a\n\n## b", "~~~", "<!--\n# x\n", "<table>\n<tr><td>x", "> ```"]
)
FRONT_MATTER = st.sampled_from(
    ["", "---\ntitle: A: b\ntags: [x, y]\n---\n", '+++\ntitle = "T"\n+++\n', "---\n---\n", "---\n"]
)
PIECES = st.one_of(
    *(PARAGRAPHS, SENTENCES, ATX_HEADINGS, SETEXT_HEADINGS, BARE_HEADINGS, FENCES, LISTS),
    *(PIPE_TABLES, NESTED_TABLES, HTML_TABLES, ODDITIES),
)


@st.composite
def markdown(draw: st.DrawFn) -> str:
    """A Markdown document of any dialect, with LF, CRLF or CR line ends."""
    pieces = draw(st.lists(PIECES, max_size=12))
    ending = draw(st.one_of(st.just(""), UNCLOSED))
    between = draw(st.sampled_from(["\n\n", "\n\n", "\n"]))
    text = draw(FRONT_MATTER) + between.join([*pieces, ending])
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


@st.composite
def cut_settings(draw: st.DrawFn) -> CutSettings:
    """Settings under which small documents are split and joined, too."""
    most = draw(st.integers(100, 400))
    return CutSettings(
        heading_depth=draw(st.integers(1, 6)),
        max_chars=most,
        hard_max_chars=draw(st.integers(most, 3 * most)),
        min_chars=draw(st.integers(0, 60)),
    )


MARKUP = st.text(alphabet="#=-`~|<>!*_[](){}:+ \n\r\tab1.é東", max_size=400)
"""Arbitrary text that is likely to mean something in Markdown."""
