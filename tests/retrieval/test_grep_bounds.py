"""Grep stops in time, and says so; how much time there is depends on how much there is to scan."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from contextpull import open_store
from contextpull.retrieval import scanning
from contextpull.retrieval.grep import compile_pattern
from contextpull.retrieval.scanning import Scan
from contextpull.retrieval.sieve import sieve_of
from contextpull.store import Snapshot
from contextpull.store.flat_text import Extent
from contextpull.tools import ToolSession
from tests.conftest import tools_over

FILES = {f"{n:02}.txt": f"needle {n}\nhay\nhay and straw\n" * 30 for n in range(20)}
ALL = 600


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolSession:
    """Tools that look at the clock every hundred bytes; a tenth of a second is gone each time."""
    ticks = iter(range(1_000_000))
    monkeypatch.setattr(scanning, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 10))
    monkeypatch.setattr(scanning, "_WINDOW", 100)
    return tools_over(tmp_path, FILES)


def snapshot(tmp_path: Path) -> Snapshot:
    return open_store(tmp_path / "store").snapshot()


def test_a_scan_that_takes_too_long_ends_with_what_was_found(session: ToolSession) -> None:
    result = session.call("grep", {"pattern": "needle"})
    assert 0 < result.data["total"] < ALL
    assert not result.data["total_is_exact"]
    assert result.text.startswith(f"At least {result.data['total']} lines")
    assert (
        "Stopped after 1.0 s, before all of the text was looked at."
        " Restrict paths, or make the expression simpler."
    ) in result.text


def test_much_text_gets_more_time(session: ToolSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_BYTES_PER_SECOND", 400)
    result = session.call("grep", {"pattern": "needle"})
    assert result.data["total"] == ALL
    assert result.data["total_is_exact"]
    assert "Stopped" not in result.text


def test_only_the_text_of_the_chosen_documents_counts(
    session: ToolSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_BYTES_PER_SECOND", 400)
    ticks = iter(range(1_000_000))
    monkeypatch.setattr(scanning, "time", SimpleNamespace(monotonic=lambda: next(ticks) * 1.0))
    text = session.call("grep", {"pattern": "needle", "paths": ["01.txt", "02.txt"]}).text
    assert "Stopped after 4.0 s" in text


class Watched:
    """A pattern that notes how far the text was looked at."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        self.programsize = pattern.programsize
        self.furthest = 0

    def search(self, text: Any, start: int, end: int) -> Any:
        self.furthest = max(self.furthest, end)
        return self._pattern.search(text, start, end)


def test_of_what_is_frequent_only_the_beginning_is_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools_over(tmp_path, FILES)
    text = snapshot(tmp_path).text
    monkeypatch.setattr(scanning, "_PIECE", 1_000)
    pattern = Watched(compile_pattern("needle", regex=False, ignore_case=None))
    found = Scan(text, pattern).run(None, 10)
    assert len(found.offsets) == 10
    assert not found.is_complete
    assert pattern.furthest < 1_200


@pytest.mark.parametrize("most", [1, 29, 30, 31, 123, ALL, ALL + 1])
@pytest.mark.parametrize("processors", [1, 5])
def test_the_first_lines_are_found_however_the_text_is_dealt_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, processors: int
) -> None:
    tools_over(tmp_path, FILES)
    text = snapshot(tmp_path).text
    pattern = compile_pattern("needle", regex=False, ignore_case=None)
    whole = Scan(text, pattern).run(None, ALL + 1).offsets
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    monkeypatch.setattr(scanning, "_WINDOW", 100)
    monkeypatch.setattr(scanning, "_PIECE", 500)
    found = Scan(text, pattern).run(None, most)
    assert found.offsets == whole[:most]
    assert found.is_complete == (most > ALL)


def text_of(data: bytes) -> Any:
    return SimpleNamespace(bytes=data, extents=lambda _: [Extent(0, len(data))])


@pytest.mark.parametrize("pattern", ["straw", "needle"])
def test_in_a_line_that_is_cut_a_literal_is_found_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(scanning, "_WINDOW", 40)
    monkeypatch.setattr(scanning, "_OVERLAP", 12)
    monkeypatch.setattr(scanning, "_STEPS_AT_ONCE", 0)
    compiled = compile_pattern(pattern, regex=False, ignore_case=True)
    sieve = sieve_of(pattern, regex=False, case_sensitive=False)
    assert (sieve is not None) == (pattern == "straw")
    for place in range(300):
        data = f"before\n{'-' * place}{pattern}{'-' * (300 - place)}\nafter\n".encode()
        found = Scan(text_of(data), compiled, sieve).run(None, 10)
        assert found.offsets == [len("before\n") + place]
        assert "were looked at in pieces" in found.notes[0]
