"""Readers in threads and processes, while another process writes generation after generation."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contextpull import open_store
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATIONS = 12
PAGES = 30
STATE = re.compile(r"stateword(\d+)")


def write_state(root: Path, state: int) -> None:
    pages = {
        f"{number:02}.md": f"# Page {number}\n\nThe stateword{state} of page {number}.\n"
        for number in range(PAGES)
    }
    write_corpus(root, pages)


def write_generations(root: Path, store: Path) -> None:
    """The writer: one ingest per state, from the second on."""
    for state in range(2, GENERATIONS + 1):
        write_state(root, state)
        assert ingest(root, store).generation == state


def states_seen(tools: ToolSession) -> list[int]:
    """The one state that each call shows, in order."""
    calls = [
        ("search", {"query": "page", "limit": PAGES}),
        ("grep", {"pattern": "stateword", "limit": PAGES}),
        ("read", {"ids": [f"{number:02}.md" for number in range(PAGES)]}),
    ]
    seen = []
    for name, arguments in calls:
        result = tools.call(name, arguments)
        assert not result.is_error, result.text
        found = STATE.findall(result.text)
        assert len(found) >= PAGES, result.text
        (state,) = set(found)
        seen.append(int(state))
    return seen


def test_readers_never_see_an_error_or_a_mix_of_generations(tmp_path: Path) -> None:
    root, store = tmp_path / "docs", tmp_path / "store"
    write_state(root, 1)
    ingest(root, store)
    shared = open_store(store)
    code = "import sys, pathlib; from tests.store import test_readers_and_writer as module; "
    code += "module.write_generations(*map(pathlib.Path, sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(root), str(store)]
    with subprocess.Popen(command, cwd=REPOSITORY) as writer:

        def follow(opens_anew: bool) -> list[int]:
            seen = []
            while writer.poll() is None:
                seen += states_seen(ToolSession(open_store(store) if opens_anew else shared))
            return seen

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(follow, number % 2 == 0) for number in range(4)]
            histories = [reader.result() for reader in readers]
    assert writer.returncode == 0
    for history in histories:
        assert history == sorted(history)  # nobody goes back to an older generation
        assert len(set(history)) > 1
    assert states_seen(ToolSession(shared)) == [GENERATIONS] * 3
