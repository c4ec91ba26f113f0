"""The MCP Inspector's command line, a client that we did not write.

`make test` installs it and names it in CONTEXTPULL_INSPECTOR; without it these tests are skipped.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INSPECTOR = os.environ.get("CONTEXTPULL_INSPECTOR", "")

pytestmark = pytest.mark.skipif(not INSPECTOR, reason="CONTEXTPULL_INSPECTOR names no inspector")


def test_lists_the_tools(corpus: Path, tmp_path: Path) -> None:
    done = inspect(corpus, tmp_path, "--method", "tools/list")
    assert [tool["name"] for tool in answer(done)["tools"]] == ["search", "grep", "read", "index"]


def test_calls_a_tool(corpus: Path, tmp_path: Path) -> None:
    arguments = ("--tool-arg", "query=clear the cache")
    done = inspect(corpus, tmp_path, "--method", "tools/call", "--tool-name", "search", *arguments)
    assert "guide/cache.md#clear-the-cache" in answer(done)["content"][0]["text"]


def test_sees_an_error_as_one(corpus: Path, tmp_path: Path) -> None:
    arguments = ("--tool-arg", 'ids=["nowhere.md#x"]')
    done = inspect(corpus, tmp_path, "--method", "tools/call", "--tool-name", "read", *arguments)
    assert done.returncode == 5
    assert "No section has the id" in done.stdout


def inspect(corpus: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    server = [sys.executable, "-m", "contextpull", "serve", str(corpus)]
    return subprocess.run(
        [*shlex.split(INSPECTOR), "--cli", *server, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
