"""Ranks repeat: ties go by id, pages are disjoint and complete, whatever came before."""

import random
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import Tools, tools_over, write_corpus


def page(name: str, word: str = "zebra") -> str:
    return f"# Animal\n\nHere the {word} called number{name} stands all by itself.\n"


def paged(session: ToolSession, limit: int, **arguments: object) -> list[str]:
    """All hits, page by page, until a page says that there are no more."""
    found: list[str] = []
    while True:
        given = {"query": "zebra", "limit": limit, "offset": len(found), **arguments}
        result = session.call("search", given)
        found += [hit["id"] for hit in result.data["hits"]]
        if not result.data["has_more"]:
            assert "More:" not in result.text
            return found
        assert result.text.endswith(f"More: offset={len(found)}")


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_pages_are_disjoint_and_complete(tools: Tools, limit: int) -> None:
    session = tools({f"{n:03}.md": page(f"{n:03}") for n in range(120)})
    assert paged(session, limit) == [f"{n:03}.md#animal" for n in range(120)]


def test_pages_of_one_folder_are_complete_too(tools: Tools) -> None:
    session = tools({f"{'ab'[n % 2]}/{n:03}.md": page(f"{n:03}") for n in range(60)})
    assert paged(session, 7, paths="a") == [f"a/{n:03}.md#animal" for n in range(0, 60, 2)]


def test_duplicates_do_not_disturb_the_pages(tools: Tools) -> None:
    session = tools({f"{n:03}.md": page(str(n // 4)) for n in range(100)})
    assert paged(session, 6) == [f"{n:03}.md#animal" for n in range(0, 100, 4)]


def test_behind_the_last_hit_there_is_nothing(tools: Tools) -> None:
    session = tools({"a.md": page("1")})
    assert session.call("search", {"query": "zebra", "offset": 5}).text == "No hits from 5 on."


def test_equal_scores_rank_by_id_after_changes_as_after_a_fresh_start(tmp_path: Path) -> None:
    chance = random.Random(7)
    root, store = tmp_path / "docs", tmp_path / "store"
    pages = {f"{n:03}.md": page(f"{n:03}") for n in range(150)}
    for _ in range(6):  # written in any order, changed back and forth
        some = chance.sample(sorted(pages), 60)
        write_corpus(root, {name: pages[name].replace("zebra", "zebu") for name in some})
        ingest(root, store)
        write_corpus(root, {name: pages[name] for name in some})
        ingest(root, store)
    write_corpus(root, pages)
    ingest(root, store)
    changed = ToolSession(open_store(store))
    fresh = tools_over(tmp_path / "fresh", pages)
    for limit in (3, 20):
        assert paged(changed, limit) == paged(fresh, limit) == [f"{n}#animal" for n in pages]


def test_words_of_every_page_stay_searchable_however_often_the_pages_change(
    tmp_path: Path,
) -> None:
    root, store = tmp_path / "docs", tmp_path / "store"
    for state in range(8):
        pages = {f"{n}.md": page(f"{n}-{state}", f"caching cached cache{state}") for n in range(4)}
        ingest(write_corpus(root, pages), store)
    session = ToolSession(open_store(store))
    for word in ("cache", "caching", "caches"):
        assert len(session.call("search", {"query": word}).data["hits"]) == 4


def test_one_set_of_files_gives_one_order_however_it_was_written(tmp_path: Path) -> None:
    pages = {f"{n:02}.md": page(f"{n}") + f"And some more zebra {n % 4} " * n for n in range(30)}
    backwards = dict(reversed(pages.items()))
    texts = {
        tools_over(tmp_path / name, files).call("search", {"query": "zebra 2", "limit": 30}).text
        for name, files in (("forwards", pages), ("backwards", backwards), ("again", pages))
    }
    assert len(texts) == 1
