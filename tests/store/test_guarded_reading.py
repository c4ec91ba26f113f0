"""A reader that hangs, dies or needs too much memory costs its file, and nothing else."""

import os
import random
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.config import ReadLimits
from contextpull.documents import formats
from contextpull.errors import InvalidInput, StoreError
from contextpull.store import workers
from contextpull.store.ingest import IngestReport, ingest
from contextpull.tools import ToolSession
from tests.conftest import hear_interrupts, write_corpus
from tests.documents.pdf_files import lines, nested_forms, pdf
from tests.store import moods

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 120
SMALL = ReadLimits(megabytes=250)
BRIEF = ReadLimits(seconds=2)


@pytest.fixture(autouse=True)
def _moods(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(formats, "FORMATS", formats.FORMATS)
    moods.register()
    yield
    formats.format_for.cache_clear()


def reasons(report: IngestReport) -> dict[str, str]:
    return {each.path: each.reason for each in report.skipped}


@pytest.mark.parametrize(
    ("mood", "limits", "reason"),
    [
        ("raise", SMALL, "its reader failed: ZeroDivisionError: division by zero"),
        ("kill", SMALL, "its reader ended its process (signal 9)"),
        ("fault", SMALL, "its reader ended its process (signal 11)"),
        ("exit 3", SMALL, "its reader ended its process (exit code 3)"),
        ("exit 0", SMALL, "its reader ended its process (exit code 0)"),
        ("close", SMALL, "its reader ended its process (signal 9)"),
        ("grow", SMALL, "its reader needed more than 250 MB of memory"),
        ("hang", BRIEF, "its reader took longer than 2 s"),
    ],
)
def test_whatever_a_reader_does_the_files_around_it_are_in_the_store(
    tmp_path: Path, mood: str, limits: ReadLimits, reason: str
) -> None:
    fine = {f"{name}.mood": f"fine words of {name}\n" for name in "abdf"}
    files = {**fine, "c.mood": mood, "e.mood": mood if limits is SMALL else "fine words of e"}
    root = write_corpus(tmp_path / "docs", {**files, "g.md": "# G\n\nOther words.\n"})
    report = ingest(root, tmp_path / "store", limits=limits)
    broken = {path: reason for path, text in files.items() if text == mood}
    assert reasons(report) == broken
    store = open_store(tmp_path / "store")
    assert list(store.snapshot().documents) == sorted({*files, "g.md"} - broken.keys())
    found = ToolSession(store).call("search", {"query": "words", "limit": 20}).data["hits"]
    assert {hit["path"] for hit in found} == {*files, "g.md"} - broken.keys()


@pytest.mark.parametrize("ahead", [1, 150_000, workers._MOST_AHEAD])
def test_files_come_out_in_their_order_whichever_of_them_kill_their_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    monkeypatch.setattr(workers, "_MOST_AHEAD", ahead)
    monkeypatch.setattr(workers, "_MOST_IN_HAND", 100_000)
    chance = random.Random(ahead)
    texts = ["kill", "raise", *["fine " + "words go on. " * 800] * 8]
    files = {f"{number:02}.mood": chance.choice(texts) for number in range(60)}
    root = write_corpus(tmp_path / "docs", files)
    report = ingest(root, tmp_path / "store")
    assert [each.path for each in report.files] == sorted(files)
    documents = open_store(tmp_path / "store").snapshot().database.documents()
    by_number = sorted(documents, key=lambda document: document.number)
    assert [document.path for document in by_number] == sorted(files)
    fine = [document.path for document in documents if not document.problem]
    assert fine == [path for path, text in sorted(files.items()) if text.startswith("fine")]


def test_what_readers_print_is_seen_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.mood": "chat", "b.mood": "fine"})
    assert ingest(root, tmp_path / "store").documents == 2
    assert capfd.readouterr() == ("", "")


def test_memory_that_one_reader_kept_is_not_charged_to_the_next(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {f"{n}.mood": "leak 80" for n in range(6)})
    assert ingest(root, tmp_path / "store", limits=SMALL).skipped == ()


def test_a_larger_file_gets_more_time() -> None:
    limits = ReadLimits(seconds=60)
    assert limits.seconds_for(10_000) == pytest.approx(60, rel=0.01)
    assert limits.seconds_for(20 * 1024 * 1024) == 6 * 60


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seconds": 0}, "above 0"),
        ({"seconds": float("nan")}, "above 0"),
        ({"seconds": 1e9}, "at most 86,400 s"),
        ({"megabytes": 10}, "200 MB or more, not 10"),
    ],
)
def test_limits_that_nothing_could_keep_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ReadLimits(**values)  # type: ignore[arg-type]


def test_a_file_that_killed_its_reader_is_left_alone_until_it_changes_or_verify_asks(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    root = write_corpus(tmp_path / "docs", {"a.mood": f"log {log}", "b.mood": "fine"})
    reports = [ingest(root, tmp_path / "store") for _ in range(3)]
    assert [len(report.skipped) for report in reports] == [1, 1, 1]
    assert log.read_text().count("read") == 1
    assert ingest(root, tmp_path / "store", verify=True).generation == 1
    assert log.read_text().count("read") == 2
    root.joinpath("a.mood").write_text("fine at last")
    report = ingest(root, tmp_path / "store")
    assert (report.generation, report.changed, report.skipped) == (2, 1, ())


def test_a_file_that_was_too_slow_is_read_when_verify_allows_it_more(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"a.mood": "hang"})
    short = ReadLimits(seconds=0.1)
    assert "longer than 0.1 s" in reasons(ingest(root, tmp_path / "store", limits=short))["a.mood"]
    longer = ReadLimits(seconds=0.2)
    report = ingest(root, tmp_path / "store", verify=True, limits=longer)
    assert "longer than 0.2 s" in reasons(report)["a.mood"]


@pytest.mark.parametrize(
    ("content", "limits", "reason"),
    [
        ("", SMALL, "no text in it"),
        (" \n", SMALL, "no text in it"),
        (b"\x00\x01\x02\x03" * 99, SMALL, "binary data, not text"),
        ("fine " * 99, ReadLimits(max_file_bytes=99), "larger than"),
        ("deny", SMALL, "cannot be read: Permission denied"),
        ("raise", SMALL, "its reader failed"),
        ("kill", SMALL, "its reader ended its process"),
        ("grow", SMALL, "its reader needed more than"),
        ("hang", ReadLimits(seconds=0.5), "its reader took longer than"),
    ],
)
def test_a_file_that_cannot_be_read_any_more_loses_its_old_sections(
    tmp_path: Path, content: str | bytes, limits: ReadLimits, reason: str
) -> None:
    root = write_corpus(
        tmp_path / "docs", {"a.mood": "fine olden words", "b.md": "# B\n\nOther.\n"}
    )
    ingest(root, tmp_path / "store")
    write_corpus(root, {"a.mood": content})
    report = ingest(root, tmp_path / "store", limits=limits)
    (file,) = report.files
    assert (file.path, file.outcome, file.sections) == ("a.mood", "unreadable", 0)
    assert file.reason.startswith(reason)
    tools = ToolSession(open_store(tmp_path / "store"))
    assert tools.call("read", {"ids": "a.mood"}).is_error
    assert "No section matches" in tools.call("search", {"query": "olden"}).text
    assert "No line matches" in tools.call("grep", {"pattern": "olden"}).text
    assert ingest(root, tmp_path / "store", limits=limits).generation == report.generation


def test_a_pdf_file_that_draws_a_word_without_end_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    files = {"a.pdf": pdf(lines("Still here")), "b.pdf": nested_forms(levels=12)}
    root = write_corpus(tmp_path / "docs", {**files, "c.pdf": pdf(lines("And here"))})
    report = ingest(root, tmp_path / "store", limits=SMALL)
    (reason,) = reasons(report).values()
    # Linux counts the peak of the parent with the child's: where that was more, it tells nothing.
    assert re.fullmatch(
        r"its reader (needed more .* memory|ended its process) \(signal 6\)", reason
    )
    assert report.documents == 2


def test_a_process_that_cannot_be_started_ends_the_ingest_and_keeps_the_last_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": "# A\n\nOlden words.\n"})
    ingest(root, tmp_path / "store")
    write_corpus(root, {"b.mood": "fine"})
    told = {"nowhere": "cannot be started: No such file", "/bin/false": r"ended .*exit code 1"}
    for program, message in told.items():
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(StoreError, match=f"process that reads documents {message}"):
            ingest(root, tmp_path / "store")
        assert open_store(tmp_path / "store").snapshot().generation == 1
    assert not list(tmp_path.joinpath("store").glob("*.new"))


class Stuck:
    """`contextpull ingest` in a process of its own, at a file that its reader never ends."""

    def __init__(self, folder: Path) -> None:
        self.root, self.store = folder / "docs", folder / "store"
        write_corpus(self.root, {"a.md": "# A\n\nOlden words.\n"})
        ingest(self.root, self.store)
        pipe = folder / "pipe"
        os.mkfifo(pipe)
        write_corpus(self.root, {"a.md": "# A\n\nNewer words.\n", "b.mood": f"tell {pipe}"})
        command = [sys.executable, "-m", moods.__name__, "ingest", str(self.root)]
        self.parent = subprocess.Popen(
            [*command, "--store", str(self.store)],
            cwd=REPOSITORY,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_interrupts,
        )
        self.child = os.pidfd_open(int(pipe.read_text()))

    def child_is_gone(self) -> bool:
        poll = select.poll()
        poll.register(self.child, select.POLLIN)
        gone = bool(poll.poll(PATIENCE * 1000))
        os.close(self.child)
        return gone


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tells processes by pidfd")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)],
)
def test_whatever_ends_an_ingest_ends_its_children_and_the_last_generation_answers(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    stuck = Stuck(tmp_path)
    stuck.parent.send_signal(number)
    _, said = stuck.parent.communicate(timeout=PATIENCE)
    assert stuck.parent.returncode == code
    assert said.strip() == ""
    assert stuck.child_is_gone()
    assert "Olden" in ToolSession(open_store(stuck.store)).call("read", {"ids": "a.md"}).text
    stuck.root.joinpath("b.mood").unlink()
    assert ingest(stuck.root, stuck.store).generation == 2


def test_trying_again_what_still_cannot_be_opened_starts_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_corpus(tmp_path / "docs", {"a.mood": "fine " * 99, "b.md": "# B\n\nWords.\n"})
    small = ReadLimits(max_file_bytes=99)
    ingest(root, tmp_path / "store", limits=small)
    monkeypatch.setattr(sys, "executable", "nowhere")
    for verify in (False, True):
        report = ingest(root, tmp_path / "store", limits=small, verify=verify)
        assert (report.generation, len(report.skipped)) == (1, 1)


def test_a_little_text_and_no_change_start_no_process(tmp_path: Path) -> None:
    pages = {f"{number}.md": f"# {number}\n\nSome words.\n" for number in range(10)}
    write_corpus(tmp_path / "docs", pages)
    code = (
        "import sys\n"
        "from contextpull.cli.main import cli\n"
        "sys.addaudithook(lambda event, _: event == 'subprocess.Popen' and print('started'))\n"
        "for _ in range(2): cli(['ingest', 'docs'], standalone_mode=False)\n"
        "print('loaded:', sorted({'multiprocessing', 'ctypes'} & sys.modules.keys()))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert "10 added" in done.stdout
    assert "10 unchanged" in done.stdout
    assert "started" not in done.stdout
    assert "loaded: []" in done.stdout
