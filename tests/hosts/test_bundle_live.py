"""The .mcpb bundle under the format's own tool, and started as a desktop host starts it.

`make test-hosts` installs the tool and uv and names them in CONTEXTPULL_MCPB and CONTEXTPULL_UV;
without them these tests are skipped. uv installs what the bundle needs from the package index.
"""

import json
import os
import runpy
import shlex
import subprocess
from pathlib import Path

import pytest

from contextpull import __version__
from contextpull.server.hosting.launching import Launch
from contextpull.server.hosting.probing import look
from contextpull.server.hosting.report import problems_of
from contextpull.tools import TOOLS
from tests.conftest import write_corpus

ROOT = Path(__file__).resolve().parent.parent.parent
MCPB, UV = (os.environ.get(f"CONTEXTPULL_{name}", "") for name in ("MCPB", "UV"))
INSTALLING = 600
"""Seconds that uv may take."""

pytestmark = pytest.mark.skipif(not MCPB, reason="CONTEXTPULL_MCPB names no mcpb")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = runpy.run_path(str(ROOT / "packaging" / "bundle.py"))["bundle"]
    work, out = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("dist")
    built: Path = build(work, out)
    return built


@pytest.fixture(scope="module")
def unpacked(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked") / "extension"
    mcpb("unpack", str(bundle), str(folder))
    return folder


def mcpb(*arguments: str) -> str:
    done = subprocess.run(
        [*shlex.split(MCPB), *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_manifest_fits_the_format_s_schema(unpacked: Path) -> None:
    assert "validation passes" in mcpb("validate", str(unpacked / "manifest.json"))


def test_the_manifest_is_of_this_version_and_names_the_tools(bundle: Path, unpacked: Path) -> None:
    manifest = json.loads(unpacked.joinpath("manifest.json").read_text(encoding="utf-8"))
    assert bundle.name == f"contextpull-{__version__}.mcpb"
    assert manifest["version"] == __version__
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in TOOLS]


def test_the_format_s_tool_packs_it_again(unpacked: Path, tmp_path: Path) -> None:
    mcpb("pack", str(unpacked), str(tmp_path / "again.mcpb"))
    assert tmp_path.joinpath("again.mcpb").is_file()


@pytest.mark.skipif(not UV, reason="CONTEXTPULL_UV names no uv")
def test_it_serves_the_folder_that_its_user_chose(unpacked: Path, tmp_path: Path) -> None:
    docs = write_corpus(tmp_path / "my docs", {"a.md": "# Cache\n\nClear it with care, often.\n"})
    manifest = json.loads(unpacked.joinpath("manifest.json").read_text(encoding="utf-8"))
    config = manifest["server"]["mcp_config"]
    known = {"${__dirname}": str(unpacked), "${user_config.folder}": str(docs)}
    args = []
    for argument in config["args"]:
        for name, value in known.items():
            argument = argument.replace(name, value)
        args.append(argument)
    assert config["command"] == "uv"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    seen = look(Launch(UV, tuple(args)), environment, INSTALLING)
    assert problems_of(seen) == [], seen.stderr
    assert seen.server == f"contextpull {__version__}"
    assert [call for call, _ in seen.results] == ["index", "read a.md"]
