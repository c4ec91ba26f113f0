"""Vectors are made once for each text and model, whatever happens to the file that keeps them."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from contextpull.errors import ModelUnavailable
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.store import vectors as module
from contextpull.store.vectors import VectorCache
from tests.embedders import Interrupted, Watched

TEXTS = [f"The tide of day {number} comes in at {number * 7 % 24} hours." for number in range(300)]


@pytest.fixture
def embedder(tiny_embedder: Path) -> Embedder:
    return open_embedder(str(tiny_embedder))


@contextmanager
def cache_of(folder: Path | None, embedder: Embedder) -> Iterator[VectorCache]:
    with closing(VectorCache(folder, embedder)) as cache:
        yield cache


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kept", [True, False])
def test_vectors_are_those_of_the_embedder_in_the_order_of_the_texts(
    tmp_path: Path, embedder: Embedder, kept: bool
) -> None:
    expected = embedder.embed_passages([*TEXTS[::-1], *TEXTS[:3], " "])
    with cache_of(tmp_path if kept else None, embedder) as cache:
        cache.make(TEXTS[50:150])
        found = cache.vectors([*TEXTS[::-1], *TEXTS[:3], " "])
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)


def test_no_text_has_no_vector(tmp_path: Path, embedder: Embedder) -> None:
    with cache_of(tmp_path, embedder) as cache:
        assert len(cache.vectors([])) == 0


def test_a_text_is_embedded_once_however_often_it_is_asked_for(
    tmp_path: Path, embedder: Embedder
) -> None:
    watched = Watched(embedder)
    with cache_of(tmp_path, watched) as cache:
        cache.vectors(TEXTS[:70] * 2)
        cache.make(TEXTS[:100])
    with cache_of(tmp_path, watched) as cache:
        cache.vectors(TEXTS[::-1])
    assert sorted(watched.given) == sorted(TEXTS)


def test_every_model_keeps_its_own(tmp_path: Path, embedder: Embedder) -> None:
    first, second = Watched(embedder), Watched(embedder, fingerprint="0123456789abcdef")
    for watched in (first, second, first, second):
        with cache_of(tmp_path, watched) as cache:
            cache.make(TEXTS[:10])
    assert first.given == second.given == TEXTS[:10]
    assert len(files_in(tmp_path)) == 2


def test_what_was_made_before_an_interrupt_is_not_made_again(
    tmp_path: Path, embedder: Embedder
) -> None:
    stopped = Watched(embedder, stops_after=150)
    with cache_of(tmp_path, stopped) as cache, pytest.raises(Interrupted):
        cache.make(TEXTS)
    assert len(stopped.given) > 80
    again = Watched(embedder)
    with cache_of(tmp_path, again) as cache:
        cache.make(TEXTS)
    assert stopped.given + again.given == TEXTS


def test_progress_counts_what_was_there_and_ends_with_all(
    tmp_path: Path, embedder: Embedder
) -> None:
    seen: list[tuple[int, int]] = []
    with cache_of(tmp_path, embedder) as cache:
        cache.make(TEXTS[:100])
        cache.make(TEXTS, lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [len(TEXTS)] * len(seen)
    assert seen == sorted(seen)
    assert seen[0][0] > 100
    assert seen[-1][0] == len(TEXTS)


def test_two_caches_at_once_share_what_they_make(tmp_path: Path, embedder: Embedder) -> None:
    first, second = Watched(embedder), Watched(embedder)
    with cache_of(tmp_path, first) as one, cache_of(tmp_path, second) as other:
        one.make(TEXTS[:100])
        other.make(TEXTS[50:200])
        one.vectors(TEXTS[:200])
    assert first.given == TEXTS[:100]
    assert second.given == TEXTS[100:200]


def test_an_error_of_the_embedder_is_told(tmp_path: Path, embedder: Embedder) -> None:
    def fails() -> None:
        raise ModelUnavailable("gone")

    with (
        cache_of(tmp_path, Watched(embedder, meanwhile=fails)) as cache,
        pytest.raises(ModelUnavailable, match="gone"),
    ):
        cache.vectors(TEXTS)


def spoilt(path: Path, at: int) -> None:
    """Write nonsense over a file from some byte on, to its end."""
    data = path.read_bytes()
    path.write_bytes(data[:at] + b"\xa5" * (len(data) - at))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no database": lambda path: path.write_bytes(b"no database at all" * 500),
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "pages overwritten": lambda path: spoilt(path, 4096),
    "data overwritten": lambda path: spoilt(path, 30_000),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_costs_time_and_never_an_answer(
    tmp_path: Path, embedder: Embedder, damage: Callable[[Path], object]
) -> None:
    with cache_of(tmp_path, embedder) as cache:
        cache.make(TEXTS)
    (path,) = files_in(tmp_path)
    damage(path)
    expected = embedder.embed_passages(TEXTS)
    for _ in range(2):
        with cache_of(tmp_path, embedder) as cache:
            cache.make(TEXTS[:200])
            assert np.array_equal(cache.vectors(TEXTS), expected)
    last = Watched(embedder)
    with cache_of(tmp_path, last) as cache:  # by now it is a sound file again
        assert np.array_equal(cache.vectors(TEXTS), expected)
    assert last.given == []


def test_a_file_in_the_place_of_the_folder_is_left_alone(
    tmp_path: Path, embedder: Embedder
) -> None:
    (tmp_path / "file").write_text("in the way")
    watched = Watched(embedder)
    with cache_of(tmp_path / "file" / "vectors", watched) as cache:
        cache.make(TEXTS)
        assert len(cache.vectors(TEXTS)) == len(TEXTS)
    assert watched.given == TEXTS
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_that_cannot_be_written_to_still_gives_what_it_holds(
    tmp_path: Path, embedder: Embedder, read_only: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "cache"
    with cache_of(folder, embedder) as cache:
        cache.make(TEXTS[:100])
    watched = Watched(embedder)
    with cache_of(read_only(folder), watched) as cache:
        assert np.array_equal(cache.vectors(TEXTS), embedder.embed_passages(TEXTS))
    assert watched.given == TEXTS[100:]


def test_a_file_that_another_process_locks_for_long_is_not_waited_for_to_the_end(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.01)
    with cache_of(tmp_path, embedder) as opened:
        opened.make(TEXTS[:64])
        (path,) = files_in(tmp_path)
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with cache_of(tmp_path, embedder) as late:
                for cache in (opened, late):
                    assert np.array_equal(cache.vectors(TEXTS), embedder.embed_passages(TEXTS))


def test_a_full_disk_is_no_hindrance(small_disk: Path, embedder: Embedder) -> None:
    (small_disk / "filler").write_bytes(bytes(os.statvfs(small_disk).f_bavail * 4096 - 40_000))
    watched = Watched(embedder)
    with cache_of(small_disk / "cache", watched) as cache:
        cache.make(TEXTS)
        assert np.array_equal(cache.vectors(TEXTS), embedder.embed_passages(TEXTS))
    assert watched.given == TEXTS


def test_vectors_of_another_length_are_no_match_for_those_that_are_kept(
    tmp_path: Path, embedder: Embedder
) -> None:
    class Longer(Watched):
        """An endpoint whose model became another one behind its name."""

        def embed_passages(self, texts: object) -> object:
            made = super().embed_passages(texts)  # type: ignore[arg-type]
            return np.ascontiguousarray(np.hstack([made, made]) / np.float32(np.sqrt(2)))

    with cache_of(tmp_path, embedder) as cache:
        cache.make(TEXTS[:2])
    with (
        cache_of(tmp_path, Longer(embedder)) as cache,
        pytest.raises(ModelUnavailable, match=r"vectors of 128 numbers and of 64"),
    ):
        cache.vectors(TEXTS[:4])
