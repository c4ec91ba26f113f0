"""`contextpull serve` with nothing said, in a folder of documents and elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client

from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.server.conftest import text_of, with_process

DOCUMENTS = {"a.md": "# Cache\n\nClear it with `tool clean`, as often as it is needed.\n"}


async def index(client: Client) -> str:
    return await text_of(client, "index")


def test_the_folder_itself_is_served(tmp_path: Path) -> None:
    write_corpus(tmp_path, DOCUMENTS)
    assert "a.md (1): Cache" in with_process([], index, cwd=tmp_path)
    assert (tmp_path / ".contextpull" / "store.sqlite").is_file()
    assert "a.md (1): Cache" in with_process([], index, cwd=tmp_path)


def test_the_folder_that_the_store_here_was_read_from_is_served(tmp_path: Path) -> None:
    docs = write_corpus(tmp_path / "docs", DOCUMENTS)
    write_corpus(tmp_path, {"beside.md": "# Beside\n\nIt is not among the documents at all.\n"})
    ingest(docs, tmp_path / ".contextpull")
    write_corpus(docs, {"new.md": "# New\n\nIt came later than the others, and is read.\n"})
    text = with_process([], index, cwd=tmp_path)
    assert "new.md (1)" in text
    assert "beside.md" not in text


def test_a_folder_whose_name_is_no_utf8_keeps_its_store(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / os.fsdecode(b"caf\xe9"), DOCUMENTS)
    for _start in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "contextpull", "serve", folder],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "from the store .contextpull\n" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_a_folder_whose_name_is_no_utf8_is_brought_up_to_date_at_every_start(
    tmp_path: Path,
) -> None:
    folder = write_corpus(tmp_path / os.fsdecode(b"caf\xe9"), DOCUMENTS)
    assert "a.md (1): Cache" in with_process([], index, cwd=folder)
    write_corpus(folder, {"new.md": "# New\n\nIt came later than the others, and is read.\n"})
    assert "new.md (1)" in with_process([], index, cwd=folder)


@pytest.mark.parametrize("place", ["home", "root"])
def test_neither_home_nor_the_whole_disk_is_read_unasked(tmp_path: Path, place: str) -> None:
    write_corpus(tmp_path, DOCUMENTS)
    done = subprocess.run(
        [sys.executable, "-m", "contextpull", "serve"],
        cwd=tmp_path if place == "home" else "/",
        env={**os.environ, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Name the folder of documents, as in contextpull serve ~/docs." in done.stderr
    assert not (tmp_path / ".contextpull").exists()
