"""Corpora written on the spot, the tools over them, and tiny models."""

import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.tiny_models import write_embedder, write_reranker

Files = Mapping[str, str | bytes]
Tools = Callable[[Files], ToolSession]


def write_corpus(folder: Path, files: Files) -> Path:
    """Write files, by path below the folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def hear_interrupts() -> None:
    """For a child that a test interrupts: background jobs of a shell are deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def tools_over(folder: Path, files: Files) -> ToolSession:
    """The tools over a new store of these files, which come to lie in `folder/docs`."""
    ingest(write_corpus(folder / "docs", files), folder / "store")
    return ToolSession(open_store(folder / "store"))


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """Ingest files and give back the tools over them."""
    return lambda files: tools_over(tmp_path, files)


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an embedder; whoever wants to change it takes a copy."""
    pytest.importorskip("onnx")
    return write_embedder(tmp_path_factory.mktemp("models") / "embedder")


@pytest.fixture(scope="session")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reranker."""
    pytest.importorskip("onnx")
    return write_reranker(tmp_path_factory.mktemp("models") / "reranker")


def ids(text: str) -> list[str]:
    """The section ids of a search result, best first."""
    first = (line.partition(" | ")[0] for line in text.splitlines() if line[:1].isdigit())
    return [line.partition(". ")[2] for line in first]
