"""How a host starts the server: a command that needs neither its folder nor its PATH."""

import os
from pathlib import Path
from typing import NamedTuple

from contextpull.errors import InvalidInput
from contextpull.server.hosting.places import Served

UVX_REQUIREMENT = "contextpull[formats]"
"""What `uvx` installs: with the readers of PDF, Office and HTML."""


class Launch(NamedTuple):
    """A program and its arguments."""

    command: str
    args: tuple[str, ...]


def installed_program(python: Path) -> tuple[str, ...]:
    """The start of a command line that runs this installation's `contextpull`.

    `python` is its interpreter, whose links are kept: in a virtual environment it is one.
    """
    script = python.parent / f"contextpull{python.suffix if python.suffix == '.exe' else ''}"
    if script.is_file():
        return (str(script.absolute()),)
    # A host's folder may hold modules of any name: -P keeps them out.
    return (str(python.absolute()), "-P", "-m", "contextpull")


def uvx_program(uvx: str | None) -> tuple[str, ...]:
    """The start of a command line with which uv installs and runs `contextpull`.

    `uvx` is where that program is. Raises InvalidInput when it is nowhere.
    """
    if uvx is None:
        raise InvalidInput("There is no uvx on the PATH: install uv, or leave out --uvx.")
    return (str(Path(uvx).absolute()), "--from", UVX_REQUIREMENT, "contextpull")


def launch_of(program: tuple[str, ...], what: Served) -> Launch:
    """How to serve this, in absolute paths that keep links."""
    args = [*program[1:], "serve"]
    if not what.corpora:
        args.append(_whole(what.folder or what.store))
    if what.folder or what.corpora:
        args += ["--store", _whole(what.store)]
    return Launch(program[0], tuple(args))


def _whole(path: Path) -> str:
    return os.path.normpath(path.absolute())
