"""What models remember of queries, for searches and for the rows of a table."""

from pathlib import Path

import pytest

from contextpull.adapters.push import Push, over_store
from contextpull.eval.runs import evaluate
from contextpull.retrieval.models import Models
from contextpull.store.embedding import keep_vectors
from contextpull.types import Question
from tests.embedders import update
from tests.models.conftest import Endpoint

PAGES = {
    "bread.md": "# Bread\n\nYeast makes bread rise, and salt slows that down a little.\n",
    "lamp.md": "# Lamp\n\nThe keeper lights the lamp of the lighthouse before it gets dark.\n",
}
QUESTIONS = [
    Question("q1", "which yeast makes bread rise", "conceptual", ("bread.md#bread",)),
    Question("q2", "who lights the lamp", "conceptual", ("lamp.md#lamp",)),
]


@pytest.fixture
def store(tmp_path: Path, endpoint: Endpoint) -> Path:
    update(tmp_path, PAGES)
    keep_vectors(tmp_path / "store", model=f"{endpoint.url}#tiny", cache=None)
    endpoint.asked.clear()
    return tmp_path / "store"


def test_rows_that_share_their_models_embed_each_question_once(
    store: Path, endpoint: Endpoint
) -> None:
    models = Models(embedder=f"{endpoint.url}#tiny", keep_all_vectors=True)
    for mode in ("dense", "hybrid", "dense"):
        push = Push(over_store(store), mode, models)
        assert evaluate(push, QUESTIONS, name=mode, k=1, rounds=100).overall.errors == 0
    assert sum(len(each["input"]) for each in endpoint.asked) == len(QUESTIONS)


def test_a_row_takes_as_long_as_if_it_had_made_its_vectors_itself(
    store: Path, endpoint: Endpoint
) -> None:
    models = Models(embedder=f"{endpoint.url}#tiny", keep_all_vectors=True)
    words, near = (Push(over_store(store), mode, models) for mode in ("lexical", "dense"))
    text = QUESTIONS[0].text
    assert near.spared_seconds(text) == 0
    near.retrieve(text, 1)
    spared = near.spared_seconds(text)
    assert spared > 0
    assert words.spared_seconds(text) == 0
    row = evaluate(near, QUESTIONS[:1], name="dense", k=1, rounds=100)
    assert row.seconds > spared


def test_searches_remember_the_newest_queries_only(store: Path, endpoint: Endpoint) -> None:
    push = Push(over_store(store), "dense", Models(embedder=f"{endpoint.url}#tiny"))
    queries = [f"query {number}" for number in range(100)]
    for query in (*queries, queries[-1], queries[0]):
        push.retrieve(query, 1)
    assert [each["input"][0] for each in endpoint.asked] == [*queries, queries[0]]
    assert push.spared_seconds(queries[1]) == 0
