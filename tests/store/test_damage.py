"""A store that was damaged says so, and is built again."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.errors import StoreError, StoreNotFound
from contextpull.store.checking import store_state
from contextpull.store.database import FILE
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus

REBUILT = "the store was damaged; it was built again from the corpus"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_corpus(
        tmp_path / "docs",
        {
            f"{number:03}.md": f"# Page {number}\n\n" + f"Word{number} is here. " * 80
            for number in range(60)
        },
    )


@pytest.fixture
def store(root: Path, tmp_path: Path) -> Path:
    ingest(root, tmp_path / "store")
    return tmp_path / "store"


def answers(store: Path) -> list[str]:
    tools = ToolSession(open_store(store))
    calls = [
        ("search", {"query": "word7"}),
        ("search", {"query": "page", "limit": 50}),
        ("grep", {"pattern": "Word59 is here"}),
        ("read", {"ids": "030.md"}),
        ("index", {}),
    ]
    results = [tools.call(name, arguments) for name, arguments in calls]
    assert not any(result.is_error for result in results)
    return [result.text for result in results]


def overwrite(file: Path, start: int, data: bytes) -> None:
    with file.open("r+b") as stream:
        stream.seek(start)
        stream.write(data)


def spoil(store: Path, table: str) -> None:
    """Overwrite the page that a table of the database begins on."""
    with sqlite3.connect(store / FILE) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = connection.execute(query, (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    overwrite(store / FILE, (page - 1) * size, b"\xa5" * size)


def truncate(file: Path, size: int) -> None:
    with file.open("r+b") as stream:
        stream.truncate(size)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: truncate(file, 0),
        lambda file: truncate(file, file.stat().st_size // 2),
        lambda file: truncate(file, 50),
        lambda file: file.write_bytes(b"not a database" * 9_000),
        lambda file: overwrite(file, 0, b"\xff" * 200),
    ],
    ids=["emptied", "halved", "cut to a stub", "another file", "header overwritten"],
)
def test_a_damaged_database_is_named_when_opened_and_rebuilt_by_an_ingest(
    root: Path, store: Path, damage: Callable[[Path], None]
) -> None:
    before = answers(store)
    damage(store / FILE)
    with pytest.raises(StoreError, match=r"is damaged .* contextpull ingest"):
        open_store(store)
    assert REBUILT in ingest(root, store).notes
    assert answers(store) == before


def test_damage_deep_inside_the_database_is_an_error_result_and_mended_by_verify(
    root: Path, store: Path
) -> None:
    before = answers(store)
    spoil(store, "sections")
    tools = ToolSession(open_store(store))
    results = [tools.call("read", {"ids": "030.md"}), tools.call("search", {"query": "word7"})]
    assert all(result.is_error and "is damaged" in result.text for result in results)
    assert store_state(store).problems
    assert REBUILT in ingest(root, store, verify=True).notes
    assert answers(store) == before


def test_a_damaged_table_of_documents_is_rebuilt_by_any_ingest(root: Path, store: Path) -> None:
    before = answers(store)
    spoil(store, "documents")
    assert REBUILT in ingest(root, store).notes
    assert answers(store) == before


def test_sections_that_fail_while_they_are_replaced_lead_to_a_rebuild(
    root: Path, store: Path
) -> None:
    spoil(store, "sections")
    root.joinpath("030.md").write_text("# Page 30\n\nAnother text.\n")
    report = ingest(root, store)
    assert REBUILT in report.notes
    assert (report.documents, report.sections) == (60, 60)
    assert "Another text." in answers(store)[3]


def test_a_newer_format_is_refused_with_both_versions_and_left_alone(
    root: Path, store: Path
) -> None:
    with sqlite3.connect(store / FILE) as connection:
        connection.execute("UPDATE meta SET value = '7' WHERE key = 'format'")
    connection.close()
    before = (store / FILE).read_bytes()
    for use in (lambda: open_store(store), lambda: ingest(root, store)):
        with pytest.raises(
            StoreError, match=r"has format 7; this contextpull reads up to format 3"
        ):
            use()
    assert (store / FILE).read_bytes() == before


def test_a_damaged_store_in_a_folder_named_format_is_rebuilt_too(
    root: Path, tmp_path: Path
) -> None:
    store = tmp_path / "formats" / "store"
    ingest(root, store)
    truncate(store / FILE, 50)
    assert REBUILT in ingest(root, store).notes


@pytest.mark.parametrize("key", ["generation", "root", "settings", "format"])
def test_a_database_without_its_facts_is_damaged(root: Path, store: Path, key: str) -> None:
    with sqlite3.connect(store / FILE) as connection:
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
    connection.close()
    with pytest.raises(StoreError, match="is damaged"):
        open_store(store)
    assert ingest(root, store).documents == 60


def test_where_there_is_no_store_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="contextpull ingest FOLDER"):
        open_store(tmp_path / "nothing")


def test_a_deleted_database_leaves_nothing_of_the_old_generation(root: Path, store: Path) -> None:
    old = answers(store)
    (store / FILE).unlink()
    root.joinpath("030.md").write_text("# Page 30\n\nAnother text.\n")
    report = ingest(root, store, CutSettings(max_chars=900))
    assert (report.generation, report.added) == (1, 60)
    assert answers(store) != old
    assert "Another text." in answers(store)[3]
