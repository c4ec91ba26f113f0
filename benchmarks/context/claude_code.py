"""The same questions through Claude Code, whose model is a script on 127.0.0.1."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sides import Side
from talking import Turn

from tests.scripted_claude_api import Step, scripted_api

PREFIX = "mcp__docs__"
SETTINGS: dict[str, tuple[str, ...]] = {'`--tools ""`': ("--tools", ""), "defaults": ()}
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "ANTHROPIC_API_KEY": "dummy",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
_LONGEST = 120


class Exchange(NamedTuple):
    """The bodies of the requests of one question."""

    requests: list[dict[str, Any]]

    @property
    def sizes(self) -> list[int]:
        """Bytes of each, as they were sent."""
        return [
            len(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode())
            for each in self.requests
        ]


def version(claude: Path) -> str:
    """What it says of itself."""
    done = subprocess.run([claude, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def defers(claude: Path, side: Side, options: Sequence[str]) -> bool:
    """Whether this host hides the tools of this server until the model looks them up."""
    first = _ask(claude, side, options, "Hello", [Step("Hello.")]).requests[0]
    return f"{PREFIX}search" not in {tool["name"] for tool in first["tools"]}


def ask(
    claude: Path,
    side: Side,
    options: Sequence[str],
    question: str,
    talk: Sequence[Turn],
    look: bool,
) -> Exchange:
    """One question; the model does what it did over stdio, after looking the tools up if it must.

    Raises RuntimeError when the server answered otherwise than over stdio.
    """
    steps = [
        Step(calls=[(PREFIX + call.tool, call.arguments) for call, _ in turn]) for turn in talk
    ]
    if look:
        wanted = f"select:{PREFIX}search,{PREFIX}read"
        steps.insert(0, Step(calls=[("ToolSearch", {"query": wanted})]))
    found = _ask(claude, side, options, question, [*steps, Step("This is the answer.")])
    expected = [result for turn in talk for _, result in turn]
    if len(found.requests) != len(steps) + 1 or _results(found.requests[-1]) != expected:
        raise RuntimeError(f"Through Claude Code, {side.name} answered {question!r} otherwise.")
    return found


def _results(request: dict[str, Any]) -> list[str]:
    """What the server's tools gave back, by a request."""
    blocks = [
        block
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    ours = {
        block["id"]
        for block in blocks
        if block["type"] == "tool_use" and block["name"].startswith(PREFIX)
    }
    return [
        "\n".join(part["text"] for part in block["content"])
        for block in blocks
        if block["type"] == "tool_result" and block["tool_use_id"] in ours
    ]


def _ask(
    claude: Path, side: Side, options: Sequence[str], question: str, steps: Sequence[Step]
) -> Exchange:
    """A process in an empty folder with a home of its own, and no way out of the machine."""
    with TemporaryDirectory(prefix="contextpull-claude-") as name, scripted_api(*steps) as api:
        folder = Path(name)
        for each in ("home", "work"):
            (folder / each).mkdir()
        config = folder / "mcp.json"
        server = side.server()
        entry = {"command": server.command, "args": server.args, "env": server.env}
        config.write_text(json.dumps({"mcpServers": {PREFIX.split("__")[1]: entry}}))
        command = [claude, "-p", question, *options, "--mcp-config", config, "--strict-mcp-config"]
        command += ["--allowedTools", PREFIX.rstrip("_"), "--setting-sources", ""]
        command += ["--no-session-persistence", "--max-turns", "8"]
        environment = {
            "PATH": os.pathsep.join((str(claude.parent), os.defpath)),
            "HOME": str(folder / "home"),
            "CLAUDE_CONFIG_DIR": str(folder / "home" / ".claude"),
            "ANTHROPIC_BASE_URL": api.url,
            **_ENVIRONMENT,
        }
        subprocess.run(
            command,
            cwd=folder / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_LONGEST,
        )
        return Exchange(api.requests)
