"""Every string is a query: none fails, none is slow, and the same one gives the same answer."""

import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextpull import Store, open_store
from contextpull.retrieval.search import search
from contextpull.tools import ToolSession
from tests.conftest import tools_over
from tests.properties import same_every_time

FILES = {
    "a.md": "# Don't panic\n\nThe file health.base: 1 GB/s (BENCH-100821) AND OR NOT * \\ ^ ~.",
    "b.md": "# 数据库\n\n中文 AND English: `x:y`, [a TO b], uv uv uv, \u00e9t\u00e9, İstanbul, 🐘.",
}
PIECES = [
    *"\"“”«»()[]{}*?+-~^:\\/&|!<>=.,;#@$%' \t\n\0",
    "AND",
    "OR",
    "NOT",
    "TO",
    "a",
    "İ",
    "数",
    "🐘",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("any-string")
    tools_over(folder, FILES)
    return open_store(folder / "store")


@pytest.fixture
def session(store: Store) -> ToolSession:
    return ToolSession(store)


@same_every_time(300)
@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example('"')
@example('""')
@example("AND OR NOT")
@example("*")
@example("(")
@example("don't")
@example("health.base")
@example("BENCH-100821")
@example("GB/s")
@example("body:x headings:y")
@example("[a TO b]")
@example("a^9 ~2 \\")
@example("\ud800")
def test_no_string_fails(store: Store, query: str) -> None:
    snapshot = store.snapshot()
    first = search(snapshot, query, snippets="full")
    assert first == search(snapshot, query, snippets="full")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("don't panic", "a.md"),
        ("health.base", "a.md"),
        ("BENCH-100821", "a.md"),
        ("GB/s", "a.md"),
        ("İSTANBUL", "b.md"),
        ("x:y", "b.md"),
    ],
)
def test_punctuation_is_part_of_what_is_looked_for(
    session: ToolSession, query: str, best: str
) -> None:
    assert session.call("search", {"query": query}).data["hits"][0]["path"] == best


def test_a_word_repeated_500_times_is_that_word(session: ToolSession) -> None:
    result = session.call("search", {"query": "uv " * 500})
    assert [hit["path"] for hit in result.data["hits"]] == ["b.md"]


def test_only_the_head_of_an_endless_query_is_searched_for_and_that_is_said(
    session: ToolSession,
) -> None:
    found = session.call("search", {"query": "panic " + "word" * 25_000})
    assert found.text.startswith("Only the first 2,000 characters of the query were searched for.")
    assert [hit["path"] for hit in found.data["hits"]] == ["a.md"]
    nothing = session.call("search", {"query": "nowhere " * 12_500})
    assert nothing.text.startswith("Only the first 2,000 characters")
    assert "No section matches" in nothing.text


def test_the_work_for_a_query_does_not_grow_with_its_length(session: ToolSession) -> None:
    def steps(query: str) -> int:
        count = 0

        def count_calls(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(count_calls)
        try:
            session.call("search", {"query": query})
        finally:
            sys.setprofile(None)
        return count

    words = " ".join(f"word{number}" for number in range(20_000))
    assert steps(words) < 3 * steps(words[:2_000])
    assert steps("数据" * 20_000) < 3 * steps("数据" * 1_000)


def test_ranking_does_not_depend_on_where_the_store_lies(tmp_path: Path) -> None:
    files = {f"{n}.md": f"# Page {n}\n\nThe zebra number {n % 3} runs.\n" for n in range(40)}
    texts = {
        tools_over(tmp_path / name, files).call("search", {"query": "zebra 1", "limit": 40}).text
        for name in ("one", "two", "three")
    }
    assert len(texts) == 1
