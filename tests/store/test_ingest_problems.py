"""What can go wrong in an ingest costs no more than it must, and says so."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.documents import formats
from contextpull.errors import InvalidInput, StoreBusy, StoreConflict, StoreError
from contextpull.store import ingest as ingesting
from contextpull.store.ingest import ingest, writer_lock
from contextpull.store.records import Skipped
from contextpull.tools import ToolSession
from contextpull.types import ParsedDocument
from tests.conftest import write_corpus

PAGE = "# Page\n\nSome words about it.\n"


def read_badly(data: bytes) -> ParsedDocument:
    """A reader with a bug."""
    raise ZeroDivisionError("division by zero")


def read_nowhere(data: bytes) -> ParsedDocument:
    """A reader that finds out late that the disk is broken."""
    raise OSError(5, "Input/output error")


@pytest.fixture
def odd_formats(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`.bug` and `.eio` files have readers that fail, `.dream` files one that is not installed."""
    here = "tests.store.test_ingest_problems"
    odd = [
        formats.Format("Buggy", (".bug",), f"{here}:read_badly"),
        formats.Format("Broken", (".eio",), f"{here}:read_nowhere"),
        formats.Format("Dream", (".dream",), "contextpull_no_such_module:read", "dreams"),
    ]
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS, *odd])
    formats.format_for.cache_clear()
    yield
    formats.format_for.cache_clear()


@pytest.mark.usefixtures("odd_formats")
def test_a_reader_that_raises_costs_its_file_only(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE, "b.bug": "x", "c.md": PAGE})
    report = ingest(root, tmp_path / "store")
    reason = "its reader failed: ZeroDivisionError: division by zero"
    assert report.skipped == (Skipped("b.bug", reason),)
    assert list(open_store(tmp_path / "store").snapshot().documents) == ["a.md", "c.md"]


@pytest.mark.usefixtures("odd_formats")
def test_what_may_be_readable_next_time_is_tried_again_without_a_new_generation(
    tmp_path: Path,
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE, "b.eio": "x", "c.dream": "x"})
    reports = [ingest(root, tmp_path / "store") for _ in range(3)]
    reasons = {
        "b.eio": "cannot be read: Input/output error",
        "c.dream": "cannot be read: Reading Dream needs the extra 'dreams': "
        "pip install 'contextpull[dreams]'",
    }
    assert [dict(report.skipped) for report in reports] == [reasons] * 3
    assert [report.generation for report in reports] == [1, 1, 1]
    assert [report.unchanged for report in reports] == [0, 3, 3]


def test_another_corpus_in_the_same_store_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    first = write_corpus(tmp_path / "first", {"a.md": PAGE})
    second = write_corpus(tmp_path / "second", {"b.md": PAGE})
    ingest(first, tmp_path / "store")
    with pytest.raises(StoreConflict, match=r"holds the corpus .*first.*, not .*second"):
        ingest(second, tmp_path / "store")
    assert ingest(first, tmp_path / "store").generation == 1
    assert list(open_store(tmp_path / "store").snapshot().documents) == ["a.md"]


def test_a_second_writer_is_told_that_the_store_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "WAIT_FOR_READERS", 0.01)
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE})
    ingest(root, tmp_path / "store")
    with writer_lock(tmp_path / "store").acquire():
        with pytest.raises(StoreBusy, match="Another process is writing"):
            ingest(root, tmp_path / "store")
        assert open_store(tmp_path / "store").snapshot().generation == 1
    assert ingest(root, tmp_path / "store").generation == 1


@pytest.mark.parametrize("name", ["store", ".contextpull", "kept/here"])
def test_a_store_inside_the_corpus_is_no_part_of_it(tmp_path: Path, name: str) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE, "kept/b.md": PAGE})
    for _ in range(2):
        report = ingest(root, root / name)
        assert (report.generation, report.documents, report.skipped) == (1, 2, ())


def test_a_store_in_the_folder_of_the_corpus_itself_is_refused(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"lexical/a.md": PAGE, "text.bin": b"mine"})
    with pytest.raises(StoreError, match="holds other files than a store"):
        ingest(root, root)
    assert root.joinpath("lexical/a.md").read_text() == PAGE
    assert root.joinpath("text.bin").read_bytes() == b"mine"


def test_files_that_are_not_a_stores_are_never_overwritten(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE})
    place = write_corpus(tmp_path / "place", {"lexical/thesis.md": "years of work"})
    with pytest.raises(StoreError, match="holds other files than a store"):
        ingest(root, place)
    assert place.joinpath("lexical/thesis.md").read_text() == "years of work"
    place.joinpath("lexical").rename(place / "other")
    assert ingest(root, place).documents == 1
    assert place.joinpath("other/thesis.md").read_text() == "years of work"


def test_a_corpus_that_is_no_folder_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        ingest(tmp_path / "nowhere", tmp_path / "store")
    assert not tmp_path.joinpath("store").exists()


def test_a_store_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE})
    tmp_path.joinpath("file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        ingest(root, tmp_path / "file" / "store")


def test_an_empty_corpus_gives_a_store_that_answers(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {})
    assert ingest(root, tmp_path / "store").documents == 0
    tools = ToolSession(open_store(tmp_path / "store"))
    assert tools.call("search", {"query": "anything"}).text.startswith("No section matches, of 0.")
    assert "in 0 documents" in tools.call("grep", {"pattern": "anything"}).text
    assert tools.call("index", {}).text == "Everything: 0 documents, 0 sections."
    assert tools.call("read", {"ids": "a.md"}).is_error


def test_worker_processes_store_what_one_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"{number % 7}/{number}.md": f"# Page {number}\n\n" + f"Word{number} and more. " * 60
        for number in range(120)
    }
    root = write_corpus(
        tmp_path / "docs", {**files, "bad.md": bytes(range(32)) * 9, "empty.md": ""}
    )
    for file in root.rglob("*.md"):
        os.utime(file, (10**9, 10**9))
    serial = ingest(root, tmp_path / "serial")
    monkeypatch.setattr(ingesting, "_LITTLE_BYTES", 0)
    parallel = ingest(root, tmp_path / "parallel")
    assert (parallel.sections, parallel.skipped) == (serial.sections, serial.skipped)
    one, other = (open_store(tmp_path / name).snapshot() for name in ("serial", "parallel"))
    assert other.database.documents() == one.database.documents()
    numbers = range(1, serial.sections + 1)
    assert other.database.sections(numbers) == one.database.sections(numbers)
    assert (
        other.text.bytes[other.text.text.start : other.text.text.end]
        == (one.text.bytes[one.text.text.start : one.text.text.end])
    )
    query = {"query": "Word17 more page", "limit": 30}
    assert (
        ToolSession(open_store(tmp_path / "parallel")).call("search", query).data
        == ToolSession(open_store(tmp_path / "serial")).call("search", query).data
    )


def test_a_full_disk_is_reported_and_the_last_generation_answers(
    tmp_path: Path, small_disk: Path
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": PAGE})
    ingest(root, small_disk / "store")
    big = {f"{number}.md": f"# {number}\n\n" + f"word{number} " * 9_000 for number in range(40)}
    write_corpus(root, big)
    with pytest.raises(StoreError, match="cannot be written"):
        ingest(root, small_disk / "store")
    tools = ToolSession(open_store(small_disk / "store"))
    assert tools.call("search", {"query": "words"}).text.startswith("1. a.md#page")
    assert "a.md#page" in tools.call("grep", {"pattern": "Some words"}).text
    for name in big:
        root.joinpath(name).unlink()
    assert ingest(root, small_disk / "store").documents == 1
