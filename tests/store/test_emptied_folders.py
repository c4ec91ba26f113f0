"""A folder that is empty all of a sudden, as where a drive is not mounted, empties no store."""

import shutil
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.errors import CorpusEmptied
from contextpull.store.checking import store_state
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus

PAGES = {"a.md": "# A\n\nThe words of the first page.\n", "sub/b.md": "# B\n\nAnd of another.\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "docs", PAGES)


@pytest.fixture
def store(root: Path, tmp_path: Path) -> Path:
    ingest(root, tmp_path / "store")
    return tmp_path / "store"


def unmount(root: Path) -> None:
    """What a folder looks like when the drive that was mounted there is away."""
    shutil.rmtree(root)
    root.mkdir()


def documents(store: Path) -> list[str]:
    return list(open_store(store).snapshot().documents)


@pytest.mark.parametrize("left", [[], ["sub"], [".hidden"]])
def test_the_store_keeps_what_it_has_and_says_what_to_do(
    root: Path, store: Path, left: list[str]
) -> None:
    unmount(root)
    for name in left:
        (root / name).mkdir()
    with pytest.raises(CorpusEmptied) as error:
        ingest(root, store)
    assert str(error.value) == (
        f"The folder {str(root)!r} holds nothing to read any more; the store keeps what it read"
        " there (2 documents). If it is a drive or a share, mount it again; if all is gone for"
        " good, ingest once with --allow-empty."
    )
    assert documents(store) == ["a.md", "sub/b.md"]


@pytest.mark.parametrize(
    "options", [{"verify": True}, {"settings": CutSettings(max_chars=300)}, {"root": None}]
)
def test_nothing_else_that_is_asked_for_empties_it(
    root: Path, store: Path, options: dict[str, object]
) -> None:
    unmount(root)
    arguments = {"root": root, "store": store, **options}
    with pytest.raises(CorpusEmptied):
        ingest(**arguments)  # type: ignore[arg-type]
    assert documents(store) == ["a.md", "sub/b.md"]


def test_what_is_back_is_as_it_was(root: Path, store: Path, tmp_path: Path) -> None:
    root.rename(tmp_path / "drive")
    root.mkdir()
    with pytest.raises(CorpusEmptied):
        ingest(root, store)
    root.rmdir()
    (tmp_path / "drive").rename(root)
    report = ingest(root, store)
    assert (report.generation, report.unchanged) == (1, 2)


def test_a_store_may_be_emptied_on_purpose_and_is_filled_again(root: Path, store: Path) -> None:
    unmount(root)
    assert ingest(root, store, allow_empty=True).removed == 2
    assert documents(store) == []
    assert ingest(root, store).generation == 2
    write_corpus(root, PAGES)
    assert ingest(root, store).added == 2


def test_a_folder_that_holds_other_files_is_believed(root: Path, store: Path) -> None:
    unmount(root)
    write_corpus(root, {"logo.png": b"\x89PNG\r\n"})
    assert ingest(root, store).removed == 2


def test_of_several_folders_only_the_emptied_one_stays_as_it_was(
    root: Path, tmp_path: Path
) -> None:
    other, store = write_corpus(tmp_path / "other", {"c.md": PAGES["a.md"]}), tmp_path / "store"
    ingest(root, store, name="docs")
    ingest(other, store, name="other")
    unmount(root)
    (other / "c.md").unlink()
    write_corpus(other, {"d.md": PAGES["a.md"]})
    (sentence,) = ingest(None, store).missing
    assert "docs' of the corpus 'docs' holds nothing to read any more" in sentence
    assert documents(store) == ["docs/a.md", "docs/sub/b.md", "other/d.md"]
    with pytest.raises(CorpusEmptied, match="corpus 'docs'"):
        ingest(other, store, CutSettings(max_chars=300), name="other")
    assert ingest(None, store, allow_empty=True).missing == ()
    assert documents(store) == ["other/d.md"]


def test_a_look_at_the_store_tells_of_it(root: Path, store: Path) -> None:
    unmount(root)
    state = store_state(store)
    assert "holds nothing to read any more" in state.problems[0]
    assert state.gone == 0
