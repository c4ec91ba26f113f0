"""Input made to hurt is read in bounded time: each of these once took minutes, or could."""

import pytest

from contextpull.documents.markdown import read_markdown
from contextpull.documents.plain import read_plain
from contextpull.sections.cutting import cut
from contextpull.sections.fields import search_fields

MB = 1_000_000
LONG_LINES = {
    "one line of letters": "# L\n" + "x" * (5 * MB) + " tail",
    "one line of words": "# L\n" + "word " * 500_000,
    "one line of dots": "# L\n" + "." * (2 * MB),
    "one line of brackets": "# L\n." + ")" * (2 * MB),
    "one line of code": "```\n" + "x" * (5 * MB) + "\n```\n",
    "one heading": "# " + "x " * MB + "\n\ntext\n",
    "one row": "|a|\n|-|\n|" + "c" * (2 * MB) + "|\n",
    "blank lines": "a\n" + "\n" * (2 * MB) + "b\n",
    "spaces": "a\n" + " " * (2 * MB) + "b\n",
    "dashes": "a-" * MB,
    "pipes": "|\n" * 500_000,
}
NESTED = {
    "quotes": ">" * 200_000 + " a\n",
    "list markers": "- " * 100_000 + "a\n",
    "numbers": "1. " * 100_000 + "a\n",
    "deeper and deeper items": "".join(" " * (2 * depth) + "- a\n" for depth in range(1_500)),
    "brackets": "[" * 200_000,
    "links": "[](" * 200_000,
    "images": "![" * 200_000,
    "emphasis": "*a_ " * 100_000,
    "backticks": "".join("`" * (number % 500 + 1) + " " for number in range(2_000)),
}
UNCLOSED = {
    "h1": "<h1>" * 250_000,
    "h1 in paragraphs": "<h1>\n\n" * 50_000,
    "h1 of angle brackets": "<h1>" + "<" * MB + "</h1>",
    "h1 of anchors": "<h1>" + "<a " * 300_000 + "</h1>",
    "heading of anchors": "# " + "<a id" * 200_000,
    "heading of braces": "# a " + "{#x " * 250_000 + "}",
    "heading of spaces and a brace": "# a" + " " * MB + "b }",
    "table": "<table>" * 150_000,
    "table in paragraphs": "<table>\n\n" * 50_000,
    "table in paragraphs, one closed": "<table>\n\n" * 50_000 + "</table>\n",
    "rows without end": "<table>" + "<tr><th" * 100_000 + "</table>",
    "comment": "<!--" * 250_000,
    "comment in paragraphs": "a <!--\n\n" * 100_000,
    "script": "<script>\n\n" * 100_000,
    "fence": "```\n" + "# x\n" * 500_000,
    "front matter": "---\n" + "a: b\n" * 300_000,
    "definitions": "".join(f"[x{number}]: y\n" for number in range(100_000)),
    "terms": "<dt" * 300_000,
}
MANY = {
    "bare headings": "# Heading\n" * 100_000,
    "headings with a line each": "".join(f"# H {n}\n\ntext\n\n" for n in range(80_000)),
    "headings that collide": "# Setup\n\n# Setup 1\n\n" * 40_000,
    "anchors that collide": "# A <a id=x>\n" * 60_000,
    "code blocks": "para\n\n    code\n\n" * 50_000,
    "admonitions": "!!! note\n\n    body\n\n" * 50_000,
    "rows of one table": "|a|b|\n|-|-|\n" + "|cell|cell|\n" * 100_000,
    "tables": "|a|\n|-|\n|b|\n\n" * 50_000,
    "tables in one list": "- x\n\n  |a|\n  |-|\n  |b|\n\n" * 30_000,
    "HTML tables": "<table><tr><th>a</th></tr><tr><td>b</td></tr></table>\n\n" * 20_000,
}
HOSTILE = LONG_LINES | NESTED | UNCLOSED | MANY


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_cut_and_searched(name: str) -> None:
    text = HOSTILE[name]
    document = read_markdown(text.encode())
    sections = cut(document)
    assert "".join(section.text for section in sections) == text
    slugs = {section.slug for section in sections}
    assert len(slugs) == len(sections) == len(search_fields(sections, "about"))
    assert max(len(each.text) for each in sections) <= 2_040 or "row" in name


@pytest.mark.parametrize("name", LONG_LINES)
def test_hostile_plain_text_is_cut(name: str) -> None:
    sections = cut(read_plain(LONG_LINES[name].encode()))
    assert "".join(section.text for section in sections) == LONG_LINES[name]
    assert max(len(section.text) for section in sections) <= 2_040
