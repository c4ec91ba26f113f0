"""File systems that are small or cannot be written to."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def mounted(*arguments: str) -> bool:
    """Mount something, where that is possible."""
    command = ["mount", *arguments]
    return (
        bool(shutil.which("mount"))
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)):
        pytest.skip("file systems cannot be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """Shows a folder where nothing can be written: bound read-only, or without the permission."""
    place = tmp_path / "read-only"
    place.mkdir()
    changed: list[Path] = []
    mounts: list[Path] = []

    def show(folder: Path) -> Path:
        if mounted("--bind", "-o", "ro", str(folder), str(place)):
            mounts.append(place)
            return place
        if os.geteuid() == 0:
            pytest.skip("file systems cannot be mounted here, and permissions do not bind root")
        changed.extend(each for each in (folder, *folder.rglob("*")) if each.is_dir())
        for each in changed:
            each.chmod(0o555)
        return folder

    yield show
    for each in changed:
        each.chmod(0o755)
    for mount in mounts:
        subprocess.run(["umount", "--lazy", str(mount)], check=True)
