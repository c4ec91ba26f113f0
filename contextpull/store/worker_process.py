"""The child process of `workers.py`: files of the corpus come in, what became of them goes out."""

import ctypes
import gc
import os
import pickle
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents import formats
from contextpull.documents.discovery import SourceFile
from contextpull.store.parsing import ParsedFile, parse_file

READY = "ready"
"""What the child sends first."""
RETIRED = "retired"
"""What it sends behind an answer when it ends because its memory is half used up."""
_MEGABYTE = 1024 * 1024
_ON_PARENTS_DEATH = 1
"""PR_SET_PDEATHSIG of Linux."""


class Job(NamedTuple):
    """What holds for every file that a child is sent."""

    settings: CutSettings
    limits: ReadLimits
    now_ns: int
    formats: Sequence[formats.Format]
    """The registry of readers as the parent has it."""
    keeps_parsed: bool = False
    """As `parse_file` takes it."""


def main(channel: str, parent: str) -> None:
    """Serve the process `parent` over the socket with number `channel` until it closes its end."""
    os.set_inheritable(int(channel), False)
    connection = Connection(int(channel))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends us
    _end_with(int(parent))
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        job: Job = connection.recv()
        formats.FORMATS[:] = job.formats
        _bound_memory(job.limits)
        gc.disable()  # parsing makes few cycles, and who grows retires
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # what readers say
        connection.send(READY)
        while True:
            connection.send_bytes(_answer(connection.recv(), job))
            if _memory_in_use() > job.limits.megabytes * _MEGABYTE / 2:
                connection.send(RETIRED)
                return


def _answer(file: SourceFile, job: Job) -> bytes:
    # The system's own clock ends us, whatever a reader does: no handler of Python has to run.
    signal.setitimer(signal.ITIMER_REAL, job.limits.seconds_for(file.size))
    try:
        parsed = parse_file(
            file, job.settings, job.limits, job.now_ns, keeps_parsed=job.keeps_parsed
        )
        return _pickled(parsed, job.limits)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _pickled(parsed: ParsedFile, limits: ReadLimits) -> bytes:
    try:
        return pickle.dumps(parsed)
    except MemoryError:
        return pickle.dumps(parsed.without_text(limits))


def _end_with(parent: int) -> None:
    """Have Linux end this process together with its parent; elsewhere the clock will."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_ON_PARENTS_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        sys.exit()


def _bound_memory(limits: ReadLimits) -> None:
    bound = limits.megabytes * _MEGABYTE
    with suppress(ValueError, OSError):  # where the system knows no such bound, time still ends it
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


def _memory_in_use() -> int:
    """Bytes of address space, which is what is bounded; 0 where the system does not tell."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text().split()[0]
        return int(pages) * resource.getpagesize()
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
