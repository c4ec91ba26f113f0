"""Vectors follow the sections of a store: all of them, each its own, and no more work than need."""

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.errors import MissingExtra, ModelUnavailable, StoreBusy, StoreError, StoreNotFound
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.store import dense
from contextpull.store.database import FILE
from contextpull.store.embedding import embed_store, embedded_text, forget_vectors, keep_vectors
from contextpull.store.ingest import ingest, writing
from tests.embedders import (
    Interrupted,
    Watched,
    assert_vectors_are_right,
    embedded,
    snapshot_of,
    update,
    without,
)
from tests.store.test_killed_ingest import die


def page(name: str, state: int = 0) -> str:
    return (
        f"# Page {name}\n\nWhat the harbour master of {name} wrote in year {state}, in full.\n\n"
        f"## Tides\n\nAt {name} the tide is {state} hours later than it was the year before.\n"
    )


PAGES = {f"{name}.md": page(name) for name in ("brest", "cork", "delft", "emden", "faro")}


@pytest.fixture
def embedder(tiny_embedder: Path) -> Embedder:
    return open_embedder(str(tiny_embedder))


def test_every_section_gets_the_vector_of_its_text(tmp_path: Path, embedder: Embedder) -> None:
    report = embedded(tmp_path, PAGES, embedder)
    assert (report.model, report.sections, report.made) == (embedder.name, 10, 10)
    assert report.seconds >= 0
    assert_vectors_are_right(tmp_path / "store", embedder)
    snapshot = snapshot_of(tmp_path / "store")
    assert snapshot.keeps_vectors
    assert snapshot.dense.manifest.model == embedder.name


def test_only_sections_that_are_new_are_embedded(tmp_path: Path, embedder: Embedder) -> None:
    embedded(tmp_path, PAGES, embedder)
    pages = {**PAGES, "cork.md": page("cork", 1), "ghent.md": page("ghent")}
    del pages["emden.md"]
    watched = Watched(embedder)
    report = embedded(tmp_path, pages, watched)
    assert (report.sections, report.made) == (10, 4)
    assert [text.splitlines()[0] for text in watched.given] == [
        *("# Page cork", "Page cork", "# Page ghent", "Page ghent"),
    ]
    assert_vectors_are_right(tmp_path / "store", embedder)


def test_a_store_that_changed_again_and_again_is_as_one_made_afresh(
    tmp_path: Path, embedder: Embedder
) -> None:
    chance = random.Random(3)
    pages = dict(PAGES)
    for state in range(1, 9):
        for name in chance.sample(sorted(pages), 2):
            pages[name] = page(name, state)
        del pages[chance.choice(sorted(pages))]
        pages[f"new{state}.md"] = page(f"new{state}", state)
        embedded(tmp_path / "changed", pages, embedder)
    embedded(tmp_path / "fresh", pages, embedder)
    assert_vectors_are_right(tmp_path / "changed" / "store", embedder)
    query = embedder.embed_query("when does the tide come in")
    rankings = []
    for name in ("changed", "fresh"):
        snapshot = snapshot_of(tmp_path / name / "store")
        near = snapshot.dense.search(query, 100)
        addresses = snapshot.database.addresses([each.number for each in near])
        rankings.append(sorted((each.cosine, addresses[each.number].id) for each in near))
    assert rankings[0] == rankings[1]


def test_a_second_store_with_the_same_texts_embeds_none(tmp_path: Path, embedder: Embedder) -> None:
    watched = Watched(embedder)
    for name in ("one", "other"):
        embedded(tmp_path / name, PAGES, watched, cache=tmp_path / "cache")
        assert_vectors_are_right(tmp_path / name / "store", embedder)
    assert len(watched.given) == 10


def test_an_interrupted_embedding_goes_on_where_it_stopped(
    tmp_path: Path, embedder: Embedder
) -> None:
    pages = {f"{n:03}.md": page(f"port{n}") for n in range(150)}
    stopped = Watched(embedder, stops_after=200)
    with pytest.raises(Interrupted):
        embedded(tmp_path, pages, stopped, cache=tmp_path / "cache")
    snapshot = snapshot_of(tmp_path / "store")
    assert not snapshot.keeps_vectors
    assert snapshot.index.search("harbour", 5)
    again = Watched(embedder)
    embedded(tmp_path, pages, again, cache=tmp_path / "cache")
    assert len(stopped.given) > 130
    assert len(stopped.given) + len(again.given) == 300
    assert_vectors_are_right(tmp_path / "store", embedder)


def test_progress_counts_sections_to_the_last(tmp_path: Path, embedder: Embedder) -> None:
    pages = {f"{n:03}.md": page(f"port{n}") for n in range(100)}
    update(tmp_path, pages)
    seen: list[tuple[int, int]] = []
    embed_store(
        tmp_path / "store", embedder, cache=None, progress=lambda *counts: seen.append(counts)
    )
    assert seen == sorted(seen)
    assert seen[-1] == (200, 200)


def test_others_may_write_while_vectors_are_made(tmp_path: Path, embedder: Embedder) -> None:
    update(tmp_path, PAGES)
    later = {**PAGES, "cork.md": page("cork", 1), "ghent.md": page("ghent")}
    watched = Watched(embedder, meanwhile=lambda: update(tmp_path, later))
    embed_store(tmp_path / "store", watched, cache=None)
    snapshot = snapshot_of(tmp_path / "store")
    assert "ghent.md" in snapshot.documents
    assert snapshot.dense.manifest.generation == snapshot.generation == 2
    assert_vectors_are_right(tmp_path / "store", embedder)


def test_an_index_that_is_made_anew_embeds_nothing_while_others_wait(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "FLAT_UP_TO", 32)
    pages = {f"{n}.md": page(f"port{n}") for n in range(16)}
    embedded(tmp_path, pages, embedder)  # nothing keeps its vectors but the store
    pages["ghent.md"] = page("ghent")

    def can_write() -> None:
        with writing(tmp_path / "store"):
            pass

    report = embedded(tmp_path, pages, Watched(embedder, meanwhile=can_write))
    assert report.made == 34
    assert snapshot_of(tmp_path / "store").dense.manifest.trained_on == 34
    assert_vectors_are_right(tmp_path / "store", embedder)


def test_without_faiss_nothing_is_embedded_in_vain(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, nothing in without("faiss").items():
        monkeypatch.setitem(sys.modules, name, nothing)
    watched = Watched(embedder)
    with pytest.raises(MissingExtra):
        embedded(tmp_path, PAGES, watched)
    assert watched.given == []
    assert not snapshot_of(tmp_path / "store").keeps_vectors


def test_the_store_of_a_writer_is_busy(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(tmp_path, PAGES)
    monkeypatch.setattr("contextpull.store.ingest.WAIT_FOR_READERS", 0.01)
    with writing(tmp_path / "store"), pytest.raises(StoreBusy):
        embed_store(tmp_path / "store", embedder, cache=None)


def test_without_a_store_there_is_nothing_to_embed(tmp_path: Path, embedder: Embedder) -> None:
    with pytest.raises(StoreNotFound):
        embed_store(tmp_path / "store", embedder, cache=None)
    assert not (tmp_path / "store").exists()


def test_a_store_without_sections_has_no_vectors_and_loads_no_model_again(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    update(tmp_path, {"empty.md": ""})
    report = keep_vectors(tmp_path / "store", model=str(tiny_embedder), cache=None)
    assert report
    assert report.sections == 0
    assert keep_vectors(tmp_path / "store", model=None, cache=None) is None
    update(tmp_path, PAGES)
    keep_vectors(tmp_path / "store", model=None, cache=None)
    update(tmp_path, {"empty.md": ""})
    keep_vectors(tmp_path / "store", model=None, cache=None)
    with pytest.raises(StoreError, match="no dense index"):
        _ = snapshot_of(tmp_path / "store").dense


@pytest.mark.parametrize("cause", ["cut anew", "damaged"])
def test_no_section_gets_the_vector_that_another_had_under_its_number(
    tmp_path: Path, embedder: Embedder, cause: str
) -> None:
    embedded(tmp_path, PAGES, embedder)
    root, store = tmp_path / "docs", tmp_path / "store"
    (root / "brest.md").write_text("# Brest\n\nNothing is as it was in the harbour of Brest.\n")
    if cause == "cut anew":
        ingest(root, store, CutSettings(heading_depth=1, min_chars=0))
    else:
        (store / FILE).write_bytes(b"no database")
        ingest(root, store)
    snapshot = snapshot_of(store)
    assert snapshot.index.search("Nothing is as it was", 1)
    with pytest.raises(StoreError, match=r"behind|keeps no vectors"):
        _ = snapshot.dense
    embed_store(store, embedder, cache=None)
    assert_vectors_are_right(store, embedder)


def test_a_file_that_changed_behind_its_size_and_time_gets_its_own_vector(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    root, store = tmp_path / "docs", tmp_path / "store"
    embedder = open_embedder(str(tiny_embedder))
    embedded(tmp_path, PAGES, embedder)
    ingest(root, store)
    (root / "cork.md").write_text(PAGES["cork.md"].replace("harbour master", "lighthouse boy"))
    ingest(root, store, verify=True)
    assert snapshot_of(store).index.search("lighthouse", 1)
    keep_vectors(store, model=None, cache=None)
    assert_vectors_are_right(store, embedder)


def test_between_an_ingest_and_its_vectors_what_is_old_is_found_by_meaning(
    tmp_path: Path, embedder: Embedder
) -> None:
    embedded(tmp_path, PAGES, embedder)
    update(tmp_path, {**PAGES, "cork.md": page("cork", 1)})
    snapshot = snapshot_of(tmp_path / "store")
    near = snapshot.dense.search(embedder.embed_query("harbour master of Faro"), 100)
    addresses = snapshot.database.addresses([each.number for each in near])
    assert {each.path for each in addresses.values()} == PAGES.keys() - {"cork.md"}


def test_the_recorded_model_is_kept_up_and_nothing_is_loaded_in_vain(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    model = shutil.copytree(tiny_embedder, tmp_path / "model")
    store = tmp_path / "store"
    update(tmp_path, PAGES)
    assert keep_vectors(store, model=None, cache=None) is None
    first = keep_vectors(store, model=str(model), cache=None)
    assert first
    assert first.made == 10
    model.rename(tmp_path / "away")
    assert keep_vectors(store, model=None, cache=None) is None
    update(tmp_path, {**PAGES, "cork.md": page("cork", 1)})
    with pytest.raises(ModelUnavailable):
        keep_vectors(store, model=None, cache=None)
    (tmp_path / "away").rename(model)
    later = keep_vectors(store, model=None, cache=None)
    assert later
    assert later.made == 2
    assert_vectors_are_right(store, open_embedder(str(model)))


def test_a_model_that_changed_in_its_place_makes_all_vectors_anew(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    model = shutil.copytree(tiny_embedder, tmp_path / "model")
    update(tmp_path, PAGES)
    keep_vectors(tmp_path / "store", model=str(model), cache=tmp_path / "cache")
    (model / "tokenizer_config.json").write_text('{"model_max_length": 12}')
    report = keep_vectors(tmp_path / "store", model=str(model), cache=tmp_path / "cache")
    assert report
    assert report.made == 10
    assert_vectors_are_right(tmp_path / "store", open_embedder(str(model)))


def test_a_damaged_index_is_made_anew_by_the_next_ingest(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    store = tmp_path / "store"
    update(tmp_path, PAGES)
    keep_vectors(store, model=str(tiny_embedder), cache=None)
    for damage in ("unlink", "nonsense"):
        (index,) = store.glob("dense/*/index.faiss")
        if damage == "unlink":
            index.unlink()
        else:
            index.write_bytes(b"nonsense" * 999)
        with pytest.raises(StoreError, match="damaged: contextpull ingest makes it anew"):
            _ = snapshot_of(store).dense
        assert keep_vectors(store, model=None, cache=None)
        assert_vectors_are_right(store, open_embedder(str(tiny_embedder)))


def test_forgotten_vectors_are_gone_and_stay_away(tmp_path: Path, embedder: Embedder) -> None:
    store = tmp_path / "store"
    embedded(tmp_path, PAGES, embedder)
    forget_vectors(store)
    assert not (store / dense.FOLDER).exists()
    update(tmp_path, {**PAGES, "cork.md": page("cork", 1)})
    assert keep_vectors(store, model=None, cache=None) is None
    snapshot = snapshot_of(store)
    assert not snapshot.keeps_vectors
    with pytest.raises(StoreError, match="this store keeps no vectors"):
        _ = snapshot.dense


def test_vectors_that_come_later_are_seen_by_who_has_the_store_open(
    tmp_path: Path, embedder: Embedder
) -> None:
    update(tmp_path, PAGES)
    opened = open_store(tmp_path / "store")
    assert not opened.snapshot().keeps_vectors
    embed_store(tmp_path / "store", embedder, cache=None)
    assert opened.snapshot().dense.manifest.generation == 1
    embedded(tmp_path, {**PAGES, "cork.md": page("cork", 1)}, embedder)
    assert opened.snapshot().dense.manifest.generation == 2
    forget_vectors(tmp_path / "store")
    assert not opened.snapshot().keeps_vectors


def test_a_store_that_cannot_be_written_to_is_searched_by_vectors(
    tmp_path: Path, embedder: Embedder, read_only: Callable[[Path], Path]
) -> None:
    embedded(tmp_path, PAGES, embedder)
    store = read_only(tmp_path / "store")
    assert_vectors_are_right(store, embedder)
    with pytest.raises(StoreError, match="cannot be written"):
        forget_vectors(store)


def test_wherever_a_process_dies_the_next_one_brings_vectors_up_to_date(
    tmp_path: Path, tiny_embedder: Path
) -> None:
    embedder = open_embedder(str(tiny_embedder))
    root, store = tmp_path / "docs", tmp_path / "store"
    pages = dict(PAGES)
    embedded(tmp_path, pages, embedder)
    pages["cork.md"] = page("cork", 1)
    (root / "cork.md").write_text(pages["cork.md"])
    with die("events", root, store, "0") as process:
        last = int(process.communicate()[0].split()[-1])
    for state, number in enumerate(range(last, last - 24, -3), start=2):
        (root / "cork.md").write_text(page("cork", state))
        with die("events", root, store, str(number)) as process:
            process.communicate()
        assert snapshot_of(store).index.search("harbour", 5)
        ingest(root, store)
        keep_vectors(store, model=None, cache=None)
        assert_vectors_are_right(store, embedder)
        assert not list(store.rglob("*.new"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "# Cork\n\nA harbour of some size.\n\n## Tides\n\nThey are high there.\n",
            ["# Cork\n\nA harbour of some size.\n\n", "Cork\n## Tides\n\nThey are high there.\n"],
        ),
        ("No heading stands above this.\n", ["No heading stands above this.\n"]),
        ("Cork\n====\n\nA heading of two lines.\n", ["Cork\n====\n\nA heading of two lines.\n"]),
    ],
)
def test_a_section_is_embedded_below_the_headings_that_it_does_not_show(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    ingest_with(tmp_path, text, CutSettings(min_chars=0))
    assert texts_of(tmp_path) == expected


def test_a_part_of_a_long_section_is_embedded_below_all_its_headings(tmp_path: Path) -> None:
    sentences = "".join(f"Boat {n} came in on time.\n\n" for n in range(20))
    text = f"# Log\n\nOf all boats that came, and when they did.\n\n## May\n\n{sentences}"
    ingest_with(tmp_path, text, CutSettings(max_chars=200))
    _, first, *others = texts_of(tmp_path)
    assert first.startswith("Log\n## May\n\nBoat 0")
    assert others
    assert all(text.startswith("Log > May\nBoat ") for text in others)


def ingest_with(folder: Path, text: str, settings: CutSettings) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text(text)
    ingest(folder / "docs", folder / "store", settings)


def texts_of(folder: Path) -> list[str]:
    database = snapshot_of(folder / "store").database
    (document,) = database.documents()
    return [embedded_text(section) for section in database.sections_of(document)]
