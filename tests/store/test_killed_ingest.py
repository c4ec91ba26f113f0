"""An ingest that is killed at any moment leaves the last committed generation answering."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.store.checking import store_state
from contextpull.store.database import FILE
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus
from tests.store import killed_ingest

Pages = dict[str, str]
REPOSITORY = Path(__file__).resolve().parents[2]


def states(seed: int) -> Iterator[Pages]:
    """A corpus of 200 pages, and then again and again with some of them changed, new and gone."""
    chance = random.Random(seed)
    pages = {path: page(path, 0) for path in (f"{n % 9}/{n:03}.md" for n in range(200))}
    for state in range(1, 1_000):
        yield dict(pages)
        for path in chance.sample(sorted(pages), 40):
            pages[path] = page(path, state)
        for path in chance.sample(sorted(pages), 5):
            del pages[path]
        new = [f"new/{state}{letter}.md" for letter in "abcde"]
        pages |= {path: page(path, state) for path in new}


def page(path: str, state: int) -> str:
    return f"# Page {path}\n\nThis is stateword{state} of {path}.\n"


def put(pages: Pages, root: Path) -> None:
    for file in root.rglob("*.md"):
        if file.relative_to(root).as_posix() not in pages:
            file.unlink()
    for path, text in pages.items():
        file = root / path
        if not file.is_file() or file.read_text() != text:
            write_corpus(root, {path: text})
            written = 10**9 + int(text.partition("stateword")[2].split()[0])
            os.utime(file, (written, written))  # settled times: every run makes the same events


def assert_answers_exactly(store: Path, pages: Pages) -> None:
    """Every way to look at the store shows these pages and no others."""
    opened = open_store(store)
    snapshot = opened.snapshot()
    tools = ToolSession(opened)
    assert list(snapshot.documents) == sorted(pages)
    stored = {document.path: sections for document, sections in snapshot.database.texts()}
    assert {path: "".join(text for _, text in found) for path, found in stored.items()} == pages
    words = sorted({text.split()[5] for text in pages.values()})[-5:]
    for word in [*words, "stateword999"]:
        holding = sorted(path for path, text in pages.items() if f"{word} " in text)
        hits = tools.call("search", {"query": word, "limit": 50}).data
        lines = tools.call("grep", {"pattern": f"{word} ", "limit": 100}).data
        assert sorted(hit["path"] for hit in hits["hits"]) == holding[:50] or len(holding) > 50
        assert lines["total"] == len(holding)
        assert [match["path"] for match in lines["matches"]] == holding[:100]
    some = sorted(pages)[len(pages) // 2]
    assert pages[some].strip() in tools.call("read", {"ids": some}).text
    assert store_state(store).problems == ()


def die(how: str, root: Path, store: Path, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", killed_ingest.__name__, how, str(root), str(store), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)


def generation(store: Path) -> int:
    return open_store(store).snapshot().generation


class Tale:
    """A store, what it must show, and what its corpus has become since."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.root, self.store = folder / "docs", folder / "store"
        self._states = states(seed)
        self.committed = next(self._states)
        put(self.committed, self.root)
        self.generation = ingest(self.root, self.store).generation
        self.latest = self.committed

    def change(self) -> None:
        self.latest = next(self._states)
        put(self.latest, self.root)

    def check_and_repair(self) -> bool:
        """Whether the ingest had committed when it was killed; the store shows one state whole."""
        has_committed = generation(self.store) != self.generation
        assert_answers_exactly(self.store, self.latest if has_committed else self.committed)
        report = ingest(self.root, self.store)
        assert report.generation == self.generation + 1
        assert store_state(self.store).problems == ()  # before anything opens and repairs it
        assert_answers_exactly(self.store, self.latest)
        assert not list(self.store.rglob("*.new"))
        self.committed, self.generation = self.latest, report.generation
        return has_committed


@pytest.mark.parametrize("seed", [1, 2])
def test_an_ingest_that_dies_at_a_system_event_is_repaired(tmp_path: Path, seed: int) -> None:
    tale = Tale(tmp_path, seed)
    tale.change()
    with die("events", tale.root, tale.store, "0") as process:
        last = int(process.communicate()[0].split()[-1])
    assert tale.check_and_repair()
    outcomes = []
    for number in [*random.Random(seed).sample(range(1, last), 7), *range(-7, 0)]:
        tale.change()
        with die("events", tale.root, tale.store, str(number)) as process:
            process.communicate()
        outcomes.append((process.returncode, tale.check_and_repair()))
    assert {(-9, False), (-9, True)} <= set(outcomes)


def test_an_ingest_that_is_killed_from_outside_is_repaired(tmp_path: Path) -> None:
    tale = Tale(tmp_path, seed=3)
    chance = random.Random(3)
    for lines in [*chance.sample(range(1, 45), 6), 45, 45, 45, 45]:
        tale.change()
        with die("progress", tale.root, tale.store) as process:
            assert process.stdout
            for _ in range(lines):
                process.stdout.readline()
            process.kill()
        tale.check_and_repair()


def test_a_first_ingest_that_is_killed_leaves_no_store_or_a_whole_one(tmp_path: Path) -> None:
    pages = next(states(4))
    root = tmp_path / "docs"
    put(pages, root)
    for number in (3, 40, 200, *range(-6, 0)):
        store = tmp_path / f"store-{number}"
        with die("events", root, store, str(number)) as process:
            process.communicate()
        if (store / FILE).exists():
            assert_answers_exactly(store, pages)
        assert ingest(root, store).generation == 1
        assert_answers_exactly(store, pages)


def test_an_ingest_that_dies_between_its_two_commits_is_completed_when_opened(
    tmp_path: Path,
) -> None:
    tale = Tale(tmp_path, seed=5)
    tale.change()
    opened = open_store(tale.store)
    with die("between", tale.root, tale.store) as process:
        process.communicate()
    assert process.returncode == 9
    assert opened.snapshot().generation == 2
    assert_answers_exactly(tale.store, tale.latest)
    assert tale.check_and_repair()


def test_a_damaged_store_whose_rebuild_dies_between_the_commits_shows_nothing_old(
    tmp_path: Path,
) -> None:
    tale = Tale(tmp_path, seed=6)
    tale.change()
    (tale.store / FILE).write_bytes(b"damaged")
    with die("between", tale.root, tale.store) as process:
        process.communicate()
    assert generation(tale.store) == tale.generation  # the same number, and other pages
    assert_answers_exactly(tale.store, tale.latest)
