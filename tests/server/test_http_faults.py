"""What becomes of a running server when its store does."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from contextpull.store.ingest import ingest
from tests.server.http_servers import PATIENCE, Served, call, serving

NO_ROOM = ("bash", "-c", 'ulimit -f 0; exec "$@"', "no-room")
"""Begins a command that can write no file: what a full disk is to it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for number in range(40):
        text = f"# Document {number}\n\n" + f"The quokka of document {number} is here. " * 30
        (tmp_path / "docs" / f"{number}.md").write_text(text)
    ingest(tmp_path / "docs", tmp_path / "store")
    return tmp_path


def add_wombat(folder: Path) -> None:
    (folder / "docs" / "wombat.md").write_text("# Wombat\n\nA wombat has joined the quokkas.\n")
    ingest(folder / "docs", folder / "store")


def finds(served: Served, word: str) -> bool:
    return call(served.url, "search", {"query": word}).startswith("1. ")


def is_ready(served: Served) -> bool:
    return httpx2.get(f"{served.base}/healthz", timeout=PATIENCE).status_code == 200


def test_a_new_generation_is_answered_from_at_once(folder: Path) -> None:
    with serving("store", cwd=folder) as served:
        assert not finds(served, "wombat")
        add_wombat(folder)
        assert finds(served, "wombat")


def test_a_store_that_was_replaced_is_answered_from(folder: Path) -> None:
    with serving("store", cwd=folder) as served:
        shutil.rmtree(folder / "store")
        add_wombat(folder)
        assert finds(served, "wombat")


def test_a_store_that_was_deleted_goes_on_answering_until_there_is_another(folder: Path) -> None:
    with serving("store", cwd=folder) as served:
        shutil.rmtree(folder / "store")
        assert finds(served, "quokka")
        assert "document 17" in call(served.url, "read", {"ids": "17.md"})
        assert is_ready(served)
        add_wombat(folder)
        assert finds(served, "wombat")


def test_a_database_that_was_overwritten_is_told_and_repaired_under_the_server(
    folder: Path,
) -> None:
    with serving("store", cwd=folder) as served:
        (folder / "store" / "store.sqlite").write_bytes(b"garbage" * 1_000)
        assert "contextpull ingest --verify" in call(served.url, "read", {"ids": "17.md"})
        assert not is_ready(served)
        repair = [sys.executable, "-m", "contextpull", "ingest", "docs", "--store", "store"]
        subprocess.run([*repair, "--verify"], cwd=folder, check=True, timeout=PATIENCE)
        assert "document 17" in call(served.url, "read", {"ids": "17.md"})
        assert is_ready(served)


def _lose_the_index(store: Path) -> None:
    shutil.rmtree(store / "lexical")


def _replace_the_text(store: Path) -> None:
    (store / "new").write_bytes(b"garbage")
    (store / "new").replace(store / "text.bin")


@pytest.mark.parametrize("damage", [_lose_the_index, _replace_the_text])
def test_a_derived_part_that_is_lost_costs_nothing_and_comes_back(
    folder: Path, damage: Callable[[Path], None]
) -> None:
    with serving("store", cwd=folder) as served:
        damage(folder / "store")
        assert finds(served, "quokka")
        assert "17.md#" in call(served.url, "grep", {"pattern": "document 17 "})
        add_wombat(folder)
        assert finds(served, "wombat")
        assert "17.md#" in call(served.url, "grep", {"pattern": "document 17 "})


def test_a_mapped_file_that_is_shortened_ends_the_server_and_the_next_one_repairs_it(
    folder: Path,
) -> None:
    with serving("store", cwd=folder) as served:
        with (folder / "store" / "text.bin").open("r+b") as file:
            file.truncate(0)
        with pytest.raises(BaseExceptionGroup):
            call(served.url, "grep", {"pattern": "document 17 "})
        assert served.ended() == -signal.SIGBUS
    with serving("store", cwd=folder) as served:
        assert "17.md#" in call(served.url, "grep", {"pattern": "document 17 "})


def test_without_room_for_a_repair_the_last_good_generation_goes_on_answering(
    folder: Path,
) -> None:
    with serving("store", cwd=folder, prefix=NO_ROOM) as served:
        add_wombat(folder)
        assert finds(served, "wombat")
        (folder / "docs" / "wombat.md").unlink()
        ingest(folder / "docs", folder / "store")
        _lose_the_index(folder / "store")
        assert finds(served, "wombat")
        assert is_ready(served)
        ingest(folder / "docs", folder / "store")
        assert not finds(served, "wombat")


def test_without_room_for_a_repair_a_server_does_not_start_and_says_why(folder: Path) -> None:
    _lose_the_index(folder / "store")
    command = [*NO_ROOM, sys.executable, "-m", "contextpull", "serve", "store", "--http"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2
    assert "needs repair" in done.stderr
    assert "no room" in done.stderr
