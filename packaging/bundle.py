"""Build `dist/contextpull-VERSION.mcpb`, which desktop hosts install with a click.

The bundle holds the wheel and says what it needs; the host's uv installs the rest when it is first
started. The same sources give the same bytes.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "packaging" / "mcpb"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Build it, and print where it is."""
    with TemporaryDirectory(prefix="contextpull-bundle-") as folder:
        print(bundle(Path(folder), ROOT / "dist"))


def bundle(work: Path, out: Path) -> Path:
    """The bundle in `out`, made in the empty folder `work`."""
    sys.path.insert(0, str(ROOT))
    from contextpull import __version__
    from contextpull.tools import TOOLS

    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(work), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"The wheel cannot be built:\n{done.stdout}{done.stderr}")
    (wheel,) = work.glob("*.whl")
    manifest = json.loads(PARTS.joinpath("manifest.json").read_text(encoding="utf-8"))
    manifest["version"] = __version__
    manifest["tools"] = [{"name": tool.name, "description": tool.description} for tool in TOOLS]
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    work.joinpath("manifest.json").write_text(text, encoding="utf-8")
    work.joinpath("pyproject.toml").write_text(_project(__version__, wheel.name), encoding="utf-8")
    shutil.copy(PARTS / "server.py", work)
    shutil.copy(ROOT / "LICENSE", work)
    out.mkdir(exist_ok=True)
    return _packed(work, out / f"contextpull-{__version__}.mcpb")


def _project(version: str, wheel: str) -> str:
    """What uv reads: an environment with the wheel and the readers of all formats."""
    return (
        "[project]\n"
        'name = "contextpull-bundle"\n'
        f'version = "{version}"\n'
        'requires-python = ">=3.11"\n'
        'dependencies = ["contextpull[formats]"]\n\n'
        "[tool.uv]\n"
        "package = false\n\n"
        "[tool.uv.sources]\n"
        f'contextpull = {{ path = "{wheel}" }}\n'
    )


def _packed(folder: Path, target: Path) -> Path:
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for file in sorted(path for path in folder.iterdir() if path.is_file()):
            archive.writestr(ZipInfo(file.name, _LONG_AGO), file.read_bytes(), ZIP_DEFLATED)
    return target


if __name__ == "__main__":
    main()
