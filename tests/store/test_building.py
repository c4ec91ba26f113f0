"""Stores of documents that were cut elsewhere."""

import shutil
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.errors import StoreBusy, StoreConflict, StoreError
from contextpull.retrieval.reading import read
from contextpull.retrieval.search import search
from contextpull.store import Snapshot
from contextpull.store import ingest as ingesting
from contextpull.store.building import build_store, whole_document
from contextpull.store.checking import store_state
from contextpull.store.derived import derived_problems
from contextpull.store.ingest import ingest, writer_lock
from contextpull.types import Section
from tests.conftest import write_corpus


def section(slug: str, text: str, *headings: str) -> Section:
    return Section(slug, (), headings, "prose", text, 0, 1)


DOCUMENTS = {
    "b.md": [section("one", "Herons wait in the reeds.", "Birds"), section("two", "Otters swim.")],
    "a.md": [section("top", "Long before, the lake was a glacier.")],
}


def build(folder: Path) -> Snapshot:
    documents = (whole_document(path, sections) for path, sections in DOCUMENTS.items())
    return build_store(folder, "animals", documents)


def test_built_store_answers_as_an_ingested_one(tmp_path: Path) -> None:
    build(tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    assert list(snapshot.documents) == ["a.md", "b.md"]
    (hit,) = search(snapshot, "herons").hits
    assert hit.section.id == "b.md#one"
    assert [hit.section.id for hit in search(snapshot, "birds").hits] == ["b.md#one"]
    assert "Otters swim." in str(read(snapshot, ["b.md#two"]))
    assert snapshot.database.root == "animals"
    assert derived_problems(tmp_path / "store", snapshot.database) == []


def test_numbers_count_from_1_in_the_order_given(tmp_path: Path) -> None:
    snapshot = build(tmp_path / "store")
    addresses = snapshot.database.addresses([1, 2, 3, 4])
    assert {number: each.id for number, each in addresses.items()} == {
        1: "b.md#one",
        2: "b.md#two",
        3: "a.md#top",
    }


def test_derived_parts_are_rebuilt_to_the_same_ranking(tmp_path: Path) -> None:
    before = build(tmp_path / "store").index.search("lake herons birds a", 10)
    shutil.rmtree(tmp_path / "store/lexical")
    after = open_store(tmp_path / "store").snapshot().index.search("lake herons birds a", 10)
    assert sorted(after) == sorted(before)


def test_snapshot_outlives_its_folder(tmp_path: Path) -> None:
    snapshot = build(tmp_path / "store")
    shutil.rmtree(tmp_path / "store")
    (hit,) = search(snapshot, "glacier").hits
    assert hit.section.text == "Long before, the lake was a glacier."


def test_store_without_documents_is_a_store(tmp_path: Path) -> None:
    assert build_store(tmp_path / "store", "nothing", []).documents == {}


def test_folder_that_holds_a_store_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "store")
    with pytest.raises(StoreConflict, match="holds a store already"):
        build(tmp_path / "store")


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    write_corpus(tmp_path / "store", {"lexical/notes.md": "mine"})
    with pytest.raises(StoreError, match="holds other files than a store"):
        build(tmp_path / "store")
    assert (tmp_path / "store/lexical/notes.md").read_text() == "mine"


def test_folder_that_is_being_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "WAIT_FOR_READERS", 0.01)
    (tmp_path / "store").mkdir()
    with writer_lock(tmp_path / "store").acquire(), pytest.raises(StoreBusy):
        build(tmp_path / "store")


def test_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(StoreError, match="cannot be written"):
        build(tmp_path / "store")


def test_failing_source_leaves_no_store_and_can_be_tried_again(tmp_path: Path) -> None:
    def failing() -> object:
        yield whole_document("a.md", [section("top", "first")])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build_store(tmp_path / "store", "animals", failing())  # type: ignore[arg-type]
    assert not (tmp_path / "store/store.sqlite").exists()
    assert len(build(tmp_path / "store").documents) == 2


def test_folder_is_not_ingested_into_such_a_store(tmp_path: Path) -> None:
    build(tmp_path / "store")
    docs = write_corpus(tmp_path / "docs", {"a.md": "# A\n\nText of some length, to be found.\n"})
    with pytest.raises(StoreConflict, match="holds the corpus 'animals'"):
        ingest(docs, tmp_path / "store")


def test_doctor_says_that_there_is_no_folder_behind_it(tmp_path: Path) -> None:
    build(tmp_path / "store")
    (problem,) = store_state(tmp_path / "store").problems
    assert "animals" in problem
