"""MDX, Org, LaTeX, notebooks, RTF: where headings are and what is no heading."""

import json

import pytest

from contextpull.documents.summary import summary_of
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.types import ParsedDocument
from tests.documents.reading import read

Outline = list[tuple[int, str, str | None]]


def outline(document: ParsedDocument) -> Outline:
    return [(block.level, block.title, block.anchor) for block in document.blocks if block.level]


def notebook(*cells: dict[str, object], **other: object) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, **other})


def test_mdx_says_of_itself_what_its_first_paragraph_says() -> None:
    text = (
        "import {A} from './a'\n\nexport const x = {\n  y: 1\n}\n\n# Title\n\n<A/>\n\nWhat it is.\n"
    )
    document = read("a.mdx", text)
    assert document.text.decode() == text
    assert summary_of(document) == "What it is."
    assert outline(document) == [(1, "Title", None)]


def test_org_headlines_lose_states_priorities_and_tags() -> None:
    text = (
        "#+TITLE: Notes\n#+TODO: WAIT | GONE\n* TODO [#A] Set *up* :home:\n:PROPERTIES:\n"
        ":CUSTOM_ID: setup\n:END:\ntext\n** WAIT See [[https://x.y][the page]]\n*bold* text\n"
        "#+begin_src org\n,* no headline\n#+end_src\n"
    )
    document = read("a.org", text)
    assert document.title == "Notes"
    assert outline(document) == [(1, "Set up", "setup"), (2, "See the page", None)]


def test_an_org_table_repeats_what_stands_above_its_rule() -> None:
    text = "| a | b |\n|---+---|\n" + "| one | two |\n" * 300
    parts = cut(read("a.org", text))
    assert "".join(part.text for part in parts) == text
    assert {part.repeated_header for part in parts[1:]} == {"| a | b |\n|---+---|"}


def test_latex_sections_are_headings_and_their_labels_anchors() -> None:
    text = (
        "\\documentclass{book}\n\\title{Caf\\'e \\LaTeX}\n\\begin{document}\n"
        "\\section{One \\emph{two} \\texttt{a\\_b}}\\label{sec:one}\nx % \\section{no}\n"
        '\\begin{verbatim}\n\\section{no}\n\\end{verbatim}\n\\subsection*{Na\\"{\\i}ve}\ny\n'
        "\\verb|\\section{no}|\n\\end{document}\n"
    )
    document = read("a.tex", text)
    assert document.title == "Café LaTeX"
    assert outline(document) == [(1, "One two a_b", "sec:one"), (2, "Naïve", None)]
    assert "".join(section.text for section in cut(document)) == text


def test_latex_reads_no_other_file() -> None:
    text = "\\section{A}\n\\input{/etc/hostname}\n\\include{b}\n"
    assert read("a.tex", text).text.decode() == text


def test_notebook_cells_become_prose_code_and_outputs() -> None:
    text = notebook(
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "text"]},
        {
            "cell_type": "code",
            "source": "f()",
            "outputs": [
                {"output_type": "stream", "text": "\x1b[31mred\x1b[0m\n"},
                {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": []},
            ],
        },
        metadata={"language_info": {"name": "julia"}},
    )
    read_text = read("a.ipynb", text).text.decode()
    assert "```julia\nf()\n```" in read_text
    assert "```output\nred\n```" in read_text
    assert "[image/png]" in read_text
    assert "E: v" in read_text
    assert "AAAA" not in read_text


def test_long_outputs_are_shortened_and_say_so() -> None:
    outputs = [{"output_type": "stream", "text": "line\n" * 5_000}]
    document = read("a.ipynb", notebook({"cell_type": "code", "source": "f", "outputs": outputs}))
    assert document.text.count(b"line\n") == 30
    assert b"(output shortened)" in document.text


@pytest.mark.parametrize("version", [2, 3])
def test_old_notebooks_keep_their_cells_in_worksheets(version: int) -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": ["a = 1", "b = 2"], "outputs": [{"text": ["3"]}]},
    ]
    text = json.dumps({"worksheets": [{"cells": cells}], "metadata": {}, "nbformat": version})
    document = read("a.ipynb", text)
    assert outline(document) == [(2, "Old", None)]
    assert b"a = 1\nb = 2" in document.text


@pytest.mark.parametrize("text", ["{", "[]", "{}", "3", "[" * 100_000])
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="not a notebook"):
        read("a.ipynb", text)


def test_rtf_has_headings_tables_and_every_script() -> None:
    text = (
        r"{\rtf1\ansi{\fonttbl{\f0 Font;}}{\pard\outlinelevel1 Chapter\par}"
        r"{\pard Text \'e9 \u26481?\u-10179?\u-8576?\par}"
        r"{\trowd\cellx1\cellx2\pard\intbl A\cell B\cell\row\pard\intbl 1\cell 2\cell\row}"
        r"{\pict " + "ab" * 2_000 + r"}{\pard End\par}}"
    )
    document = read("a.rtf", text)
    assert outline(document) == [(2, "Chapter", None)]
    content = document.text.decode()
    assert "Text é 東🚀" in content.replace(" 🚀", "🚀")
    assert "| A | B |\n|---|---|\n| 1 | 2 |" in content
    assert "Font" not in content
    assert "abab" not in content


def test_what_is_no_rtf_is_refused() -> None:
    with pytest.raises(DocumentError, match="not RTF"):
        read("a.rtf", "plain")
