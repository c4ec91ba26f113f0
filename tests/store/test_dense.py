"""The dense index finds what comparing every vector finds, and only what it was given."""

import json
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.errors import StoreError
from contextpull.store import dense
from contextpull.store.dense import (
    DenseIndex,
    DenseWriter,
    new_manifest,
    read_manifest,
    remove_dense,
)
from tests.properties import same_every_time

Vectors = dict[int, Any]


def random_vectors(numbers: Sequence[int], dimensions: int = 24, seed: int = 1) -> Vectors:
    """A vector of length 1 for each number, around a few centres, as those of texts are."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((12, dimensions))
    rows = centres[chance.integers(12, size=len(numbers))]
    rows = rows + 0.7 * chance.standard_normal(rows.shape)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return dict(zip(numbers, rows.astype(np.float32), strict=True))


def write(folder: Path, vectors: Vectors, generation: int = 1, **other: Any) -> list[int]:
    """Make the index hold these vectors and no others; the numbers it was given anew."""
    made_of = new_manifest("model", "f" * 16, "numbering", generation)._replace(**other)
    writer = DenseWriter(folder, list(vectors), made_of)
    if writer.is_afresh and vectors:
        writer.train(np.stack([vectors[number] for number in writer.sample]))
    if writer.missing:
        writer.add(writer.missing, np.stack([vectors[number] for number in writer.missing]))
    writer.commit()
    return writer.missing


def brute_force(vectors: Vectors, query: Any, limit: int) -> list[int]:
    cosines = {number: float(np.dot(vector, query)) for number, vector in vectors.items()}
    return sorted(cosines, key=lambda number: -cosines[number])[:limit]


def found(index: DenseIndex, query: Any, limit: int, **how: Any) -> list[int]:
    return [near.number for near in index.search(query, limit, **how)]


def assert_exact(folder: Path, vectors: Vectors, limit: int = 10) -> None:
    index = DenseIndex(folder)
    for query in random_vectors(range(20), len(next(iter(vectors.values()))), seed=2).values():
        assert found(index, query, limit, exact=True) == brute_force(vectors, query, limit)


@pytest.fixture
def many_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 201 vectors on there are lists."""
    monkeypatch.setattr(dense, "FLAT_UP_TO", 200)


@same_every_time(60)
@given(st.data())
def test_few_vectors_are_compared_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    numbers = data.draw(st.lists(st.integers(1, 5_000), min_size=1, max_size=60, unique=True))
    dimensions = data.draw(st.integers(1, 40))
    vectors = random_vectors(numbers, dimensions, seed=len(numbers))
    folder = tmp_path_factory.mktemp("dense")
    write(folder, vectors)
    query = random_vectors([0], dimensions, seed=99)[0]
    limit = data.draw(st.integers(1, 80))
    near = DenseIndex(folder).search(query, limit)
    cosines = {number: float(np.dot(vectors[number], query)) for number in numbers}
    assert len(near) == min(limit, len(numbers))
    assert [each.cosine for each in near] == sorted((each.cosine for each in near), reverse=True)
    for each, number in zip(near, brute_force(vectors, query, limit), strict=True):
        assert each.cosine == pytest.approx(cosines[each.number], abs=1e-5)
        assert each.cosine == pytest.approx(cosines[number], abs=1e-5)


@pytest.mark.usefixtures("many_are_few")
def test_of_many_vectors_nearly_all_that_are_close_are_found(tmp_path: Path) -> None:
    vectors = random_vectors(range(10, 30_010, 10))
    write(tmp_path, vectors)
    index = DenseIndex(tmp_path)
    queries = random_vectors(range(100), seed=3)
    shares = [
        len(set(found(index, query, 10)) & set(brute_force(vectors, query, 10))) / 10
        for query in queries.values()
    ]
    assert np.mean(shares) > 0.9
    assert index.manifest.trained_on == len(vectors)
    assert_exact(tmp_path, vectors)


@pytest.mark.parametrize("count", [150, 2_000])
@pytest.mark.usefixtures("many_are_few")
def test_within_some_sections_all_of_them_are_compared(tmp_path: Path, count: int) -> None:
    vectors = random_vectors(range(1, count + 1))
    write(tmp_path, vectors)
    index = DenseIndex(tmp_path)
    within = [range(5, 40), range(90, 90), range(101, 140), range(count - 1, count + 500)]
    inside = {n: vectors[n] for each in within for n in each if n in vectors}
    for query in random_vectors(range(10), seed=4).values():
        for limit in (5, 1_000):
            assert found(index, query, limit, within=within) == brute_force(inside, query, limit)
    assert found(index, query, 5, within=[]) == []
    assert found(index, query, 5, within=[range(count + 1, count + 9)]) == []


def test_nothing_is_close_to_a_vector_of_zeros(tmp_path: Path) -> None:
    write(tmp_path, random_vectors(range(50)))
    assert DenseIndex(tmp_path).search(np.zeros(24, dtype=np.float32), 10) == []


def test_a_query_of_another_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, random_vectors(range(50)))
    with pytest.raises(StoreError, match=r"The query has 12 dimensions, the sections 24: "):
        DenseIndex(tmp_path).search(random_vectors([0], 12)[0], 10)


@pytest.mark.parametrize("count", [100, 1_000])
@pytest.mark.usefixtures("many_are_few")
def test_only_what_is_new_is_added_and_what_is_gone_is_removed(tmp_path: Path, count: int) -> None:
    vectors = random_vectors(range(count))
    assert write(tmp_path, vectors) == list(range(count))
    for generation in range(2, 8):
        gone = list(vectors)[:: 7 + generation]
        new = random_vectors(range(count * generation, count * generation + 20), seed=generation)
        vectors = {n: each for n, each in vectors.items() if n not in gone} | new
        assert write(tmp_path, vectors, generation) == list(new)
        assert_exact(tmp_path, vectors)
        assert read_manifest(tmp_path).generation == generation
        assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.usefixtures("many_are_few")
def test_lists_come_with_many_and_go_with_few_and_are_found_anew_by_far_more(
    tmp_path: Path,
) -> None:
    every = random_vectors(range(900))
    trained = []
    sizes = (150, 200, 210, 300, 421, 500, 900, 190)
    for generation, count in enumerate(sizes, start=1):
        vectors = {number: every[number] for number in range(count)}
        write(tmp_path, vectors, generation)
        assert_exact(tmp_path, vectors)
        trained.append(read_manifest(tmp_path).trained_on)
    assert trained == [0, 0, 210, 210, 421, 421, 900, 0]


@pytest.mark.parametrize(
    "other", [{"numbering": "other"}, {"fingerprint": "e" * 16}, {"model": "other"}]
)
def test_vectors_of_other_numbers_or_models_are_not_taken_over(
    tmp_path: Path, other: dict[str, str]
) -> None:
    write(tmp_path, random_vectors(range(50)))
    vectors = random_vectors(range(50), seed=8)
    assert write(tmp_path, vectors, 1, **other) == list(range(50))
    assert_exact(tmp_path, vectors)
    assert len(list(tmp_path.iterdir())) == 1


def test_an_index_that_is_as_it_should_be_is_not_written_again(tmp_path: Path) -> None:
    write(tmp_path, random_vectors(range(50)))
    (before,) = tmp_path.glob("*/*.faiss")
    inode = before.stat().st_ino
    assert write(tmp_path, random_vectors(range(50))) == []
    assert before.stat().st_ino == inode


def test_an_index_that_was_as_it_should_be_and_went_since_is_written(tmp_path: Path) -> None:
    vectors = random_vectors(range(50))
    write(tmp_path, vectors)
    made_of = new_manifest("model", "f" * 16, "numbering", 1)
    writer = DenseWriter(tmp_path, list(vectors), made_of)
    assert writer.missing == []
    remove_dense(tmp_path)
    writer.commit()
    assert_exact(tmp_path, vectors)


def test_without_sections_there_is_no_index(tmp_path: Path) -> None:
    folder = tmp_path / "dense"
    write(folder, {})
    with pytest.raises(StoreError, match="There is no dense index"):
        DenseIndex(folder)
    write(folder, random_vectors(range(5)))
    write(folder, {}, 2)
    with pytest.raises(StoreError, match=r"There is no dense index .*: contextpull ingest makes"):
        read_manifest(folder)


def test_a_reader_keeps_what_it_has_open(tmp_path: Path) -> None:
    vectors = random_vectors(range(50))
    write(tmp_path, vectors)
    index = DenseIndex(tmp_path)
    write(tmp_path, random_vectors(range(100, 120), seed=5), 2)
    query = random_vectors([0], seed=6)[0]
    assert found(index, query, 10) == brute_force(vectors, query, 10)


def test_a_reader_that_comes_while_an_index_is_replaced_gets_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, random_vectors(range(50)))
    vectors = random_vectors(range(100, 120), seed=5)
    newest = dense._newest

    def replaced(folder: Path) -> Any:
        """The writer is faster than the reader, between its look at the manifest and the index."""
        seen = newest(folder)
        monkeypatch.setattr(dense, "_newest", newest)
        write(folder, vectors, 2)
        return seen

    monkeypatch.setattr(dense, "_newest", replaced)
    index = DenseIndex(tmp_path)
    assert index.manifest.generation == 2
    assert sorted(found(index, random_vectors([0])[0], 50)) == list(vectors)


def test_threads_search_one_index_beside_each_other(tmp_path: Path) -> None:
    vectors = random_vectors(range(500))
    write(tmp_path, vectors)
    index = DenseIndex(tmp_path)
    queries = list(random_vectors(range(200), seed=7).values())
    with ThreadPoolExecutor(8) as pool:
        rankings = list(pool.map(lambda query: found(index, query, 5), queries))
    assert rankings == [found(index, query, 5) for query in queries]


@pytest.mark.usefixtures("many_are_few")
def test_the_same_vectors_make_the_same_index(tmp_path: Path) -> None:
    vectors = random_vectors(range(1_000))
    for name in ("one", "other"):
        write(tmp_path / name, vectors)
    one, other = DenseIndex(tmp_path / "one"), DenseIndex(tmp_path / "other")
    for query in random_vectors(range(50), seed=9).values():
        assert one.search(query, 20) == other.search(query, 20)


@pytest.mark.usefixtures("many_are_few")
def test_training_with_less_than_the_engine_likes_says_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, random_vectors(range(1_000)))
    assert capfd.readouterr() == ("", "")


def manifest_of(folder: Path) -> Path:
    (path,) = folder.glob("*/manifest.json")
    return path


def index_of(folder: Path) -> Path:
    (path,) = folder.glob("*/index.faiss")
    return path


def changed_manifest(folder: Path, **values: Any) -> None:
    path = manifest_of(folder)
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no index": lambda folder: index_of(folder).unlink(),
    "empty index": lambda folder: index_of(folder).write_bytes(b""),
    "nonsense": lambda folder: index_of(folder).write_bytes(b"nonsense" * 999),
    "cut short": lambda folder: index_of(folder).write_bytes(index_of(folder).read_bytes()[:-9]),
    "half": lambda folder: index_of(folder).write_bytes(index_of(folder).read_bytes()[:4_000]),
    "too few": lambda folder: changed_manifest(folder, vectors=99),
    "no manifest": lambda folder: manifest_of(folder).unlink(),
    "no JSON": lambda folder: manifest_of(folder).write_bytes(b"\xff{"),
    "other JSON": lambda folder: manifest_of(folder).write_text("[1]"),
    "newer format": lambda folder: changed_manifest(folder, format=99, more=True),
    "no folder": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_said_and_the_next_writer_begins_anew(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    vectors = random_vectors(range(100))
    folder = tmp_path / "dense"
    write(folder, vectors)
    damage(folder)
    with pytest.raises(StoreError, match=r"dense index .* contextpull ingest makes it"):
        DenseIndex(folder)
    assert write(folder, vectors, 2) == list(vectors)
    assert_exact(folder, vectors)


def test_what_a_killed_writer_left_is_passed_over_and_cleared_away(tmp_path: Path) -> None:
    vectors = random_vectors(range(50))
    write(tmp_path, vectors)
    (made,) = tmp_path.iterdir()
    shutil.copytree(made, tmp_path / "9999999999999999-7.123.new")
    assert DenseIndex(tmp_path).folder == made
    write(tmp_path, vectors, 2)
    assert len(list(tmp_path.iterdir())) == 1


def test_vectors_of_another_length_are_refused_in_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, random_vectors(range(50)))
    more = random_vectors(range(60), dimensions=32)
    with pytest.raises(StoreError, match=r"vectors of 32 numbers, and gave the store some of 24"):
        write(tmp_path, more, 2)
    assert DenseIndex(tmp_path).manifest.generation == 1


def test_an_index_on_a_disk_that_cannot_be_written_to_is_searched(
    tmp_path: Path, read_only: Callable[[Path], Path]
) -> None:
    vectors = random_vectors(range(50))
    write(tmp_path / "dense", vectors)
    assert_exact(read_only(tmp_path / "dense"), vectors)
