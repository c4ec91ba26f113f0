"""What a store holds and what is behind can be seen without changing anything."""

import os
from pathlib import Path

import pytest

from contextpull.config import ReadLimits
from contextpull.errors import StoreNotFound
from contextpull.store.checking import store_state
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {f"{name}.md": f"# {name}\n\nThe page {name} has some words.\n" for name in "abc"}
    return write_corpus(tmp_path / "docs", {**files, "logo.png": b"\x89PNG", "empty.md": ""})


def test_a_store_that_was_just_written_is_current(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(root, store, limits=ReadLimits(max_file_bytes=1_000))
    state = store_state(store)
    assert state.is_current
    assert (state.documents, state.sections, state.left_out) == (3, 3, 2)
    assert (state.new, state.changed, state.gone, state.problems) == (0, 0, 0, ())
    assert (state.generation, state.root) == (1, str(root.resolve()))


def test_what_came_changed_and_went_is_counted_and_left_for_the_next_ingest(
    root: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest(root, store)
    write_corpus(root, {"a.md": "# a\n\nOther words.\n", "d.md": "# d\n", "e.md": "# e\n"})
    root.joinpath("b.md").unlink()
    os.utime(root / "c.md", (10**9, 10**9))
    for _ in range(2):
        state = store_state(store)
        assert (state.new, state.changed, state.gone) == (2, 1, 1)
        assert not state.is_current
    ingest(root, store)
    assert store_state(store).is_current


def test_a_corpus_that_is_gone_is_a_problem(root: Path, tmp_path: Path) -> None:
    ingest(root, tmp_path / "store")
    root.rename(tmp_path / "elsewhere")
    (problem,) = store_state(tmp_path / "store").problems
    assert "does not exist" in problem


def test_where_there_is_no_store_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        store_state(tmp_path)
