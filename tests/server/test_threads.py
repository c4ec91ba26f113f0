"""Threads of one server: what they share stays whole, whenever they come."""

import io
import json
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from contextpull.errors import InvalidInput
from contextpull.retrieval.work import Stopped, Work
from contextpull.server import access_log
from contextpull.server import corpus as corpora
from contextpull.server.access_log import Entry
from contextpull.server.callers import Context
from contextpull.server.corpus import Corpus
from contextpull.server.telling import tell
from contextpull.server.threads import Threads
from tests.server.conftest import PATIENCE


async def _report(_told: int, message: str) -> None:
    await anyio.lowlevel.checkpoint()


CONTEXT = cast(Context, SimpleNamespace(session=SimpleNamespace(report_progress=_report)))
"""As much of a request as its work needs."""


def test_work_that_speaks_while_it_is_cancelled_is_stopped_and_nothing_else() -> None:
    ends: list[BaseException] = []

    def speak(work: Work, has_spoken: anyio.Event) -> None:
        anyio.from_thread.run_sync(has_spoken.set)
        try:
            while True:
                work.tell("Still at it.")
        except BaseException as end:
            ends.append(end)
            raise

    async def cancel_one() -> None:
        has_spoken = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(Threads().run, CONTEXT, lambda work: speak(work, has_spoken))
            await has_spoken.wait()
            group.cancel_scope.cancel()

    async def cancel_many() -> None:
        with anyio.fail_after(PATIENCE):
            for _ in range(50):
                await cancel_one()

    anyio.run(cancel_many)
    assert [type(end) for end in ends] == [Stopped] * 50


class Pieces(io.StringIO):
    """A stream that keeps each piece as it is written, between which other threads may write."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, piece: str) -> int:
        self.pieces.append(piece)
        return len(piece)


def test_lines_of_the_log_and_sentences_are_written_in_one_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stderr = Pieces()
    monkeypatch.setattr(sys, "stderr", stderr)
    tell("the folder has been read.")
    access_log.write(Entry("127.0.0.1", "POST", "/mcp"))
    told, logged = stderr.pieces
    assert told == "contextpull: the folder has been read.\n"
    assert logged.endswith("}\n")
    assert json.loads(logged)["path"] == "/mcp"


class Late(Corpus):
    """A corpus whose folder is read when it is let go."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.let_go = threading.Event()

    def _refresh(self) -> None:
        self.let_go.wait(PATIENCE)
        super()._refresh()


def test_a_failure_told_to_any_number_of_calls_remembers_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "FIRST_WAIT", 0.0)
    corpus = Late(tmp_path / "store", tmp_path / "nowhere")
    corpus.start()
    corpus.let_go.set()

    def frames(_call: int) -> int:
        with pytest.raises(InvalidInput, match="nowhere") as caught:
            corpus.store()
        return len(traceback.extract_tb(caught.value.__traceback__))

    assert frames(0) == frames(1) == frames(2)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(frames, range(200)))
    assert frames(3) == frames(0)
