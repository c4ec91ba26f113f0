"""The packs themselves, where they are installed: `make test-models` puts them in place."""

import os
from pathlib import Path

import numpy as np
import pytest

from contextpull.models.embedding import open_embedder
from contextpull.models.packs import PACKS, check
from contextpull.models.reranking import open_reranker

MODELS = Path(os.environ.get("CONTEXTPULL_TEST_MODELS", ""))
pytestmark = pytest.mark.skipif(
    not os.environ.get("CONTEXTPULL_TEST_MODELS"), reason="no folder of installed packs is named"
)

QUERY = "How are returned goods paid back?"
TEXTS = [
    "The kitchen closes at nine; cold dishes are served until ten.",
    "We refund a purchase within fourteen days of receiving the item.",
    "A refund of gas to the cylinder raises its pressure.",
    "Boats must keep clear of the harbour's mouth. " * 100,
]


def test_every_file_is_what_was_pinned() -> None:
    for pack in PACKS:
        assert check(pack, MODELS) == []


def test_the_embedder_finds_other_words_of_the_same_meaning() -> None:
    embedder = open_embedder("bge-small-en-v1.5", models=MODELS)
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (4, PACKS[0].dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    cosines = vectors @ embedder.embed_query(QUERY)
    assert cosines.argmax() == 1
    assert cosines[1] - max(cosines[[0, 3]]) > 0.1


def test_vectors_do_not_depend_on_company_or_order() -> None:
    embedder = open_embedder("bge-small-en-v1.5", models=MODELS)
    alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
    assert np.array_equal(embedder.embed_passages(TEXTS * 2), np.tile(alone, (2, 1)))
    assert np.array_equal(embedder.embed_passages(TEXTS[::-1])[::-1], alone)


def test_the_prefix_that_the_embedder_was_trained_with_stands_before_questions() -> None:
    embedder = open_embedder("bge-small-en-v1.5", models=MODELS)
    plain = open_embedder("bge-small-en-v1.5", models=MODELS, query_prefix="")
    assert PACKS[0].query_prefix
    prefixed = plain.embed_query(PACKS[0].query_prefix + QUERY)
    assert np.array_equal(embedder.embed_query(QUERY), prefixed)
    assert embedder.fingerprint == plain.fingerprint  # passages know nothing of it


def test_the_reranker_puts_the_answer_first() -> None:
    reranker = open_reranker("ms-marco-MiniLM-L-12-v2", models=MODELS)
    scores = reranker.scores(QUERY, TEXTS)
    assert max(scores) == scores[1]
    assert scores[1] - max(scores[0], scores[3]) > 5
    assert [reranker.scores(QUERY, [text])[0] for text in TEXTS] == scores
