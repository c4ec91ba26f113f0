"""What hosts are told of a server, read again as each of them reads it."""

import base64
import json
import shlex
import tomllib
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.errors import InvalidInput
from contextpull.server.hosting.entries import Entry, Remote, entry_of, text_of
from contextpull.server.hosting.hosts import HOSTS
from contextpull.server.hosting.launching import Launch
from tests.properties import same_every_time

COMMANDS = ("claude-code", "vscode", "codex", "gemini")
PATHS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="$\0"), min_size=1),
    st.sampled_from(
        [
            r"C:\Users\Ann Übel\my docs\new",
            '/home/o\'brien/"quoted"/docs',
            "/data/東京 🐘/`x`;rm",
            "/a\nb\tc\x7f",
            "--store",
            "#[table]",
        ]
    ),
)
LAUNCHES = st.builds(Launch, PATHS, st.lists(PATHS, max_size=4).map(tuple))


def settings_of(entry: Entry) -> dict[str, Any]:
    """The server's settings, out of the text of the file."""
    text = text_of(entry, "file")
    read = tomllib.loads(text) if entry.client == "codex" else json.loads(text)
    (section,) = (key for key in read if key != "inputs")
    (name,) = read[section]
    assert name == entry.name
    settings: dict[str, Any] = read[section][name]
    return settings


@pytest.mark.parametrize("client", HOSTS)
@given(LAUNCHES)
@same_every_time(60)
def test_a_file_gives_back_every_program_and_argument(client: str, launch: Launch) -> None:
    settings = settings_of(entry_of(client, "docs", launch))
    assert (settings["command"], tuple(settings["args"])) == launch


@pytest.mark.parametrize("client", COMMANDS)
@given(LAUNCHES)
@same_every_time(60)
def test_a_command_gives_back_every_program_and_argument(client: str, launch: Launch) -> None:
    words = shlex.split(text_of(entry_of(client, "docs", launch), "command"))
    if client in {"claude-code", "vscode"}:
        read = json.loads(words[-1])
        assert (read["command"], tuple(read["args"])) == launch
    else:
        after_name = words[words.index("docs") + 1 :]
        dashes = after_name.index("--", 0 if client == "codex" else 1)
        after_name.pop(dashes)
        assert (after_name[0], tuple(after_name[1:])) == launch


@given(LAUNCHES)
@same_every_time(60)
def test_links_give_back_every_program_and_argument(launch: Launch) -> None:
    cursor = urlsplit(text_of(entry_of("cursor", "docs", launch), "link"))
    (config,) = parse_qs(cursor.query, strict_parsing=True)["config"]
    vscode = text_of(entry_of("vscode", "docs", launch), "link").partition("?")[2]
    for text in (base64.b64decode(config, validate=True), unquote(vscode)):
        read = json.loads(text)
        assert (read["command"], tuple(read["args"])) == launch


@pytest.mark.parametrize(
    ("client", "where", "reference"),
    [
        ("claude-code", "mcpServers", "Bearer ${DOCS_TOKEN}"),
        ("cursor", "mcpServers", "Bearer ${env:DOCS_TOKEN}"),
        ("vscode", "servers", "Bearer ${input:docs-token}"),
        ("gemini", "mcpServers", "Bearer ${DOCS_TOKEN}"),
    ],
)
def test_a_token_is_referred_to_as_each_host_does(client: str, where: str, reference: str) -> None:
    entry = entry_of(client, "docs", Remote("https://docs.example/mcp", "DOCS_TOKEN"))
    assert where in json.loads(text_of(entry, "file"))
    assert settings_of(entry)["url"] == "https://docs.example/mcp"
    assert settings_of(entry)["headers"] == {"Authorization": reference}


def test_codex_names_the_variable_alone() -> None:
    entry = entry_of("codex", "docs", Remote("https://docs.example/mcp", "DOCS_TOKEN"))
    assert settings_of(entry) == {
        "url": "https://docs.example/mcp",
        "bearer_token_env_var": "DOCS_TOKEN",
    }
    assert text_of(entry, "command") == (
        "codex mcp add docs --url https://docs.example/mcp --bearer-token-env-var DOCS_TOKEN"
    )


def test_vs_code_asks_for_the_token_and_hides_it() -> None:
    entry = entry_of("vscode", "docs", Remote("https://docs.example/mcp", "DOCS_TOKEN"))
    (asked,) = json.loads(text_of(entry, "file"))["inputs"]
    assert (asked["id"], asked["type"], asked["password"]) == ("docs-token", "promptString", True)
    with pytest.raises(InvalidInput, match="VS Code has no command for this server: use --as file"):
        text_of(entry, "command")


def test_no_token_no_header() -> None:
    for client in HOSTS.keys() - {"claude-desktop"}:
        assert "header" not in text_of(entry_of(client, "docs", Remote("http://x/mcp")), "file")


def test_claude_desktop_is_no_client_over_http() -> None:
    with pytest.raises(InvalidInput, match="Settings > Connectors"):
        entry_of("claude-desktop", "docs", Remote("http://127.0.0.1:8000/mcp"))


@pytest.mark.parametrize("variable", ["cpt_abcdefgh", "a-b", "TOKEN=x", "1ST", "${X}", "x y"])
def test_what_may_be_a_token_is_refused_and_not_repeated(variable: str) -> None:
    with pytest.raises(InvalidInput, match="never the token itself") as refused:
        entry_of("codex", "docs", Remote("http://127.0.0.1:8000/mcp", variable))
    assert variable not in str(refused.value)


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidInput, match="holds a name or a password") as refused:
        entry_of("cursor", "docs", Remote("https://ann:hunter2@docs.example/mcp"))
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["docs.example/mcp", "ftp://x/mcp", "http://", "http://[x", "h ttp"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="is no URL of a server"):
        entry_of("codex", "docs", Remote(url))


@pytest.mark.parametrize("name", ["", "my docs", "docs_1", "-x", "a.b", "é", "x" * 61])
def test_a_name_that_no_tool_can_carry_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="letters, digits and hyphens"):
        entry_of("codex", name, Launch("contextpull", ()))


@pytest.mark.parametrize(
    ("client", "path", "is_refused"),
    [
        ("claude-code", "/data/${HOME}", True),
        ("claude-code", "/data/$HOME", False),
        ("gemini", "/data/$HOME", True),
        ("gemini", "/data/5$", False),
        ("vscode", "/data/${userHome}", True),
        ("cursor", "/data/${env:HOME}", True),
        ("codex", "/data/${HOME}", False),
        ("claude-desktop", "/data/${HOME}", False),
    ],
)
def test_a_path_that_a_host_would_change_is_refused(
    client: str, path: str, is_refused: bool
) -> None:
    launch = Launch("contextpull", ("serve", path))
    if is_refused:
        with pytest.raises(InvalidInput, match="would replace the"):
            entry_of(client, "docs", launch)
    else:
        assert settings_of(entry_of(client, "docs", launch))["args"][1] == path


def test_a_path_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no UTF-8"):
        entry_of("codex", "docs", Launch("contextpull", ("serve", "/data/\udcff")))


def test_an_unknown_host_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match="known are claude-code, claude-desktop"):
        entry_of("emacs", "docs", Launch("contextpull", ()))
