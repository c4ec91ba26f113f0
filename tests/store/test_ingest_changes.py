"""An ingest reads what changed, and nothing else."""

import os
import time
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.config import CutSettings, ReadLimits
from contextpull.store.checking import store_state
from contextpull.store.ingest import IngestReport, ingest
from contextpull.store.records import Skipped
from contextpull.store.report import Progress
from tests.conftest import write_corpus

DAY = 86_400 * 10**9


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three files that were written yesterday."""
    files = {name: f"# {name}\n\nThe page {name} has some words.\n" for name in ("a", "b", "c")}
    root = write_corpus(tmp_path / "docs", {f"{name}.md": text for name, text in files.items()})
    for file in root.iterdir():
        age(file)
    return root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def age(file: Path, days: int = 1) -> None:
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - days * DAY))


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    return (report.added, report.changed, report.removed, report.unchanged)


def text_of(store: Path, path: str) -> str:
    snapshot = open_store(store).snapshot()
    sections = snapshot.database.sections_of(snapshot.documents[path])
    return "".join(section.text for section in sections)


def test_the_first_ingest_adds_every_file(root: Path, store: Path) -> None:
    report = ingest(root, store)
    assert counts(report) == (3, 0, 0, 0)
    assert (report.generation, report.documents, report.sections) == (1, 3, 3)
    assert report.chars == sum(file.stat().st_size for file in root.iterdir())


def test_added_changed_removed_and_renamed_files_are_counted(root: Path, store: Path) -> None:
    ingest(root, store)
    root.joinpath("a.md").write_text("# a\n\nAnother text stands here.\n")
    root.joinpath("b.md").unlink()
    root.joinpath("c.md").rename(root / "d.md")
    root.joinpath("e.md").write_text("# e\n\nA new page.\n")
    report = ingest(root, store)
    assert counts(report) == (2, 1, 2, 0)
    assert list(open_store(store).snapshot().documents) == ["a.md", "d.md", "e.md"]


def test_an_ingest_of_nothing_new_keeps_generation_and_files(root: Path, store: Path) -> None:
    ingest(root, store)
    before = {
        file: file.stat().st_mtime_ns for file in store.rglob("*.*") if file.suffix != ".lock"
    }
    report = ingest(root, store)
    assert counts(report) == (0, 0, 0, 3)
    assert report.generation == 1
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_files_written_a_moment_ago_make_no_new_generation_either(
    tmp_path: Path, store: Path
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": "# A\n\nFresh from the press.\n"})
    assert [ingest(root, store).generation for _ in range(3)] == [1, 1, 1]


def test_a_change_that_keeps_the_size_is_seen_by_its_time(root: Path, store: Path) -> None:
    ingest(root, store)
    page = root / "a.md"
    page.write_text(page.read_text().replace("words", "sword"))
    age(page, days=-2)
    assert counts(ingest(root, store)) == (0, 1, 0, 2)
    assert "sword" in text_of(store, "a.md")


def test_a_touched_file_is_not_read_into_a_new_generation(root: Path, store: Path) -> None:
    ingest(root, store)
    age(root / "a.md", days=3)
    report = ingest(root, store)
    assert (report.generation, counts(report)) == (1, (0, 0, 0, 3))
    known = open_store(store).snapshot().documents["a.md"]
    assert known.mtime_ns == (root / "a.md").stat().st_mtime_ns


def test_a_second_change_within_one_tick_of_the_clock_is_seen(root: Path, store: Path) -> None:
    page = root / "a.md"
    tick = time.time_ns() + DAY  # however slow this test is, the file is younger than it
    page.write_text("# a\n\nfirst\n")
    os.utime(page, ns=(tick, tick))
    ingest(root, store)
    page.write_text("# a\n\nother\n")
    os.utime(page, ns=(tick, tick))
    assert counts(ingest(root, store)) == (0, 1, 0, 2)
    assert "other" in text_of(store, "a.md")


def test_verify_finds_a_change_that_size_and_time_hide(root: Path, store: Path) -> None:
    ingest(root, store)
    page = root / "a.md"
    status = page.stat()
    page.write_text(page.read_text().replace("words", "sword"))
    os.utime(page, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert counts(ingest(root, store)) == (0, 0, 0, 3)
    assert counts(ingest(root, store, verify=True)) == (0, 1, 0, 2)
    assert "sword" in text_of(store, "a.md")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no text in it"),
        (b" \n\t\n", "no text in it"),
        (bytes(range(32)) * 100, "binary data, not text"),
    ],
)
def test_a_file_that_lost_its_text_loses_its_sections_and_is_listed(
    root: Path, store: Path, content: bytes, reason: str
) -> None:
    ingest(root, store)
    root.joinpath("a.md").write_bytes(content)
    report = ingest(root, store)
    assert report.skipped == (Skipped("a.md", reason),)
    snapshot = open_store(store).snapshot()
    assert list(snapshot.documents) == ["b.md", "c.md"]
    assert not snapshot.database.resolve(snapshot.database.documents()[0], "a")
    assert ingest(root, store).generation == 2
    assert ingest(root, store, verify=True).generation == 2


def test_a_file_over_the_size_limit_loses_its_sections_until_the_limit_is_raised(
    root: Path, store: Path
) -> None:
    ingest(root, store)
    small = ReadLimits(max_file_bytes=40)
    root.joinpath("a.md").write_text("# a\n\n" + "too much of it\n" * 10)
    age(root / "a.md")
    for _ in range(2):
        report = ingest(root, store, limits=small)
        assert (report.generation, report.documents) == (2, 2)
        (skipped,) = report.skipped
        assert skipped.path == "a.md"
        assert skipped.reason.startswith("larger than ")
    assert ingest(root, store).documents == 3
    assert ingest(root, store, limits=small).documents == 2


def test_changed_settings_cut_every_document_anew(root: Path, store: Path) -> None:
    root.joinpath("long.md").write_text("# Long\n\n" + "A sentence that goes on. " * 40)
    before = ingest(root, store)
    report = ingest(root, store, CutSettings(max_chars=300, hard_max_chars=300))
    assert report.sections > before.sections
    assert report.notes == ("the settings changed; every document was cut anew",)
    assert ingest(root, store).sections == report.sections  # a store keeps its settings
    snapshot = open_store(store).snapshot()
    assert snapshot.database.settings["max_chars"] == 300
    assert len(text_of(store, "long.md")) == root.joinpath("long.md").stat().st_size


def test_a_new_reason_to_leave_a_file_out_is_recorded(root: Path, store: Path) -> None:
    root.joinpath("logo.png").write_bytes(b"\x89PNG")
    ingest(root, store)
    root.joinpath("logo.png").unlink()
    assert ingest(root, store).skipped == ()
    assert open_store(store).snapshot().database.skipped() == []


def test_progress_counts_every_file_and_ends_with_all_bytes_done(root: Path, store: Path) -> None:
    seen: list[Progress] = []
    ingest(root, store, progress=seen.append)
    size = sum(file.stat().st_size for file in root.iterdir())
    assert [at.files for at in seen] == [1, 2, 3]
    assert seen[-1] == Progress(files=3, all_files=3, bytes=size, all_bytes=size)
    assert [at.bytes for at in seen] == sorted(at.bytes for at in seen)


def test_an_ingest_of_changes_leaves_no_old_words_and_nothing_to_repair(
    root: Path, store: Path
) -> None:
    ingest(root, store)
    for state in range(5):
        root.joinpath("a.md").write_text(f"# a\n\nThe stateword{state} of this page.\n")
        root.joinpath(f"new{state}.md").write_text(f"# New\n\nPage number{state} is here.\n")
        root.joinpath(f"new{state - 2}.md").unlink(missing_ok=True)
        ingest(root, store)
        assert store_state(store).problems == ()
    index = open_store(store).snapshot().index
    assert [len(index.search(f"stateword{state}", 10)) for state in range(5)] == [0, 0, 0, 0, 1]
    assert [len(index.search(f"number{state}", 10)) for state in range(5)] == [0, 0, 0, 1, 1]
