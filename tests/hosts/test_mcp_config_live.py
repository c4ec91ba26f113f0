"""Claude Code, Codex and Gemini CLI take what `contextpull mcp-config` prints, and connect.

`make test-hosts` installs them and names them in CONTEXTPULL_CLAUDE, CONTEXTPULL_CODEX and
CONTEXTPULL_GEMINI; what is not there is skipped. Each has a home of its own and a PATH without our
command, and every address but this machine's is a proxy that is not there.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpull.server.tokens import add_token
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.scripted_claude_api import Step, scripted_api
from tests.server.http_servers import serving

PROGRAMS = {
    "claude-code": os.environ.get("CONTEXTPULL_CLAUDE", ""),
    "codex": os.environ.get("CONTEXTPULL_CODEX", ""),
    "gemini": os.environ.get("CONTEXTPULL_GEMINI", ""),
}
PATIENCE = 120
DOCUMENTS = {"a.md": "# Cache\n\nClear it with `tool clean`, as often as it is needed.\n"}


class Host:
    """A host in a home of its own, whose folder of documents has a difficult name."""

    def __init__(self, client: str, folder: Path) -> None:
        if not PROGRAMS[client]:
            pytest.skip(f"no {client} is named in the environment")
        self.client = client
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        self.docs = write_corpus(folder / "my 'docs' é", DOCUMENTS)
        self.store = folder / "store"
        ingest(self.docs, self.store)

    def config(self, *arguments: str) -> str:
        """What `mcp-config` prints for this host."""
        command = [sys.executable, "-m", "contextpull", "mcp-config", "--client", self.client]
        return subprocess.run(
            [*command, *arguments], cwd=self.home, capture_output=True, text=True, check=True
        ).stdout

    def local(self, *arguments: str) -> str:
        return self.config(str(self.docs), "--store", str(self.store), *arguments)

    def run(self, *arguments: str, **environment: str) -> str:
        """What the host prints when it is run in its project."""
        return self.shell(
            shlex.join([*shlex.split(PROGRAMS[self.client]), *arguments]), environment
        )

    def add(self, command: str) -> None:
        """Run a printed command, whose first word is the host."""
        program, _, rest = command.partition(" ")
        assert program in {"claude", "codex", "gemini"}
        self.shell(f"{PROGRAMS[self.client]} {rest}", {})

    def shell(self, line: str, environment: dict[str, str]) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.project,
            env={
                "ANTHROPIC_API_KEY": "dummy",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "HOME": str(self.home),
                "HTTPS_PROXY": "http://127.0.0.1:9",
                "HTTP_PROXY": "http://127.0.0.1:9",
                "LANG": "C.UTF-8",
                "NO_PROXY": "127.0.0.1",
                "PATH": os.defpath,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The URL of a server over HTTP, and a token for it."""
    ingest(write_corpus(tmp_path / "remote", DOCUMENTS), tmp_path / "remote-store")
    token = add_token(tmp_path / "tokens.jsonl", "host", ["**"], None)
    with serving("remote-store", "--tokens", "tokens.jsonl", cwd=tmp_path) as served:
        yield served.url, token


def test_claude_code_connects_by_the_file(tmp_path: Path) -> None:
    host = Host("claude-code", tmp_path)
    host.project.joinpath("given.json").write_text(host.local(), encoding="utf-8")
    with scripted_api(Step("Hello.")) as api:
        printed = host.run(
            *("-p", "Hello?", "--mcp-config", "given.json", "--strict-mcp-config"),
            *("--output-format", "stream-json", "--verbose"),
            ANTHROPIC_BASE_URL=api.url,
        )
    events = [json.loads(line) for line in printed.splitlines()]
    (server,) = next(each for each in events if each.get("subtype") == "init")["mcp_servers"]
    assert (server["name"], server["status"]) == ("contextpull", "connected")


def test_claude_code_connects_by_the_command(tmp_path: Path) -> None:
    host = Host("claude-code", tmp_path)
    host.add(host.local("--as", "command", "--name", "our-docs"))
    (line,) = (line for line in host.run("mcp", "list").splitlines() if "our-docs:" in line)
    assert line.endswith("Connected")


def test_claude_code_sends_the_token_of_the_variable(
    tmp_path: Path, remote: tuple[str, str]
) -> None:
    host, (url, token) = Host("claude-code", tmp_path), remote
    command = host.config("--http", url, "--token-env", "DOCS_TOKEN", "--as", "command")
    assert token not in command
    host.add(command)
    assert "Connected" not in host.run("mcp", "list", DOCS_TOKEN="cpt_wrong")
    assert "Connected" in host.run("mcp", "list", DOCS_TOKEN=token)


def test_codex_reads_the_file_as_it_is_meant(tmp_path: Path) -> None:
    host = Host("codex", tmp_path)
    web = ["--http", "http://127.0.0.1:1/mcp", "--token-env", "DOCS_TOKEN", "--name", "web"]
    host.home.joinpath(".codex").mkdir()
    file = host.home / ".codex" / "config.toml"
    file.write_text(f"{host.local()}\n{host.config(*web)}", encoding="utf-8")
    by_file = servers_of(host)
    transport = by_file["contextpull"]["transport"]
    assert transport["args"][-3:] == [str(host.docs), "--store", str(host.store)]
    assert by_file["contextpull"]["startup_timeout_sec"] == 60
    assert by_file["web"]["transport"]["bearer_token_env_var"] == "DOCS_TOKEN"
    file.unlink()
    host.add(host.local("--as", "command"))
    host.add(host.config(*web, "--as", "command"))
    by_command = servers_of(host)
    assert by_command["contextpull"]["transport"] == transport
    assert by_command["web"]["transport"] == by_file["web"]["transport"]


def servers_of(host: Host) -> dict[str, dict[str, dict[str, object]]]:
    """The servers that Codex knows of, by name."""
    printed = host.run("mcp", "list", "--json")
    listed = json.loads(printed[printed.index("[\n") : printed.rindex("]") + 1])
    return {server["name"]: server for server in listed}


def test_gemini_cli_connects_by_file_and_command(tmp_path: Path) -> None:
    host = Host("gemini", tmp_path)
    settings = write_corpus(host.home / ".gemini", {"settings.json": host.local()})
    assert "contextpull: " in connected(host)
    settings.joinpath("settings.json").unlink()
    host.add(host.local("--as", "command", "--name", "our-docs"))
    assert "our-docs: " in connected(host)


def test_gemini_cli_sends_the_token_of_the_variable(
    tmp_path: Path, remote: tuple[str, str]
) -> None:
    host, (url, token) = Host("gemini", tmp_path), remote
    given = host.config("--http", url, "--token-env", "DOCS_TOKEN")
    assert token not in given
    write_corpus(host.home / ".gemini", {"settings.json": given})
    assert connected(host, DOCS_TOKEN="cpt_wrong") == ""
    assert "contextpull: " in connected(host, DOCS_TOKEN=token)


def connected(host: Host, **environment: str) -> str:
    """The lines of connected servers in Gemini CLI's list."""
    lines = host.run("mcp", "list", **environment).splitlines()
    return "\n".join(line for line in lines if line.endswith("- Connected"))
