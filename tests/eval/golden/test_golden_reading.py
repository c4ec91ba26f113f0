"""`golden sweep` and `golden chunking` read a folder as an ingest does, with the same guard."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.config import CutSettings, ReadLimits
from contextpull.documents import formats
from contextpull.errors import StoreNotFound
from contextpull.eval.golden.chunking.corpus import Unread, read_corpus
from contextpull.store.ingest import ingest
from tests.conftest import Files, write_corpus
from tests.embedders import snapshot_of
from tests.eval.golden.stores import HARBOUR, golden_place, json_of
from tests.store import moods

RST = "Kettles\n=======\n\nThe kettle boils.\n\nCleaning\n--------\n\nUse vinegar once a month.\n"
FILES: Files = {**HARBOUR, "kettles.txt": RST}
ASKED: list[dict[str, object]] = [
    {"id": "clean", "question": "how is it cleaned", "expected": ["kettles.txt#cleaning"]},
    {"id": "bread", "question": "what makes bread rise", "expected": ["bread.md"]},
]
COMMANDS = {
    "sweep": ("--rounds", "100", "--max-chars", "500"),
    "chunking": ("--techniques", "fixed", "--sizes", "500", "--headings", "in"),
}
in_both = pytest.mark.parametrize("command", COMMANDS)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with documents and a golden file; files that end in .mood have a reader."""
    monkeypatch.setattr(formats, "FORMATS", formats.FORMATS)
    moods.register()
    yield golden_place(tmp_path, monkeypatch, FILES, ASKED)
    formats.format_for.cache_clear()


def run(command: str, *arguments: object, folder: str = "docs") -> Result:
    given = ["golden", command, "golden.jsonl", folder, *COMMANDS[command], *map(str, arguments)]
    return CliRunner().invoke(cli, given)


def record(command: str, *arguments: object) -> Any:
    return json_of(run(command, "--json", *arguments))


READ_AS = "*.txt=rst"
RST_SETTINGS = CutSettings(read_as=READ_AS)


@in_both
def test_files_are_read_as_the_store_of_that_folder_reads_them(place: Path, command: str) -> None:
    without = run(command)
    assert without.exit_code == 2
    assert "does not hold 'kettles.txt#cleaning' (question clean)" in without.stderr
    assert "contextpull golden check" in without.stderr
    ingest(place / "docs", place / "elsewhere", RST_SETTINGS)
    assert run(command, "--store", "elsewhere").exit_code == 0
    ingest(place / "docs", place / ".contextpull", RST_SETTINGS)
    assert run(command).exit_code == 0
    by_names = run(command, "--read-as", "")
    assert by_names.exit_code == 2
    assert "kettles.txt#cleaning" in by_names.stderr


@in_both
def test_files_are_read_as_the_command_says(place: Path, command: str) -> None:
    assert run(command, "--read-as", READ_AS).exit_code == 0
    ingest(place / "docs", place / ".contextpull", CutSettings(read_as="*.txt=markdown"))
    assert run(command, "--read-as", READ_AS).exit_code == 0


def test_the_report_says_how_files_were_read_and_how_to_ingest_so(place: Path) -> None:
    ingest(place / "docs", place / ".contextpull", RST_SETTINGS)
    told = record("sweep")
    assert told["ingest"] == "contextpull ingest docs --read-as '*.txt=rst' --max-chars 500"
    assert "Read as another format than the names say: *.txt=rst." in told["notes"]
    assert record("chunking")["corpus"]["read_as"] == READ_AS


@in_both
def test_paths_begin_with_the_name_that_the_store_has_for_the_folder(
    place: Path, command: str
) -> None:
    ingest(place / "docs", place / ".contextpull", name="ship")
    (place / "golden.jsonl").write_text(
        '{"question": "what is oil for", "expected": ["ship/lamp.md#oil"]}\n'
        '{"question": "what makes bread rise", "expected": ["ship/bread.md"]}\n'
    )
    assert run(command).exit_code == 0
    assert CliRunner().invoke(cli, ["golden", "check", "golden.jsonl"]).exit_code == 0
    assert run(command, folder=str(place / "docs")).exit_code == 0
    told = record("sweep")["ingest"]
    assert told == "contextpull ingest docs --as ship --max-chars 500"


@in_both
def test_a_store_of_another_folder_changes_nothing(place: Path, command: str) -> None:
    write_corpus(place / "others", {"a.md": "# A\n\nWords.\n"})
    ingest(place / "others", place / ".contextpull", RST_SETTINGS, name="others")
    result = run(command)
    assert result.exit_code == 2
    assert "does not hold 'kettles.txt#cleaning'" in result.stderr


@in_both
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--store", "nowhere"), "There is no store at 'nowhere'"),
        (("--read-as", "txt"), "'txt' does not say how to read which files"),
        (("--read-as", "*.txt=runes"), "'*.txt=runes' does not say"),
    ],
)
def test_what_cannot_be_is_said(command: str, arguments: tuple[str, ...], said: str) -> None:
    result = run(command, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_damaged_store_is_said_rather_than_passed_over(place: Path) -> None:
    (place / ".contextpull").mkdir()
    (place / ".contextpull" / "store.sqlite").write_bytes(b"no database" * 99)
    result = run("sweep")
    assert result.exit_code == 2
    assert "damaged" in result.stderr


@pytest.mark.parametrize(
    ("mood", "limits", "reason"),
    [
        ("kill", ReadLimits(megabytes=250), "its reader ended its process (signal 9)"),
        ("fault", ReadLimits(megabytes=250), "its reader ended its process (signal 11)"),
        ("grow", ReadLimits(megabytes=250), "its reader needed more than 250 MB of memory"),
        ("raise", ReadLimits(), "its reader failed: ZeroDivisionError: division by zero"),
        ("hang", ReadLimits(seconds=0.5), "its reader took longer than 0.5 s"),
    ],
)
def test_whatever_a_reader_does_costs_its_file_alone(
    tmp_path: Path, mood: str, limits: ReadLimits, reason: str
) -> None:
    files: Files = {"a.mood": "fine words", "b.mood": mood, "c.md": "# C\n\nWords.\n"}
    corpus = read_corpus(write_corpus(tmp_path / "moods", files), limits=limits)
    assert [each.path for each in corpus.sources] == ["a.mood", "c.md"]
    assert corpus.unread == (Unread("b.mood", reason),)


@in_both
def test_a_command_outlives_a_file_that_kills_its_reader_and_says_so(
    place: Path, command: str
) -> None:
    log = place / "log"
    write_corpus(place / "docs", {"bad.mood": f"log {log}", "empty.md": " \n"})
    result = run(command, "--json", "--read-as", READ_AS)
    assert result.exit_code == 0, result.stderr
    assert "bad.mood" in result.stdout
    assert "its reader ended its process (signal 9)" in result.stdout
    assert log.read_text() == "read\n"


@in_both
def test_what_is_guarded_is_read_in_a_child_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def read_here(_: bytes) -> None:
        raise AssertionError("read in this process")

    write_corpus(place / "docs", {"tide.mood": "The tide comes in twice a day.\n"})
    (place / "golden.jsonl").write_text(
        '{"question": "when does the tide come in", "expected": ["tide.mood"]}\n'
        '{"question": "what makes bread rise", "expected": ["bread.md"]}\n'
    )
    monkeypatch.setattr(moods, "read_mood", read_here)
    result = run(command)
    assert result.exit_code == 0, result.stderr
    assert "left out, the first tide.mood" not in result.stdout


def test_the_same_files_are_read_and_left_out_as_by_an_ingest(place: Path) -> None:
    write_corpus(
        place / "docs",
        {
            "bad.mood": "exit 3",
            "a.bin": b"\0\1",
            "empty.md": "\n",
            "b.mood": "fine",
            "x.howto": RST,
        },
    )
    settings = CutSettings(read_as=f"{READ_AS},*.howto=rst")
    report = ingest(place / "docs", place / "docs" / "store", settings)
    corpus = read_corpus(place / "docs", place / "docs" / "store")
    held = snapshot_of(place / "docs" / "store").documents
    assert "x.howto" in held
    assert [each.path for each in corpus.sources] == list(held)
    assert [tuple(each) for each in corpus.unread] == [
        (each.path, each.reason) for each in report.skipped
    ]


def test_a_store_that_is_not_there_is_an_error_from_python(place: Path) -> None:
    with pytest.raises(StoreNotFound, match="There is no store"):
        read_corpus(place / "docs", place / "nowhere")
