"""Threads that share one snapshot: each gets what it asked for, under every Python."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contextpull import open_store
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
