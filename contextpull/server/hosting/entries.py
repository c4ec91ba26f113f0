"""What a host is told of a server, in the words of its own file, command or link."""

import base64
import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from contextpull.errors import InvalidInput
from contextpull.server.hosting.hosts import host_of
from contextpull.server.hosting.launching import Launch

STARTUP_SECONDS = 60
"""For hosts that wait ten by default: a folder is read for up to eight before the first answer."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,59}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_OUR_TOKENS = "cpt_"


class Remote(NamedTuple):
    """A server over HTTP."""

    url: str
    token_variable: str = ""
    """The environment variable that holds the token; empty for a server that asks for none."""


class Entry(NamedTuple):
    """A server, as one host wants it."""

    client: str
    name: str
    settings: dict[str, Any]
    inputs: tuple[dict[str, Any], ...] = ()
    """What VS Code asks its user for."""


def entry_of(client: str, name: str, server: Launch | Remote) -> Entry:
    """The entry of a server in a host's file.

    Raises InvalidInput for a name, path, URL or variable that this host could not use as it is.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"The name must be letters, digits and hyphens, 60 at most, not {name!r}: hosts build"
            " the names of tools from it."
        )
    if isinstance(server, Remote):
        return _remote(client, name, server)
    _check_strings(client, (server.command, *server.args))
    settings: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    if client == "vscode":
        settings = {"type": "stdio", **settings}
    if client == "codex":
        settings["startup_timeout_sec"] = STARTUP_SECONDS
    return Entry(client, name, settings)


def text_of(entry: Entry, shape: str) -> str:
    """The entry as a `file`, a `command` or a `link`.

    Raises InvalidInput for a shape that this host has not.
    """
    found = _SHAPES[shape](entry)
    if found is None:
        others = [each for each, write in _SHAPES.items() if write(entry) is not None]
        raise InvalidInput(
            f"{host_of(entry.client).title} has no {shape} for this server: use --as"
            f" {' or --as '.join(others)}."
        )
    return found


def facts_of(entry: Entry) -> dict[str, Any]:
    """The entry in all its shapes, as plain data; null for those that the host has not."""
    host = host_of(entry.client)
    return {
        "client": entry.client,
        "name": entry.name,
        "settings": entry.settings,
        "files": host.files,
        "after": f"{host.after} {host.check}",
        **{shape: write(entry) for shape, write in _SHAPES.items()},
    }


def as_file(entry: Entry) -> str:
    """The text of a file that holds this server and nothing else: JSON, or TOML for Codex."""
    section = host_of(entry.client).section
    if entry.client == "codex":
        lines = [f"{key} = {_toml(value)}" for key, value in entry.settings.items()]
        return "\n".join([f"[{section}.{entry.name}]", *lines])
    content: dict[str, Any] = {section: {entry.name: entry.settings}}
    if entry.inputs:
        content["inputs"] = list(entry.inputs)
    return json.dumps(content, ensure_ascii=False, indent=2)


def as_command(entry: Entry) -> str | None:
    """The host's own command that adds this server, for a POSIX shell; None if it has none."""
    words = _words(entry)
    return shlex.join(words) if words else None


def as_link(entry: Entry) -> str | None:
    """A link that, opened, offers to add this server; None where a host has none."""
    if entry.client == "cursor":
        config = base64.b64encode(json.dumps(entry.settings).encode()).decode()
        return (
            "cursor://anysphere.cursor-deeplink/mcp/install"
            f"?name={quote(entry.name)}&config={quote(config, safe='')}"
        )
    if entry.client == "vscode" and not entry.inputs:
        return f"vscode:mcp/install?{quote(_named(entry), safe='')}"
    return None


_SHAPES: dict[str, Callable[[Entry], str | None]] = {
    "file": as_file,
    "command": as_command,
    "link": as_link,
}


def _words(entry: Entry) -> list[str]:
    settings = entry.settings
    stdio = [settings["command"], *settings["args"]] if "command" in settings else []
    if entry.client == "claude-code":
        return ["claude", "mcp", "add-json", entry.name, json.dumps(settings, ensure_ascii=False)]
    if entry.client == "vscode" and not entry.inputs:
        return ["code", "--add-mcp", _named(entry)]
    if entry.client == "codex":
        return ["codex", "mcp", "add", entry.name, *(["--", *stdio] if stdio else _codex(settings))]
    if entry.client == "gemini" and stdio:
        return ["gemini", "mcp", "add", "-s", "user", entry.name, stdio[0], "--", *stdio[1:]]
    if entry.client == "gemini":
        headers = [f"{key}: {value}" for key, value in settings.get("headers", {}).items()]
        given = [word for header in headers for word in ("-H", header)]
        start = ["gemini", "mcp", "add", "-s", "user", "-t", "http"]
        return [*start, entry.name, settings["url"], *given]
    return []


def _codex(settings: Mapping[str, Any]) -> list[str]:
    variable = settings.get("bearer_token_env_var")
    token = ["--bearer-token-env-var", variable] if variable else []
    return ["--url", settings["url"], *token]


def _named(entry: Entry) -> str:
    return json.dumps({"name": entry.name, **entry.settings}, ensure_ascii=False)


def _remote(client: str, name: str, server: Remote) -> Entry:
    host = host_of(client)
    if client == "claude-desktop":
        raise InvalidInput(
            "Claude Desktop takes no server over HTTP from its file: add the URL under Settings >"
            " Connectors, which knows OAuth but no tokens, or leave out --http and name a folder."
        )
    _check_url(server.url)
    _check_strings(client, (server.url,))
    variable = server.token_variable
    if variable:
        _check_variable(variable)
    if client == "codex":
        token = {"bearer_token_env_var": variable} if variable else {}
        return Entry(client, name, {"url": server.url, **token})
    settings: dict[str, Any] = {"type": "http", "url": server.url}
    inputs: tuple[dict[str, Any], ...] = ()
    if client == "cursor":
        del settings["type"]
    if variable:
        if client == "vscode":
            asked = f"{name}-token"
            inputs = (_asked(asked, f"Token for {name} ({variable})"),)
            variable = asked
        settings["headers"] = {"Authorization": f"Bearer {host.token_by.format(name=variable)}"}
    return Entry(client, name, settings, inputs)


def _asked(name: str, description: str) -> dict[str, Any]:
    return {"type": "promptString", "id": name, "description": description, "password": True}


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname)
        secret = "@" in parts.netloc
    except ValueError:
        is_whole = secret = False
    if secret:
        raise InvalidInput(
            "The URL holds a name or a password, which would stand in the file: leave it out, and"
            " name the variable that holds a token with --token-env."
        )
    if not is_whole or not url.isprintable() or " " in url:
        raise InvalidInput(
            f"{url!r} is no URL of a server; one looks like http://127.0.0.1:8000/mcp."
        )


def _check_variable(variable: str) -> None:
    """What is refused is not repeated: it may be the token."""
    if variable.startswith(_OUR_TOKENS) or not _VARIABLE.fullmatch(variable):
        raise InvalidInput(
            "--token-env takes the name of an environment variable that holds the token, such as"
            " CONTEXTPULL_TOKEN, never the token itself."
        )


def _check_strings(client: str, strings: tuple[str, ...]) -> None:
    host = host_of(client)
    for text in strings:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidInput(
                f"The path {text!r} is no UTF-8, which no host's file can hold: rename the folder,"
                " or name a link to it."
            ) from None
        if host.expands and host.expands.search(text):
            raise InvalidInput(
                f"{host.title} would replace the $ in {text!r} by a variable: rename the folder, or"
                " name a link to it."
            )


def _toml(value: Any) -> str:
    """A TOML value; strings and lists of JSON are such values, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
