"""`contextpull ingest --as` and `contextpull corpora`: several folders in one store."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull import open_store
from contextpull.cli.main import cli
from contextpull.models.embedding import open_embedder
from contextpull.store import ingest as ingesting
from contextpull.store.ingest import writer_lock
from tests.cli.test_ingest_watch import following, next_line
from tests.conftest import write_corpus
from tests.embedders import assert_vectors_are_right

TEXT = "# Title\n\nSome words of a document, enough of them to be a section.\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two folders of documents, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_corpus(tmp_path / "handbook", {"leave.md": TEXT, "pay.md": f"{TEXT}\n## Pay\n\n{TEXT}"})
    write_corpus(tmp_path / "specs", {"pump.md": TEXT, "logo.png": b"\x89PNG"})
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def both(here: Path) -> Path:
    assert run("ingest", "handbook", "--as", "hr").exit_code == 0
    assert run("ingest", "specs", "--as", "specs").exit_code == 0
    return here


def test_an_ingest_tells_of_the_corpus_that_it_read(both: Path) -> None:
    done = run("ingest", "specs", "--as", "specs")
    assert done.stdout.startswith("1 documents, 1 sections, 67 characters of specs in .contextpull")
    assert "  specs/logo.png: no reader for .png" in done.stdout
    assert "hr/" not in done.stdout
    (both / "specs/pump.md").write_text(TEXT.upper())
    (both / "handbook/leave.md").write_text(TEXT.upper())
    files = json.loads(run("ingest", "--as", "hr", "--json").stdout)["files"]
    assert [(each["path"], each["outcome"]) for each in files] == [("hr/leave.md", "changed")]


def test_without_a_folder_every_corpus_is_read(both: Path) -> None:
    (both / "handbook/new.md").write_text(TEXT)
    (both / "specs/new.md").write_text(TEXT)
    done = run("ingest", "--verbose")
    assert done.exit_code == 0
    assert done.stdout.startswith("5 documents, 6 sections")
    assert "added       hr/new.md" in done.stdout
    assert "added       specs/new.md" in done.stdout


def test_the_corpora_are_listed_with_what_they_hold(both: Path) -> None:
    done = run("corpora")
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        [
            f"hr     {both}/handbook  2 documents, 3 sections",
            f"specs  {both}/specs  1 documents, 1 sections",
        ],
    )
    (both / "specs").rename(both / "gone")
    done = run("corpora", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)[1] == {
        "name": "specs",
        "folder": f"{both}/specs",
        "documents": 1,
        "sections": 1,
        "is_there": False,
    }
    assert "1 sections  (folder is gone)" in run("corpora").stdout


def test_a_corpus_without_a_name_is_listed_too(here: Path) -> None:
    run("ingest", "handbook", "--store", "other")
    done = run("corpora", "--store", "other")
    assert (done.exit_code, done.stdout) == (0, f"{here}/handbook  2 documents, 3 sections\n")


def test_a_corpus_is_removed_without_a_question(both: Path) -> None:
    done = run("corpora", "remove", "hr")
    assert (done.exit_code, done.stdout) == (
        0,
        "hr is out of .contextpull: 2 documents, 3 sections.\n",
    )
    assert list(open_store(".contextpull").snapshot().documents) == ["specs/pump.md"]
    assert (both / "handbook/leave.md").exists()
    removed = json.loads(run("corpora", "remove", "specs", "--json").stdout)["removed"]
    assert (removed["name"], removed["documents"]) == ("specs", 1)
    done = run("corpora")
    assert (done.exit_code, done.stdout) == (
        1,
        "The store holds none. Add one: contextpull ingest FOLDER --as NAME\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["corpora", "--store", "other", "remove", "hr"],
        ["corpora", "remove", "hr", "--store", "other"],
    ],
)
def test_the_store_may_be_named_on_either_side_of_remove(here: Path, arguments: list[str]) -> None:
    run("ingest", "handbook", "--as", "hr", "--store", "other")
    assert run(*arguments).exit_code == 0
    assert open_store("other").snapshot().documents == {}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["corpora", "remove", "HR"], "has no corpus 'HR'. Its corpora are 'hr', 'specs'."),
        (["corpora", "remove", ""], "has no corpus ''"),
        (["corpora", "remove"], "Missing argument 'NAME'"),
        (["corpora", "remove", "hr", "--store", "nothing"], "There is no store at 'nothing'"),
        (["corpora", "--store", "nothing"], "There is no store at 'nothing'"),
        (["corpora", "rename", "hr"], "No such command 'rename'"),
        (["ingest", "--as", "pay"], "has no corpus 'pay'. Its corpora are 'hr', 'specs'."),
        (["ingest", "--store", "nothing"], "There is no store at 'nothing'"),
        (["ingest", "handbook", "--as", "a/b"], "A corpus cannot have the name 'a/b'"),
        (["ingest", "handbook", "--as", "people"], "as the corpus 'hr'. To rename it, take it out"),
        (["ingest", "handbook"], "by a name: ingest it with --as hr"),
        (["ingest", "nowhere", "--as", "new"], "does not exist"),
        (["serve", "handbook", "--store", ".contextpull"], "by a name: ingest it with --as hr"),
    ],
)
def test_what_cannot_be_done_is_said(both: Path, arguments: list[str], reason: str) -> None:
    before = open_store(".contextpull").snapshot().generation
    done = run(*arguments)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert "Traceback" not in done.output
    assert open_store(".contextpull").snapshot().generation == before


def test_a_folder_that_is_gone_is_told_and_fails(both: Path) -> None:
    (both / "specs").rename(both / "gone")
    done = run("ingest")
    assert done.exit_code == 1
    assert f"Look at: The folder '{both}/specs' of the corpus 'specs' is gone" in done.stdout
    assert json.loads(run("ingest", "--json").stdout)["missing"]
    assert run("ingest", "--as", "hr").exit_code == 0
    assert run("ingest", "--max-chars", "500").exit_code == 2


def test_while_another_process_writes_nothing_is_added_or_removed(
    both: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "WAIT_FOR_READERS", 0.01)
    write_corpus(both / "third", {"c.md": TEXT})
    with writer_lock(both / ".contextpull").acquire():
        for arguments in (["ingest", "third", "--as", "third"], ["corpora", "remove", "hr"]):
            done = run(*arguments)
            assert done.exit_code == 2
            assert "Another process is writing to the store '.contextpull'." in done.stderr
    assert run("ingest", "third", "--as", "third").exit_code == 0


def test_the_vectors_follow_what_is_added_and_removed(both: Path, tiny_embedder: Path) -> None:
    assert run("ingest", "--embedder", str(tiny_embedder)).exit_code == 0
    embedder = open_embedder(str(tiny_embedder))
    write_corpus(both / "third", {"c.md": TEXT.upper()})
    assert run("ingest", "third", "--as", "third").exit_code == 0
    assert_vectors_are_right(both / ".contextpull", embedder)
    (both / "third/c.md").unlink()
    assert run("ingest", "third", "--as", "third", "--allow-empty").exit_code == 1
    assert_vectors_are_right(both / ".contextpull", embedder)
    done = run("corpora", "remove", "hr")
    assert done.exit_code == 0
    assert "1 vectors of" in done.stdout
    assert_vectors_are_right(both / ".contextpull", embedder)


def test_vectors_that_cannot_be_brought_up_to_date_are_told(
    both: Path, tiny_embedder: Path
) -> None:
    model = shutil.copytree(tiny_embedder, both / "model")
    run("ingest", "--embedder", str(model))
    shutil.rmtree(model)
    done = run("corpora", "remove", "hr")
    assert done.exit_code == 1
    assert "hr is out of .contextpull" in done.stdout
    assert "Look at: the vectors are not up to date." in done.stdout


def test_a_corpus_is_followed_under_its_name(both: Path) -> None:
    (both / ".contextpull").rename(both / "store")
    with following(both / "handbook", "--watch", "--as", "hr") as process:
        next_line(process), next_line(process)
        (both / "handbook/new.md").write_text(TEXT)
        assert "hr/new.md added; 3 documents" in next_line(process)


def test_doctor_tells_of_each_corpus(both: Path) -> None:
    done = run("doctor")
    assert done.exit_code == 0
    assert f"corpus       hr {both}/handbook\ncorpus       specs {both}/specs\n" in done.stdout
    (both / "handbook/new.md").write_text(TEXT)
    (both / "specs").rename(both / "gone")
    done = run("doctor")
    assert done.exit_code == 1
    assert "of the corpus 'specs' is gone" in done.stdout
    assert "behind       1 new, 0 changed, 0 gone: run contextpull ingest" in done.stdout
    store = json.loads(run("doctor", "--json").stdout)["store"]
    assert [each["name"] for each in store["corpora"]] == ["hr", "specs"]


def test_hosts_are_told_to_serve_the_store(both: Path) -> None:
    done = run("mcp-config", "--client", "claude-code")
    assert json.loads(done.stdout)["mcpServers"]["contextpull"]["args"][-3:] == [
        *("serve", "--store", f"{both}/.contextpull")
    ]
