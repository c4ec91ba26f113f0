"""Vectors from the command line: made, kept up, searched, dropped."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.cli.progress import progress_bar
from contextpull.models.embedding import open_embedder
from contextpull.store.database import Database
from tests.conftest import write_corpus
from tests.embedders import assert_vectors_are_right, without
from tests.terminals import watched

FILES = {
    "lamp.md": "# Lamp\n\nThe lighthouse keeper lights the lamp before it gets dark.\n",
    "boats.md": "# Boats\n\nA boat must keep clear of the mouth of the harbour at night.\n",
    "bread.md": "# Bread\n\nYeast makes bread rise, and salt slows that down a little.\n",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where vectors are kept, in a folder that is also the current one."""
    write_corpus(tmp_path / "docs", FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("STORE", "EMBEDDER", "RERANKER", "MODE", "API_KEY", "MODELS"):
        monkeypatch.delenv(f"CONTEXTPULL_{name}", raising=False)
    return tmp_path / "cache" / "contextpull" / "vectors"


@pytest.fixture
def model(tmp_path: Path, tiny_embedder: Path) -> str:
    shutil.copytree(tiny_embedder, tmp_path / "model")
    return "./model"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)])


def found(*arguments: str | Path) -> tuple[list[str], list[str]]:
    """The ids and the notes of a search."""
    data = json.loads(run("search", *arguments, "--json").stdout)
    return [hit["id"] for hit in data["hits"]], data["notes"]


def test_ingest_says_what_it_embedded_and_goes_on_with_that_model(model: str, cache: Path) -> None:
    done = run("ingest", "docs", "--embedder", model)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    place = re.escape(str(Path("model").absolute()))
    assert re.search(rf"^3 vectors of {place}, 3 made in \d+\.\d s$", done.stdout, re.MULTILINE)
    assert len(list(cache.iterdir())) == 1
    again = run("ingest", "docs")
    assert again.exit_code == 0
    assert "vectors" not in again.stdout
    Path("docs/bread.md").write_text("# Bread\n\nOnly flour and water are needed for bread.\n")
    changed = run("ingest", "docs")
    assert re.search(r"3 vectors of .*, 1 made in", changed.stdout)
    assert_vectors_are_right(Path(".contextpull"), open_embedder(model))


def test_ingest_as_json_holds_the_same(model: str) -> None:
    plain = json.loads(run("ingest", "docs", "--json").stdout)
    assert plain["vectors"] is None
    vectors = json.loads(run("ingest", "docs", "--json", "--embedder", model).stdout)["vectors"]
    assert vectors.pop("seconds") >= 0
    assert vectors == {"model": str(Path("model").absolute()), "sections": 3, "made": 3}


def test_a_second_store_takes_its_vectors_from_the_cache(model: str, cache: Path) -> None:
    run("ingest", "docs", "--embedder", model)
    (kept,) = cache.iterdir()
    before = kept.read_bytes()
    assert run("ingest", "docs", "--store", "second", "--embedder", model).exit_code == 0
    assert kept.read_bytes() == before
    assert_vectors_are_right(Path("second"), open_embedder(model))


def test_the_embedder_may_come_from_the_environment(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTPULL_EMBEDDER", model)
    assert "3 vectors of" in run("ingest", "docs").stdout


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("no-such-model", "'no-such-model' names no embedder. Give a pack (bge-small-en-v1.5)"),
        ("./nowhere", "is no model's folder"),
        ("bge-small-en-v1.5", "is not installed: contextpull models install bge-small-en-v1.5"),
        ("ms-marco-MiniLM-L-12-v2", "is no embedder"),
        ("http://127.0.0.1:9/v1", "names no host and #MODEL"),
        ("st:", "names no model"),
    ],
)
def test_an_embedder_that_cannot_be_used_is_a_sentence_and_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, sentence: str
) -> None:
    monkeypatch.setenv("CONTEXTPULL_MODELS", str(tmp_path / "packs"))
    done = run("ingest", "docs", "--embedder", spec)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.startswith("contextpull: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    store = Path(".contextpull/store.sqlite")
    assert not store.exists() or not Database(store).embedder


def test_a_spec_that_names_no_model_is_told_before_the_folder_is_read() -> None:
    assert run("ingest", "docs", "--embedder", "no-such-model").exit_code == 2
    assert not Path(".contextpull").exists()


def test_a_model_that_went_costs_no_ingest_but_is_told(model: str) -> None:
    run("ingest", "docs", "--embedder", model)
    Path("model").rename("away")
    assert run("ingest", "docs").exit_code == 0  # nothing to embed
    Path("docs/new.md").write_text("# New\n\nThe zeppelin has landed safely this morning.\n")
    done = run("ingest", "docs")
    assert done.exit_code == 1
    assert "4 documents" in done.stdout
    assert "Look at: the vectors are not up to date. " in done.stdout
    problem = json.loads(run("ingest", "docs", "--json").stdout)["vectors"]["problem"]
    assert "is no model's folder" in problem
    assert found("zeppelin", "--mode", "lexical") == (["new.md#new"], [])


def test_no_vectors_drops_them_for_good(model: str) -> None:
    run("ingest", "docs", "--embedder", model)
    done = run("ingest", "docs", "--no-vectors")
    assert done.exit_code == 0
    assert not Path(".contextpull/dense").exists()
    Path("docs/bread.md").write_text("# Bread\n\nOnly flour and water are needed for bread.\n")
    assert "vectors" not in run("ingest", "docs").stdout
    assert found("lighthousekeeper") == ([], [])
    both = run("ingest", "docs", "--no-vectors", "--embedder", model)
    assert both.exit_code == 2
    assert "either --embedder or --no-vectors" in both.stderr


def test_search_ranks_as_it_is_told(model: str, tiny_reranker: Path) -> None:
    run("ingest", "docs", "--embedder", model)
    for mode in ("dense", "hybrid", "rerank"):
        hits, notes = found("lighthousekeeper", "--mode", mode, "--reranker", str(tiny_reranker))
        assert hits[0] == "lamp.md#lamp"
        assert notes == []
    assert found("lighthousekeeper")[0][0] == "lamp.md#lamp"
    nothing = run("search", "lighthousekeeper", "--mode", "lexical")
    assert nothing.exit_code == 1
    wrong = run("search", "lamp", "--mode", "semantic")
    assert wrong.exit_code == 2
    assert "'semantic' is not one of" in wrong.stderr


def test_search_says_what_it_could_not_do(model: str) -> None:
    run("ingest", "docs")
    done = run("search", "lamp", "--mode", "hybrid")
    assert done.exit_code == 0
    assert done.stdout.startswith("Ranked by words alone, without vectors: this store keeps no")
    run("ingest", "docs", "--embedder", model)
    hits, (note,) = found("lamp", "--mode", "rerank", "--reranker", "./nowhere")
    assert hits[0] == "lamp.md#lamp"
    assert note.startswith("Not reranked: ")


def test_without_faiss_the_extra_is_named(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ingest", "docs")
    for name, nothing in without("faiss").items():
        monkeypatch.setitem(sys.modules, name, nothing)
    done = run("ingest", "docs", "--embedder", model)
    assert done.exit_code == 2
    assert "pip install 'contextpull[dense]'" in done.stderr


def test_without_faiss_a_store_whose_vectors_are_all_there_is_left_in_peace(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", "docs", "--embedder", model)
    for name, nothing in without("faiss").items():
        monkeypatch.setitem(sys.modules, name, nothing)
    assert run("ingest", "docs").exit_code == 0
    hits, (note,) = found("lamp")
    assert hits == ["lamp.md#lamp"]
    assert "pip install 'contextpull[dense]'" in note


def test_a_lexical_store_is_read_and_searched_without_any_library_for_vectors() -> None:
    code = (
        "import sys\n"
        "from contextpull.cli.main import cli\n"
        "cli(['ingest', 'docs'], standalone_mode=False)\n"
        "cli(['search', 'lamp'], standalone_mode=False)\n"
        "heavy = {'numpy', 'faiss', 'onnxruntime', 'tokenizers', 'openai', 'torch'}\n"
        "print('loaded:', sorted(heavy & sys.modules.keys()))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "lamp.md#lamp" in done.stdout
    assert "loaded: []" in done.stdout


@pytest.mark.parametrize(("unit", "shown"), [("count", "3/40"), ("share", "8%")])
def test_a_bar_counts_on_a_terminal(monkeypatch: pytest.MonkeyPatch, unit: str, shown: str) -> None:
    terminal = watched(monkeypatch)
    with progress_bar("embedding", unit) as move:  # type: ignore[arg-type]
        assert move
        move(0, 40)
        move(3, 40)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "embedding" in text
    assert re.sub(" +", " ", shown) in re.sub(" +", " ", text)


def test_a_bar_that_never_moves_is_never_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress_bar("embedding", "count"):
        pass
    assert "embedding" not in terminal.getvalue()


def test_there_is_no_bar_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("embedding", "count") as move:
        assert move is None
    assert capsys.readouterr() == ("", "")
