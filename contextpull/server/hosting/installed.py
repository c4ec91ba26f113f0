"""What of this package's requirements is installed, by extra."""

import re
import sys
from contextlib import suppress
from importlib import metadata
from typing import Any

_PACKAGE = "contextpull"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+).*?(?:;\s*extra\s*==\s*['\"]([\w-]+)['\"])?$")
_NOT_FOR_USERS = frozenset({"dev", "all"})
_AT_START = ("sitecustomize", "usercustomize")


def installed() -> dict[str, Any]:
    """Versions of what the core needs, and by extra what of it is missing.

    A checkout that is not installed has no requirements to look at.
    """
    core, extras = _requirements()
    return {
        "packages": {name: _version(name) for name in core},
        "extras": {
            extra: [name for name in names if _version(name) is None]
            for extra, names in extras.items()
        },
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Names of packages: those of the core, and by extra the others."""
    core: list[str] = []
    extras: dict[str, list[str]] = {}
    with suppress(metadata.PackageNotFoundError):
        for line in metadata.requires(_PACKAGE) or []:
            match = _REQUIREMENT.match(line)
            if match is None or match[1] == _PACKAGE or match[2] in _NOT_FOR_USERS:
                continue
            (extras.setdefault(match[2], []) if match[2] else core).append(match[1])
    return core, extras


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def startup_files() -> list[str]:
    """Files of the user's or the system's that this interpreter ran before anything else."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _AT_START)
    return [file for file in files if file]
