"""The modes of search: what each promises, whatever its figures are tuned to."""

import random
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import CutSettings, Mode
from contextpull.errors import ModelUnavailable
from contextpull.models.embedding import open_embedder
from contextpull.retrieval import models as models_module
from contextpull.retrieval.models import Models
from contextpull.retrieval.ranking import RERANKED, combined, reciprocal_rank_fusion
from contextpull.retrieval.search import SearchResult, search
from contextpull.store.embedding import embedded_text, keep_vectors
from contextpull.store.ingest import ingest
from contextpull.store.opening import Snapshot
from contextpull.tools import ToolSession
from tests.conftest import Files
from tests.embedders import Watched, embedded, snapshot_of, update, without
from tests.models.conftest import Endpoint, counted
from tests.properties import same_every_time

MODES: tuple[Mode, ...] = get_args(Mode)
WITH_VECTORS = [mode for mode in MODES if mode != "lexical"]
WORDS = ["tide", "harbour", "lantern", "anchor", "gull", "rope", "sail", "storm", "pier", "fog"]


def prose(number: int) -> str:
    chance = random.Random(number)
    return " ".join(chance.choices(WORDS, k=chance.randint(12, 40))) + f" entry{number}."


LOG = {f"{n % 3}/{n:03}.md": f"# Entry {n}\n\n{prose(n)}\n" for n in range(90)}
PORTS = {
    "guide/lamp.md": "# Lamp\n\nThe lighthouse keeper lights the lamp before it gets dark.\n",
    "guide/boats.md": "# Boats\n\nA boat must keep clear of the mouth of the harbour at night.\n",
    "log/bread.md": "# Bread\n\nYeast makes bread rise, and salt slows that down a little.\n",
}


@pytest.fixture
def models(tiny_reranker: Path) -> Models:
    return Models(reranker=str(tiny_reranker))


@pytest.fixture
def hybrid(tmp_path: Path, tiny_embedder: Path) -> Callable[..., Snapshot]:
    """A store of these files and their vectors, opened; by its name it may be changed."""

    def make(files: Files, name: str = "one") -> Snapshot:
        update(tmp_path / name, files)
        store = tmp_path / name / "store"
        keep_vectors(store, model=str(tiny_embedder), cache=tmp_path / "cache")
        return snapshot_of(store)

    return make


def ids(result: SearchResult) -> list[str]:
    return [hit.section.id for hit in result.hits]


def everything(snapshot: Snapshot, query: str, size: int, **how: Any) -> list[tuple[str, float]]:
    """All hits, page by page, until a page says that there are no more."""
    hits: list[tuple[str, float]] = []
    while True:
        page = search(snapshot, query, limit=size, offset=len(hits), **how)
        hits += [(hit.section.id, hit.score) for hit in page.hits]
        if not page.has_more:
            return hits
        assert len(page.hits) == size


def test_vectors_find_what_no_word_matches(hybrid: Callable[..., Snapshot], models: Models) -> None:
    snapshot = hybrid(PORTS)
    assert ids(search(snapshot, "lighthousekeeper", mode="lexical", models=models)) == []
    for mode in WITH_VECTORS:
        result = search(snapshot, "lighthousekeeper", mode=mode, models=models)
        assert ids(result)[0] == "guide/lamp.md#lamp"
        assert result.notes == ()


def test_a_store_with_vectors_is_searched_by_words_and_vectors_unless_told_otherwise(
    hybrid: Callable[..., Snapshot], models: Models, tmp_path: Path
) -> None:
    snapshot = hybrid(PORTS)
    query = "lights of the harbour"
    assert search(snapshot, query, models=models) == search(
        snapshot, query, models=models, mode="hybrid"
    )
    update(tmp_path / "plain", PORTS)
    plain = snapshot_of(tmp_path / "plain" / "store")
    by_words = search(plain, query, mode="lexical")
    assert search(plain, query) == by_words
    assert ids(by_words) == ids(search(snapshot, query, mode="lexical", models=models))


def test_dense_ranks_by_cosine(
    hybrid: Callable[..., Snapshot], models: Models, tiny_embedder: Path
) -> None:
    snapshot = hybrid(LOG)
    query = "storm and fog at the pier"
    embedder = open_embedder(str(tiny_embedder))
    numbers = [n for each in snapshot.documents.values() for n in each.section_numbers]
    sections = snapshot.database.sections(numbers)
    vectors = embedder.embed_passages([embedded_text(section) for section in sections])
    cosines = vectors @ embedder.embed_query(query)
    expected = [sections[at].id for at in np.argsort(-cosines)]
    found = everything(snapshot, query, 50, mode="dense", models=models)
    assert [each for each, _ in found] == expected
    assert [score for _, score in found] == pytest.approx(sorted(cosines)[::-1], abs=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["storm fog", '"storm"', '"fog" anchor entry7', "entry40"])
def test_pages_are_one_long_ranking_without_repeats(
    hybrid: Callable[..., Snapshot], models: Models, mode: Mode, query: str
) -> None:
    snapshot = hybrid(LOG)
    long = everything(snapshot, query, 50, mode=mode, models=models)
    assert len({each for each, _ in long}) == len(long) > 0
    for size in (1, 7, 20):
        assert everything(snapshot, query, size, mode=mode, models=models) == long


@pytest.mark.parametrize("mode", MODES)
def test_paths_restrict_every_mode_to_the_best_of_those_documents(
    hybrid: Callable[..., Snapshot], models: Models, mode: Mode
) -> None:
    snapshot = hybrid(LOG)
    found = everything(
        snapshot, "storm fog", 50, paths=["1/", "2/005.md"], mode=mode, models=models
    )
    paths = {each.partition("#")[0] for each, _ in found}
    assert paths <= {path for path in LOG if path.startswith("1/")} | {"2/005.md"}
    if mode == "dense":
        every = everything(snapshot, "storm fog", 50, mode=mode, models=models)
        assert found == [each for each in every if each[0].partition("#")[0] in paths]
        assert len(paths) == 31
    (only,) = search(snapshot, "fog", paths=["2/005.md"], mode=mode, models=models).hits
    assert only.section.path == "2/005.md"


@pytest.mark.parametrize("mode", MODES)
def test_a_search_repeats_and_by_vectors_finds_in_a_store_that_grew_what_it_does_in_a_fresh_one(
    hybrid: Callable[..., Snapshot], models: Models, mode: Mode
) -> None:
    for state in range(3):
        hybrid({path: f"{text}\nOf state {state}.\n" for path, text in LOG.items()}, "grown")
        hybrid(dict(list(LOG.items())[state::4]), "grown")
    grown, fresh = hybrid(LOG, "grown"), hybrid(LOG, "fresh")
    for query in ("storm fog lantern", '"anchor" gull', "entry31", "pier"):
        found = [
            everything(snapshot, query, 20, mode=mode, models=models)
            for snapshot in (grown, grown, fresh)
        ]
        assert found[0] == found[1]
        assert found[1] == found[2] or mode != "dense"  # what is gone counts among words for a time


@pytest.mark.parametrize("mode", MODES)
def test_sections_with_the_same_text_are_one_hit_that_names_the_others(
    hybrid: Callable[..., Snapshot], models: Models, mode: Mode
) -> None:
    text = "# Notice\n\nThe bridge over the channel is closed until further notice.\n"
    snapshot = hybrid({**PORTS, **{f"copy/{n}.md": text for n in range(40)}})
    for size in (1, 3, 50):
        result = search(snapshot, "bridge closed", limit=size, mode=mode, models=models)
        assert ids(result)[0] == "copy/0.md#notice"
        assert len(result.hits[0].copies) == 39
        assert not [each for each in ids(result)[1:] if each.startswith("copy/")]


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "rerank"])
def test_what_holds_a_quoted_phrase_comes_first(
    hybrid: Callable[..., Snapshot], models: Models, mode: Mode
) -> None:
    files = {
        **{
            f"near{n}.md": f"# {n}\n\nThe gate is tidal {n}, tidal, and a gate.\n"
            for n in range(30)
        },
        "far.md": f"# Far\n\n{'Ropes and anchors and sails. ' * 30} A tidal gate is there too.\n",
    }
    snapshot = hybrid(files)
    result = search(snapshot, '"tidal gate" tidal gate near', limit=50, mode=mode, models=models)
    assert ids(result)[0] == "far.md#far"
    assert [hit.has_phrases for hit in result.hits] == [True] + [False] * 30
    only = search(snapshot, '"tidal gate"', limit=50, mode=mode, models=models)
    assert ids(only) == ["far.md#far"]
    assert ids(search(snapshot, '"gate tidal ropes"', mode=mode, models=models)) == []


@pytest.mark.parametrize("mode", WITH_VECTORS)
@pytest.mark.parametrize("query", [" ", "\n\t", '" "', "?!", "\x00", "\ud800", "🚀", "x " * 5_000])
def test_any_string_is_a_query(
    hybrid: Callable[..., Snapshot], models: Models, mode: Mode, query: str
) -> None:
    result = search(hybrid(PORTS), query, mode=mode, models=models)
    assert len(result.hits) <= 3
    if not query.strip():
        assert result.hits == []


def test_reranking_reorders_the_best_and_leaves_the_others_behind_them(
    hybrid: Callable[..., Snapshot], models: Models
) -> None:
    snapshot = hybrid(LOG)
    query = "storm fog lantern at the pier"
    before = [each for each, _ in everything(snapshot, query, 50, mode="hybrid", models=models)]
    after = everything(snapshot, query, 50, mode="rerank", models=models)
    order = [each for each, _ in after]
    assert order != before
    assert sorted(order[:RERANKED]) == sorted(before[:RERANKED])
    assert order[RERANKED:] == before[RERANKED:]
    scores = [score for _, score in after]
    assert scores == sorted(scores, reverse=True)
    found = search(snapshot, query, limit=RERANKED, mode="rerank", models=models)
    texts = [embedded_text(hit.section) for hit in found.hits]
    assert [hit.score for hit in found.hits] == pytest.approx(models.rerank_scores(query, texts))


def note_of(result: SearchResult) -> str:
    (note,) = result.notes
    return note


@pytest.mark.parametrize("mode", WITH_VECTORS)
def test_without_vectors_words_rank_and_a_note_says_so(
    tmp_path: Path, models: Models, mode: Mode
) -> None:
    update(tmp_path, PORTS)
    snapshot = snapshot_of(tmp_path / "store")
    result = search(snapshot, "harbour at night", mode=mode, models=models)
    assert ids(result)[0] == "guide/boats.md#boats"
    note = note_of(result)
    assert note.startswith("Ranked by words alone, without vectors: ")
    assert "contextpull ingest --embedder makes them" in note


def test_a_note_stands_above_the_hits_and_among_the_data(tmp_path: Path) -> None:
    update(tmp_path, PORTS)
    session = ToolSession(open_store(tmp_path / "store"), mode="dense")
    result = session.call("search", {"query": "harbour"})
    assert not result.is_error
    assert result.text.startswith("Ranked by words alone")
    assert result.data["notes"][0].startswith("Ranked by words alone")
    by_words = session.call("search", {"query": "harbour", "mode": "lexical"})
    assert by_words.data["notes"] == []
    wrong = session.call("search", {"query": "harbour", "mode": "semantic"})
    assert wrong.is_error
    assert "'mode'" in wrong.text


def test_vectors_of_sections_that_were_numbered_anew_are_not_used(
    hybrid: Callable[..., Snapshot], models: Models, tmp_path: Path
) -> None:
    hybrid(PORTS)
    ingest(tmp_path / "one" / "docs", tmp_path / "one" / "store", CutSettings(heading_depth=1))
    result = search(snapshot_of(tmp_path / "one" / "store"), "harbour", models=models)
    assert ids(result)[0] == "guide/boats.md#boats"
    assert "the vectors are behind; contextpull ingest makes new ones" in note_of(result)


@pytest.mark.parametrize("library", ["faiss", "onnxruntime"])
def test_a_library_that_is_missing_is_named_in_a_note(
    hybrid: Callable[..., Snapshot], models: Models, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    snapshot = hybrid(PORTS)
    for name, nothing in without(library).items():
        monkeypatch.setitem(sys.modules, name, nothing)
    result = search(snapshot, "harbour at night", models=models)
    assert ids(result)[0] == "guide/boats.md#boats"
    assert "pip install 'contextpull[" in note_of(result)


def test_an_endpoint_that_refuses_costs_a_note_and_is_asked_again_later(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(tmp_path, PORTS)
    keep_vectors(tmp_path / "store", model=f"{endpoint.url}#tiny", cache=None)
    models = Models(embedder=f" {endpoint.url}/#tiny")
    snapshot = snapshot_of(tmp_path / "store")
    assert search(snapshot, "harbour", models=models).notes == ()
    endpoint.answer = lambda _: (500, {})
    endpoint.asked.clear()
    for query in ("boat", "night", "bread"):
        result = search(snapshot, query, models=models)
        assert len(result.hits) == 1
        assert "answered with HTTP 500" in note_of(result)
    assert len(endpoint.asked) == 1
    assert search(snapshot, "harbour", models=models).notes == ()  # its vector is there
    monkeypatch.setattr(models_module, "_WAIT_AFTER_FAILURE", -1.0)
    endpoint.answer = counted
    assert search(snapshot, "boat", models=models).notes == ()


@pytest.mark.parametrize("named", [None, "./elsewhere", "http://127.0.0.1:9/v1#tiny"])
def test_an_endpoint_that_only_the_store_names_is_asked_nothing(
    tmp_path: Path, endpoint: Endpoint, named: str | None
) -> None:
    update(tmp_path, PORTS)
    keep_vectors(tmp_path / "store", model=f"{endpoint.url}#tiny", cache=None)
    endpoint.asked.clear()
    models = Models(embedder=named, api_key="dummy")
    result = search(snapshot_of(tmp_path / "store"), "harbour at night", models=models)
    assert ids(result)[0] == "guide/boats.md#boats"
    assert "Name it yourself to let text go there: --embedder" in note_of(result)
    update(tmp_path, {**PORTS, "new.md": "# New\n\nA page that came after all the others.\n"})
    with pytest.raises(ModelUnavailable, match="Name it yourself"):
        keep_vectors(tmp_path / "store", model=None, cache=None)
    assert endpoint.asked == []


def test_an_endpoint_that_nobody_listens_at_costs_a_note(
    tmp_path: Path, tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    models = Models(embedder="http://127.0.0.1:9/v1#tiny")
    embedder = Watched(open_embedder(str(tiny_embedder)))
    embedder.name = "http://127.0.0.1:9/v1#tiny"
    embedder.fingerprint = open_embedder(embedder.name).fingerprint
    embedded(tmp_path, PORTS, embedder)
    result = search(snapshot_of(tmp_path / "store"), "harbour at night", models=models)
    assert ids(result)[0] == "guide/boats.md#boats"
    assert "The endpoint http://127.0.0.1:9/v1 cannot be reached" in note_of(result)


def test_a_model_that_went_or_became_another_costs_a_note_until_it_is_back(
    tmp_path: Path, tiny_embedder: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_module, "_WAIT_AFTER_FAILURE", -1.0)
    model = shutil.copytree(tiny_embedder, tmp_path / "model")
    store = tmp_path / "store"
    update(tmp_path, PORTS)
    keep_vectors(store, model=str(model), cache=None)
    model.rename(tmp_path / "away")
    gone = search(snapshot_of(store), "lighthousekeeper", models=models)
    assert "is no model's folder" in note_of(gone)
    assert gone.hits == []
    (tmp_path / "away").rename(model)
    (model / "tokenizer_config.json").write_text('{"model_max_length": 12}')
    other = search(snapshot_of(store), "lighthousekeeper", models=models)
    assert "is not the one that made the vectors" in note_of(other)
    (model / "tokenizer_config.json").unlink()
    back = search(snapshot_of(store), "lighthousekeeper", models=models)
    assert back.notes == ()
    assert ids(back)[0] == "guide/lamp.md#lamp"


def test_a_model_that_is_installed_anew_is_used_without_a_restart(
    tmp_path: Path, tiny_embedder: Path, models: Models
) -> None:
    model = shutil.copytree(tiny_embedder, tmp_path / "model")
    store = tmp_path / "store"
    update(tmp_path, PORTS)
    keep_vectors(store, model=str(model), cache=None)
    assert search(snapshot_of(store), "lighthousekeeper", models=models).notes == ()
    (model / "tokenizer_config.json").write_text('{"model_max_length": 12}')
    keep_vectors(store, model=str(model), cache=None)
    result = search(snapshot_of(store), "lighthousekeeper", models=models)
    assert result.notes == ()
    assert ids(result)[0] == "guide/lamp.md#lamp"


def test_a_damaged_model_costs_a_note(tmp_path: Path, tiny_embedder: Path, models: Models) -> None:
    model = shutil.copytree(tiny_embedder, tmp_path / "model")
    update(tmp_path, PORTS)
    keep_vectors(tmp_path / "store", model=str(model), cache=None)
    weights = model / "model.onnx"
    weights.write_bytes(weights.read_bytes()[:1000])
    result = search(snapshot_of(tmp_path / "store"), "harbour", models=models)
    assert ids(result)[0] == "guide/boats.md#boats"
    assert "cannot be loaded as a model" in note_of(result)


@pytest.mark.parametrize("reranker", ["nowhere", "an embedder", "ms-marco-MiniLM-L-12-v2"])
def test_without_a_reranker_the_ranking_stays_and_a_note_says_so(
    hybrid: Callable[..., Snapshot], tmp_path: Path, tiny_embedder: Path, reranker: str
) -> None:
    snapshot = hybrid(PORTS)
    places = {"nowhere": str(tmp_path / "nowhere"), "an embedder": str(tiny_embedder)}
    models = Models(reranker=places.get(reranker, reranker), packs=tmp_path / "packs")
    result = search(snapshot, "harbour at night", mode="rerank", models=models)
    assert note_of(result).startswith("Not reranked: ")
    assert ids(result) == ids(search(snapshot, "harbour at night", mode="hybrid", models=models))


def test_models_serve_many_threads(hybrid: Callable[..., Snapshot], models: Models) -> None:
    snapshot = hybrid(LOG)
    queries = [f"{word} entry{n}" for n in range(40) for word in WORDS[:4]]

    def ask(query: str) -> list[str]:
        result = search(snapshot, query, mode="hybrid", models=models)
        assert result.notes == ()
        return ids(result)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, [*queries, *queries]))
    assert found[: len(queries)] == found[len(queries) :] == [ask(query) for query in queries]


RANKINGS = st.lists(st.permutations(range(12)).map(lambda each: each[:7]), min_size=1, max_size=4)


@same_every_time(100)
@given(RANKINGS, st.integers(1, 100))
def test_rank_fusion_of_equal_rankings_does_not_care_which_is_which(
    rankings: list[list[int]], k: int
) -> None:
    equal = [1.0] * len(rankings)
    one = reciprocal_rank_fusion(rankings, equal, k)
    other = reciprocal_rank_fusion(rankings[::-1], equal, k)
    assert one.keys() == other.keys() == set().union(*rankings)
    assert all(one[number] == pytest.approx(other[number]) for number in one)


@same_every_time(100)
@given(RANKINGS, st.data())
def test_rank_fusion_rewards_a_better_rank(rankings: list[list[int]], data: st.DataObject) -> None:
    weights = [data.draw(st.floats(0.1, 3)) for _ in rankings]
    which = data.draw(st.integers(0, len(rankings) - 1))
    place = data.draw(st.integers(1, 6))
    better = [list(each) for each in rankings]
    number = better[which].pop(place)
    better[which].insert(place - 1, number)
    before = reciprocal_rank_fusion(rankings, weights)
    after = reciprocal_rank_fusion(better, weights)
    assert after[number] > before[number]
    overtaken = rankings[which][place - 1]
    assert after[overtaken] < before[overtaken]
    for other in after.keys() - {number, overtaken}:
        assert after[other] == pytest.approx(before[other])


def test_rank_fusion_by_hand() -> None:
    fused = reciprocal_rank_fusion([[7, 8, 9], [8, 5]], [1.0, 1.0], 60)
    assert fused == pytest.approx({7: 1 / 61, 8: 1 / 62 + 1 / 61, 9: 1 / 63, 5: 1 / 62})
    weighted = reciprocal_rank_fusion([[7], [8]], [0.5, 2.0], 10)
    assert weighted == pytest.approx({7: 0.5 / 11, 8: 2 / 11})
    assert reciprocal_rank_fusion([[], []], [1.0, 1.0]) == {}


SCORES = st.dictionaries(st.integers(0, 12), st.floats(0.001, 60), max_size=9)


@same_every_time(200)
@given(SCORES, SCORES, st.floats(0, 1))
def test_combined_scores_lie_between_0_and_1_and_keep_the_order_of_both(
    words: dict[int, float], near: dict[int, float], share: float
) -> None:
    cosines = {number: score / 60 for number, score in near.items()}
    fused = combined(words, cosines, share)
    assert fused.keys() == words.keys() | near.keys()
    assert all(0 <= score <= 1 for score in fused.values())
    for one in fused:
        for other in fused:
            if words.get(one, 0) >= words.get(other, 0) and cosines.get(one, 0) >= cosines.get(
                other, 0
            ):
                assert fused[one] >= fused[other] - 1e-6
