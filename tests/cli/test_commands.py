"""The command line, run as a user runs it."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from contextpull.cli.main import cli
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.terminals import seen_in_terminal

PYTHON = [sys.executable, "-m", "contextpull"]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    root.joinpath("cache.md").write_text(
        "# Cache\n\nEverything that is worth keeping lies in the cache.\n\n"
        "## Clear the cache\n\nRun `tool clean --no-cache` to remove all its entries.\n"
    )
    root.joinpath("logo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return root


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PYTHON, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


def test_ingest_says_what_came_out_and_what_was_left_out(docs: Path, tmp_path: Path) -> None:
    done = run("ingest", str(docs), cwd=tmp_path)
    assert done.returncode == 0
    assert "1 documents, 2 sections" in done.stdout
    assert "logo.png: no reader for .png" in done.stdout
    assert done.stderr == ""
    again = run("ingest", str(docs), "--json", cwd=tmp_path)
    report = json.loads(again.stdout)
    assert (report["generation"], report["unchanged"], report["added"]) == (1, 1, 0)
    assert report["skipped"] == [{"path": "logo.png", "reason": "no reader for .png"}]


HOSTILE = "# Notes\n\nA \x1b[31mred\x1b[0m word, \x9b2J and a\rreturn.\r\n\tTab\x7f.\n"


def read_hostile(folder: Path) -> list[str]:
    """A store of a document that tries to command a terminal; the command that reads it there."""
    ingest(write_corpus(folder / "docs", {"notes.md": HOSTILE}), folder / "store")
    return [*PYTHON, "read", "notes.md", "--store", "store"]


def test_text_with_control_characters_is_given_to_programs_as_it_is(tmp_path: Path) -> None:
    done = subprocess.run(read_hostile(tmp_path), cwd=tmp_path, capture_output=True, check=True)
    assert HOSTILE in done.stdout.decode()


def test_a_terminal_is_shown_pictures_of_control_characters(tmp_path: Path) -> None:
    command = read_hostile(tmp_path)
    seen = seen_in_terminal(
        lambda terminal: subprocess.Popen(command, cwd=tmp_path, stdout=terminal, text=True)
    )
    shown = re.sub("\r+\n", "\n", seen)  # terminals add one
    assert "A ␛[31mred␛[0m word, \N{REPLACEMENT CHARACTER}2J and a␍return.\n\tTab␡.\n" in shown


def test_ingest_of_a_folder_without_documents_exits_1(tmp_path: Path) -> None:
    tmp_path.joinpath("empty").mkdir()
    done = run("ingest", "empty", cwd=tmp_path)
    assert done.returncode == 1
    assert "Nothing in empty can be read" in done.stdout


def test_ingest_keeps_the_settings_that_the_store_was_made_with(docs: Path, tmp_path: Path) -> None:
    run("ingest", str(docs), "--min-chars", "0", "--max-chars", "500", cwd=tmp_path)
    again = json.loads(run("ingest", str(docs), "--json", cwd=tmp_path).stdout)
    assert again["generation"] == 1
    state = json.loads(run("doctor", "--json", cwd=tmp_path).stdout)
    assert state["store"]["settings"]["max_chars"] == 500
    changed = json.loads(
        run("ingest", str(docs), "--max-chars", "600", "--json", cwd=tmp_path).stdout
    )
    assert changed["generation"] == 2
    assert any("settings changed" in note for note in changed["notes"])


def test_bad_settings_name_what_is_wrong(docs: Path, tmp_path: Path) -> None:
    done = run("ingest", str(docs), "--heading-depth", "9", cwd=tmp_path)
    assert done.returncode == 2
    assert "heading_depth must be 1 to 6, not 9" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["search", "clear the cache"], 0, "1. cache.md#clear-the-cache"),
        (["search", "zeppelin"], 1, "No section matches"),
        (["grep", "--no-cache"], 0, "cache.md#clear-the-cache | Cache > Clear the cache\n7: Run"),
        (["grep", "-e", r"ca\w+", "-n", "1"], 0, "More: offset=1"),
        (["grep", "zeppelin"], 1, "No line matches"),
        (["read", "cache.md#clear-the-cache"], 0, "Run `tool clean --no-cache`"),
        (["index"], 0, "cache.md (2): Cache"),
        (["index", "cache.md"], 0, "#clear-the-cache"),
        (["export-chunks"], 0, '{"id": "cache.md#cache", "text": "# Cache'),
        (["doctor"], 0, "sound and up to date"),
    ],
)
def test_queries_print_results_and_exit_as_promised(
    docs: Path, tmp_path: Path, arguments: list[str], code: int, expected: str
) -> None:
    run("ingest", str(docs), cwd=tmp_path)
    done = run(*arguments, cwd=tmp_path)
    assert expected in done.stdout
    assert done.returncode == code
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["search", "x", "-p", "nowhere/"], "No document matches the path 'nowhere/'"),
        (["grep", "-e", "("], "cannot be used"),
        (["read", "cache.md#purge"], "cache.md#cache"),
        (["search", "x", "-n", "900"], "'limit'"),
        (["search", "x", "--store", "elsewhere"], "contextpull ingest FOLDER"),
        (["ingest", "nowhere"], "does not exist"),
        (["ingest", "docs/cache.md"], "is a file, not a folder"),
    ],
)
def test_errors_are_one_sentence_on_stderr_and_exit_2(
    docs: Path, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    run("ingest", str(docs), cwd=tmp_path)
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["search", "cache"], "hits"),
        (["grep", "cache"], "matches"),
        (["read", "cache.md"], "sections"),
        (["index"], "lines"),
        (["doctor"], "store"),
    ],
)
def test_json_is_for_programs(docs: Path, tmp_path: Path, arguments: list[str], key: str) -> None:
    run("ingest", str(docs), cwd=tmp_path)
    assert json.loads(run(*arguments, "--json", cwd=tmp_path).stdout)[key]


def test_what_is_written_for_others_is_reported_as_json_too(docs: Path, tmp_path: Path) -> None:
    run("ingest", str(docs), cwd=tmp_path)
    exported = run("export-chunks", "-o", "sections.jsonl", "--json", cwd=tmp_path)
    assert json.loads(exported.stdout) == {"sections": 2, "output": "sections.jsonl"}
    lines = tmp_path.joinpath("sections.jsonl").read_text().splitlines()
    assert [json.loads(line)["source"] for line in lines] == ["cache.md", "cache.md"]
    paragraph = json.loads(run("claude-md", "--json", cwd=tmp_path).stdout)["markdown"]
    assert paragraph.startswith("## Documents")


def test_the_store_can_be_named_in_the_environment(docs: Path, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    run("ingest", str(docs), cwd=tmp_path, CONTEXTPULL_STORE=elsewhere)
    done = run("search", "cache", cwd=docs, CONTEXTPULL_STORE=elsewhere)
    assert "cache.md#" in done.stdout


def test_doctor_tells_what_is_behind(docs: Path, tmp_path: Path) -> None:
    assert run("doctor", cwd=tmp_path).returncode == 1
    run("ingest", str(docs), cwd=tmp_path)
    docs.joinpath("new.md").write_text("# New\n\nA page that came later than the others did.\n")
    done = run("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 new, 0 changed, 0 gone" in done.stdout


@pytest.mark.parametrize("shape", ["anthropic", "openai", "openai-chat", "mcp"])
def test_tools_are_printed_in_the_shapes_that_apis_take(tmp_path: Path, shape: str) -> None:
    tools = json.loads(run("tools", "--format", shape, cwd=tmp_path).stdout)
    assert [tool.get("function", tool)["name"] for tool in tools] == [
        "search",
        "grep",
        "read",
        "index",
    ]


def test_claude_md_holds_the_discipline(tmp_path: Path) -> None:
    assert "Read before you answer" in run("claude-md", cwd=tmp_path).stdout


def test_a_reader_that_has_seen_enough_ends_it_quietly(docs: Path, tmp_path: Path) -> None:
    for number in range(300):
        docs.joinpath(f"{number}.md").write_text(f"# {number}\n\n" + "Words of a page. " * 60)
    run("ingest", str(docs), cwd=tmp_path)
    with subprocess.Popen(
        [*PYTHON, "export-chunks"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) in {0, 1}


def test_an_interrupt_ends_the_server_quietly(docs: Path, tmp_path: Path) -> None:
    run("ingest", str(docs), cwd=tmp_path)
    with subprocess.Popen(
        [*PYTHON, "serve", str(docs)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        assert process.wait(timeout=60) in {0, 130}
        assert "Traceback" not in process.stderr.read()


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['contextpull', '--help']\n"
        "from contextpull.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'mcp', 'tantivy', 'pydantic', 'sqlite3', 'numpy', 'rich', 're2', 'pyromark'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_every_command_and_option_has_help() -> None:
    for path, command in walk(cli, "contextpull"):
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{path} {parameter.name}"


def walk(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            found += walk(inner, f"{path} {name}")
    return found
