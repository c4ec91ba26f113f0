"""`contextpull serve` as a process, with the official SDK's client and byte by byte."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.server.conftest import with_process


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_uses_every_tool(corpus: Path, tmp_path: Path, mode: str) -> None:
    async def use(client: Client) -> dict[str, str]:
        calls = {
            "search": {"query": "clear cache"},
            "grep": {"pattern": "TX-4419"},
            "read": {"ids": "notes.txt#top"},
            "index": {},
        }
        results = {name: await client.call_tool(name, given) for name, given in calls.items()}
        return {name: result.content[0].text for name, result in results.items()}

    texts = with_process([str(corpus)], use, cwd=tmp_path, mode=mode)
    assert texts["search"].startswith("1. guide/cache.md#clear-the-cache")
    assert "notes.txt#top\n1: Error TX-4419" in texts["grep"]
    assert "Restart it." in texts["read"]
    assert "3 documents" in texts["index"]
    assert (tmp_path / ".contextpull" / "store.sqlite").is_file()


def test_a_store_can_be_served_without_its_corpus(corpus: Path, tmp_path: Path) -> None:
    run("ingest", str(corpus), cwd=tmp_path)
    corpus.rename(tmp_path / "gone")

    async def use(client: Client) -> str:
        return str((await client.call_tool("search", {"query": "cache"})).content[0].text)

    assert "guide/cache.md" in with_process([".contextpull"], use, cwd=tmp_path)


def test_what_a_killed_first_ingest_left_is_used_again(corpus: Path, tmp_path: Path) -> None:
    tmp_path.joinpath(".contextpull").mkdir()
    tmp_path.joinpath(".contextpull", "writer.lock").touch()

    async def use(client: Client) -> str:
        return str((await client.call_tool("index", {})).content[0].text)

    assert "3 documents" in with_process([str(corpus)], use, cwd=tmp_path)
    assert tmp_path.joinpath(".contextpull", "store.sqlite").is_file()


def test_changes_made_while_nothing_served_are_seen_by_the_first_call(
    corpus: Path, tmp_path: Path
) -> None:
    run("ingest", str(corpus), cwd=tmp_path)
    corpus.joinpath("new.md").write_text("# News\n\nThe zeppelin has landed safely this morning.\n")
    corpus.joinpath("notes.txt").unlink()

    async def use(client: Client) -> tuple[str, bool]:
        found = await client.call_tool("search", {"query": "zeppelin"})
        gone = await client.call_tool("read", {"ids": "notes.txt#top"})
        return found.content[0].text, gone.is_error

    text, is_gone = with_process([str(corpus)], use, cwd=tmp_path)
    assert "new.md#news" in text
    assert is_gone


def test_standard_output_carries_protocol_only(corpus: Path, tmp_path: Path) -> None:
    output = converse(corpus, tmp_path, "tools/list")
    messages = [json.loads(line) for line in output.splitlines()]
    assert [message["id"] for message in messages] == [1, 2]
    assert all(message["jsonrpc"] == "2.0" for message in messages)


def test_a_second_corpus_from_the_same_folder_gets_a_store_of_its_own(
    corpus: Path, tmp_path: Path
) -> None:
    run("ingest", str(corpus), cwd=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    other.joinpath("b.md").write_text("# Other\n\nAnother corpus altogether, with its own words.\n")

    async def use(client: Client) -> str:
        return str((await client.call_tool("index", {})).content[0].text)

    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    text = converse_with_environment(other, tmp_path, cache, use)
    assert "b.md" in text
    assert "guide/cache.md" in with_process([".contextpull"], use, cwd=tmp_path)


def test_serving_a_folder_from_another_corpus_s_store_is_refused(
    corpus: Path, tmp_path: Path
) -> None:
    run("ingest", str(corpus), cwd=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    done = run("serve", str(other), "--store", ".contextpull", cwd=tmp_path)
    assert done.returncode == 2
    assert "holds the corpus" in done.stderr
    assert done.stdout == ""


def test_a_read_only_corpus_is_served(corpus: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> str:
        return str((await client.call_tool("index", {})).content[0].text)

    corpus.chmod(0o555)
    try:
        assert "3 documents" in with_process([str(corpus)], use, cwd=tmp_path)
    finally:
        corpus.chmod(0o755)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "contextpull", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def converse(corpus: Path, cwd: Path, method: str) -> str:
    """What the server writes for a handshake and one request."""
    client = {"name": "test", "version": "1"}
    handshake = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": method, "params": {}},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "contextpull", "serve", str(corpus)],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        process.stdin.flush()
        answers = [process.stdout.readline(), process.stdout.readline()]
        process.stdin.close()
        return "".join(answers) + process.stdout.read()


def converse_with_environment(
    corpus: Path, cwd: Path, environment: dict[str, str], use: Any
) -> str:
    import anyio
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def session() -> str:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "contextpull", "serve", str(corpus)],
            cwd=cwd,
            env={**os.environ, **environment},
        )
        async with Client(stdio_client(server)) as client:
            return str(await use(client))

    return str(anyio.run(session))
