"""`contextpull ingest --watch` in a process of its own."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from contextpull.cli.main import cli
from contextpull.models.embedding import open_embedder
from tests.conftest import hear_interrupts, write_corpus
from tests.embedders import assert_vectors_are_right

PATIENCE = 120
"""Seconds after which a test gives a process up."""
TEXT = "# Title\n\nSome words of a document, enough of them to be a section.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "docs", {"a.md": TEXT})


@contextmanager
def following(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """An ingest that follows the folder, once it says so; it is interrupted in the end."""
    command = [sys.executable, "-m", "contextpull", "ingest", str(folder), *options]
    with subprocess.Popen(
        [*command, "--store", str(folder.parent / "store")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        patience = threading.Timer(PATIENCE, process.kill)
        patience.start()
        try:
            assert process.stderr
            assert process.stderr.readline() == (
                f"contextpull: following {folder}; Ctrl-C ends it.\n"
            )
            yield process
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
            assert process.stderr.read().strip() == ""
        finally:
            process.kill()
            patience.cancel()


def next_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline()


@pytest.mark.parametrize("how", [["--watch"], ["--watch-poll", "0.1"]])
def test_each_generation_is_a_line(folder: Path, how: list[str]) -> None:
    with following(folder, *how) as process:
        assert next_line(process).startswith("1 documents, 1 sections")
        assert next_line(process).startswith("1 added")
        (folder / "b.md").write_text(TEXT)
        assert re.fullmatch(
            r"\d\d:\d\d:\d\d  generation 2: b\.md added; 2 documents, 2 sections \(\d+\.\d s\)\n",
            next_line(process),
        )
        (folder / "a.md").unlink()
        (folder / "b.md").rename(folder / "c.md")
        line = next_line(process)
        while "1 documents" not in line:
            line = next_line(process)
        assert "a.md" in line or "c.md" in line


def test_many_changed_files_are_counted(folder: Path) -> None:
    with following(folder, "--watch") as process:
        next_line(process), next_line(process)
        many = write_corpus(folder.parent / "many", {f"{n}.md": TEXT for n in range(1_200)})
        many.rename(folder / "many")
        assert "generation 2: 1,200 added; 1,201 documents" in next_line(process)


def test_with_json_each_generation_is_an_object_on_a_line(folder: Path) -> None:
    with following(folder, "--watch", "--json") as process:
        assert json.loads(next_line(process))["generation"] == 1
        (folder / "b.md").write_text(TEXT)
        second = json.loads(next_line(process))
        assert (second["generation"], second["added"], second["vectors"]) == (2, 1, None)


def test_with_verbose_each_generation_tells_what_became_of_each_file(folder: Path) -> None:
    with following(folder, "--watch", "--verbose") as process:
        for _ in range(3):
            next_line(process)
        (folder / "b.md").write_text(TEXT)
        assert "b.md added" in next_line(process)
        assert next_line(process).split() == ["added", "b.md", "1", "section"]


def test_vectors_are_kept_up(
    folder: Path, tmp_path: Path, tiny_embedder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with following(folder, "--watch", "--embedder", str(tiny_embedder)) as process:
        for _ in range(3):
            next_line(process)
        (folder / "b.md").write_text(f"{TEXT}Other words.\n")
        assert "b.md added" in next_line(process)
        assert ", 1 made in " in next_line(process)
    assert_vectors_are_right(tmp_path / "store", open_embedder(str(tiny_embedder)))


def test_an_ingest_that_never_ends_cannot_be_strict(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["ingest", str(folder), "--watch", "--strict"])
    assert result.exit_code == 2
    assert "--strict is for an ingest that ends" in result.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_seconds_that_are_none_are_refused(folder: Path, seconds: str) -> None:
    result = CliRunner().invoke(cli, ["ingest", str(folder), "--watch-poll", seconds])
    assert result.exit_code == 2
    assert "Invalid value for '--watch-poll'" in result.stderr
