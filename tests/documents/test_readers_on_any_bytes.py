"""Any bytes end in a document or in a sentence; what comes out lies where the blocks say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.formats import reader_of
from tests.documents.archives import zipped
from tests.documents.reading import assert_kept, assert_sound_or_refused
from tests.properties import same_every_time

SLICED = ["a.mdx", "a.org", "a.tex", "a.csv", "a.tsv", "a.json", "a.jsonl", "a.yaml", "a.toml"]
CLEANED = ["a.ipynb", "a.epub", "a.eml", "a.rtf", "a.odt", "a.ods"]
PIECES = st.sampled_from(
    [
        *(
            "\n",
            "\r\n",
            " ",
            "\t",
            "a",
            "é",
            "東",
            "🚀",
            ",",
            ";",
            '"',
            "'",
            "{",
            "}",
            "[",
            "]",
            ":",
        ),
        *("* H\n", "** TODO x :t:\n", "#+begin_src\n", "#+end_src\n", "| a | b |\n", "|---|\n"),
        *(
            "\\section{A}",
            "\\subsection[x]{B",
            "\\label{l}",
            "%",
            "\\begin{tabular}{l}\n",
            "\\\\\n",
        ),
        *(
            "\\begin{verbatim}",
            "\\end{verbatim}",
            "\\end{tabular}",
            "\\verb|x|",
            "\\begin{document}",
        ),
        *("key: v\n", "  k2:\n", "- item\n", "---\n", "# c\n", "[t.u]\n", "[[v]]\n", '"""', "'''"),
        *('{"k": ', '"s"', "1,", "//", "/*", "*/", "import x\n", "export const", "<A b={c}>"),
        *("{\\rtf1 ", "\\outlinelevel0 ", "\\par ", "\\cell ", "\\row ", "\\u8364?", "\\bin5 "),
        *(
            "From: a\n",
            "Subject: =?utf-8?B?w6k=?=\n",
            "Content-Type: multipart/mixed; boundary=b\n",
        ),
        *("--b\n", "--b--\n", "Content-Type: text/html\n\n", "<p>x</p>"),
    ]
)


@pytest.mark.parametrize("name", SLICED)
@same_every_time(150)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_text_formats_give_back_the_text(name: str, text: str) -> None:
    assert_kept(reader_of(name), text)


@pytest.mark.parametrize("name", SLICED + CLEANED)
@same_every_time(150)
@given(
    st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=20).map("".join).map(str.encode))
)
def test_any_bytes_end_in_a_document_or_a_sentence(name: str, data: bytes) -> None:
    assert_sound_or_refused(reader_of(name), data)


@same_every_time(150)
@given(st.binary(max_size=100), st.lists(PIECES, max_size=20).map("".join))
def test_any_rtf_ends_in_a_document_or_a_sentence(data: bytes, text: str) -> None:
    assert_sound_or_refused(reader_of("a.rtf"), b"{\\rtf1 " + text.encode() + data)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["cells", "cell_type", "source", "outputs", "data", "text", "level"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@same_every_time(200)
@given(JSON_VALUES)
def test_any_notebook_ends_in_a_document_or_a_sentence(cells: object) -> None:
    data = json.dumps({"cells": [cells], "metadata": cells}).encode()
    assert_sound_or_refused(reader_of("a.ipynb"), data)


@pytest.mark.parametrize("name", ["a.epub", "a.odt", "a.ods"])
@same_every_time(60)
@given(st.binary(max_size=60))
def test_any_archive_ends_in_a_document_or_a_sentence(name: str, data: bytes) -> None:
    for member in ("content.xml", "META-INF/container.xml", "META-INF/manifest.xml"):
        assert_sound_or_refused(reader_of(name), zipped({member: data}))
