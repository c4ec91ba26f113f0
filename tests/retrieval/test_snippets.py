"""A snippet is the text as it stands, as much of it as was asked for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import Snippets
from contextpull.retrieval.search import FULL_CHARS, SHORT_CHARS, search
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import Tools, write_corpus
from tests.properties import same_every_time

LONG = (
    "# Options\n\nThere are many options, and they are explained in the order of the alphabet.\n\n"
    "- `--no-cache` keeps the tool from looking at what was downloaded before, which takes long\n"
    "- `--offline` keeps the tool from asking anybody\n\n"
    + "A sentence that says nothing at all about it. " * 20
    + "Only the zebra_table knows where `--frozen` was born. "
    + "Another sentence that has nothing to say. " * 15
)


def snippet(session: ToolSession, query: str) -> str:
    return session.call("search", {"query": query}).data["hits"][0]["snippet"]


def test_dashes_quotes_and_markup_stay_as_they_are(tools: Tools) -> None:
    session = tools({"a.md": LONG})
    assert "`--no-cache` keeps the tool" in snippet(session, "no cache")
    assert "zebra_table knows where `--frozen`" in snippet(session, "frozen")


def test_the_passage_that_says_most_about_the_query_is_shown(tools: Tools) -> None:
    session = tools({"a.md": LONG})
    assert snippet(session, "offline asking") == (
        "- `--offline` keeps the tool from asking anybody"
    )


def test_the_heading_is_not_repeated_as_a_snippet(tools: Tools) -> None:
    session = tools({"a.md": "# Zebra stripes\n\nEvery animal has its own pattern of stripes.\n"})
    assert snippet(session, "zebra stripes") == "Every animal has its own pattern of stripes."


@pytest.mark.parametrize(("kind", "most"), [("heading", 0), ("short", SHORT_CHARS + 2)])
def test_how_much_is_shown_is_a_setting(tmp_path: Path, kind: Snippets, most: int) -> None:
    endless = "# Endless\n\n" + "and on it goes, " * 30 + "to the zebra, " + "and so on, " * 80
    ingest(write_corpus(tmp_path / "docs", {"a.md": endless}), tmp_path / "store")
    store = open_store(tmp_path / "store")
    full = snippet(ToolSession(store, "full"), "zebra")
    shown = snippet(ToolSession(store, kind), "zebra")
    assert len(shown) <= most < len(full) <= FULL_CHARS + 2
    assert full.startswith("…")
    assert full.endswith("…")
    assert "to the zebra" in full


PIECES = [
    *(
        "zebra",
        "the",
        "Ünïcode",
        "--no-cache",
        "`code`",
        "**bold**",
        "数据库",
        "a.b.c",
        "C++",
        "🐘",
    ),
    *(". ", "! ", "。", "\n", "\n\n", "\n- ", "\n| a | b |\n", "\t", "  ", "\r\n", "_x_", '"q"'),
    *("\n# Heading\n", "\n```\n", "\x1b[31m", "\u00a0", "x" * 200),
]
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=80).map("".join)


@same_every_time(60)
@given(texts, st.sampled_from(["zebra", "no-cache", "数据", "C++", "unicode", "🐘 code", "x"]))
def test_without_its_ellipses_a_snippet_is_a_piece_of_the_text(
    tmp_path: Path, text: str, query: str
) -> None:
    ingest(write_corpus(tmp_path / "docs", {"a.md": text, "b.md": "zebra C++"}), tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    kinds: list[Snippets] = ["short", "full"]
    for kind in kinds:
        for hit in search(snapshot, query, snippets=kind).hits:
            shown = hit.snippet.removeprefix("…").removesuffix("…")
            assert shown in " ".join(hit.section.text.split())
