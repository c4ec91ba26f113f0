"""A store follows its folder, whatever is done there."""

import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from contextpull import open_store
from contextpull.errors import ContextPullError, StoreBusy, StoreConflict
from contextpull.store import watching
from contextpull.store.ingest import IngestReport, ingest, writing
from contextpull.store.watching import watch
from tests.conftest import Files, write_corpus

PATIENCE = 120
"""Seconds after which a test gives a watcher up."""
A = "# A\n\nThe words of the first document, of which there are some.\n"
B = "# B\n\nThe words of the second document, of which there are more.\n"
C = "# C\n\nThe words of the third document, which comes last of all.\n"
POLL = 0.1

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of limits are Linux's")


class Watcher:
    """A watcher in a thread of its own, and what it said."""

    def __init__(self, root: Path | None, store: Path, poll: float | None, name: str = "") -> None:
        self.root = root
        self.store = store
        self.stop = threading.Event()
        self.reports: queue.Queue[IngestReport] = queue.Queue()
        self.told: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._run, args=(poll, name))
        self._thread.start()

    def _run(self, poll: float | None, name: str) -> None:
        watch(
            self.root,
            self.store,
            name=name,
            stop=self.stop,
            on_report=self.reports.put,
            tell=self.told.put,
            poll=poll,
        )

    def end(self) -> None:
        self.stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def documents(self) -> dict[str, str]:
        """The text of each document that can be found."""
        snapshot = open_store(self.store).snapshot()
        return {
            path: "".join(each.text for each in snapshot.database.sections_of(document))
            for path, document in snapshot.documents.items()
        }

    def until(self, expected: Files) -> None:
        """Wait for generations until these are the documents."""
        while True:
            self.reports.get(timeout=PATIENCE)
            if self.documents() == expected:
                return


@contextmanager
def watched(
    root: Path | None, store: Path, poll: float | None = None, name: str = ""
) -> Iterator[Watcher]:
    """A watcher that has read the folder once."""
    watcher = Watcher(root, store, poll, name)
    try:
        watcher.reports.get(timeout=PATIENCE)
        yield watcher
    finally:
        watcher.end()


@pytest.fixture(params=[None, POLL], ids=["told", "polling"])
def watcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watcher]:
    root = write_corpus(tmp_path / "docs", {"a.md": A, "sub/b.md": B})
    with watched(root, tmp_path / "store", request.param) as watcher:
        yield watcher


def save_as_vim_does(path: Path, text: str) -> None:
    backup, probe = path.with_name(path.name + "~"), path.with_name("4913")
    probe.touch()
    probe.unlink()
    path.rename(backup)
    path.write_text(text)
    backup.unlink()


def save_as_vs_code_does(path: Path, text: str) -> None:
    with path.open("r+") as file:
        file.truncate()
        file.write(text)


def save_by_renaming(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.tmp")
    new.write_text(text)
    new.replace(path)


@pytest.mark.parametrize("save", [save_as_vim_does, save_as_vs_code_does, save_by_renaming])
def test_what_an_editor_saves_is_read(watcher: Watcher, save: Callable[[Path, str], None]) -> None:
    save(watcher.root / "sub/b.md", C)
    watcher.until({"a.md": A, "sub/b.md": C})


def test_what_is_deleted_disappears(watcher: Watcher) -> None:
    write_corpus(watcher.root, {"c.md": C})
    (watcher.root / "a.md").unlink()
    watcher.until({"sub/b.md": B, "c.md": C})
    shutil.rmtree(watcher.root / "sub")
    watcher.until({"c.md": C})


def test_what_is_renamed_moves(watcher: Watcher) -> None:
    (watcher.root / "a.md").rename(watcher.root / "sub/c.md")
    watcher.until({"sub/b.md": B, "sub/c.md": A})
    (watcher.root / "sub").rename(watcher.root / "other")
    watcher.until({"other/b.md": B, "other/c.md": A})
    (watcher.root / "other/b.md").write_text(C)
    watcher.until({"other/b.md": C, "other/c.md": A})


def test_a_folder_that_is_moved_in_is_followed_too(watcher: Watcher, tmp_path: Path) -> None:
    write_corpus(tmp_path / "elsewhere", {"deep/er/c.md": C})
    (tmp_path / "elsewhere").rename(watcher.root / "new")
    watcher.until({"a.md": A, "sub/b.md": B, "new/deep/er/c.md": C})
    (watcher.root / "new/deep/er/c.md").write_text(A)
    watcher.until({"a.md": A, "sub/b.md": B, "new/deep/er/c.md": A})


def test_a_folder_that_is_replaced_by_another_of_its_name_is_followed(watcher: Watcher) -> None:
    shutil.rmtree(watcher.root / "sub")
    write_corpus(watcher.root, {"sub/c.md": C})
    watcher.until({"a.md": A, "sub/c.md": C})
    (watcher.root / "sub/c.md").write_text(B)
    watcher.until({"a.md": A, "sub/c.md": B})


def test_many_files_at_once_are_all_read(watcher: Watcher) -> None:
    many = {f"many/{number % 50}/{number}.md": f"# {number}\n\n{A}" for number in range(5000)}
    write_corpus(watcher.root, many)
    watcher.until({"a.md": A, "sub/b.md": B, **many})


def test_a_file_that_is_written_bit_by_bit_is_whole_in_the_end(watcher: Watcher) -> None:
    with (watcher.root / "a.md").open("w") as file:
        file.write("# A\n\nThe first half of a long document that is not whole yet.\n")
        file.flush()
        watcher.reports.get(timeout=PATIENCE)
        file.write("The second half of it.\n")
    whole = (watcher.root / "a.md").read_text()
    watcher.until({"a.md": whole, "sub/b.md": B})


def test_a_change_while_an_ingest_runs_leads_to_another(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed_meanwhile(*arguments: Any, **more: Any) -> IngestReport:
        report = ingest(*arguments, **more)
        if (watcher.root / "a.md").read_text() == B:
            (watcher.root / "a.md").write_text(C)
        return report

    monkeypatch.setattr(watching, "ingest", changed_meanwhile)
    (watcher.root / "a.md").write_text(B)
    watcher.until({"a.md": C, "sub/b.md": B})


def test_the_rules_of_ignore_files_hold_as_soon_as_they_are_written(watcher: Watcher) -> None:
    (watcher.root / ".gitignore").write_text("sub/\n")
    watcher.until({"a.md": A})
    (watcher.root / "sub/b.md").write_text(C)
    (watcher.root / ".gitignore").write_text("a.md\n")
    watcher.until({"sub/b.md": C})
    (watcher.root / ".gitignore").unlink()
    watcher.until({"a.md": A, "sub/b.md": C})


def test_rules_of_the_checkout_around_the_folder_hold_too(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = write_corpus(tmp_path / "docs", {"a.md": A, "sub/b.md": B})
    with watched(root, tmp_path / "store") as watcher:
        (tmp_path / ".gitignore").write_text("docs/sub/\n")
        watcher.until({"a.md": A})


def test_a_folder_that_is_deleted_is_read_when_it_is_there_again(watcher: Watcher) -> None:
    shutil.rmtree(watcher.root)
    assert "does not exist" in watcher.told.get(timeout=PATIENCE)
    assert watcher.documents() == {"a.md": A, "sub/b.md": B}
    write_corpus(watcher.root, {"c.md": C})
    watcher.until({"c.md": C})
    (watcher.root / "c.md").write_text(A)
    watcher.until({"c.md": A})


def test_a_drive_that_is_away_for_a_while_costs_nothing(watcher: Watcher, tmp_path: Path) -> None:
    watcher.root.rename(tmp_path / "drive")
    watcher.root.mkdir()
    told = watcher.told.get(timeout=PATIENCE)
    while "does not exist" in told:  # it may have looked between the two
        told = watcher.told.get(timeout=PATIENCE)
    assert "holds nothing to read any more; the store keeps what it read there" in told
    assert watcher.documents() == {"a.md": A, "sub/b.md": B}
    write_corpus(tmp_path / "drive", {"a.md": C})
    watcher.root.rmdir()
    (tmp_path / "drive").rename(watcher.root)
    watcher.until({"a.md": C, "sub/b.md": B})


def test_a_folder_that_is_exchanged_for_another_is_followed(
    watcher: Watcher, tmp_path: Path
) -> None:
    write_corpus(tmp_path / "next", {"c.md": C})
    watcher.root.rename(tmp_path / "before")
    (tmp_path / "next").rename(watcher.root)
    watcher.until({"c.md": C})
    (watcher.root / "c.md").write_text(A)
    watcher.until({"c.md": A})


def test_documents_behind_a_hidden_link_change_with_it(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"..one/a.md": A, "..two/a.md": B})
    (root / "..data").symlink_to("..one")
    (root / "a.md").symlink_to("..data/a.md")
    with watched(root, tmp_path / "store") as watcher:
        assert watcher.documents() == {"a.md": A}
        (root / "..next").symlink_to("..two")
        (root / "..next").replace(root / "..data")
        watcher.until({"a.md": B})
        (root / "..two/a.md").write_text(C)
        watcher.until({"a.md": C})


def test_a_name_that_is_no_utf8_is_followed_by_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_SECONDS", POLL)
    root = write_corpus(tmp_path / "docs", {"a.md": A})
    with watched(root, tmp_path / "store") as watcher:
        Path(os.fsdecode(os.fsencode(root) + b"/th\xe9.md")).write_text(B)
        watcher.until({"a.md": A, "th%E9.md": B})
        assert "The name 'th%E9.md' is no UTF-8. Looking" in watcher.told.get(timeout=PATIENCE)
        (root / "a.md").write_text(C)
        watcher.until({"a.md": C, "th%E9.md": B})


@pytest.mark.parametrize("kind", ["nfs4", "fuse.sshfs", "9p"])
def test_on_a_network_file_system_the_folder_is_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": A})
    device = root.stat().st_dev
    mounts = f"36 35 {os.major(device)}:{os.minor(device)} / / rw shared:1 - {kind} host:/ rw\n"
    (tmp_path / "mounts").write_text(f"1 0 0:99999 / /proc rw - proc proc rw\n{mounts}")
    monkeypatch.setattr(watching, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(watching, "LOOK_SECONDS", POLL)
    with watched(root, tmp_path / "store") as watcher:
        said = watcher.told.get(timeout=PATIENCE)
        assert said.startswith(f"On {kind} not every change is told of. Looking through the folder")
        (root / "a.md").write_text(B)
        watcher.until({"a.md": B})


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> "queue.Queue[int | ContextPullError]":
    """What became of each ingest: the generation that it found, or why it failed."""
    outcomes: queue.Queue[int | ContextPullError] = queue.Queue()

    def noted(*arguments: Any, **more: Any) -> IngestReport:
        try:
            report = ingest(*arguments, **more)
        except ContextPullError as error:
            outcomes.put(error)
            raise
        outcomes.put(report.generation)
        return report

    monkeypatch.setattr(watching, "ingest", noted)
    return outcomes


@pytest.mark.parametrize("store", ["docs/.contextpull", "docs/store", "docs/sub/store"])
@pytest.mark.parametrize("poll", [None, POLL])
def test_a_store_within_the_folder_wakes_nobody(
    tmp_path: Path, attempts: "queue.Queue[int]", store: str, poll: float | None
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": A, "sub/b.md": B})
    with watched(root, tmp_path / store, poll) as watcher:
        for text in (B, C, A):
            save_by_renaming(root / "a.md", text)
            watcher.until({"a.md": text, "sub/b.md": B})
    assert [attempts.get() for _ in range(attempts.qsize())] == [1, 2, 3, 4]


def test_while_another_process_writes_the_ingest_waits_its_turn(
    attempts: "queue.Queue[Any]", watcher: Watcher
) -> None:
    attempts.get(timeout=PATIENCE)
    with writing(watcher.store):
        (watcher.root / "a.md").write_text(C)
        assert isinstance(attempts.get(timeout=PATIENCE), StoreBusy)
    watcher.until({"a.md": C, "sub/b.md": B})
    assert watcher.told.empty()


def test_a_store_of_another_corpus_is_told_once_and_left_alone(
    tmp_path: Path, attempts: "queue.Queue[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_AGAIN", 0.01)
    ingest(write_corpus(tmp_path / "other", {"b.md": B}), tmp_path / "store")
    watcher = Watcher(write_corpus(tmp_path / "docs", {"a.md": A}), tmp_path / "store", None)
    try:
        failures = [attempts.get(timeout=PATIENCE) for _ in range(3)]
    finally:
        watcher.end()
    assert [type(each) for each in failures] == [StoreConflict] * 3
    assert "holds the corpus" in watcher.told.get()
    assert watcher.told.empty()
    assert watcher.documents() == {"b.md": B}


def test_generations_that_others_make_are_reported(watcher: Watcher) -> None:
    (watcher.root / "a.md").write_text(C)
    ingest(watcher.root, watcher.store)
    watcher.until({"a.md": C, "sub/b.md": B})


_LIMITED = """
import sys, threading
from pathlib import Path
from contextpull.store import watching
stop, reports = threading.Event(), []
watching.LOOK_SECONDS = 0.1
root = Path(sys.argv[1])

def on_report(report):
    reports.append(report)
    if len(reports) == 2:
        stop.set()
    else:
        (root / "late.md").write_text("# Late\\n\\nWords that come late, and are found.\\n")

watching.watch(root, Path(sys.argv[2]), stop=stop, on_report=on_report, tell=print)
print(reports[-1].documents, "documents")
"""


@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_where_the_system_s_limit_is_reached_the_folder_is_looked_through(
    tmp_path: Path, limit: str
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": A, "sub/b.md": B, "sub/sub/c.md": C})
    own = ["unshare", "--user", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*own, "true"], check=False).returncode:
        pytest.skip("no namespace of its own may be made here")
    number = 2 if limit == "max_inotify_watches" else 0
    limited = f'echo {number} > /proc/sys/user/{limit} && exec "$@"'
    program = [sys.executable, "-c", _LIMITED, str(root), str(tmp_path / "store")]
    done = subprocess.run(
        [*own, "sh", "-c", limited, "sh", *program],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "3 folders cannot be watched: the system's limit is reached, which" in done.stdout
    assert "Looking through the folder every 0.1 s instead." in done.stdout
    assert done.stdout.endswith("4 documents\n"), done.stderr
