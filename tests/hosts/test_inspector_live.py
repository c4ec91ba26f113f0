"""The MCP Inspector's command line, over stdio and HTTP, in both eras of the protocol.

`make test` installs it and names it in CONTEXTPULL_INSPECTOR; without it these tests are skipped.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contextpull.server.tokens import add_token
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.server.conftest import DOCUMENTS
from tests.server.http_servers import serving

INSPECTOR = os.environ.get("CONTEXTPULL_INSPECTOR", "")

pytestmark = pytest.mark.skipif(not INSPECTOR, reason="CONTEXTPULL_INSPECTOR names no inspector")

SEARCH = ("--tool-name", "search", "--tool-arg", "query=clear the cache")
READ = ("--tool-name", "read", "--tool-arg")
OUTLINE = "contextpull://outline/guide%2Fcache.md"


class Done(NamedTuple):
    """How the Inspector ended."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)["result"]
        return found

    @property
    def error(self) -> str:
        """What a refusal of the server says."""
        assert self.code == 1, self.out
        return str(json.loads(self.err.splitlines()[-1])["error"]["message"])


Inspect = Callable[..., Done]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspected")
    ingest(write_corpus(folder / "docs", DOCUMENTS), folder / "store")
    return folder


@pytest.fixture(scope="module", params=["stdio", "http"])
def target(request: pytest.FixtureRequest, folder: Path) -> Iterator[list[str]]:
    """The arguments that say where the server is."""
    if request.param == "stdio":
        yield [sys.executable, "-m", "contextpull", "serve", str(folder / "store")]
        return
    token = add_token(folder / "tokens.jsonl", "inspector", ["**"], None)
    with serving("store", "--tokens", "tokens.jsonl", cwd=folder) as served:
        yield [served.url, "--header", f"Authorization: Bearer {token}"]


@pytest.fixture(params=["legacy", "modern"])
def inspect(request: pytest.FixtureRequest, target: list[str], folder: Path) -> Inspect:
    """Run one method and give back how it ended."""

    def run(method: str, *arguments: str) -> Done:
        options = ["--protocol-era", request.param, "--format", "json", "--quiet"]
        command = [*shlex.split(INSPECTOR), "--cli", *target, "--method", method]
        done = subprocess.run(
            [*command, *arguments, *options],
            cwd=folder,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def test_lists_the_tools_with_schemas_that_other_clients_can_take(inspect: Inspect) -> None:
    done = inspect("tools/list", "--strict")
    assert [tool["name"] for tool in done.result["tools"]] == ["search", "grep", "read", "index"]


def test_calls_a_tool(inspect: Inspect) -> None:
    done = inspect("tools/call", *SEARCH)
    assert "guide/cache.md#clear-the-cache" in done.result["content"][0]["text"]


def test_sees_an_error_as_one(inspect: Inspect) -> None:
    done = inspect("tools/call", *READ, 'ids=["nowhere.md#x"]')
    assert done.code == 5
    assert "No section has the id" in done.out


def test_lists_and_reads_resources(inspect: Inspect) -> None:
    listed = [each["uri"] for each in inspect("resources/list").result["resources"]]
    assert listed[0] == "contextpull://index"
    assert "contextpull://document/guide%2Fcache.md" in listed
    templates = inspect("resources/templates/list").result["resourceTemplates"]
    assert "contextpull://outline/{path}{?offset}" in [each["uriTemplate"] for each in templates]
    outline = inspect("resources/read", "--uri", OUTLINE).result["contents"][0]["text"]
    assert "#clear-the-cache | Clear the cache" in outline
    missing = inspect("resources/read", "--uri", OUTLINE.replace("cache", "cash"))
    assert "No document matches the path 'guide/cash.md'." in missing.error


def test_lists_and_fills_in_prompts(inspect: Inspect) -> None:
    listed = [each["name"] for each in inspect("prompts/list").result["prompts"]]
    assert listed == ["answer", "compare", "mentions"]
    name = ("--prompt-name", "answer")
    filled = inspect("prompts/get", *name, "--prompt-args", "question=What is cached?")
    assert "What is cached?" in filled.result["messages"][0]["content"]["text"]
    assert "needs 'question'" in inspect("prompts/get", *name).error
