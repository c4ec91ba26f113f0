"""`contextpull mcp-config`, as it is printed, and started from elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.server.hosting.hosts import HOSTS
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus

DOCUMENTS = {"a.md": "# Cache\n\nClear it with `tool clean`, as often as it is needed.\n"}


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name needs care, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CONTEXTPULL_STORE", raising=False)
    return write_corpus(tmp_path / "my 'docs'", DOCUMENTS)


def config(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["mcp-config", *arguments])


def args_of(done: Result) -> list[str]:
    assert done.exit_code == 0, done.output
    args: list[str] = json.loads(done.stdout)["mcpServers"]["contextpull"]["args"]
    return args


@pytest.mark.parametrize("client", HOSTS)
def test_the_text_is_on_stdout_and_where_it_belongs_on_stderr(client: str, docs: Path) -> None:
    done = config("--client", client, docs.name)
    assert done.exit_code == 0
    assert str(docs) in done.stdout.replace('\\"', '"')
    assert len(done.stderr.splitlines()) == 1
    assert all(file in done.stderr for file in HOSTS[client].files.values())


@pytest.mark.parametrize("client", sorted(HOSTS.keys() - {"claude-desktop"}))
def test_it_is_said_how_the_host_comes_by_a_token(client: str, docs: Path) -> None:
    done = config("--client", client, "--http", "http://x/mcp", "--token-env", "DOCS_TOKEN")
    assert done.exit_code == 0
    expected = "asks for what DOCS_TOKEN holds" if client == "vscode" else "Set DOCS_TOKEN to the"
    assert expected in done.stderr


def test_paths_are_absolute_and_the_store_is_that_of_the_command_line(docs: Path) -> None:
    here = docs.parent
    expected = ["serve", str(docs), "--store", str(here / ".contextpull")]
    assert args_of(config("--client", "cursor", docs.name))[-4:] == expected
    elsewhere = config("--client", "cursor", docs.name, "--store", "elsewhere")
    assert args_of(elsewhere)[-1] == str(here / "elsewhere")


def test_a_link_stays_a_link(docs: Path, tmp_path: Path) -> None:
    tmp_path.joinpath("$HOME").mkdir()
    assert config("--client", "gemini", "$HOME").exit_code == 2
    tmp_path.joinpath("link").symlink_to("$HOME")
    assert args_of(config("--client", "gemini", "./link/../link"))[-3] == str(tmp_path / "link")


def test_a_second_folder_gets_a_store_of_its_own(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ingest(docs, Path(".contextpull"))
    other = write_corpus(tmp_path / "other", DOCUMENTS)
    store = args_of(config("--client", "cursor", str(other)))[-1]
    assert store.startswith(str(tmp_path / "cache" / "contextpull" / "other-"))


def test_without_a_folder_it_is_the_one_that_the_store_here_was_read_from(docs: Path) -> None:
    ingest(docs, Path(".contextpull"))
    here = str(docs.parent / ".contextpull")
    assert args_of(config("--client", "cursor"))[-3:] == [str(docs), "--store", here]
    docs.rename(docs.parent / "gone")
    assert args_of(config("--client", "cursor"))[-2:] == ["serve", here]


def test_a_folder_that_is_a_store_is_served_as_it_is(docs: Path, tmp_path: Path) -> None:
    ingest(docs, tmp_path / "store")
    assert args_of(config("--client", "cursor", "store"))[-2:] == ["serve", str(tmp_path / "store")]


def test_the_command_starts_without_a_path_from_another_folder(docs: Path, tmp_path: Path) -> None:
    entry = tomllib.loads(config("--client", "codex", docs.name).stdout)["mcp_servers"]
    tmp_path.joinpath("empty").mkdir()
    program = [entry["contextpull"]["command"], *entry["contextpull"]["args"]]
    done = subprocess.run(
        program,
        cwd=tmp_path / "empty",
        env={"HOME": str(tmp_path), "PATH": "/nowhere"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"serving {docs} from the store {tmp_path / '.contextpull'}" in done.stderr
    assert Path(program[0]).parent == Path(sys.executable).parent


def test_uvx_installs_it_with_the_readers(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath + os.pathsep + str(tmp_path / "bin"))
    if shutil.which("uvx") is None:
        refused = config("--client", "cursor", "--uvx", docs.name)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "install uv, or leave out --uvx" in refused.stderr
    uvx = write_corpus(tmp_path / "bin", {"uvx": "#!/bin/sh\n"}) / "uvx"
    uvx.chmod(0o755)
    entry = json.loads(config("--client", "cursor", "--uvx", docs.name).stdout)["mcpServers"]
    assert entry["contextpull"]["command"].endswith("/uvx")
    assert entry["contextpull"]["args"][:4] == [
        *("--from", "contextpull[formats]", "contextpull", "serve")
    ]


def test_json_holds_every_shape(docs: Path) -> None:
    facts = json.loads(config("--client", "vscode", docs.name, "--json").stdout)
    assert facts["command"].startswith("code --add-mcp ")
    assert facts["link"].startswith("vscode:mcp/install?")
    assert json.loads(facts["file"])["servers"]["contextpull"] == facts["settings"]
    desktop = json.loads(config("--client", "claude-desktop", docs.name, "--json").stdout)
    assert desktop["command"] is desktop["link"] is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["docs"], "Missing option '--client'"),
        (["--client", "emacs", "docs"], "'emacs' is not one of 'claude-code'"),
        (["--client", "codex", "nowhere"], "does not exist"),
        (["--client", "codex", "docs/a.md"], "is a file"),
        (["--client", "codex", "docs", "--name", "my docs"], "letters, digits and hyphens"),
        (["--client", "codex", "docs", "--as", "link"], "use --as file or --as command"),
        (["--client", "codex", "docs", "--token-env", "X"], "--token-env is for --http"),
        (["--client", "codex", "docs", "--http", "http://x/mcp"], "no FOLDER, no --uvx"),
        (["--client", "codex", "--uvx", "--http", "http://x/mcp"], "no FOLDER, no --uvx"),
        (["--client", "codex", "--http", "x"], "is no URL of a server"),
        (["--client", "claude-desktop", "--http", "http://x/mcp"], "leave out --http"),
    ],
)
def test_errors_are_sentences_on_stderr_and_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "docs", DOCUMENTS)
    done = config(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert expected in done.stderr


def test_the_example_has_the_form_of_what_is_printed(docs: Path) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    example = json.loads(root.joinpath("mcp-config.example.json").read_text())
    printed = json.loads(config("--client", "claude-code", docs.name).stdout)
    assert example.keys() == printed.keys()
    (shown,), (made,) = (list(each["mcpServers"].values()) for each in (example, printed))
    assert shown.keys() == made.keys()
    assert [shown["args"][0], shown["args"][2]] == [made["args"][-4], made["args"][-2]]
