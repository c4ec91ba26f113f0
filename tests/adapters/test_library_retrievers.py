"""The retrievers for LangChain and LlamaIndex: what they find, and what holds around them."""

import asyncio
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.errors import InvalidInput, PathNotFound
from contextpull.retrieval.models import Models
from contextpull.retrieval.reading import read
from contextpull.retrieval.scope import Scope, ScopedStore
from contextpull.store import Snapshot, Store
from contextpull.store.building import build_store, whole_document
from contextpull.store.ingest import ingest
from contextpull.tools import call
from contextpull.types import Section
from tests.conftest import write_corpus
from tests.properties import same_every_time

COPY = "# Copy\n\nThe same words about the gateway, letter for letter.\n"
ROWS = "".join(f"| gateway {n} | {'a long cell ' * 12}|\n" for n in range(40))
FILES = {
    "guide/setup.md": "# Guide\n\nAll that is done before the first sample arrives.\n\n"
    "## Setup\n\nMount the  gateway\n\tlevel, on a wall that does not shake.  \n\n",
    "guide/cache.md": "# Cache\n\nClear it with `--no-cache`, and the gateway forgets.\n",
    "hr/pay.md": "# Pay\n\nWhoever mounts a gateway is paid for it.\n",
    "copies/one.md": COPY,
    "copies/two.md": COPY,
    "tables/rows.md": f"# Rows\n\n| name | cell |\n|---|---|\n{ROWS}",
    "unicode/é 数据.md": "# Überschrift\n\nEin Gateway – ‚wörtlich‘ 🐘 数据.\n",
}
QUERY = "gateway"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return made(tmp_path_factory.mktemp("retrievers"), FILES)


def made(folder: Path, files: dict[str, str]) -> Store:
    """A store in `folder/store` of files in `folder/docs`."""
    ingest(write_corpus(folder / "docs", files), folder / "store")
    return open_store(folder / "store")


def ids(found: Any) -> list[str]:
    return [each.id for each in found]


def test_sections_come_verbatim_with_what_is_known_of_them(library: Any, store: Store) -> None:
    (found,) = library.ask(library.retriever(store, k=1, paths="guide/setup.md"), "mount level")
    assert found.text == FILES["guide/setup.md"][FILES["guide/setup.md"].index("## Setup") :]
    score = found.metadata.pop("score")
    assert score > 0
    assert found.metadata == {
        "id": "guide/setup.md#setup",
        "path": "guide/setup.md",
        "headings": ["Guide", "Setup"],
        "page": None,
    }
    assert found.id == "guide/setup.md#setup"


def test_a_section_tells_the_page_that_it_begins_on(library: Any, tmp_path: Path) -> None:
    section = Section("page=41", (), ("Manual",), "prose", "Mount it.", 0, 1, page=41, last_page=42)
    build_store(tmp_path, "manuals", [whole_document("manual.pdf", [section])])
    (found,) = library.ask(library.retriever(open_store(tmp_path)), "mount")
    assert (found.id, found.metadata["page"]) == ("manual.pdf#page=41", 41)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_they_are_the_hits_of_search_in_its_order(library: Any, store: Store, k: int) -> None:
    hits = call(store, "search", {"query": QUERY, "limit": k}).data["hits"]
    assert ids(library.ask(library.retriever(store, k=k), QUERY)) == [each["id"] for each in hits]


def test_five_is_what_comes_when_nobody_says_how_many(library: Any, store: Store) -> None:
    assert len(library.ask(library.retriever(store), QUERY)) == 5


def test_one_text_comes_once_and_names_its_copies(library: Any, store: Store) -> None:
    found = library.ask(library.retriever(store), "letter for letter")
    assert (found[0].id, found[0].metadata["copies"]) == (
        "copies/one.md#copy",
        ["copies/two.md#copy"],
    )
    assert "copies/two.md#copy" not in ids(found)


def test_a_part_of_a_table_brings_the_header_of_its_table(library: Any, store: Store) -> None:
    found = library.ask(library.retriever(store, k=50, paths="tables/"), QUERY)
    later = [each for each in found if "~" in each.id]
    assert later
    for each in later:
        assert each.metadata["repeated_header"].startswith("| name | cell |")
        assert "| name | cell |" not in each.text


def test_what_a_search_could_not_do_is_told(library: Any, store: Store) -> None:
    (found,) = library.ask(library.retriever(store, k=1, mode="dense"), QUERY)
    (note,) = found.metadata["notes"]
    assert "keeps no vectors" in note


def test_nothing_found_is_an_empty_list(library: Any, store: Store) -> None:
    retriever = library.retriever(store)
    assert library.ask(retriever, "zymurgy") == library.ask(retriever, "") == []


@given(query=st.text(max_size=60), k=st.integers(1, 50))
@same_every_time(60)
def test_any_query_gives_sections_that_read_gives_too(
    library: Any, store: Store, query: str, k: int
) -> None:
    found = library.ask(library.retriever(store, k=k), query)
    assert len(found) <= k
    texts = [each.section.text for each in read(store.snapshot(), ids(found))]
    assert [each.text for each in found] == texts


def test_the_same_comes_whether_or_not_it_is_awaited(library: Any, store: Store) -> None:
    retriever = library.retriever(store)
    assert asyncio.run(library.ask_async(retriever, QUERY)) == library.ask(retriever, QUERY)


class Held(Store):
    """A store whose snapshot is given out only when somebody lets it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def snapshot(self) -> Snapshot:
        self.is_asked.set()
        assert self.may_answer.wait(timeout=60), "nobody let it answer: the loop was blocked"
        return super().snapshot()


def test_the_loop_is_free_while_a_query_is_answered(library: Any, store: Store) -> None:
    held = Held(store.path)

    async def ask() -> list[str]:
        task = asyncio.create_task(library.ask_async(library.retriever(held), QUERY))
        await asyncio.to_thread(held.is_asked.wait, 60)
        held.may_answer.set()
        return ids(await task)

    assert asyncio.run(ask()) == ids(library.ask(library.retriever(store), QUERY))


def test_many_may_ask_at_once(library: Any, store: Store) -> None:
    retriever = library.retriever(store)
    queries = ["gateway", "cache", "paid", "rows"] * 5
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: library.ask(retriever, query), queries))
    assert found == [library.ask(retriever, query) for query in queries]


# Paths and scopes


@pytest.mark.parametrize("paths", ["guide/", ["guide/*.md"], ("guide/setup.md", "guide/cache.md")])
def test_paths_restrict_what_is_found(library: Any, store: Store, paths: Any) -> None:
    found = library.ask(library.retriever(store, k=50, paths=paths), QUERY)
    assert sorted(ids(found)) == ["guide/cache.md#cache", "guide/setup.md#setup"]


def test_a_path_that_means_nothing_is_an_error_of_the_query(library: Any, store: Store) -> None:
    retriever = library.retriever(store, paths="gide/setup.md")
    with pytest.raises(PathNotFound, match=r"No document matches .* Closest paths: guide/setup.md"):
        library.ask(retriever, QUERY)


def test_outside_a_scope_there_is_nothing(library: Any, store: Store) -> None:
    scoped = ScopedStore(store, Scope(("!hr/",)))
    assert "hr/pay.md#pay" in ids(library.ask(library.retriever(store, k=50), QUERY))
    assert "hr/pay.md#pay" not in ids(library.ask(library.retriever(scoped, k=50), QUERY))
    told = []
    for path in ("hr/pay.md", "hr/paz.md"):
        with pytest.raises(PathNotFound) as raised:
            library.ask(library.retriever(scoped, paths=path), QUERY)
        told.append(str(raised.value).replace(path, "…"))
    assert told[0] == told[1]


# A store that changes


def test_the_next_query_sees_what_was_ingested(library: Any, tmp_path: Path) -> None:
    retriever = library.retriever(made(tmp_path, {"a.md": "# A\n\nThe old gateway.\n"}))
    assert ids(library.ask(retriever, QUERY)) == ["a.md#a"]
    made(tmp_path, {"a.md": "# A\n\nNothing.\n", "b.md": "# B\n\nThe new gateway.\n"})
    (found,) = library.ask(retriever, QUERY)
    assert (found.id, found.text) == ("b.md#b", "# B\n\nThe new gateway.\n")


def test_a_store_that_was_replaced_is_followed(library: Any, tmp_path: Path) -> None:
    retriever = library.retriever(made(tmp_path / "one", {"a.md": "# A\n\nThe old gateway.\n"}))
    made(tmp_path / "two", {"b.md": "# B\n\nThe new gateway.\n"})
    (tmp_path / "one" / "store").rename(tmp_path / "away")
    assert ids(library.ask(retriever, QUERY)) == ["a.md#a"], "while there is none"
    (tmp_path / "two" / "store").rename(tmp_path / "one" / "store")
    assert ids(library.ask(retriever, QUERY)) == ["b.md#b"]


# Copies


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
@pytest.mark.parametrize("globs", [(), ("guide/",)])
def test_a_copy_finds_the_same(library: Any, store: Store, copied: Any, globs: Any) -> None:
    given_ = ScopedStore(store, Scope(globs)) if globs else store
    retriever = library.retriever(given_, k=3)
    assert library.ask(copied(retriever), QUERY) == library.ask(retriever, QUERY)


def test_one_with_models_of_its_own_is_copied_but_not_pickled(library: Any, store: Store) -> None:
    retriever = library.retriever(store, models=Models(api_key="dummy-key-of-a-test"))
    assert library.ask(copy.deepcopy(retriever), QUERY) == library.ask(retriever, QUERY)
    with pytest.raises(TypeError, match=r"Models cannot be pickled. Make the retriever"):
        pickle.dumps(retriever)


# What can be wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number from 1 to 50, not 0."),
        ({"k": 51}, "k must be a whole number from 1 to 50, not 51."),
        ({"k": True}, "k must be a whole number from 1 to 50, not True."),
        ({"k": "5"}, "k must be a whole number from 1 to 50, not '5'."),
        ({"mode": "bm25"}, "mode must be one of lexical, dense, hybrid, rerank, or None, not "),
        ({"paths": 5}, "paths must be a path or a list of paths, not 5."),
        ({"paths": [b"a"]}, r"paths must be a path or a list of paths, not \[b'a'\]."),
        ({"models": "bge"}, "models must be contextpull.retrieval.models.Models, or None"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_at_once(
    library: Any, store: Store, options: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        library.retriever(store, **options)


@pytest.mark.parametrize("given_", [".contextpull", Path(".contextpull"), None])
def test_a_store_that_is_not_open_is_refused(library: Any, given_: Any) -> None:
    with pytest.raises(InvalidInput, match=r"must be an open store, like open_store"):
        library.retriever(given_)


@pytest.mark.parametrize("query", [None, 5, {"question": "gateway"}])
def test_a_query_that_is_no_text_is_refused(library: Any, store: Store, query: Any) -> None:
    with pytest.raises(InvalidInput, match=r"A query is a text, not (NoneType|int|dict)"):
        library.ask(library.retriever(store), query)
