"""A terminal in the place of stderr, for what is only shown where somebody watches."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The terminal; what is written to stderr from now on stands in it."""
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def seen_in_terminal(start: "Callable[[int], subprocess.Popen[str]]", columns: int = 100) -> str:
    """All that a process writes to a terminal of so many columns, which it is started with."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    seen = bytearray()
    with start(theirs) as process:
        os.close(theirs)
        with suppress(OSError):  # which tells that nobody has it open any more
            while block := os.read(ours, 1 << 16):
                seen += block
        process.communicate(timeout=60)
    os.close(ours)
    return seen.decode()
