"""A format whose files say themselves what becomes of whoever reads them.

python -m tests.store.moods ARGUMENTS    is `contextpull ARGUMENTS` with that format
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from contextpull.cli.main import main
from contextpull.documents import formats
from contextpull.documents.plain import read_plain
from contextpull.types import ParsedDocument

SUFFIX = ".mood"
_LEAKED: list[bytes] = []


def read_mood(data: bytes) -> ParsedDocument:
    """Do what the first word says, if it is one of those below."""
    mood, _, rest = data.decode().partition(" ")
    if mood in _MOODS:
        _MOODS[mood](rest.strip())
    return read_plain(data)


def register() -> None:
    """Let this process know the format."""
    reader = "tests.store.moods:read_mood"
    formats.FORMATS = [*formats.FORMATS, formats.Format("moods", (SUFFIX,), reader)]
    formats.format_for.cache_clear()


def _raise(_: str) -> None:
    raise ZeroDivisionError("division by zero")


def _deny(_: str) -> None:
    raise PermissionError(13, "Permission denied")


def _hang(_: str) -> None:
    while True:
        pass


def _kill(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fault(_: str) -> None:
    ctypes.string_at(0)


def _exit(code: str) -> None:
    os._exit(int(code))


def _close(_: str) -> None:
    """Take away what the process speaks to its parent with, and live on."""
    os.closerange(3, 256)
    _hang("")


def _grow(_: str) -> None:
    while True:
        _leak("16")


def _leak(megabytes: str) -> None:
    _LEAKED.append(bytes(int(megabytes) * 1024 * 1024))


def _chat(_: str) -> None:
    """Print what a library should not."""
    os.write(1, b"reading ...\n" * 100)
    os.write(2, b"warning: odd file\n" * 100)


def _log_and_die(log: str) -> None:
    with Path(log).open("a") as lines:
        lines.write("read\n")
    _kill("")


def _tell_and_hang(pipe: str) -> None:
    Path(pipe).write_text(str(os.getpid()))
    _hang("")


_MOODS: dict[str, Callable[[str], None]] = {
    "raise": _raise,
    "deny": _deny,
    "hang": _hang,
    "kill": _kill,
    "fault": _fault,
    "exit": _exit,
    "close": _close,
    "grow": _grow,
    "leak": _leak,
    "chat": _chat,
    "log": _log_and_die,
    "tell": _tell_and_hang,
}


if __name__ == "__main__":
    register()
    sys.argv[0] = "contextpull"
    main()
