"""Grep finds every line that matches, in document order, by its number in the file."""

import pytest

from tests.conftest import Tools

GUIDE = (
    "# Guide\n\nFirst a few words about the guide.\n\n## Install\n\nRun the installer.\n"
    "Then run `tool --no-cache` once.\n\n## Remove\n\nRun the remover.\n"
)


def lines(text: str) -> list[str]:
    """The matching lines of a result, with their numbers."""
    return [line for line in text.splitlines() if line.partition(":")[0].isdigit()]


def test_a_literal_text_is_found_with_its_section_and_line_number(tools: Tools) -> None:
    session = tools({"guide.md": GUIDE})
    assert session.call("grep", {"pattern": "--no-cache"}).text == (
        "1 line in 1 document.\n"
        "guide.md#install | Guide > Install\n"
        "8: Then run `tool --no-cache` once."
    )


def test_signs_of_regular_expressions_are_literal_unless_asked_for(tools: Tools) -> None:
    session = tools({"a.md": "# A\n\na.b (c) [d] *e* \\f $g ^h\naxb\n"})
    for pattern in ("a.b", "(c)", "[d]", "*e*", "\\f", "$g", "^h"):
        assert lines(session.call("grep", {"pattern": pattern}).text)[0].startswith("3:")
    assert session.call("grep", {"pattern": "a.b"}).data["total"] == 1
    assert session.call("grep", {"pattern": "a.b", "regex": True}).data["total"] == 2


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("ключ", ["Ключ", "ключ", "КЛЮЧ"]),
        ("Ключ", ["Ключ"]),
        ("überschrift", ["Überschrift"]),
        ("Überschrift", ["Überschrift"]),
        ("ÜBERSCHRIFT", []),
        ("ärger", ["Ärger"]),
        ("straße", ["Straße"]),
        ("数据库", ["数据库"]),
        ("🐘", ["🐘"]),
        ("σίγμα", ["ΣΊΓΜΑ"]),
    ],
)
def test_case_is_smart_in_every_script(tools: Tools, pattern: str, found: list[str]) -> None:
    words = ["Ключ", "ключ", "КЛЮЧ", "Überschrift", "Ärger", "Straße", "数据库", "🐘", "ΣΊΓΜΑ"]
    session = tools({"a.txt": "".join(f"{word}\n" for word in words)})
    shown = lines(session.call("grep", {"pattern": pattern}).text)
    assert [line.partition(": ")[2] for line in shown] == found
    regex = lines(session.call("grep", {"pattern": pattern, "regex": True}).text)
    assert [line.partition(": ")[2] for line in regex] == found


@pytest.mark.parametrize(
    ("arguments", "total"),
    [
        ({"pattern": "run"}, 4),
        ({"pattern": "Run"}, 3),
        ({"pattern": "Run", "ignore_case": True}, 4),
        ({"pattern": "run", "ignore_case": False}, 1),
        ({"pattern": "\\brun\\W", "regex": True}, 4),
        ({"pattern": "^Run", "regex": True}, 3),
        ({"pattern": "\\pLun", "regex": True}, 4),
        ({"pattern": "\\p{Greek}", "regex": True}, 0),
        ({"pattern": "(?i)RUN", "regex": True}, 4),
    ],
)
def test_case_is_ignored_unless_the_pattern_has_capitals(
    tools: Tools, arguments: dict[str, object], total: int
) -> None:
    text = "Run one\nRun two\nRun three\nthen run four\n"
    assert tools({"a.txt": text}).call("grep", arguments).data["total"] == total


def test_a_regular_expression_never_spans_lines(tools: Tools) -> None:
    session = tools({"a.md": "# A\n\nbegin\nend\n\nbegin and end\n"})
    for pattern in ("begin\\s+end", "begin[^x]*end", "(?s)begin.*end", "begin\\nend"):
        result = session.call("grep", {"pattern": pattern, "regex": True})
        assert [line.partition(":")[0] for line in lines(result.text)] in ([], ["6"])


def test_anchors_stand_for_the_ends_of_each_line(tools: Tools) -> None:
    session = tools({"a.txt": "alpha beta\nbeta alpha\n\nalpha\n", "b.txt": "beta"})
    found = [
        [line.partition(":")[0] for line in lines(session.call("grep", arguments).text)]
        for arguments in (
            {"pattern": "^alpha", "regex": True},
            {"pattern": "alpha$", "regex": True},
            {"pattern": "^alpha$", "regex": True},
            {"pattern": "^$", "regex": True},
            {"pattern": "^beta$", "regex": True},
        )
    ]
    assert found == [["1", "4"], ["2", "4"], ["4"], ["3"], ["1"]]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_end_as_the_file_has_it(tools: Tools, line_end: str) -> None:
    text = line_end.join(["# A", "", "first", "second needle", "", "## B", "", "needle", ""])
    session = tools({"a.md": text})
    found = session.call("grep", {"pattern": "needle$", "regex": True}).text
    assert [line.partition(":")[0] for line in lines(found)] == ["4", "8"]
    assert "\r" not in found
    around = session.call("grep", {"pattern": "second", "context": 1}).text
    assert around.endswith("3- first\n4: second needle\n5- ")


def test_results_come_in_document_order(tools: Tools) -> None:
    sections = "".join(
        f"## Step {n}\n\nDo the needle of step number {n}, carefully.\n\n" for n in range(12)
    )
    session = tools({"b.md": f"# B\n\n{sections}", "a.md": "# A\n\nneedle\n", "a/z.md": "needle\n"})
    found = session.call("grep", {"pattern": "needle", "limit": 50}).data["matches"]
    steps = [f"b.md#step-{n}" for n in range(12)]
    assert [match["id"] for match in found] == ["a.md#a", "a/z.md#top", *steps]


def test_context_stays_within_the_document_and_crosses_sections(tools: Tools) -> None:
    session = tools(
        {
            "a.md": "# A\n\nThe first document ends with secret words of its own\nnearly last\n",
            "b.md": "needle at the very beginning\nsecond\n",
            "c.md": "# C\n\nThe third document begins with other secret words\n",
        }
    )
    assert session.call("grep", {"pattern": "needle", "context": 10}).text == (
        "1 line in 1 document.\nb.md#top\n1: needle at the very beginning\n2- second"
    )
    guide = tools({"guide.md": GUIDE}).call("grep", {"pattern": "## Install", "context": 2}).text
    assert guide.endswith(
        "3- First a few words about the guide.\n4- \n5: ## Install\n6- \n7- Run the installer."
    )


def test_lines_that_several_matches_share_are_shown_once(tools: Tools) -> None:
    text = "needle 1\nbetween\nneedle 2\nfar\nfar away\nvery far\nneedle 3\n"
    session = tools({"a.txt": text})
    assert session.call("grep", {"pattern": "needle", "context": 1}).text.splitlines()[2:] == [
        *("1: needle 1", "2- between", "3: needle 2", "4- far", "--"),
        *("6- very far", "7: needle 3"),
    ]


def test_matches_are_counted_and_paged_to_the_end(tools: Tools) -> None:
    session = tools({f"{n}.txt": "needle\nhay\n" * 15 for n in range(3)})
    seen: list[tuple[str, int]] = []
    for offset in range(0, 45, 7):
        result = session.call("grep", {"pattern": "needle", "limit": 7, "offset": offset})
        assert result.text.startswith("45 lines in 3 documents.")
        assert (f"\nMore: offset={offset + 7}" in result.text) == (offset + 7 < 45)
        seen += [
            (match["path"], line["number"])
            for match in result.data["matches"]
            for line in match["lines"]
        ]
    assert seen == [(f"{n}.txt", line) for n in range(3) for line in range(1, 31, 2)]
    behind = session.call("grep", {"pattern": "needle", "offset": 99}).text
    assert behind == "45 lines in 3 documents.\nNone of them from 99 on."


def test_more_matches_than_are_counted_can_be_paged_all_the_same(tools: Tools) -> None:
    session = tools({"a.txt": "x\n" * 10_500})
    first = session.call("grep", {"pattern": "x"})
    assert first.text.startswith("At least 10,000 lines in 1 document.")
    assert not first.data["total_is_exact"]
    last = session.call("grep", {"pattern": "x", "offset": 9_990, "limit": 20})
    assert last.text.endswith("More: offset=10010")
    end = session.call("grep", {"pattern": "x", "offset": 10_490, "limit": 100})
    assert end.text.startswith("10,500 lines in 1 document.")
    assert "More:" not in end.text


def test_a_miss_says_how_much_was_looked_at_and_what_to_try(tools: Tools) -> None:
    session = tools({"a.md": GUIDE})
    result = session.call("grep", {"pattern": "nowhere"})
    assert not result.is_error
    assert result.text == (
        "No line matches 'nowhere' in 1 document. Try a shorter part, or search for the words."
    )


def test_a_line_of_five_million_characters_gives_the_part_that_matches(tools: Tools) -> None:
    words = "some words " * 450_000
    session = tools({"a.md": f"# L\n\n{words}the needle stands {words[:9_900]}tail\n\nafter\n"})
    result = session.call("grep", {"pattern": "needle", "context": 2})
    assert len(result.text) < 1_000
    (line,) = lines(result.text)
    assert line.startswith("3: …")
    assert line.endswith("…")
    assert "the needle stands" in line
    for pattern in ("^some.*tail$", "words tail$", "needle [a-z]+"):
        assert session.call("grep", {"pattern": pattern, "regex": True}).data["total"] == 1


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_a_section_that_ends_in_the_middle_of_a_line_end_shifts_no_numbers(
    tools: Tools, line_end: str
) -> None:
    first = "x" * (2_001 - len(line_end))  # the line end lies across the 2,000th character
    text = line_end.join([first, "y " * 900 + "needle", "third needle", ""])
    found = tools({"a.txt": text}).call("grep", {"pattern": "needle"}).data["matches"]
    assert [match["lines"][0]["number"] for match in found] == [2, 3]
    assert [match["lines"][0]["text"][-6:] for match in found] == ["needle", "needle"]
