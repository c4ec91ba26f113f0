"""A store of several corpora follows all their folders."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpull.store.ingest import ingest
from contextpull.store.removing import remove_corpus
from tests.conftest import write_corpus
from tests.store.test_watching import PATIENCE, POLL, A, B, C, Watcher, watched


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "one", {"a.md": A})


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "two", {"b.md": B})


@pytest.fixture(params=[None, POLL], ids=["told", "polling"])
def watcher(
    request: pytest.FixtureRequest,
    one: Path,
    two: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Watcher]:
    monkeypatch.setattr("contextpull.store.watching._CHECK_ROOT", POLL)
    ingest(one, tmp_path / "store", name="one")
    ingest(two, tmp_path / "store", name="two")
    with watched(None, tmp_path / "store", request.param) as watcher:
        yield watcher


def test_a_change_in_any_of_them_is_read(watcher: Watcher, one: Path, two: Path) -> None:
    (one / "a.md").write_text(C)
    watcher.until({"one/a.md": C, "two/b.md": B})
    write_corpus(two, {"new/c.md": C})
    watcher.until({"one/a.md": C, "two/b.md": B, "two/new/c.md": C})
    (two / "b.md").unlink()
    watcher.until({"one/a.md": C, "two/new/c.md": C})


def test_one_that_is_gone_is_told_once_and_the_others_are_followed_on(
    watcher: Watcher, one: Path, two: Path
) -> None:
    two.rename(two.with_name("elsewhere"))
    told = watcher.told.get(timeout=PATIENCE)
    assert f"The folder {str(two)!r} of the corpus 'two' is gone" in told
    (one / "a.md").write_text(C)
    watcher.until({"one/a.md": C, "two/b.md": B})
    write_corpus(two, {"b.md": A})
    watcher.until({"one/a.md": C, "two/b.md": A})
    assert watcher.told.empty()


def test_corpora_that_others_add_and_take_out_are_followed_and_no_longer(
    watcher: Watcher, two: Path, tmp_path: Path
) -> None:
    three = write_corpus(tmp_path / "three", {"c.md": C})
    ingest(three, watcher.store, name="three")
    watcher.until({"one/a.md": A, "two/b.md": B, "three/c.md": C})
    (three / "c.md").write_text(A)
    watcher.until({"one/a.md": A, "two/b.md": B, "three/c.md": A})
    remove_corpus(watcher.store, "three")
    (three / "c.md").write_text(B)
    (two / "b.md").write_text(C)
    watcher.until({"one/a.md": A, "two/b.md": C})


def test_one_may_be_followed_alone(one: Path, two: Path, tmp_path: Path) -> None:
    ingest(one, tmp_path / "store", name="one")
    ingest(two, tmp_path / "store", name="two")
    with watched(None, tmp_path / "store", name="two") as watcher:
        (one / "a.md").write_text(C)
        (two / "b.md").write_text(C)
        watcher.until({"one/a.md": A, "two/b.md": C})
