"""The push rows that need models: what they rank, and that they never pass for another row."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from contextpull.adapters.push import Push, Searched, over_passages, over_store, with_vectors
from contextpull.adapters.ragbisect import save_passages, save_questions
from contextpull.cli.main import cli
from contextpull.config import Mode
from contextpull.errors import ModelUnavailable
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.retrieval.models import Models
from contextpull.store.embedding import embed_store
from contextpull.store.ingest import ingest
from contextpull.types import Passage, Question
from tests.conftest import write_corpus
from tests.embedders import Watched, without
from tests.judged import write_collection

PASSAGES = [
    Passage("a.md#lamp", "The lighthouse keeper lights the lamp before it gets dark.", "a.md"),
    Passage("a.md#boats", "A boat must keep clear of the mouth of the harbour at night.", "a.md"),
    Passage("b.md#bread", "Yeast makes bread rise, and salt slows that down a little.", "b.md"),
]
QUESTIONS = [
    Question("q1", "lighthousekeeper", "conceptual", ("a.md#lamp",)),
    Question("q2", "which yeast makes bread rise", "exact_lookup", ("b.md#bread",)),
]
MODES: tuple[Mode, ...] = ("dense", "hybrid", "rerank")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("EMBEDDER", "RERANKER", "API_KEY", "STORE", "MODE"):
        monkeypatch.delenv(f"CONTEXTPULL_{name}", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def embedder(tiny_embedder: Path) -> Embedder:
    return open_embedder(str(tiny_embedder))


@pytest.fixture
def models(tiny_reranker: Path) -> Models:
    return Models(reranker=str(tiny_reranker))


@pytest.fixture
def searched(tmp_path: Path, embedder: Embedder) -> Searched:
    return with_vectors(over_passages(PASSAGES, tmp_path / "passages"), embedder)


@pytest.mark.parametrize("mode", MODES)
def test_each_row_finds_what_no_word_matches(
    searched: Searched, models: Models, mode: Mode
) -> None:
    assert Push(searched, "lexical").retrieve("lighthousekeeper", 3) == []
    found = Push(searched, mode, models).retrieve("lighthousekeeper", 3)
    assert found[0] == "a.md#lamp"
    assert sorted(found) == sorted(passage.id for passage in PASSAGES)
    assert Push(searched, mode, models).retrieve("lighthousekeeper", 1) == found[:1]


@pytest.mark.parametrize("mode", MODES)
def test_equal_sections_stay_apart_and_rank_by_id(
    tmp_path: Path, embedder: Embedder, models: Models, mode: Mode
) -> None:
    text = "The same words stand in each of these passages."
    names = [f"{n:02}" for n in range(60)]
    passages = [Passage(name, text, name) for name in reversed(names)]
    searched = with_vectors(over_passages(passages, tmp_path / "equal"), embedder)
    row = Push(searched, mode, models)
    assert row.retrieve("same words", 60)[:5] == row.retrieve("same words", 5) == names[:5]


def test_vectors_come_from_the_cache_the_second_time(tmp_path: Path, embedder: Embedder) -> None:
    watched = Watched(embedder)
    seen: list[tuple[int, int]] = []
    for name in ("one", "other"):
        searched = over_passages(PASSAGES, tmp_path / name)
        with_vectors(
            searched, watched, cache=tmp_path / "cache", progress=lambda *at: seen.append(at)
        )
    assert len(watched.given) == 3
    assert seen == [(3, 3)]


@pytest.mark.parametrize("mode", MODES)
def test_without_vectors_a_row_fails_and_does_not_fall_back(
    tmp_path: Path, models: Models, mode: Mode
) -> None:
    searched = over_passages(PASSAGES, tmp_path / "passages")
    with pytest.raises(ModelUnavailable, match="keeps no vectors"):
        Push(searched, mode, models).retrieve("bread", 3)


def test_without_a_reranker_its_row_fails_and_the_others_do_not(
    searched: Searched, tmp_path: Path
) -> None:
    models = Models(reranker=str(tmp_path / "nowhere"))
    assert Push(searched, "hybrid", models).retrieve("bread", 1) == ["b.md#bread"]
    with pytest.raises(ModelUnavailable, match="Not reranked: "):
        Push(searched, "rerank", models).retrieve("bread", 1)


def test_with_another_model_than_made_the_vectors_a_row_fails(
    tmp_path: Path, embedder: Embedder, models: Models
) -> None:
    other = Watched(embedder, fingerprint="0123456789abcdef")
    searched = with_vectors(over_passages(PASSAGES, tmp_path / "passages"), other)
    with pytest.raises(ModelUnavailable, match="is not the one that made the vectors"):
        Push(searched, "hybrid", models).retrieve("bread", 1)


def test_without_faiss_a_row_fails(
    searched: Searched, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, nothing in without("faiss").items():
        monkeypatch.setitem(sys.modules, name, nothing)
    with pytest.raises(ModelUnavailable, match=r"pip install 'contextpull\[dense\]'"):
        Push(searched, "dense", models).retrieve("bread", 1)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["eval", *map(str, arguments)])


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    save_questions(tmp_path / "questions.jsonl", QUESTIONS)
    return tmp_path / "questions.jsonl"


@pytest.fixture
def named(tiny_embedder: Path, tiny_reranker: Path) -> Sequence[str | Path]:
    return ("--embedder", tiny_embedder, "--reranker", tiny_reranker, "--rounds", "200", "--json")


def test_all_rows_are_measured_over_the_same_passages(
    tmp_path: Path, questions: Path, named: Sequence[str | Path], own_cache: Path
) -> None:
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    rows = ["bm25", "dense", "hybrid", "hybrid-rrf", "hybrid+rerank"]
    where = ("--questions", questions, "--sections", tmp_path / "sections.jsonl")
    done = run("run", *where, "--rows", ",".join(rows), "--k", "1", *named)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    measured = json.loads(done.stdout)["rows"]
    assert [row["row"] for row in measured] == rows
    recalls = [row["measures"]["recall@1"]["mean"] for row in measured]
    assert recalls == [0.5, 1, 1, 1, 1]
    assert len(list((own_cache / "contextpull" / "vectors").iterdir())) == 1


def test_bm25_alone_needs_no_model(tmp_path: Path, questions: Path) -> None:
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    where = ("--questions", questions, "--sections", tmp_path / "sections.jsonl")
    done = run("run", *where, "--embedder", "no such model", "--rounds", "200")
    assert done.exit_code == 0, done.output


def test_a_judged_collection_is_measured_by_every_row_and_its_store_used_again(
    tmp_path: Path, named: Sequence[str | Path]
) -> None:
    small = write_collection(tmp_path / "small")
    arguments = (small, "--rows", "bm25,dense,hybrid+rerank", "--store", tmp_path / "stores")
    first, again = (run("beir", *arguments, *named) for _ in range(2))
    assert first.exit_code == again.exit_code == 0, first.output
    rows, same = (json.loads(done.stdout)["collections"][0]["rows"] for done in (first, again))
    assert [row["row"] for row in rows] == ["bm25", "dense", "hybrid+rerank"]
    assert [row["measures"] for row in rows] == [row["measures"] for row in same]


@pytest.mark.parametrize("command", ["run", "beir"])
def test_an_embedder_that_cannot_be_used_ends_it_before_the_first_question(
    tmp_path: Path, questions: Path, command: str
) -> None:
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    where = ("--questions", questions, "--sections", tmp_path / "sections.jsonl")
    if command == "beir":
        where = (write_collection(tmp_path / "small"),)
    done = run(command, *where, "--rows", "dense", "--embedder", tmp_path / "nowhere")
    assert done.exit_code == 2
    assert "is no model's folder" in done.stderr
    assert done.stdout == ""


def test_a_missing_reranker_fails_every_question_of_its_row(
    tmp_path: Path, questions: Path, tiny_embedder: Path
) -> None:
    save_passages(tmp_path / "sections.jsonl", PASSAGES)
    where = ("--questions", questions, "--sections", tmp_path / "sections.jsonl")
    named = ("--embedder", tiny_embedder, "--reranker", tmp_path / "nowhere", "--rounds", "200")
    done = run("run", *where, "--rows", "hybrid,hybrid+rerank", *named)
    assert done.exit_code == 1
    assert "hybrid+rerank: 2 failed questions" in done.stdout
    assert "Not reranked: " in done.stdout
    assert "hybrid: " not in done.stdout


FILES = {
    "a.md": "# Lamp\n\nThe lighthouse keeper lights the lamp before it gets dark.\n",
    "b.md": "# Bread\n\nYeast makes bread rise, and salt slows that down a little.\n",
}


@pytest.fixture
def own_store(tmp_path: Path) -> Path:
    """The store of somebody who wants it measured, and left as it is."""
    ingest(write_corpus(tmp_path / "docs", FILES), tmp_path / "store")
    return tmp_path / "store"


def contents(store: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in store.rglob("*") if path.is_file()}


@pytest.fixture
def of_store(tmp_path: Path, own_store: Path) -> Sequence[str | Path]:
    asked = [
        Question("q1", "lighthousekeeper", "conceptual", ("a.md#lamp",)),
        Question("q2", "bread", "conceptual", ("b.md#bread",)),
    ]
    save_questions(tmp_path / "own.jsonl", asked)
    return ("run", "--questions", tmp_path / "own.jsonl", "--store", own_store, "--rows")


def test_a_store_without_vectors_is_told_so_and_not_changed(
    own_store: Path, of_store: Sequence[str | Path], named: Sequence[str | Path]
) -> None:
    over_store(own_store)
    before = contents(own_store)
    done = run(*of_store, "bm25,dense", *named)
    assert done.exit_code == 2
    assert "this store keeps no vectors; contextpull ingest --embedder makes them" in done.stderr
    assert done.stdout == ""
    assert contents(own_store) == before
    assert run(*of_store, "bm25", *named).exit_code == 0


def test_a_store_with_vectors_is_measured_and_not_changed(
    own_store: Path,
    of_store: Sequence[str | Path],
    named: Sequence[str | Path],
    embedder: Embedder,
) -> None:
    embed_store(own_store, embedder, cache=None)
    over_store(own_store)
    before = contents(own_store)
    done = run(*of_store, "bm25,dense,hybrid,hybrid+rerank", *named)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert [row["measures"]["recall@5"]["mean"] for row in rows] == [0.5, 1, 1, 1]
    assert contents(own_store) == before


def test_a_store_whose_vectors_are_behind_is_told_so(
    tmp_path: Path,
    own_store: Path,
    of_store: Sequence[str | Path],
    named: Sequence[str | Path],
    embedder: Embedder,
) -> None:
    embed_store(own_store, embedder, cache=None)
    (tmp_path / "docs" / "c.md").write_text("# Tea\n\nTea is drunk hot, or cold with some ice.\n")
    ingest(tmp_path / "docs", own_store)
    done = run(*of_store, "dense", *named)
    assert done.exit_code == 2
    assert "vectors of the store are behind its sections: contextpull ingest" in done.stderr


def test_dense_ranks_by_cosine(searched: Searched, models: Models, embedder: Embedder) -> None:
    query = "at night in the harbour"
    cosines = embedder.embed_passages([passage.text for passage in PASSAGES]) @ (
        embedder.embed_query(query)
    )
    expected = [PASSAGES[at].id for at in np.argsort(-cosines)]
    assert Push(searched, "dense", models).retrieve(query, 3) == expected
