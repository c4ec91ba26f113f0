"""The push row `bm25`, over a store and over passages; the others are in test_push_rows."""

import io
from pathlib import Path

from contextpull import open_store
from contextpull.adapters.export import passages
from contextpull.adapters.push import (
    Push,
    Searched,
    bm25_over_passages,
    bm25_over_store,
    over_passages,
    over_store,
)
from contextpull.adapters.ragbisect import load_passages, save_passages
from contextpull.store.ingest import ingest
from contextpull.types import Passage
from tests.conftest import write_corpus

DOCUMENTS = {
    "cache.md": "# Cache\n\nEverything worth keeping lies in the cache, on a disk nearby.\n\n"
    "## Clear the cache\n\nRun `tool clean --no-cache` to remove every entry there is.\n",
    "network.md": "# Network\n\nThe proxy is taken from `TOOL_PROXY_URL`, if that is set at all.\n",
}


def a_store(tmp_path: Path, documents: dict[str, str]) -> Path:
    ingest(write_corpus(tmp_path / "docs", documents), tmp_path / "store")
    return tmp_path / "store"


def test_a_store_is_ranked_by_what_its_sections_say(tmp_path: Path) -> None:
    store = a_store(tmp_path, DOCUMENTS)
    retriever = bm25_over_store(store)
    assert list(over_store(store).ids.values()) == [
        "cache.md#cache",
        "cache.md#clear-the-cache",
        "network.md#network",
    ]
    assert retriever.retrieve("how do I clear the cache", 1) == ["cache.md#clear-the-cache"]
    assert retriever.retrieve("TOOL_PROXY_URL", 1) == ["network.md#network"]
    assert retriever.retrieve("zeppelin", 5) == []


def test_exported_sections_rank_as_the_store_they_come_from(tmp_path: Path) -> None:
    store = a_store(tmp_path, DOCUMENTS)
    written = io.StringIO()
    save_passages(written, passages(open_store(store).snapshot()))
    exported = tmp_path / "sections.jsonl"
    exported.write_text(written.getvalue())
    loaded = load_passages(exported)
    from_store, from_file = bm25_over_store(store), bm25_over_passages(loaded)
    assert [passage.id for passage in loaded] == list(over_store(store).ids.values())
    for query in ("clear the cache", "--no-cache", "proxy", "entries on disk"):
        assert from_file.retrieve(query, 3) == from_store.retrieve(query, 3)


def test_equal_sections_stay_apart_and_rank_by_id() -> None:
    text = "The same words stand in each of these passages."
    retriever = bm25_over_passages([Passage(name, text, name) for name in ("c", "a", "b")])
    assert retriever.retrieve("same words", 3) == ["a", "b", "c"]
    assert retriever.retrieve("same words", 2) == ["a", "b"]


def test_a_passage_without_a_heading_stands_under_the_last_one_of_its_source() -> None:
    retriever = bm25_over_passages(
        [
            Passage("x#0", "# Certificates\n\nHow they are made.", "x"),
            Passage("x#1", "Renew them each year, or connections will fail.", "x"),
            Passage("y#0", "Renew them each year, or connections will fail.", "y"),
        ]
    )
    assert retriever.retrieve("certificates", 3) == ["x#0", "x#1"]


def test_passages_become_a_store_with_a_document_a_source(tmp_path: Path) -> None:
    mixed = [
        Passage("a.md#one", "# One\n\nHerons wait.", "a.md"),
        Passage("b/7", "Otters swim.", "b"),
        Passage("a.md#two", "## Two\n\nEels hide.", "a.md"),
    ]
    snapshot, ids = over_passages(mixed, tmp_path / "store")
    assert ids == {1: "a.md#one", 2: "a.md#two", 3: "b/7"}
    stored = open_store(tmp_path / "store").snapshot().database.sections([1, 2, 3])
    assert [(each.id, each.headings, each.text) for each in stored] == [
        ("a.md#one", ("One",), "# One\n\nHerons wait."),
        ("a.md#two", ("One", "Two"), "## Two\n\nEels hide."),
        ("b#b/7", (), "Otters swim."),
    ]
    assert Push(Searched(snapshot, ids), "lexical").retrieve("otters", 3) == ["b/7"]
