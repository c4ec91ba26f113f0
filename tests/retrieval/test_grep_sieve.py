"""Looking for a part of a pattern first changes nothing about what is found."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contextpull.errors import InvalidInput
from contextpull.retrieval import scanning
from contextpull.retrieval import sieve as sieves
from contextpull.retrieval.grep import compile_pattern
from contextpull.retrieval.scanning import Scan
from contextpull.retrieval.sieve import required_texts, sieve_of
from contextpull.store.flat_text import Extent
from tests.conftest import Tools
from tests.properties import same_every_time

PIECES = [
    "ab",
    "a",
    "b",
    "A",
    "sk",
    "S",
    "ſ",
    "K",
    "K",
    "c",
    "ca",
    ".",
    "-",
    " ",
    "{2}",
    "(",
    "é",
    "É",
]
LINES = st.lists(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), max_size=12)

PLAIN = st.sampled_from(
    ["a", "b", "c", "s", "k", "ab", "bca", "skab", "é", "ſ", "K", "-", " ", "A"]
)
SPECIAL = st.sampled_from(
    [
        *(r"\.", r"\{", r"\-", r"\w", r"\W", r"\s", r"\t", r"\b", r"\B", ".", "^", "$", r"\C"),
        *("[ab]", "[^k]", "[]a]", "[^]s]", r"[\]a]", "[[:alpha:]]", "[[:^space:]a]", r"[\pL-]"),
        *(r"\pL", r"\p{Lu}", r"\PL", r"\x61", r"\x{73}", r"\141", r"\Qa.b*\E", r"\A", r"\z"),
        *("(?i:ab)", "(?-i:ab)", "(?i)", "(?s)", "(?-m)", "(?U)", "()", "(|a)", "{", "}", "]"),
    ]
)
REPEAT = st.sampled_from(
    ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{0}", "{1,}", "{,2}"]
)
GROUP = st.sampled_from(["(", "(?:", "(?P<name>", "(?<name>"])


def alternatives(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.tuples(inner, REPEAT).map("".join)
    sequence = st.lists(repeated, min_size=1, max_size=4).map("".join)
    return st.lists(sequence, min_size=1, max_size=2).map("|".join)


def sequences(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(inner, REPEAT).map("".join), min_size=1, max_size=5).map("".join)


ATOM = PLAIN | PLAIN | SPECIAL
GROUPED = st.recursive(
    ATOM,
    lambda inner: st.tuples(GROUP, alternatives(inner), st.just(")")).map("".join),
    max_leaves=6,
)
EXPRESSIONS = st.tuples(
    st.sampled_from(["", "", "(?i)", "(?m)", "(?s)"]), sequences(GROUPED) | alternatives(GROUPED)
).map("".join)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a few bytes, lines that are cut, and sieves of one character."""
    monkeypatch.setattr(scanning, "_WINDOW", 40)
    monkeypatch.setattr(scanning, "_OVERLAP", 12)
    monkeypatch.setattr(scanning, "_STEPS_AT_ONCE", 0)
    monkeypatch.setattr(scanning, "_NEIGHBOURHOOD", 5)
    monkeypatch.setattr(scanning, "_PIECE", 100)
    monkeypatch.setattr(sieves, "_TELLING", 1)


def flat_text(lines: list[str]) -> Any:
    data = "".join(f"{line}\n" for line in lines).encode()
    return SimpleNamespace(bytes=data, extents=lambda _: [Extent(0, len(data))])


@same_every_time(500)
@given(LINES, EXPRESSIONS, st.booleans())
def test_expressions_are_found_as_without_a_sieve(
    small: None, lines: list[str], expression: str, ignore_case: bool
) -> None:
    try:
        pattern = compile_pattern(expression, regex=True, ignore_case=ignore_case)
    except InvalidInput:
        assume(False)
    sieve = sieve_of(expression, regex=True, case_sensitive=not ignore_case)
    text = flat_text(lines)
    assert Scan(text, pattern, sieve).run(None, 99) == Scan(text, pattern).run(None, 99)
    for line in lines:
        if sieve is not None and pattern.search(line):
            assert sieve.search(line)


@same_every_time(200)
@given(LINES, st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.booleans())
def test_literals_are_found_as_without_a_sieve(
    small: None, lines: list[str], literal: str, ignore_case: bool
) -> None:
    pattern = compile_pattern(literal, regex=False, ignore_case=ignore_case)
    sieve = sieve_of(literal, regex=False, case_sensitive=not ignore_case)
    text = flat_text(lines)
    assert Scan(text, pattern, sieve).run(None, 99) == Scan(text, pattern).run(None, 99)


@pytest.mark.parametrize(
    ("expression", "texts"),
    [
        (r"[A-Z]\w+Exception\b", ["Exception"]),
        (r"\w+\s+memory\s+\w+", ["memory"]),
        (r"std::\w+_map", ["std::", "_map"]),
        (r"tool\.uv\.sources", ["tool.uv.sources"]),
        (r"colou?r", ["colo", "r"]),
        (r"ab+cd*ef{2,3}g", ["ab", "c", "e", "g"]),
        (r"(foo|bar)_size", ["_size"]),
        (r"(?:a(b|c)d)?tail", ["tail"]),
        (r"[)|]x[](|]y[[:alpha:]|]z", ["x", "y", "z"]),
        (r"^# Install$", ["# Install"]),
        (r"数据.*库", ["数据", "库"]),
        (r"foo|bar", []),
        (r"(?i)foo", []),
        (r"(?x: a b)", []),
        (r"\Afoo", []),
        (r"\Qa*b\E", []),
        (r"a{,2}b", []),
    ],
)
def test_what_every_match_holds_is_read_from_the_expression(
    expression: str, texts: list[str]
) -> None:
    assert required_texts(expression) == texts


@pytest.mark.parametrize(
    ("pattern", "regex", "case_sensitive", "sieve"),
    [
        ("specialization", False, False, "pecialization"),
        ("kernel_mask", False, False, "ernel_ma"),
        ("überschrift", False, False, "chrift"),
        (r"\w+Exception", True, True, "Exception"),
        (r"\w+_task_list", True, False, "_ta"),
        (r"(?i)\w+memory", True, True, "memory"),
        (r"\w+a\.b", True, True, r"a\.b"),
    ],
)
def test_a_pattern_that_begins_with_no_plain_text_is_looked_for_by_another_part(
    pattern: str, regex: bool, case_sensitive: bool, sieve: str
) -> None:
    found = sieve_of(pattern, regex=regex, case_sensitive=case_sensitive)
    assert found.pattern == sieve
    assert found.options.case_sensitive == (case_sensitive and not pattern.startswith("(?i)"))


@pytest.mark.parametrize(
    ("pattern", "regex", "case_sensitive"),
    [
        ("specialization", False, True),
        ("vector", False, False),
        ("set", False, False),
        ("ключ", False, False),
        (r"std::\w+", True, True),
        (r"\w+ab", True, True),
        (r"\w+|memory", True, True),
    ],
)
def test_where_nothing_is_gained_there_is_no_sieve(
    pattern: str, regex: bool, case_sensitive: bool
) -> None:
    assert sieve_of(pattern, regex=regex, case_sensitive=case_sensitive) is None


def test_letters_that_fold_outside_ascii_are_found(tools: Tools) -> None:
    words = ["skipping", "SKIPPING", "ſkipping", "sKipping", "kipping", "shipping"]
    session = tools({"a.txt": "".join(f"{word}\n" for word in words)})
    assert session.call("grep", {"pattern": "skipping"}).data["total"] == 4
    found = session.call("grep", {"pattern": r"\w?sk\w+pping", "regex": True}).data
    assert found["total"] == 4
    assert session.call("grep", {"pattern": "SKIPPING"}).data["total"] == 1
