"""A server over a store with vectors, or one that gets them while it serves."""

import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from contextpull.models.embedding import open_embedder
from contextpull.retrieval.models import Models
from contextpull.server.app import build_server
from contextpull.server.corpus import Corpus, Vectors
from contextpull.store.embedding import keep_vectors
from contextpull.store.ingest import ingest
from tests.embedders import assert_vectors_are_right, without

Use = Callable[[Client], Awaitable[Any]]
ASKED = "cleaningcommand"
"""No document has this word; that of the cache has nearly all of its letters."""
FOUND = "guide/cache.md#clear-the-cache"


@pytest.fixture
def hybrid(corpus: Path, tmp_path: Path, tiny_embedder: Path) -> Path:
    """A store of the corpus, with its vectors."""
    store = tmp_path / "store"
    ingest(corpus, store)
    keep_vectors(store, model=str(tiny_embedder), cache=None)
    return store


def converse(source: Corpus, use: Use, **options: Any) -> Any:
    """Run a coroutine with a client of a server over this corpus."""

    async def session() -> Any:
        source.start()
        async with Client(build_server(source, **options)) as client:
            return await use(client)

    return anyio.run(session)


async def asked(client: Client, query: str = ASKED, **more: Any) -> str:
    result = await client.call_tool("search", {"query": query, **more})
    assert not result.is_error, result.content
    return str(result.content[0].text)


def background_is_done() -> None:
    """Wait until no thread reads or embeds any more."""
    for thread in threading.enumerate():
        if thread.name == "ingest":
            thread.join(timeout=60)
            assert not thread.is_alive()


def test_a_store_with_vectors_is_searched_by_both(hybrid: Path, tiny_reranker: Path) -> None:
    async def use(client: Client) -> list[str]:
        modes = ("hybrid", "dense", "rerank")
        return [await asked(client), *[await asked(client, mode=mode) for mode in modes]]

    models = Models(reranker=str(tiny_reranker))
    default, *named = converse(Corpus(hybrid, None), use, models=models)
    assert default == named[0]
    assert all(text.startswith(f"1. {FOUND}") for text in (default, *named))


def test_the_mode_of_a_server_is_what_a_call_does_not_name(hybrid: Path) -> None:
    async def use(client: Client) -> tuple[str, str]:
        return await asked(client), await asked(client, mode="hybrid")

    by_words, by_both = converse(Corpus(hybrid, None), use, mode="lexical")
    assert by_words.startswith("No section")
    assert by_both.startswith("1. ")


def test_an_unknown_mode_is_an_error_that_names_those_there_are(hybrid: Path) -> None:
    async def use(client: Client) -> Any:
        return await client.call_tool("search", {"query": "cache", "mode": "semantic"})

    result = converse(Corpus(hybrid, None), use)
    assert result.is_error
    assert "'mode'" in result.content[0].text
    assert "rerank" in result.content[0].text


def test_a_server_makes_the_vectors_it_is_told_to_and_then_searches_by_them(
    corpus: Path, tmp_path: Path, tiny_embedder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def use(client: Client) -> tuple[str, str]:
        first = await asked(client, "cache")
        await anyio.to_thread.run_sync(background_is_done)
        return first, await asked(client)

    vectors = Vectors(str(tiny_embedder), "", tmp_path / "cache")
    first, later = converse(Corpus(tmp_path / "store", corpus, vectors=vectors), use)
    assert FOUND in first
    assert later.startswith(f"1. {FOUND}")
    assert "contextpull: 4 sections embedded\n" in capsys.readouterr().err
    assert_vectors_are_right(tmp_path / "store", open_embedder(str(tiny_embedder)))
    assert list((tmp_path / "cache").iterdir())


def test_a_server_keeps_up_the_vectors_of_a_store_that_has_some(
    corpus: Path, hybrid: Path, tiny_embedder: Path
) -> None:
    (corpus / "new.md").write_text("# News\n\nThe zeppelin has landed safely this morning.\n")

    async def use(client: Client) -> str:
        await asked(client, "news")
        await anyio.to_thread.run_sync(background_is_done)
        return await asked(client, "zeppelinlanding")

    assert converse(Corpus(hybrid, corpus), use).startswith("1. new.md#news")
    assert_vectors_are_right(hybrid, open_embedder(str(tiny_embedder)))


def test_vectors_that_come_while_a_server_runs_are_used_without_a_restart(
    corpus: Path, tmp_path: Path, tiny_embedder: Path
) -> None:
    store = tmp_path / "store"
    ingest(corpus, store)

    async def use(client: Client) -> tuple[str, str]:
        before = await asked(client)
        keep_vectors(store, model=str(tiny_embedder), cache=None)
        return before, await asked(client)

    before, after = converse(Corpus(store, None), use)
    assert before.startswith("No section")
    assert after.startswith(f"1. {FOUND}")


def test_a_model_that_cannot_be_used_is_told_on_stderr_and_words_answer(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def use(client: Client) -> str:
        await asked(client, "cache")
        await anyio.to_thread.run_sync(background_is_done)
        return await asked(client, "cache")

    vectors = Vectors(str(tmp_path / "nowhere"), "", None)
    text = converse(Corpus(tmp_path / "store", corpus, vectors=vectors), use)
    assert text.startswith(f"1. {FOUND}")
    errors = capsys.readouterr().err
    assert "contextpull: the vectors are not up to date: " in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("library", ["faiss", "onnxruntime"])
def test_without_a_library_words_answer_and_a_note_says_so(
    hybrid: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    for name, nothing in without(library).items():
        monkeypatch.setitem(sys.modules, name, nothing)

    async def use(client: Client) -> str:
        return await asked(client, "cache")

    text = converse(Corpus(hybrid, None), use)
    assert text.startswith("Ranked by words alone, without vectors: ")
    assert "pip install 'contextpull[" in text
    assert FOUND in text


SERVED = """
import sys, anyio
from pathlib import Path
from mcp import Client
from contextpull.server.app import build_server
from contextpull.server.corpus import Corpus

async def session():
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    source = Corpus(Path(sys.argv[1]), root)
    source.start()
    async with Client(build_server(source)) as client:
        await client.list_tools()
        calls = [("search", {"query": "cache"}), ("grep", {"pattern": "TX"}), ("index", {}),
                 ("read", {"ids": "notes.txt#top"})]
        for name, arguments in calls:
            assert not (await client.call_tool(name, arguments)).is_error

anyio.run(session)
heavy = {"numpy", "faiss", "onnxruntime", "tokenizers", "openai", "torch"}
print("loaded:", sorted(heavy & sys.modules.keys()))
"""


@pytest.mark.parametrize("reads", [True, False])
def test_a_server_over_a_store_without_vectors_loads_nothing_for_them(
    corpus: Path, tmp_path: Path, reads: bool
) -> None:
    ingest(corpus, tmp_path / "store")
    arguments = [str(tmp_path / "store"), *([str(corpus)] if reads else [])]
    command = [sys.executable, "-c", SERVED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "loaded: []\n", done.stderr


def test_a_process_serves_with_the_models_it_is_given(
    corpus: Path, tmp_path: Path, tiny_embedder: Path, tiny_reranker: Path
) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    models = ["--embedder", str(tiny_embedder), "--reranker", str(tiny_reranker)]
    arguments = ["-m", "contextpull", "serve", str(corpus), *models, "--mode", "rerank"]

    async def session() -> str:
        server = StdioServerParameters(
            command=sys.executable, args=arguments, cwd=tmp_path, env=environment
        )
        reading, writing = os.pipe()
        with os.fdopen(reading) as lines, os.fdopen(writing, "w") as errors:
            async with Client(stdio_client(server, errlog=errors)) as client:
                await asked(client, "cache")
                with anyio.fail_after(60):
                    while "sections embedded" not in await anyio.to_thread.run_sync(lines.readline):
                        pass
                return await asked(client)

    assert anyio.run(session).startswith(f"1. {FOUND}")
    assert not list(tmp_path.rglob("*.new"))
