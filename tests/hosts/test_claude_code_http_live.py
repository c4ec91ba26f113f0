"""Claude Code with our server attached over HTTP with a token, as a user would attach it.

`make test-hosts` installs it and names it in CONTEXTPULL_CLAUDE; without it they are skipped.
The model is a stand-in on 127.0.0.1, and every other address is a proxy that is not there.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client

from contextpull.server.tokens import add_token
from contextpull.store.ingest import ingest
from contextpull.tools import MOST_INSTRUCTION_CHARS
from tests.conftest import write_corpus
from tests.scripted_claude_api import ScriptedApi, Step, scripted_api
from tests.server.http_servers import Served, serving, use

CLAUDE = os.environ.get("CONTEXTPULL_CLAUDE", "")

pytestmark = pytest.mark.skipif(not CLAUDE, reason="CONTEXTPULL_CLAUDE names no Claude Code")

DOCUMENTS = {
    f"rules/{number:03}.md": f"# Rule {number} of the house, as all have agreed\n\nBe kind.\n"
    for number in range(500)
} | {"hr/pay.md": "# Pay bands\n\nThe zanzibar band is nobody's business.\n"}
PATIENCE = 90


class Run(NamedTuple):
    """What Claude Code printed, and what its model was asked."""

    events: list[dict[str, Any]]
    api: ScriptedApi

    @property
    def init(self) -> dict[str, Any]:
        return next(each for each in self.events if each.get("subtype") == "init")

    @property
    def result(self) -> str:
        return str(self.events[-1]["result"])

    @property
    def tool_results(self) -> list[str]:
        """What the tools answered, as the model was shown it."""
        contents = [each["message"]["content"] for each in self.events if each["type"] == "user"]
        return [text_of(block["content"]) for content in contents for block in content]

    @property
    def asked(self) -> list[str]:
        """The texts of the first request: system prompt, and what came before the answer."""
        request = self.api.requests[0]
        blocks = [*request["system"]]
        for message in request["messages"]:
            content = message["content"]
            blocks += [{"text": content}] if isinstance(content, str) else content
        return [block["text"] for block in blocks]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class Host:
    """Claude Code in a home of its own, and a server over HTTP that it is told of."""

    def __init__(self, home: Path, served: Served, token: str) -> None:
        self._home = home
        self._served = served
        self._token = token

    def instructions(self) -> str:
        """The server's instructions, as any client gets them with this token."""

        async def read(client: Client) -> str:
            return str(client.instructions)

        return str(use(self._served.url, read, token=self._token))

    def run(self, prompt: str, *steps: Step, token: str = "") -> Run:
        """One headless run, whose model follows the steps."""
        headers = {"Authorization": f"Bearer {token or self._token}"}
        server = {"type": "http", "url": self._served.url, "headers": headers}
        config = json.dumps({"mcpServers": {"contextpull": server}})
        command = [*shlex.split(CLAUDE), "-p", prompt, "--mcp-config", config]
        command += ["--strict-mcp-config", "--setting-sources", "", "--no-session-persistence"]
        command += ["--allowedTools", "mcp__contextpull", "--output-format", "stream-json"]
        with scripted_api(*steps) as api:
            done = subprocess.run(
                [*command, "--verbose"],
                cwd=self._home,
                env=environment(self._home, api.url),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        return Run([json.loads(line) for line in done.stdout.splitlines()], api)


def environment(home: Path, api: str) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "dummy",
        "ANTHROPIC_BASE_URL": api,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": str(home),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1",
        "PATH": os.defpath,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    ingest(write_corpus(folder / "docs", DOCUMENTS), folder / "store")
    return folder


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[Host]:
    token = add_token(folder / "tokens.jsonl", "claude", ["rules/**"], None)
    (folder / "home").mkdir()
    with serving("store", "--tokens", "tokens.jsonl", cwd=folder) as served:
        yield Host(folder / "home", served, token)


def test_instructions_reach_the_model_uncut(host: Host) -> None:
    told = host.instructions()
    assert 3_800 < len(told) <= MOST_INSTRUCTION_CHARS
    assert told.endswith("… more: call index.")
    assert any(told in text for text in host.run("Hello?", Step("Hello.")).asked)


def test_a_token_s_scope_holds_for_tools_and_resources(host: Host) -> None:
    outline = "contextpull://outline/{}"
    run = host.run(
        "What are the rules?",
        Step(calls=[("mcp__contextpull__read", {"ids": "rules/007.md"})]),
        Step(calls=[("mcp__contextpull__read", {"ids": "hr/pay.md"})]),
        Step(calls=[read_resource(outline.format("rules%2F007.md"))]),
        Step(calls=[read_resource(outline.format("hr%2Fpay.md"))]),
        Step("Be kind."),
    )
    assert run.init["mcp_servers"][0]["status"] == "connected"
    read, hidden, resource, absent = run.tool_results
    assert "# Rule 7 of the house, as all have agreed\n\nBe kind." in read
    assert "No section has the id 'hr/pay.md'." in hidden
    assert "#rule-7-of-the-house-as-all-have-agreed" in resource
    assert absent.startswith("Resource not found")  # its own words, whatever the server says
    assert run.result == "Be kind."


def read_resource(uri: str) -> tuple[str, dict[str, Any]]:
    return "ReadMcpResourceTool", {"server": "contextpull", "uri": uri}


def test_resources_are_listed(host: Host) -> None:
    run = host.run(
        "List.", Step(calls=[("ListMcpResourcesTool", {"server": "contextpull"})]), Step("Done.")
    )
    assert "contextpull://index" in run.tool_results[0]
    assert "contextpull://document/rules%2F000.md" in run.tool_results[0]


def test_prompts_are_slash_commands(host: Host) -> None:
    command = "/mcp__contextpull__compare"
    run = host.run(f"{command} rules/001.md rules/002.md", Step("They agree."))
    names = ("answer", "compare", "mentions")
    assert {f"mcp__contextpull__{name}" for name in names} <= set(run.init["slash_commands"])
    assert any("Compare rules/001.md with rules/002.md" in text for text in run.asked)
    assert "No section has the id 'x.md'" in host.run(f"{command} x.md y.md", Step("?")).result


def test_a_question_of_several_words_reaches_the_model_whole(host: Host) -> None:
    """Claude Code fills in the first word only; the prompt says that all of it is meant."""
    run = host.run("/mcp__contextpull__answer Who has agreed?", Step("All."))
    told = "\n".join(run.asked)
    assert "<command-args>Who has agreed?</command-args>" in told
    assert "\n\nWho\n\nWhere a host passed on only the first word" in told


def test_a_wrong_token_is_no_connection(host: Host) -> None:
    run = host.run("Hello?", Step("I have no tools."), token="cpt_made-up")
    assert run.init["mcp_servers"][0]["status"] != "connected"
    assert not any(name.startswith("mcp__contextpull") for name in run.init["tools"])
