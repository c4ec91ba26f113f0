"""The hosts that `contextpull mcp-config` writes for: where each keeps its servers."""

import re
from typing import NamedTuple

from contextpull.errors import InvalidInput


class Host(NamedTuple):
    """A program that starts or calls MCP servers for a model."""

    title: str
    files: dict[str, str]
    """Where its file lies, by platform or by whom it is for."""
    after: str
    """What to do when the server stands there."""
    check: str
    """How to see that it works."""
    section: str
    """The key of that file under which servers stand."""
    token_by: str
    """How a header refers to a token that is kept under `{name}`; empty where it cannot."""
    token_from: str
    """How it comes by the token that a variable `{name}` holds."""
    expands: re.Pattern[str] | None
    """What it replaces in the strings of its file, with no way to prevent that."""


_SET = "Set {name} to the token where the host is started."
_BRACES = re.compile(r"\$\{")

HOSTS = {
    "claude-code": Host(
        title="Claude Code",
        files={"project": ".mcp.json in the folder where claude is started"},
        after="Start claude there and say yes to the server.",
        check="`claude mcp list` shows it.",
        section="mcpServers",
        token_by="${{{name}}}",
        token_from=_SET,
        expands=_BRACES,
    ),
    "claude-desktop": Host(
        title="Claude Desktop",
        files={
            "macOS": "~/Library/Application Support/Claude/claude_desktop_config.json",
            "Windows": r"%APPDATA%\Claude\claude_desktop_config.json",
            "Linux": "~/.config/Claude/claude_desktop_config.json",
        },
        after="Settings > Developer > Edit Config opens it; quit Claude Desktop and start it anew.",
        check="Settings > Developer shows it.",
        section="mcpServers",
        token_by="",
        token_from="",
        expands=None,
    ),
    "cursor": Host(
        title="Cursor",
        files={"user": "~/.cursor/mcp.json", "project": ".cursor/mcp.json"},
        after="Cursor asks before it uses the server.",
        check="Settings > MCP shows it.",
        section="mcpServers",
        token_by="${{env:{name}}}",
        token_from=_SET,
        expands=_BRACES,
    ),
    "vscode": Host(
        title="VS Code",
        files={
            "project": ".vscode/mcp.json",
            "user": "the file that the command `MCP: Open User Configuration` opens",
        },
        after="Press Start above the entry.",
        check="The command `MCP: List Servers` shows it.",
        section="servers",
        token_by="${{input:{name}}}",
        token_from="It asks for what {name} holds, once, and keeps it as a secret.",
        expands=_BRACES,
    ),
    "codex": Host(
        title="Codex",
        files={
            "user": "~/.codex/config.toml",
            "project": ".codex/config.toml, where it is trusted",
        },
        after="Start codex anew.",
        check="`codex mcp list` shows it.",
        section="mcp_servers",
        token_by="{name}",
        token_from=_SET,
        expands=None,
    ),
    "gemini": Host(
        title="Gemini CLI",
        files={"user": "~/.gemini/settings.json", "project": ".gemini/settings.json"},
        after="Start gemini in a folder that it trusts.",
        check="`gemini mcp list` shows it.",
        section="mcpServers",
        token_by="${{{name}}}",
        token_from=_SET,
        expands=re.compile(r"\$[\w{]"),
    ),
}
"""By the name that `--client` takes."""


def host_of(client: str) -> Host:
    """The host of this name. Raises InvalidInput for another."""
    if client not in HOSTS:
        raise InvalidInput(f"There is no host {client!r} here; known are {', '.join(HOSTS)}.")
    return HOSTS[client]


def where_to_put(client: str, shape: str, token_variable: str = "") -> str:
    """One line: where a `file`, `command` or `link` of an entry belongs, and what to do then."""
    host = host_of(client)
    if shape == "file":
        files = "; ".join(f"({whose}) {file}" for whose, file in host.files.items())
        where = f"{host.title}: put this into {files}, beside what stands there. {host.after}"
    else:
        where = "Run this in a POSIX shell." if shape == "command" else "Open this link."
    token = f" {host.token_from.format(name=token_variable)}" if token_variable else ""
    return f"{where}{token} {host.check}"
