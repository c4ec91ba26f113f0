"""Opening a store mends what is derived from the database, and keeps up with it."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextpull import Store, open_store
from contextpull.store.checking import store_state
from contextpull.store.ingest import ingest, writer_lock
from contextpull.tools import ToolSession
from tests.conftest import ids, write_corpus


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        f"{number:02}.md": f"# Page {number}\n\n" + f"Word{number} is here. " * 20
        for number in range(30)
    }
    return write_corpus(tmp_path / "docs", files)


@pytest.fixture
def store(root: Path, tmp_path: Path) -> Path:
    ingest(root, tmp_path / "store")
    return tmp_path / "store"


def answers(store: Store) -> list[str]:
    tools = ToolSession(store)
    calls = [
        ("search", {"query": "word7 page", "limit": 30}),
        ("grep", {"pattern": "Word29 is here"}),
        ("read", {"ids": ["11.md", "12.md#page-12"]}),
        ("index", {}),
    ]
    results = [tools.call(name, arguments) for name, arguments in calls]
    assert not any(result.is_error for result in results)
    return [result.text for result in results]


def segment(store: Path, suffix: str) -> Path:
    return min(store.joinpath("lexical").glob(f"*.{suffix}"))


def replace(file: Path, content: bytes) -> None:
    """Put other content in place; whoever has the old file mapped keeps it."""
    file.unlink()
    file.write_bytes(content)


def garbage_inside(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 16] = bytes(255 - byte for byte in content[middle : middle + 16])
    replace(file, content)


def cut_in_half(file: Path) -> None:
    replace(file, file.read_bytes()[: file.stat().st_size // 2])


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no lexical index": lambda store: shutil.rmtree(store / "lexical"),
    "an empty lexical folder": lambda store: [*map(Path.unlink, (store / "lexical").glob("*"))],
    "garbage for its list": lambda store: replace(store / "lexical/meta.json", b"\xff{]"),
    "a list of another kind": lambda store: replace(store / "lexical/meta.json", b"[1]"),
    "a missing segment": lambda store: segment(store, "idx").unlink(),
    "an empty segment": lambda store: replace(segment(store, "idx"), b""),
    **{
        f"garbage in .{suffix}": lambda store, suffix=suffix: garbage_inside(segment(store, suffix))
        for suffix in ("idx", "pos", "term", "fast", "fieldnorm", "store")
    },
    "no flat text": lambda store: (store / "text.bin").unlink(),
    "an empty flat text": lambda store: replace(store / "text.bin", b""),
    "half a flat text": lambda store: cut_in_half(store / "text.bin"),
    "garbage in the flat text": lambda store: garbage_inside(store / "text.bin"),
    "another flat text": lambda store: replace(store / "text.bin", b"[1]\n" * 500),
}
damaged = pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)


@damaged
def test_opening_repairs_what_is_derived(store: Path, damage: Callable[[Path], None]) -> None:
    before = answers(open_store(store))
    damage(store)
    opened = open_store(store)
    assert answers(opened) == before
    assert opened.snapshot().notes == ()
    assert store_state(store).problems == ()


@pytest.mark.parametrize("name", ["garbage in .idx", "half a flat text"])
def test_an_ingest_of_nothing_new_repairs_what_is_derived(
    root: Path, store: Path, name: str
) -> None:
    before = answers(open_store(store))
    DAMAGE[name](store)
    assert store_state(store).problems
    report = ingest(root, store)
    assert report.generation == 1
    assert [note.endswith("it was built again") for note in report.notes] == [True]
    assert store_state(store).problems == ()
    assert answers(open_store(store)) == before


def test_derived_parts_of_another_generation_are_built_again(root: Path, store: Path) -> None:
    shutil.copytree(store, store.with_name("old"))
    root.joinpath("11.md").write_text("# Page 11\n\nSomething else.\n")
    ingest(root, store)
    after = answers(open_store(store))
    for name in ("lexical", "text.bin"):
        shutil.move(store / name, store.with_name("newer"))
        shutil.move(store.with_name("old") / name, store / name)
        assert answers(open_store(store)) == after
        shutil.rmtree(store.with_name("newer"), ignore_errors=True)
        store.with_name("newer").unlink(missing_ok=True)


def test_a_copied_store_is_as_good_as_the_first(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(store, copy, copy_function=shutil.copy)  # without the times of the files
    before = {file: file.stat().st_mtime_ns for file in copy.rglob("*.*")}
    assert answers(open_store(copy)) == answers(open_store(store))
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_a_read_only_store_answers_and_nothing_is_written(
    store: Path, read_only: Callable[[Path], Path]
) -> None:
    expected = answers(open_store(store))
    before = {file: file.stat().st_mtime_ns for file in store.rglob("*")}
    opened = open_store(read_only(store))
    assert answers(opened) == expected
    assert opened.snapshot().notes == ()
    assert {file: file.stat().st_mtime_ns for file in store.rglob("*")} == before


@damaged
def test_a_read_only_store_is_repaired_in_private_with_a_note(
    store: Path, read_only: Callable[[Path], Path], damage: Callable[[Path], None]
) -> None:
    before = answers(open_store(store))
    damage(store)
    opened = open_store(read_only(store))
    assert answers(opened) == before
    (note,) = opened.snapshot().notes
    assert "the store cannot be written to: " in note
    assert note.endswith("built for this process alone")


def test_a_reader_follows_a_read_only_store_that_another_place_writes(
    root: Path, store: Path, read_only: Callable[[Path], Path]
) -> None:
    place = read_only(store)
    if place == store:
        pytest.skip("file systems cannot be mounted here")
    opened = open_store(place)
    root.joinpath("11.md").write_text("# Page 11\n\nSomething else.\n")
    ingest(root, store)
    assert opened.snapshot().generation == 2
    assert "Something else." in answers(opened)[2]


def test_an_open_store_sees_a_new_generation_without_being_reopened(
    root: Path, store: Path
) -> None:
    opened = open_store(store)
    tools = ToolSession(opened)
    old = opened.snapshot()
    root.joinpath("new.md").write_text("# New\n\nA ghosttoken777 appears.\n")
    ingest(root, store)
    assert ids(tools.call("search", {"query": "ghosttoken777"}).text) == ["new.md#new"]
    root.joinpath("new.md").unlink()
    ingest(root, store)
    assert "No section matches" in tools.call("search", {"query": "ghosttoken777"}).text
    assert "No line matches" in tools.call("grep", {"pattern": "ghosttoken777"}).text
    assert tools.call("read", {"ids": "new.md#new"}).is_error
    assert (old.generation, opened.snapshot().generation) == (1, 3)
    assert len(old.documents) == 30  # whoever holds a generation keeps it whole


def test_a_generation_that_a_writer_has_not_finished_is_not_seen(root: Path, store: Path) -> None:
    opened = open_store(store)
    shutil.copytree(store, store.with_name("old"))
    root.joinpath("11.md").write_text("# Page 11\n\nSomething else.\n")
    ingest(root, store)
    shutil.rmtree(store / "lexical")
    shutil.copytree(store.with_name("old") / "lexical", store / "lexical")
    with writer_lock(store).acquire():
        assert opened.snapshot().generation == 1
    assert opened.snapshot().generation == 2
    assert "Something else." in answers(opened)[2]


def test_a_store_deleted_under_a_reader_goes_on_answering(root: Path, store: Path) -> None:
    opened = open_store(store)
    before = answers(opened)
    shutil.rmtree(store)
    assert answers(opened) == before
    root.joinpath("11.md").write_text("# Page 11\n\nSomething else.\n")
    ingest(root, store)
    assert "Something else." in answers(opened)[2]


def test_a_store_replaced_under_a_reader_is_taken_up(store: Path, tmp_path: Path) -> None:
    opened = open_store(store)
    other = write_corpus(tmp_path / "other", {"x.md": "# X\n\nThe other corpus is small.\n"})
    ingest(other, tmp_path / "store-2")
    store.rename(tmp_path / "aside")
    tmp_path.joinpath("store-2").rename(store)
    assert list(opened.snapshot().documents) == ["x.md"]
    assert ids(ToolSession(opened).call("search", {"query": "corpus"}).text) == ["x.md#x"]


def test_a_damaged_database_put_under_a_reader_changes_nothing(store: Path) -> None:
    opened = open_store(store)
    before = answers(opened)
    replacement = store / "store.sqlite.broken"
    replacement.write_bytes(b"not a database" * 9_000)
    replacement.replace(store / "store.sqlite")
    assert answers(opened) == before


def test_a_store_on_a_full_disk_is_repaired_in_private(root: Path, small_disk: Path) -> None:
    store = small_disk / "store"
    ingest(root, store)
    before = answers(open_store(store))
    shutil.rmtree(store / "lexical")
    with pytest.raises(OSError, match="No space left"):
        small_disk.joinpath("filler").write_bytes(bytes(3_000_000))
    opened = open_store(store)
    assert answers(opened) == before
    (note,) = opened.snapshot().notes
    assert "cannot be written" in note
    assert note.endswith("built for this process alone")


def test_several_that_open_a_broken_store_at_once_all_get_a_whole_one(store: Path) -> None:
    before = answers(open_store(store))
    for name in ("no lexical index", "half a flat text", "garbage in .idx"):
        DAMAGE[name](store)
        with ThreadPoolExecutor(6) as pool:
            opened = list(pool.map(open_store, [store] * 6))
        assert [answers(each) for each in opened] == [before] * 6
        assert {each.snapshot().notes for each in opened} == {()}
