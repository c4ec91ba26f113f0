"""No pattern hangs, and one that cannot be used gets a sentence."""

import pytest

from contextpull.errors import InvalidInput
from contextpull.retrieval.grep import compile_pattern
from contextpull.tools import ToolSession
from tests.conftest import tools_over

FILES = {
    "a.md": "# A\n\n" + "a" * 5_000 + "b\n" + "word 12, another word; " * 400 + "\n",
    "b.txt": "short\n\nlines\n",
    "long.txt": "the error of a tree, " * 60_000 + "\n",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> ToolSession:
    return tools_over(tmp_path_factory.mktemp("patterns"), FILES)


@pytest.mark.parametrize(
    ("pattern", "total"),
    [
        (r"(a+)+$", 1),
        (r"(a|a)*$", None),
        (r"(a*)*b", 1),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", 0),
        (r"(x+x+)+y", 0),
        (r"(?:a?){500}a{500}", 1),
        (r"(.*)(.*)(.*)(.*)(.*)[^\pL\pN\s,;]\pL", 0),
        (r".*.*.*.*.*=x", 0),
        (r"a{1000}", 1),
        (r"[ab]{900}b", 1),
        (r"\b(\w+[\s,;]+){50}\w+", 2),
    ],
)
def test_what_is_catastrophic_elsewhere_is_answered(
    session: ToolSession, pattern: str, total: int | None
) -> None:
    result = session.call("grep", {"pattern": pattern, "regex": True})
    assert not result.is_error
    assert total is None or result.data["total"] == total


@pytest.mark.parametrize(
    "pattern", [r"(?:.{0,30}e){30}QQ", "|".join(f"[{c}-z].{{0,20}}{c}Q" for c in "abcdefghijkl")]
)
def test_a_pattern_that_would_take_long_ends_and_says_what_may_be_missing(
    session: ToolSession, pattern: str
) -> None:
    result = session.call("grep", {"pattern": pattern, "regex": True})
    assert not result.is_error
    assert "were looked at in pieces" in result.text


@pytest.mark.parametrize(
    ("pattern", "first"),
    [("x*", "1: # A"), ("$", "1: # A"), ("^", "1: # A"), ("|x", "1: # A"), ("()", "1: # A")],
)
def test_a_pattern_that_matches_nothing_at_all_matches_every_line_once(
    session: ToolSession, pattern: str, first: str
) -> None:
    result = session.call("grep", {"pattern": pattern, "regex": True, "limit": 50})
    assert result.data["total"] == 8
    assert result.text.splitlines()[2] == first


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("(", "missing"),
        ("[a", "missing"),
        ("a{2,1}", "repetition"),
        ("a**", "repetition"),
        ("*a", "repetition"),
        ("a{1001}", "repetition"),
        ("((a{100}){100}){100}", "repetition"),
        (r"(\pL{1,50}\s?){1,20}x", "too large"),
        ("(?=look)", "Lookarounds and back-references are not part of RE2"),
        ("(?<!look)behind", "Lookarounds and back-references are not part of RE2"),
        (r"(a)\1", "Lookarounds and back-references are not part of RE2"),
        (r"\p{Klingon}", "invalid"),
        ("a\\", "trailing"),
        ("x" * 1_001, "longer than 1,000 characters"),
    ],
)
def test_an_expression_that_cannot_be_used_gets_a_sentence(
    session: ToolSession, pattern: str, part: str
) -> None:
    result = session.call("grep", {"pattern": pattern, "regex": True})
    assert result.is_error
    assert part in result.text
    assert "(?m)" not in result.text
    assert len(result.text) < 500


def test_a_literal_pattern_with_a_line_break_gets_a_sentence(session: ToolSession) -> None:
    result = session.call("grep", {"pattern": "short\nlines"})
    assert result.is_error
    assert result.text == "A pattern matches within one line. Look for a part without line breaks."


@pytest.mark.parametrize("pattern", ["", "\ud800"])
def test_what_is_no_text_is_no_pattern(pattern: str) -> None:
    with pytest.raises(InvalidInput):
        compile_pattern(pattern, regex=False, ignore_case=None)
