"""Rerankers over a folder with an ONNX file, through `open_reranker`."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.models.reranking import open_reranker

QUERY = "how do I clear the cache?"
TEXTS = [
    "Boiling water needs salt.",
    "Clear the cache with one command.",
    "The cache holds what was cleared. " * 30,
    "",
]


def test_the_text_that_answers_scores_highest(reranker_folder: Path) -> None:
    scores = open_reranker(str(reranker_folder)).scores(QUERY, TEXTS)
    assert len(scores) == len(TEXTS)
    assert max(scores) == scores[1]
    assert scores[1] > 5  # raw, not squeezed between 0 and 1


def test_a_score_depends_on_its_pair_only(reranker_folder: Path) -> None:
    reranker = open_reranker(str(reranker_folder))
    alone = [reranker.scores(QUERY, [text])[0] for text in TEXTS]
    assert reranker.scores(QUERY, TEXTS * 5) == alone * 5
    assert reranker.scores(QUERY, []) == []


def test_scores_are_those_of_the_plain_model(reranker_folder: Path) -> None:
    session = onnxruntime.InferenceSession(
        str(reranker_folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(reranker_folder / "tokenizer.json"))
    tokenizer.no_padding()
    for text, score in zip(
        TEXTS, open_reranker(str(reranker_folder)).scores(QUERY, TEXTS), strict=True
    ):
        pair = tokenizer.encode(QUERY, text)
        feed = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        arrays = {name: np.array([values], dtype=np.int64) for name, values in feed.items()}
        assert score == float(session.run(["logits"], arrays)[0][0, 0])


def test_a_long_text_is_cut_and_the_query_is_not(reranker_folder: Path) -> None:
    (reranker_folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 13}))
    reranker = open_reranker(str(reranker_folder))
    # Ten tokens of room beside the three that the tokenizer adds: four, then six.
    whole, cut = reranker.scores("ab cd ef gh", ["ab cd ef gh ij kl", "ab cd ef gh ij kl mn op"])
    assert whole == cut
    shorter = reranker.scores("ab cd ef gh", ["ab cd ef gh ij"])
    assert whole != shorter[0]


def test_a_query_takes_half_of_the_room_at_most(reranker_folder: Path) -> None:
    (reranker_folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 13}))
    reranker = open_reranker(str(reranker_folder))
    texts = ["ab cd ef gh ij", "ab cd ef gh ij kl"]
    scores = reranker.scores("ab cd ef gh ij kl mn", texts)
    assert scores == reranker.scores("ab cd ef gh ij", texts)
    assert len(set(scores)) == 1


def test_the_fingerprint_holds_for_a_folder_and_changes_with_it(reranker_folder: Path) -> None:
    before = open_reranker(str(reranker_folder)).fingerprint
    assert open_reranker(str(reranker_folder)).fingerprint == before
    (reranker_folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 13}))
    assert open_reranker(str(reranker_folder)).fingerprint != before


def test_an_embedder_is_no_reranker(embedder_folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match="numbers for a pair, not one"):
        open_reranker(str(embedder_folder))


def test_an_endpoint_is_no_reranker() -> None:
    with pytest.raises(InvalidInput, match="ms-marco-MiniLM-L-12-v2"):
        open_reranker("http://127.0.0.1:9/v1#model")


def test_a_score_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    from tests.tiny_models import write_reranker

    folder = write_reranker(tmp_path / "broken", scale=float("nan"))
    with pytest.raises(ModelUnavailable, match="not a number"):
        open_reranker(str(folder))
