"""Embedders over a folder with an ONNX file, through `open_embedder`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from contextpull.errors import MissingExtra, ModelUnavailable
from contextpull.models.embedding import open_embedder
from tests.tiny_models import DIMENSIONS, write_embedder, write_reranker, write_tokenizer

TEXTS = [
    "Clear the cache with one command, then look whether it is empty.",
    "Revoked certificates are renewed by the registrar within a week.",
    "",
    "Boiling water needs salt. " * 40,
    "A",
]


def write_json(folder: Path, name: str, value: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_texts_that_share_words_are_close(embedder_folder: Path) -> None:
    embedder = open_embedder(str(embedder_folder))
    cosines = embedder.embed_passages(TEXTS) @ embedder.embed_query("how do I clear the cache?")
    assert cosines.argmax() == 0
    assert embedder.embed_passages(TEXTS)[1] @ embedder.embed_query("revoked certificate") > 0.5


def test_vectors_are_rows_of_length_1(embedder_folder: Path) -> None:
    vectors = open_embedder(str(embedder_folder)).embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSIONS)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.allclose(lengths, [1, 1, 0, 1, 1])


def test_a_vector_depends_on_its_own_text_only(embedder_folder: Path) -> None:
    embedder = open_embedder(str(embedder_folder))
    together = embedder.embed_passages(TEXTS * 10)
    alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
    assert np.array_equal(together, np.tile(alone, (10, 1)))
    assert np.array_equal(embedder.embed_passages(TEXTS[::-1])[::-1], alone)
    again = open_embedder(str(embedder_folder))
    assert np.array_equal(again.embed_passages(TEXTS), alone)


def test_a_text_with_nothing_to_see_is_zeros(embedder_folder: Path) -> None:
    embedder = open_embedder(str(embedder_folder))
    for text in ("", " \n\t", "☃ ☃"):  # the last has no token that the model knows
        assert not embedder.embed_query(text).any()
        assert not embedder.embed_passages([text]).any()
    assert embedder.embed_passages([]).shape == (0, DIMENSIONS)


def test_a_long_text_is_cut_where_the_folder_says(embedder_folder: Path) -> None:
    write_json(embedder_folder, "tokenizer_config.json", {"model_max_length": 10})
    embedder = open_embedder(str(embedder_folder))
    # Eight tokens are left beside the two that the tokenizer adds.
    fits = "ab cd ef gh ij kl mn op"
    short, long = embedder.embed_passages([fits, f"{fits} qr st"])
    assert np.array_equal(short, long)


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        ({}, 512),
        ({"tokenizer_config.json": {"model_max_length": 1e30}}, 512),
        ({"config.json": {"max_position_embeddings": 64}}, 64),
        (
            {
                "config.json": {"max_position_embeddings": 64},
                "sentence_bert_config.json": {"max_seq_length": 32},
            },
            32,
        ),
    ],
)
def test_the_smallest_configured_length_holds(
    embedder_folder: Path, files: dict[str, object], tokens: int
) -> None:
    for name, value in files.items():
        write_json(embedder_folder, name, value)
    embedder = open_embedder(str(embedder_folder))
    room = tokens - 2
    at_most, one_more, fewer = (
        embedder.embed_passages([("ab " * count) + "cd"])[0] for count in (room - 1, room, room - 2)
    )
    assert not np.array_equal(at_most, fewer)
    assert not np.array_equal(at_most, one_more)  # "cd" is cut off
    assert np.array_equal(one_more, embedder.embed_passages(["ab " * room])[0])


def test_padding_in_the_tokenizer_file_is_not_followed(embedder_folder: Path) -> None:
    write_tokenizer(embedder_folder, special=False)
    write_json(embedder_folder, "1_Pooling/config.json", {"pooling_mode_lasttoken": True})
    embedder = open_embedder(str(embedder_folder))
    assert np.array_equal(embedder.embed_query("cd"), embedder.embed_query("ab cd"))
    assert embedder.embed_query("cd").any()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, True),
        ({"pooling_mode": "mean"}, True),
        ({"pooling_mode_cls_token": True}, False),  # the first token of the tiny model is zeros
        ({"pooling_mode": "cls"}, False),
    ],
)
def test_pooling_is_what_the_folder_says(
    embedder_folder: Path, settings: dict[str, object], expected: bool
) -> None:
    write_json(embedder_folder, "1_Pooling/config.json", settings)
    assert open_embedder(str(embedder_folder)).embed_query("cache").any() == expected


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
        ("1_Pooling/config.json", {"pooling_mode": ["cls", "mean"]}),
        ("1_Pooling/config.json", {"pooling_mode": "mean", "include_prompt": False}),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}]),
    ],
)
def test_what_an_onnx_file_cannot_do_is_refused_unless_it_is_done_inside(
    tmp_path: Path, name: str, settings: object
) -> None:
    folder = write_embedder(tmp_path / "tokens")
    write_json(folder, name, settings)
    with pytest.raises(ModelUnavailable, match="only cls, mean, last are supported"):
        open_embedder(str(folder))
    folder = write_embedder(tmp_path / "pooled", pooled=True)
    write_json(folder, name, settings)
    assert open_embedder(str(folder)).embed_query("cache").any()


def test_an_output_that_is_pooled_already_is_taken_as_it_is(tmp_path: Path) -> None:
    tokens = open_embedder(str(write_embedder(tmp_path / "tokens")))
    pooled = open_embedder(str(write_embedder(tmp_path / "pooled", pooled=True)))
    assert np.allclose(tokens.embed_passages(TEXTS), pooled.embed_passages(TEXTS), atol=1e-6)


def test_prefixes_come_from_the_folder_or_the_caller(embedder_folder: Path) -> None:
    plain = open_embedder(str(embedder_folder))
    prompts = {"query": "find: ", "document": "page: "}
    write_json(embedder_folder, "config_sentence_transformers.json", {"prompts": prompts})
    prompted = open_embedder(str(embedder_folder))
    assert same(prompted.embed_query("cache"), plain.embed_query("find: cache"))
    assert same(prompted.embed_passages(["cache"])[0], plain.embed_query("page: cache"))
    own = open_embedder(str(embedder_folder), query_prefix="")
    assert same(own.embed_query("cache"), plain.embed_query("cache"))
    usual = {"prompts": {"passage": "page: ", "any": "text: "}, "default_prompt_name": "any"}
    write_json(embedder_folder, "config_sentence_transformers.json", usual)
    prompted = open_embedder(str(embedder_folder))
    assert same(prompted.embed_query("cache"), plain.embed_query("text: cache"))
    assert same(prompted.embed_passages(["cache"])[0], plain.embed_query("page: cache"))


def same(one: "np.typing.NDArray[np.float32]", other: "np.typing.NDArray[np.float32]") -> bool:
    return np.array_equal(one, other)


def test_the_fingerprint_changes_with_whatever_changes_vectors_of_passages(
    embedder_folder: Path,
) -> None:
    def fingerprint(query_prefix: str | None = None) -> str:
        return open_embedder(str(embedder_folder), query_prefix=query_prefix).fingerprint

    seen = [fingerprint()]
    assert len(seen[0]) == 16
    assert fingerprint() == seen[0]
    assert fingerprint("find: ") == seen[0]  # passages know nothing of it
    write_json(embedder_folder, "tokenizer_config.json", {"model_max_length": 20})
    seen.append(fingerprint())
    write_json(embedder_folder, "1_Pooling/config.json", {"pooling_mode": "cls"})
    seen.append(fingerprint())
    prompts = {"prompts": {"document": "page: "}}
    write_json(embedder_folder, "config_sentence_transformers.json", prompts)
    seen.append(fingerprint())
    write_tokenizer(embedder_folder, special=False)
    seen.append(fingerprint())
    write_embedder(embedder_folder, scale=2.0)
    seen.append(fingerprint())
    (embedder_folder / "model.onnx_data").write_bytes(b"weights kept apart")
    seen.append(fingerprint())
    assert len(set(seen)) == len(seen)


def test_the_name_opens_the_embedder_from_anywhere(
    embedder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(embedder_folder.parent)
    embedder = open_embedder("./embedder")
    monkeypatch.chdir("/")
    assert same(open_embedder(embedder.name).embed_query("a b"), embedder.embed_query("a b"))
    nested = write_embedder(tmp_path / "nested", place="onnx/model.onnx")
    assert open_embedder(str(nested)).embed_query("cache").any()


def test_a_reranker_is_no_embedder(reranker_folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match="is a reranker, not an embedder"):
        open_embedder(str(reranker_folder))


def test_numbers_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    folder = write_embedder(tmp_path / "broken", scale=float("nan"))
    with pytest.raises(ModelUnavailable, match="not finite"):
        open_embedder(str(folder))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("model.onnx", b"no model", "cannot be loaded as a model"),
        ("tokenizer.json", b"{}", "cannot be read as a tokenizer"),
        ("tokenizer_config.json", b"{", "cannot be read"),
    ],
)
def test_a_damaged_file_is_named(
    embedder_folder: Path, name: str, content: bytes, expected: str
) -> None:
    (embedder_folder / name).write_bytes(content)
    with pytest.raises(ModelUnavailable, match=expected) as caught:
        open_embedder(str(embedder_folder))
    assert name in str(caught.value)


def test_a_model_that_is_cut_short_is_refused(embedder_folder: Path) -> None:
    model = embedder_folder / "model.onnx"
    model.write_bytes(model.read_bytes()[:-1000])
    with pytest.raises(ModelUnavailable, match="cannot be loaded as a model"):
        open_embedder(str(embedder_folder))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_model_says_what_belongs_there(embedder_folder: Path, name: str) -> None:
    (embedder_folder / name).unlink()
    with pytest.raises(ModelUnavailable, match=r"must hold model\.onnx"):
        open_embedder(str(embedder_folder))
    with pytest.raises(ModelUnavailable, match=r"must hold model\.onnx"):
        open_embedder(str(embedder_folder / "nowhere"))


def test_inputs_that_no_tokenizer_gives_are_refused(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    folder = tmp_path / "strange"
    write_reranker(folder)
    shape = ["batch", "sequence"]
    inputs = [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("seen", TensorProto.FLOAT, shape)]
    node = helper.make_node("Identity", ["pixel_values"], ["seen"])
    graph = helper.make_graph([node], "strange", inputs, outputs)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelUnavailable, match="pixel_values"):
        open_embedder(str(folder))


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers", "numpy"])
def test_a_missing_library_names_the_extra(
    embedder_folder: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[onnx\]'"):
        open_embedder(str(embedder_folder))


def test_a_model_that_runs_leaves_nothing_in_the_home_folder(
    embedder_folder: Path, tmp_path: Path
) -> None:
    code = (
        f"from contextpull.models.embedding import open_embedder as o; o({str(embedder_folder)!r})"
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(home.rglob("*")) == []
