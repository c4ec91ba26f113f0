"""Equal sections are found through an index, whichever way the store came about."""

import sqlite3
from pathlib import Path

from contextpull.store.building import build_store, whole_document
from contextpull.store.database import FILE
from contextpull.store.ingest import ingest
from contextpull.types import Section
from tests.conftest import write_corpus

PAGES = {f"{n}.md": f"# Page {n}\n\nThe same words stand on every page.\n" for n in range(5)}


def indexed(store: Path) -> list[str]:
    """The column of the index, once SQLite found every row of the table in it."""
    with sqlite3.connect(store / FILE) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("PRAGMA index_info(sections_by_fingerprint)").fetchall()
    connection.close()
    return [row[2] for row in rows]


def test_the_index_comes_with_the_first_generation_and_follows_every_other(tmp_path: Path) -> None:
    root, store = write_corpus(tmp_path / "docs", PAGES), tmp_path / "store"
    ingest(root, store)
    assert indexed(store) == ["fingerprint"]
    write_corpus(root, {"0.md": "# Another\n\nThese words are new.\n", "x.md": "# X\n\nText.\n"})
    (root / "1.md").unlink()
    ingest(root, store)
    assert indexed(store) == ["fingerprint"]


def test_a_store_that_was_made_without_the_index_gets_it(tmp_path: Path) -> None:
    root, store = write_corpus(tmp_path / "docs", PAGES), tmp_path / "store"
    ingest(root, store)
    with sqlite3.connect(store / FILE) as connection:
        connection.execute("DROP INDEX sections_by_fingerprint")
    connection.close()
    (root / "1.md").unlink()
    ingest(root, store)
    assert indexed(store) == ["fingerprint"]


def test_a_store_of_documents_cut_elsewhere_has_the_index(tmp_path: Path) -> None:
    section = Section("top", (), (), "prose", "Herons wait in the reeds.", 0, 1)
    build_store(tmp_path / "store", "birds", [whole_document("a.md", [section])])
    assert indexed(tmp_path / "store") == ["fingerprint"]
