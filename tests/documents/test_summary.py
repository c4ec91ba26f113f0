"""A document that does not describe itself is summed up by its first running text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.summary import LONGEST_SUMMARY, summary_of
from tests.documents.archives import opendocument
from tests.documents.reading import read

TEXT = "The pump moves water to the upper tank."


def summary(name: str, text: str) -> str:
    return summary_of(read(name, text))


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("a.md", "Pump\n====\n\n"),
        ("a.md", "Pump\n----\n"),
        ("a.md", "# Pump\n\n![A pump](pump.png)\n\n[![build](b.svg)](https://ci.example)\n\n"),
        ("a.md", '!!! note "Mind"\n\n    An aside of the admonition.\n\n'),
        ("a.md", "- one\n- two\n\n1. first\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"),
        ("a.md", "<div>markup</div>\n\n[^1]: a note\n\n"),
        ("a.md", "a | b\n--|--\n1 | 2\n\n"),
        ("a.md", "Author: Ada\nVersion: 3\n\n"),
        ("a.txt", "Pump\n====\n\n"),
        ("a.txt", "====\nPump\n====\n\n"),
        ("a.txt", "\r\n".join(["Pump", "----", "", ""])),
        ("a.txt", "Pump 3   Tank 4\n------   ------\nblue     red\n\n"),
        ("a.txt", "====  ====\nPump  Tank\n====  ====\nblue  red\n====  ====\n\n"),
        ("a.txt", "+---+---+\n| a | b |\n+---+---+\n\n"),
        ("a.txt", "*****\n\n"),
        (
            "a.rst",
            ".. _pump:\n\n====\nPump\n====\n\n:orphan:\n\n.. module:: pump\n   :synopsis: x\n\n",
        ),
        ("a.rst", ".. toctree::\n   :maxdepth: 2\n\n   intro/index\n   faq/index\n\n"),
        ("a.rst", ".. note::\n\n   An aside about it.\n\n   More of it.\n\n"),
        ("a.adoc", "= Pump\nAda Lovelace <ada@example.org>\n:toc:\n:icons: font\n\n"),
        ("a.adoc", "// a comment\n[.lead]\n\n////\na comment\n\nof two paragraphs\n////\n\n"),
        ("a.adoc", "include::head.adoc[]\n\n.Title of a block\n----\ncode\n----\n\n"),
        ("a.adoc", "Kotlin::\n+\n[source,kotlin]\n----\nval a = 1\n----\n\n"),
        ("a.adoc", "[.small]#See elsewhere#\n\n* item\n** deeper\n\n"),
        ("a.mdx", "import {Note} from './note'\n\n{/* hidden */}\n\n<Note>an aside</Note>\n\n"),
        ("a.tex", "% a comment\n\\maketitle\n\\section{Pump}\n\\label{pump} % kept\n\n"),
        ("a.eml", "Subject: Pump\nFrom: ada@example.org\n\n"),
    ],
)
def test_what_is_no_running_text_is_passed_over(name: str, before: str) -> None:
    assert summary(name, f"{before}{TEXT}\n\nAnother paragraph.\n") == TEXT


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "`pump` moves water to the upper tank."),
        ("a.md", ".NET moves water to the upper tank."),
        ("a.md", "--fast moves more water to the upper tank."),
        ("a.rst", "``pump`` moves water to the upper tank."),
        ("a.adoc", "{product} moves water to the upper tank."),
        ("a.txt", "   The pump moves water. It is set in a little."),
        ("a.md", "Note: the pump moves water to the upper tank."),
        ("a.adoc", "Purpose:: Moves water to the upper tank."),
    ],
)
def test_running_text_may_begin_with_a_sign(name: str, text: str) -> None:
    assert summary(name, f"{text}\n\nAnother paragraph follows here.\n") == text.strip()


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("a.md", "[pump](https://example.org/pump 'The pump')"),
        ("a.md", "[pump][the pump]"),
        ("a.rst", ":doc:`pump </parts/pump>`"),
        ("a.rst", ":ref:`~pump`"),
        ("a.rst", "`pump <https://example.org/pump>`__"),
        ("a.rst", "`pump`_ [#]_"),
        ("a.adoc", "xref:parts/pump.adoc[pump]"),
        ("a.adoc", "https://example.org/pump[pump^]"),
        ("a.adoc", "{url-pump}/parts[pump]"),
        ("a.mdx", "pump {/* the old one */}"),
    ],
)
def test_links_show_their_text(name: str, link: str) -> None:
    assert summary(name, f"The {link} moves water to the tank.\n") == (
        "The pump moves water to the tank."
    )


def test_a_date_or_a_name_serves_where_nothing_longer_follows() -> None:
    assert summary("a.md", f"# News\n\nMay 2024\n\n{TEXT}\n") == TEXT
    assert summary("a.md", "# News\n\nMay 2024\n\n\u2610\n") == "May 2024"


def test_what_holds_no_running_text_has_no_summary() -> None:
    assert summary("a.md", "# Parts\n\n- pump\n- tank\n\n---\n\n\u2610\n") == ""
    assert summary("a.csv", "part,count\npump,3\n") == ""


def test_a_long_paragraph_is_cut() -> None:
    long = summary("a.md", f"{'Water flows downhill. ' * 40}\n")
    assert (len(long), long[-1]) == (LONGEST_SUMMARY, "…")


def test_formats_that_are_written_anew_have_one_too() -> None:
    body = f"<text:h>Pump</text:h><text:p>{TEXT}</text:p>"
    from contextpull.documents.opendocument import read_odt

    assert summary_of(read_odt(opendocument("text", body))) == TEXT


@given(
    st.sampled_from(["a.md", "a.rst", "a.adoc", "a.txt", "a.mdx", "a.tex", "a.org"]),
    st.text(st.sampled_from(":`[]{}()<>.*_-=+|/!#\\~^ \n\r\tab1é你"), max_size=300),
)
def test_any_text_has_a_summary_of_one_line(name: str, text: str) -> None:
    found = summary(name, text)
    assert len(found) <= LONGEST_SUMMARY
    assert found == " ".join(found.split())
