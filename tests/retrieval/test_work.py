"""A call that is to end ends between two steps, wherever it is."""

from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.retrieval.grep import grep
from contextpull.retrieval.models import Models
from contextpull.retrieval.search import search
from contextpull.retrieval.work import Stopped, Work
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus


class Counted(Work):
    """Work that is to end when it has asked so often whether it is."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    @property
    def is_stopped(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_grep_ends_between_two_windows(tmp_path: Path) -> None:
    files = {f"{number}.md": "# Title\n\n" + "Some line.\n" * 20_000 for number in range(20)}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    needed = Counted(10_000)
    assert grep(snapshot, "nothing like it", work=needed).total == 0
    asked = 10_000 - needed.left
    assert asked > 10
    for most in (0, 1, asked // 2):
        work = Counted(most)
        with pytest.raises(Stopped):
            grep(snapshot, "nothing like it", work=work)
        assert most - work.left < most + 10


def test_reranking_ends_between_two_batches(tmp_path: Path, tiny_reranker: Path) -> None:
    files = {f"{number}.md": f"# Cache {number}\n\nOf the cache.\n" for number in range(30)}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    told: list[str] = []

    def tell(what: str) -> None:
        told.append(what)
        if what.startswith("Reranked 8"):
            work.stop()

    work = Work(tell)
    models = Models(reranker=str(tiny_reranker))
    with pytest.raises(Stopped):
        search(snapshot, "cache", mode="rerank", models=models, work=work)
    assert told[1:] == ["Reranked 8 of 20."]


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid", "rerank"])
def test_no_way_to_search_goes_on_when_the_call_is_to_end(tmp_path: Path, mode: str) -> None:
    ingest(write_corpus(tmp_path / "docs", {"a.md": "# Cache\n"}), tmp_path / "store")
    work = Work()
    work.stop()
    session = ToolSession(open_store(tmp_path / "store"))
    with pytest.raises(Stopped):
        session.call("search", {"query": "cache", "mode": mode}, work)
