"""Embeddings through an endpoint, over a real server on this machine."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contextpull.errors import InvalidInput, MissingExtra, ModelUnavailable
from contextpull.models.embedding import open_embedder
from contextpull.models.endpoint import BATCH, EndpointEmbedder
from contextpull.models.specs import parse_spec
from tests.models.conftest import Answer, Endpoint

pytest.importorskip("openai")

KEY = "dummy-key-of-a-test"


def test_vectors_come_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    embedder = open_embedder(f"{endpoint.url}#tiny", api_key=KEY)
    texts = ["a" * count for count in range(1, 2 * BATCH + 3)]
    vectors = embedder.embed_passages([*texts, "bb", ""])
    assert vectors.shape == (len(texts) + 2, 2)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.allclose(vectors[:-2], np.sqrt(0.5))
    assert vectors[-2].tolist() == [0, 1]
    assert vectors[-1].tolist() == [0, 0]
    assert [len(body["input"]) for body in endpoint.asked] == [BATCH, BATCH, 3]


def test_the_request_is_what_every_server_understands(endpoint: Endpoint) -> None:
    open_embedder(f"{endpoint.url}/#org/tiny", api_key=KEY).embed_passages(["a"])
    (body,) = endpoint.asked
    assert body == {
        "path": "/v1/embeddings",
        "model": "org/tiny",
        "input": ["a"],
        "encoding_format": "float",
    }
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


def test_nothing_of_the_environment_is_sent(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "of-the-environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Own: of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    open_embedder(f"{endpoint.url}#tiny").embed_query("a")
    assert "of-the-environment" not in str(endpoint.headers)
    assert endpoint.headers[0]["authorization"] == "Bearer none"


def test_the_query_prefix_stands_before_questions_only(endpoint: Endpoint) -> None:
    embedder = open_embedder(f"{endpoint.url}#tiny", query_prefix="find: ")
    embedder.embed_query("cache")
    embedder.embed_passages(["cache"])
    assert [body["input"] for body in endpoint.asked] == [["find: cache"], ["cache"]]


def test_a_text_with_nothing_to_see_is_zeros_and_not_sent(endpoint: Endpoint) -> None:
    embedder = open_embedder(f"{endpoint.url}#tiny")
    assert embedder.embed_query(" ").tolist() == [0, 0]
    assert embedder.embed_passages(["", "\n"]).tolist() == [[0, 0], [0, 0]]
    assert embedder.embed_passages([]).shape == (0, 2)
    assert len(endpoint.asked) == 1  # one word, to learn how long vectors are


def test_name_and_fingerprint_tell_endpoint_and_model(endpoint: Endpoint) -> None:
    embedder = open_embedder(f" {endpoint.url}/#tiny ", api_key=KEY)
    assert embedder.name == f"{endpoint.url}#tiny"
    again = open_embedder(embedder.name)
    assert again.fingerprint == embedder.fingerprint  # the key changes no vector
    others = [
        open_embedder(f"{endpoint.url}#small"),
        open_embedder(f"{endpoint.url}/v2#tiny"),
    ]
    assert len({embedder.fingerprint, *(other.fingerprint for other in others)}) == 3
    assert endpoint.asked == []  # opening asks nobody


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (400, f"bad input for {KEY}", "answered with HTTP 400: bad input for …"),
        (401, f"Incorrect key {KEY}", r"refuses the key \(HTTP 401\)"),
        (403, "Forbidden", r"refuses the key \(HTTP 403\)"),
        (404, "model tiny not found", "has no embeddings from 'tiny'.*tiny not found"),
        (429, "too fast", r"refuses more requests for now \(too fast\)"),
        (500, "x" * 5_000, "answered with HTTP 500: x{200}…"),
    ],
)
def test_refusals_are_sentences_without_the_key(
    endpoint: Endpoint, status: int, message: str, expected: str
) -> None:
    endpoint.answer = lambda _body: (status, {"error": {"message": message}})
    with pytest.raises(ModelUnavailable, match=expected) as caught:
        open_embedder(f"{endpoint.url}#tiny", api_key=KEY).embed_query("a")
    assert KEY not in str(caught.value)
    assert endpoint.url in str(caught.value)


def test_a_missing_key_is_told_from_a_wrong_one(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _body: (401, b"<html>who are you?</html>")
    with pytest.raises(ModelUnavailable, match="asks for a key"):
        open_embedder(f"{endpoint.url}#tiny").embed_query("a")


def data(*vectors: Any) -> Answer:
    listed = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return 200, {"data": listed}


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"no json"),
        (200, b"[]"),
        (200, {}),
        (200, {"data": None}),
        (200, {"data": []}),
        (200, {"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}),
        (200, {"data": [{"index": 0, "embedding": [1, 2]}] * 2}),
        (200, {"data": [{"index": place, "embedding": [1, 2]} for place in (1, 2)]}),
        data([1, 2]),
        data([1, 2], [1, 2], [1, 2]),
        data([1, 2], [1, 2, 3]),
        data([], []),
        data("AACAPwAAAEA=", "AACAPwAAAEA="),
        data([[1, 2]], [[1, 2]]),
        data([1, None], [1, 2]),
        data([1, 2], [1, float("nan")]),
        data([1, 2], [1, float("inf")]),
    ],
)
def test_an_answer_that_is_not_a_vector_for_each_text_is_an_error(
    endpoint: Endpoint, answer: Answer
) -> None:
    endpoint.answer = lambda _body: answer
    with pytest.raises(ModelUnavailable):
        open_embedder(f"{endpoint.url}#tiny", api_key=KEY).embed_passages(["a", "b"])


def test_vectors_keep_one_length_from_call_to_call(endpoint: Endpoint) -> None:
    embedder = open_embedder(f"{endpoint.url}#tiny")
    embedder.embed_query("a")
    endpoint.answer = lambda _body: data([1, 2, 3])
    with pytest.raises(ModelUnavailable, match="not all of one length"):
        embedder.embed_query("a")


def test_a_server_that_is_not_there_is_said_to_be(endpoint: Endpoint) -> None:
    spec = parse_spec("http://127.0.0.1:9/v1#tiny", "embedder")  # a port that nobody listens on
    with pytest.raises(ModelUnavailable, match=r"cannot be reached \(.*refused\)"):
        EndpointEmbedder(spec, retries=0).embed_query("a")


def test_a_server_that_does_not_answer_is_left(endpoint: Endpoint) -> None:
    def late(_body: dict[str, Any]) -> Answer:
        endpoint.released.wait(timeout=30)
        return 200, {}

    endpoint.answer = late
    spec = parse_spec(f"{endpoint.url}#tiny", "embedder")
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.1 seconds"):
        EndpointEmbedder(spec, retries=0, seconds=0.1).embed_query("a")
    endpoint.released.set()


def test_a_key_that_cannot_be_one_is_not_repeated() -> None:
    for key in ("hidden\nX-Header: 1", "hidden\x00", "hiddén"):
        with pytest.raises(InvalidInput) as caught:
            open_embedder("http://127.0.0.1:9/v1#tiny", api_key=key)
        assert "hidd" not in str(caught.value)


@pytest.mark.parametrize("library", ["openai", "numpy"])
def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"pip install 'contextpull\[endpoint\]'"):
        open_embedder("http://127.0.0.1:9/v1#tiny")


def test_a_folder_of_the_same_name_is_no_endpoint(tmp_path: Path) -> None:
    assert parse_spec(str(tmp_path), "embedder").form == "folder"
