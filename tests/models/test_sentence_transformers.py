"""Models of the sentence-transformers library: tiny random ones, made here and saved to a folder.

They need torch, so the usual tests skip them: `make test-models` runs them.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contextpull.errors import MissingExtra, ModelUnavailable
from contextpull.models.embedding import open_embedder
from contextpull.models.reranking import open_reranker
from tests.tiny_models import vocabulary

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

TEXTS = ["clear the cache", "", "revoked certificates " * 40, "a", "clear the cache now"]
DIMENSIONS = 16


def library() -> Any:
    return pytest.importorskip("sentence_transformers", exc_type=ImportError)


def write_bert(folder: Path, *, labels: int | None = None) -> Path:
    """A BERT of one layer with random weights, the same every time, and its tokenizer."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    transformers = pytest.importorskip("transformers", exc_type=ImportError)
    folder.mkdir(parents=True)
    tokens = vocabulary()
    folder.joinpath("vocab.txt").write_text("\n".join(tokens))
    settings = {
        "vocab_size": len(tokens),
        "hidden_size": DIMENSIONS,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
    }
    torch.manual_seed(1)
    if labels is None:
        model = transformers.BertModel(transformers.BertConfig(**settings))
    else:
        config = transformers.BertConfig(**settings, num_labels=labels)
        model = transformers.BertForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer = transformers.BertTokenizerFast(vocab=tokens, model_max_length=64)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def embedder_folder(tmp_path: Path) -> Path:
    """As the library saves a model, with a prompt for questions."""
    sentence_transformers = library()
    modules = sentence_transformers.sentence_transformer.modules
    bert = modules.Transformer(str(write_bert(tmp_path / "bert")))
    pooling = modules.Pooling(DIMENSIONS, pooling_mode="mean")
    model = sentence_transformers.SentenceTransformer(
        modules=[bert, pooling], prompts={"query": "find: "}, device="cpu"
    )
    model.save(str(tmp_path / "embedder"))
    return tmp_path / "embedder"


def test_vectors_are_those_of_the_library_at_length_1(embedder_folder: Path) -> None:
    model = library().SentenceTransformer(str(embedder_folder), device="cpu")
    embedder = open_embedder(f"st:{embedder_folder}")
    told = [text for text in TEXTS if text]
    expected = model.encode_document(told, normalize_embeddings=True)
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSIONS)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.allclose(vectors[[0, 2, 3, 4]], expected, atol=1e-5)
    assert not vectors[1].any()
    question = model.encode_query("cache", normalize_embeddings=True)
    assert np.allclose(embedder.embed_query("cache"), question, atol=1e-5)


def test_a_vector_depends_on_its_own_text_only(embedder_folder: Path) -> None:
    embedder = open_embedder(f"st:{embedder_folder}")
    together = embedder.embed_passages(TEXTS * 5)
    alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
    assert np.allclose(together, np.tile(alone, (5, 1)), atol=1e-6)
    assert np.array_equal(embedder.embed_passages(TEXTS * 5), together)


def test_prompts_come_from_the_model_or_the_caller(embedder_folder: Path) -> None:
    prompted = open_embedder(f"st:{embedder_folder}")
    plain = open_embedder(f"st:{embedder_folder}", query_prefix="")
    document = plain.embed_passages(["find: cache", "cache"])
    assert np.allclose(prompted.embed_query("cache"), document[0], atol=1e-6)
    assert np.allclose(plain.embed_query("cache"), document[1], atol=1e-6)
    assert prompted.fingerprint == plain.fingerprint  # passages know nothing of it


def test_a_text_with_nothing_to_see_is_zeros(embedder_folder: Path) -> None:
    embedder = open_embedder(f"st:{embedder_folder}")
    assert not embedder.embed_query(" \n").any()
    assert embedder.embed_passages([]).shape == (0, DIMENSIONS)


def test_the_fingerprint_follows_the_weights(embedder_folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    before = open_embedder(f"st:{embedder_folder}").fingerprint
    assert len(before) == 16
    assert open_embedder(f"st:{embedder_folder}").fingerprint == before
    embedder_folder = embedder_folder.rename(embedder_folder.with_name("moved"))
    assert open_embedder(f"st:{embedder_folder}").fingerprint == before
    weights = embedder_folder / "model.safetensors"
    tensors = load_file(weights)
    name = sorted(tensors)[0]
    tensors[name] = tensors[name] + np.float32(0.5)
    save_file(tensors, weights, metadata={"format": "pt"})
    assert open_embedder(f"st:{embedder_folder}").fingerprint != before


def test_a_reranker_gives_the_raw_scores_of_the_library(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "reranker", labels=1)
    reranker = open_reranker(f"st:{folder}")
    scores = reranker.scores("clear the cache", TEXTS * 2)
    alone = [reranker.scores("clear the cache", [text])[0] for text in TEXTS]
    assert np.allclose(scores, alone * 2, atol=1e-5)
    assert reranker.scores("clear the cache", []) == []
    torch = pytest.importorskip("torch", exc_type=ImportError)
    model = library().CrossEncoder(str(folder), device="cpu")
    pairs = [("clear the cache", text) for text in TEXTS]
    expected = model.predict(pairs, activation_fn=torch.nn.Identity())
    assert np.allclose(alone, expected, atol=1e-5)
    assert open_reranker(reranker.name).fingerprint == reranker.fingerprint


def test_a_classifier_is_no_reranker(tmp_path: Path) -> None:
    library()
    folder = write_bert(tmp_path / "classifier", labels=3)
    with pytest.raises(ModelUnavailable, match="gives 3 numbers for a pair"):
        open_reranker(f"st:{folder}")


_OFFLINE = """
import sys, time
from contextpull.errors import ModelUnavailable
from contextpull.models.embedding import open_embedder
from contextpull.models.reranking import open_reranker

for opened in (open_embedder, open_reranker):
    for name in ("nobody/no-such-model", "no-such-model", "not/a/name"):
        started = time.monotonic()
        try:
            opened("st:" + name)
        except ModelUnavailable as error:
            assert "not on this machine and cannot be downloaded" in str(error), error
            assert "st:./my-model" in str(error), error
        else:
            raise AssertionError(name)
        assert time.monotonic() - started < 20
"""


@pytest.mark.parametrize("variable", ["HF_ENDPOINT", "HF_HUB_OFFLINE"])
def test_a_name_that_cannot_be_had_is_given_up_soon(tmp_path: Path, variable: str) -> None:
    library()
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path),
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        "NO_PROXY": "127.0.0.1",
        # No port of this machine where anybody listens, or the library's own switch.
        variable: "http://127.0.0.1:9" if variable == "HF_ENDPOINT" else "1",
    }
    command = [sys.executable, "-c", _OFFLINE]
    subprocess.run(command, check=True, timeout=120, env=environment)


def test_a_folder_without_a_model_is_unavailable(tmp_path: Path) -> None:
    library()
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        open_embedder(f"st:{tmp_path}")


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[dense\]'"):
        open_embedder("st:all-MiniLM-L6-v2")
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[dense\]'"):
        open_reranker("st:org/model")
