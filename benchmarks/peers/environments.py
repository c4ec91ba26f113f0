"""Makes the environment of each peer, once, from the pinned names in peers.toml."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

_LONGEST_INSTALL = 600


def make(name: str, spec: dict[str, Any], folder: Path) -> None:
    """The environment in `folder`, as `spec` has it; one that is there and equal is kept."""
    stamp = folder / "made-from.json"
    wanted = json.dumps({**spec, "interpreter": sys.version}, sort_keys=True)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"making the environment {name}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    if "modules" in spec:
        _node(spec["modules"], folder)
    else:
        _python(spec, folder)
    stamp.write_text(wanted)


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def installed(folder: Path) -> list[str]:
    """Every package in an environment with its version."""
    if (folder / "node_modules").is_dir():
        listing = _output(["npm", "ls", "--all", "--parseable", "--long"], folder)
        return sorted({line.split(":")[1] for line in listing.splitlines()[1:] if ":" in line})
    return _output([python_of(folder), "-m", "pip", "freeze"], folder).splitlines()


def _python(spec: dict[str, Any], folder: Path) -> None:
    _run([_interpreter(spec.get("python")), "-m", "venv", folder])
    if spec["packages"]:
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([python_of(folder), *install, *spec["packages"]])


def _node(modules: list[str], folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}\n')
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"]
    _run([*install, *modules], folder)


def _interpreter(version: str | None) -> str:
    """A Python of that version: the one that runs this, one on PATH, or one of pyenv's."""
    if version is None or sys.version.startswith(f"{version}."):
        return sys.executable
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = str(managed[-1]) if managed else shutil.which(f"python{version}")
    if not found:
        raise FileNotFoundError(f"Python {version} is needed. Install it, or leave its peer out.")
    return found


def _run(command: list[str | Path], cwd: Path | None = None) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST_INSTALL,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} {command[1]} failed:\n{done.stderr[-2000:]}")


def _output(command: list[str | Path], cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    return done.stdout
