"""`contextpull ingest` tells of each file what became of it, and fails when it is asked to."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.cli.progress import reading_bar
from contextpull.store.report import Progress
from tests.conftest import write_corpus
from tests.documents.pdf_files import lines, pdf
from tests.terminals import seen_in_terminal, watched

PAGE = "# Page\n\nSome words about it, and some more.\n"
FILES = {
    "guide/a-page-with-a-long-name.md": f"{PAGE}\n## More\n\nAnother section of the same page.\n",
    "b.md": PAGE,
    "broken.md": bytes(range(32)) * 9,
    "empty.md": "",
    "half.json": '{"half": [1, 2',
    "logo.png": b"\x89PNG\r\n",
}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "docs", FILES)


def ingest(docs: Path, *options: str) -> Result:
    store = str(docs.parent / "store")
    return CliRunner().invoke(cli, ["ingest", str(docs), "--store", store, *options])


def told(docs: Path, *options: str) -> dict[str, dict[str, object]]:
    files = json.loads(ingest(docs, "--json", *options).stdout)["files"]
    return {each["path"]: each for each in files}


def test_an_emptied_folder_is_an_error_until_it_is_meant(docs: Path) -> None:
    ingest(docs)
    shutil.rmtree(docs)
    docs.mkdir()
    done = ingest(docs)
    assert done.exit_code == 2
    assert "holds nothing to read any more" in done.stderr
    assert "ingest once with --allow-empty" in done.stderr
    assert told(docs, "--allow-empty")["b.md"]["outcome"] == "removed"


def test_every_file_is_told_of_with_what_came_out(docs: Path) -> None:
    files = told(docs)
    assert list(files) == sorted(FILES)
    assert {path: each["outcome"] for path, each in files.items()} == {
        "guide/a-page-with-a-long-name.md": "added",
        "b.md": "added",
        "broken.md": "unreadable",
        "empty.md": "unreadable",
        "half.json": "added",
        "logo.png": "left out",
    }
    assert files["guide/a-page-with-a-long-name.md"] == {
        "path": "guide/a-page-with-a-long-name.md",
        "outcome": "added",
        "sections": 2,
        "pages": 0,
        "warnings": [],
        "reason": "",
    }
    assert files["broken.md"]["reason"] == "binary data, not text"
    assert files["empty.md"]["reason"] == "no text in it"
    assert files["half.json"]["warnings"] == ["not valid JSON"]
    assert files["logo.png"]["reason"] == "no reader for .png"


def test_later_ingests_tell_what_changed_and_what_still_deserves_a_look(docs: Path) -> None:
    ingest(docs)
    docs.joinpath("b.md").write_text(PAGE.replace("Some", "Other"))
    docs.joinpath("guide/a-page-with-a-long-name.md").unlink()
    docs.joinpath("new.md").write_text(PAGE)
    outcomes = {path: each["outcome"] for path, each in told(docs).items()}
    assert outcomes == {
        "b.md": "changed",
        "broken.md": "unreadable",
        "empty.md": "unreadable",
        "guide/a-page-with-a-long-name.md": "removed",
        "half.json": "unchanged",
        "logo.png": "left out",
        "new.md": "added",
    }
    standing = {"broken.md", "empty.md", "half.json", "logo.png"}
    assert told(docs).keys() == standing
    report = json.loads(ingest(docs, "--json").stdout)
    assert (report["added"], report["changed"], report["removed"]) == (0, 0, 0)


def test_pages_are_counted_where_the_format_has_them(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    pages = [lines(f"Words of page {number}, which has more of them") for number in (1, 2, 3)]
    scanned = pdf(lines("Page with words"), [], image=True)
    docs = write_corpus(tmp_path / "docs", {"a.pdf": pdf(*pages), "scan.pdf": scanned})
    files = told(docs)
    assert (files["a.pdf"]["pages"], files["scan.pdf"]["pages"]) == (3, 1)
    again = told(docs)
    assert again.keys() == {"scan.pdf"}
    assert {**files["scan.pdf"], "outcome": "unchanged"} == again["scan.pdf"]
    assert "3 pages" in ingest(write_corpus(docs, {"b.pdf": pdf(*pages)}), "-v").stdout


def test_verbose_is_a_table_of_what_was_touched_or_left_out(docs: Path) -> None:
    lines = ingest(docs, "-v").stdout.splitlines()[2:]
    assert lines == [
        "added       b.md                              1 section",
        "unreadable  broken.md                         binary data, not text",
        "unreadable  empty.md                          no text in it",
        "added       guide/a-page-with-a-long-name.md  2 sections",
        "added       half.json                         1 section",
        "                                              warning: not valid JSON",
        "left out    logo.png                          no reader for .png",
    ]


def test_the_default_is_short_however_many_files_are_left_out(docs: Path) -> None:
    write_corpus(docs, {f"{number}.png": b"\x89PNG" for number in range(2_000)})
    done = ingest(docs)
    assert "2,003 files (-v names them)" in done.stdout
    assert "2,001  no reader for .png" in done.stdout
    assert len(done.stdout.splitlines()) < 10


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["b.md"], 0),
        (["b.md", "logo.png"], 0),
        (["b.md", "broken.md"], 1),
        (["b.md", "empty.md"], 1),
        (["b.md", "half.json"], 1),
    ],
)
def test_strict_fails_on_what_cannot_be_read_and_on_warnings_each_time(
    tmp_path: Path, names: Sequence[str], code: int
) -> None:
    docs = write_corpus(tmp_path / "docs", {name: FILES[name] for name in names})
    for options in ([], ["--json"], []):
        done = ingest(docs, "--strict", *options)
        assert done.exit_code == code
        assert (f"--strict: 1 file not read, or with a warning: {names[-1]}." in done.stderr) == (
            code == 1
        )
        assert ingest(docs, *options).exit_code == 0
    search = ["search", "words", "--store", str(tmp_path / "store")]
    assert "b.md#page" in CliRunner().invoke(cli, search).stdout


def test_strict_names_each_fault_with_its_reason_however_many_there_are(tmp_path: Path) -> None:
    empty = {f"{number}.md": "" for number in range(9)}
    done = ingest(write_corpus(tmp_path / "docs", {**empty, "a.md": PAGE}), "--strict")
    assert all(f"  {name}: no text in it" in done.stdout for name in empty)
    assert "9 files not read" in done.stderr
    assert "4.md and 4 more" in done.stderr


def test_strict_takes_what_the_user_excluded_or_never_meant_for_no_fault(tmp_path: Path) -> None:
    files = {"a.md": PAGE, "drafts/bad.md": b"\x00\x01" * 99, "node_modules/b.md": PAGE}
    docs = write_corpus(tmp_path / "docs", {**files, ".contextpullignore": "drafts/\n"})
    tmp_path.joinpath("secret.md").write_text("x")
    docs.joinpath("out.md").symlink_to("../secret.md")
    assert ingest(docs, "--strict").exit_code == 0


@pytest.mark.parametrize("name", ["link.md", ".ignore"])
def test_strict_takes_a_link_to_nothing_and_a_pattern_that_means_nothing_for_faults(
    tmp_path: Path, name: str
) -> None:
    docs = write_corpus(tmp_path / "docs", {"a.md": PAGE})
    if name == "link.md":
        docs.joinpath(name).symlink_to("nowhere.md")
    else:
        docs.joinpath(name).write_text("[[:alpha:]]\n")
    done = ingest(docs, "--strict")
    assert (done.exit_code, name in done.stderr) == (1, True)


def test_a_folder_without_documents_says_so_with_json_too(tmp_path: Path) -> None:
    docs = write_corpus(tmp_path / "docs", {"logo.png": b"\x89PNG"})
    assert ingest(docs, "-v").stdout.splitlines()[-1].startswith("Nothing in ")
    assert json.loads(ingest(docs, "--json").stdout)["documents"] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--read-seconds", "0"], "must be above 0"),
        (["--read-memory", "5"], "must be 200 MB or more, not 5"),
    ],
)
def test_limits_that_cannot_be_are_refused(docs: Path, options: list[str], said: str) -> None:
    done = ingest(docs, *options)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_a_terminal_sees_how_many_files_are_read(tmp_path: Path) -> None:
    docs = write_corpus(tmp_path / "docs", {f"{number}.md": PAGE for number in range(300)})
    command = [sys.executable, "-m", "contextpull", "ingest", str(docs), "--store", "store"]
    seen = seen_in_terminal(
        lambda terminal: subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=terminal, text=True
        )
    )
    assert "reading" in seen
    assert "/300 files" in seen


def test_the_bar_tells_files_and_their_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    with reading_bar() as move:
        assert move
        move(Progress(1, 4_000, 10, 8_000_000))
        move(Progress(2_000, 4_000, 4_000_000, 8_000_000))
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert re.search(r"2,000/4,000 files, [\d,]+ files/s, \d+\.\d MB/s", text)
