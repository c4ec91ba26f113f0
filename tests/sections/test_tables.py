"""A table splits between rows only, and every part knows the header of its own table."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.config import CutSettings
from contextpull.documents.markdown import read_markdown
from contextpull.sections.cutting import cut
from contextpull.types import Section
from tests.properties import same_every_time

SMALL = CutSettings(max_chars=300, hard_max_chars=600, min_chars=0)


def pipe_table(name: str, rows: int, prefix: str = "", first: str = "") -> str:
    lines = [f"| {name} key | value |", "|---|---|"]
    lines += [f"| {name}-{row} | cell of `{name}` \\| {row} |" for row in range(rows)]
    return (first or prefix) + ("\n" + prefix).join(lines) + "\n"


def html_table(name: str, rows: int) -> str:
    lines = [f"<tr><td>{name}-{row}</td><td>cell</td></tr>" for row in range(rows)]
    head = f"<table>\n<tr><th>{name} key</th><th>value</th></tr>\n"
    return head + "\n\n".join(lines) + "\n</table>\n"


def sections_of(text: str, settings: CutSettings = SMALL) -> list[Section]:
    sections = cut(read_markdown(text.encode()), settings)
    assert "".join(section.text for section in sections) == text
    return sections


def check_rows(sections: list[Section], names: dict[str, int]) -> None:
    """Every row is whole in one section, under its own header, in the text or repeated."""
    for name, rows in names.items():
        for row in range(rows):
            (holder,) = [each for each in sections if re.search(rf"\b{name}-{row}\b", each.text)]
            before = holder.repeated_header + holder.text.partition(f"{name}-{row}")[0]
            assert re.findall(r"(\w+) key", before)[-1] == name
            line = next(line for line in holder.text.splitlines() if f"{name}-{row}" in line)
            assert line.rstrip().endswith(("|", "</tr>"))


@pytest.mark.parametrize("make", [pipe_table, html_table])
def test_two_tables_under_one_heading_keep_their_own_headers(make) -> None:
    sections = sections_of(f"# Limits\n\n{make('one', 40)}\n{make('two', 40)}\n")
    assert len(sections) > 8
    check_rows(sections, {"one": 40, "two": 40})
    assert {each.headings for each in sections} == {("Limits",)}


@same_every_time(150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["pipe", "html", "list", "quote"]),
            st.integers(0, 40),
            st.sampled_from(
                ["", "Text.\n\n", "## Heading\n\n", "[a]: b\n\n", "```\ncode\n```\n\n"]
            ),
        ),
        max_size=6,
    ),
    st.integers(100, 600),
    st.integers(0, 40),
)
def test_rows_are_never_split_and_headers_never_mixed_up(
    tables: list[tuple[str, int, str]], most: int, least: int
) -> None:
    text = ""
    for number, (kind, rows, before) in enumerate(tables):
        table = {
            "pipe": pipe_table(f"t{number}", rows),
            "html": html_table(f"t{number}", rows),
            "list": pipe_table(f"t{number}", rows, "  ", "- "),
            "quote": pipe_table(f"t{number}", rows, "> "),
        }[kind]
        text += before + table + "\n"
    settings = CutSettings(max_chars=most, hard_max_chars=most, min_chars=least)
    names = {f"t{number}": rows for number, (_, rows, _) in enumerate(tables)}
    check_rows(sections_of(text, settings), names)


def test_the_header_stays_with_the_first_row() -> None:
    long_row = "| key | " + "value " * 100 + "|\n"
    sections = sections_of("# T\n\n| a | b |\n|---|---|\n" + long_row * 2)
    assert [section.text.startswith("# T\n\n| a | b |") for section in sections] == [True, False]
    assert sections[0].text.endswith(long_row)
    assert sections[1].repeated_header == "| a | b |\n|---|---|"


def test_a_row_longer_than_any_limit_stays_whole() -> None:
    row = "| key | " + "value " * 2_000 + "|\n"
    sections = sections_of("| a | b |\n|---|---|\n| x | y |\n" + row + "| z | z |\n")
    assert [section.text for section in sections][1:] == [row, "| z | z |\n"]


def test_the_repeated_header_is_no_part_of_the_text() -> None:
    sections = sections_of(pipe_table("one", 40))
    assert sections[0].repeated_header == ""
    assert sections[1].repeated_header == "| one key | value |\n|---|---|"
    assert sections[1].text.startswith("| one-")


def test_the_header_of_an_indented_or_quoted_table_is_shown_plain() -> None:
    for table in (pipe_table("one", 40, "  ", "- "), pipe_table("one", 40, "> ")):
        assert sections_of(table)[1].repeated_header == "| one key | value |\n|---|---|"


def test_a_header_longer_than_a_section_is_not_repeated() -> None:
    header = "| " + "wide " * 100 + "| b |\n|---|---|\n"
    sections = sections_of(header + "| x | y |\n" * 50)
    assert len(sections) > 1
    assert not any(section.repeated_header for section in sections)


def test_text_behind_a_table_carries_no_header() -> None:
    sections = sections_of(pipe_table("one", 5) + "\n" + "A sentence of text. " * 40)
    assert [bool(section.repeated_header) for section in sections] == [False] * len(sections)


def test_an_html_table_without_header_cells_repeats_nothing() -> None:
    rows = "".join(f"<tr><td>{'cell ' * 20}{row}</td></tr>\n" for row in range(20))
    sections = sections_of(f"<table>\n{rows}</table>\n")
    assert len(sections) > 5
    assert not any(section.repeated_header for section in sections)


def test_a_table_within_a_table_splits_only_between_rows_of_the_outer_one() -> None:
    inner = "<table><tr><td>" + "inner " * 30 + "</td></tr><tr><td>x</td></tr></table>"
    rows = [f"<tr><td>{inner}</td></tr>\n" for _ in range(4)]
    sections = sections_of("<table>\n" + "".join(rows) + "</table>\n")
    assert [section.text for section in sections][1:3] == rows[1:3]


def test_tables_with_lines_that_end_in_cr_are_split_too() -> None:
    text = pipe_table("one", 40).replace("\n", "\r")
    sections = sections_of(text)
    assert len(sections) > 4
    assert sections[1].repeated_header == "| one key | value |\n|---|---|"
