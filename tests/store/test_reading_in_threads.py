"""Threads that share one snapshot: each gets what it asked for, under every Python."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.retrieval.scope import Scope, ScopedStore
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus

THREADS = 8
PAGES = 40


def test_threads_that_read_one_snapshot_each_get_their_own_sections(tmp_path: Path) -> None:
    pages = {f"{page:02}.md": f"# Page {page}\n\nWord{page}.\n" for page in range(PAGES)}
    ingest(write_corpus(tmp_path / "docs", pages), tmp_path / "store")
    store = open_store(tmp_path / "store")
    calls = [
        ("read", {"ids": [f"{page:02}.md#page-{page}"], "context": 1}) for page in range(PAGES)
    ]
    calls += [("search", {"query": f"word{page}"}) for page in range(PAGES)]
    calls += [("index", {"path": f"{page:02}.md"}) for page in range(PAGES)]
    alone = [ToolSession(store).call(*call) for call in calls]
    assert not any(result.is_error for result in alone)

    def ask_all(first: int) -> None:
        for place in range(first, first + 5 * len(calls)):
            place %= len(calls)
            assert ToolSession(store).call(*calls[place]) == alone[place]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(ask_all, range(THREADS))) == [None] * THREADS


def test_parts_that_threads_build_leave_the_umask_alone_which_all_of_them_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_mask: int) -> int:
        raise AssertionError("the files of other threads would be open to all meanwhile")

    monkeypatch.setattr(os, "umask", refuse)
    ingest(write_corpus(tmp_path / "docs", {"a.md": "# A\n\nWord.\n"}), tmp_path / "store")
    scoped = ScopedStore(open_store(tmp_path / "store"), Scope(("a.md",)))
    assert list(scoped.snapshot().documents) == ["a.md"]


def test_whoever_may_read_one_file_of_an_index_may_read_them_all(tmp_path: Path) -> None:
    ingest(write_corpus(tmp_path / "docs", {"a.md": "# A\n\nWord.\n"}), tmp_path / "store")
    files = [each for each in (tmp_path / "store" / "lexical").iterdir() if each.suffix != ".lock"]
    assert len({stat.S_IMODE(each.stat().st_mode) for each in files}) == 1
