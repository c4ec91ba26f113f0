"""How models are named."""

from pathlib import Path

import pytest

from contextpull.config import models_folder
from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.models.embedding import open_embedder
from contextpull.models.reranking import open_reranker
from contextpull.models.specs import parse_spec


@pytest.mark.parametrize(
    ("text", "form", "normal"),
    [
        (" BGE-small-en-v1.5\n", "pack", "bge-small-en-v1.5"),
        ("./model", "folder", "{here}/model"),
        ("~/model", "folder", "{home}/model"),
        ("/models/model", "folder", "/models/model"),
        ("there", "folder", "{here}/there"),
        ("st:all-MiniLM-L6-v2", "sentence-transformers", "st:all-MiniLM-L6-v2"),
        ("st: org/model", "sentence-transformers", "st:org/model"),
        ("st:./model", "sentence-transformers", "st:{here}/model"),
        ("st:there", "sentence-transformers", "st:{here}/there"),
        ("http://localhost:11434/v1/#nomic", "endpoint", "http://localhost:11434/v1#nomic"),
        ("https://api.example.com/v1#org/model:1", "endpoint", None),
    ],
)
def test_a_spec_has_one_normal_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, form: str, normal: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    tmp_path.joinpath("there").mkdir()
    expected = (normal or text).format(here=tmp_path, home="/home/someone")
    spec = parse_spec(text, "embedder")
    assert (spec.form, spec.text) == (form, expected)
    monkeypatch.chdir("/")
    assert parse_spec(spec.text, "embedder") == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bge-large",
        "st:",
        "http://localhost:11434/v1",
        "http://localhost:11434/v1#",
        "http:///v1#model",
        "http://localhost:port/v1#model",
        "http://[::1/v1#model",
        "ftp://localhost/v1#model",
        "http://localhost/v1?key=hidden#model",
        "http://someone:hidden@localhost/v1#model",
        "ms-marco-MiniLM-L-12-v2",
    ],
)
def test_anything_else_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_embedder(text, api_key="dummy")
    sentence = str(caught.value)
    for form in ("bge-small-en-v1.5", "./my-model", "st:NAME", "http://HOST:PORT/v1#MODEL"):
        assert form in sentence
    if "@" in text or "?" in text:
        assert "hidden" not in sentence


@pytest.mark.parametrize("text", ["bge-small-en-v1.5", "https://localhost/v1#model", "x"])
def test_a_reranker_is_not_named_like_an_embedder(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_reranker(text)
    assert "ms-marco-MiniLM-L-12-v2" in str(caught.value)
    assert "HOST" not in str(caught.value)


def test_a_pack_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"contextpull models install bge-small-en-v1\.5"):
        open_embedder("bge-small-en-v1.5", models=tmp_path)
    with pytest.raises(ModelUnavailable, match="contextpull models install ms-marco"):
        open_reranker("ms-marco-MiniLM-L-12-v2", models=tmp_path)


def test_packs_lie_among_the_users_data_unless_a_place_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert models_folder({}) == Path("/home/someone/.local/share/contextpull/models")
    assert models_folder({"XDG_DATA_HOME": "/data"}) == Path("/data/contextpull/models")
    named = {"XDG_DATA_HOME": "/data", "CONTEXTPULL_MODELS": "~/models"}
    assert models_folder(named) == Path("/home/someone/models")
