"""PDF files, read in a process of their own.

A file of five kilobytes can draw one letter a billion times, and no library for PDF files stops at
that. So the reader works in a child process, whose memory is bounded and which is ended when it
takes too long over a page.
"""

import atexit
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock

import pypdfium2  # noqa: F401 - without it, the extra is named before a process is started

from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

TICK = b""
"""What the child sends at each page, before its answer."""
_MEGABYTES = 1_500
_SECONDS = 60


class Engine:
    """A child process that reads file after file; started at the first, and anew when it died."""

    def __init__(self, megabytes: int = _MEGABYTES, seconds: float = _SECONDS) -> None:
        """`megabytes` bound the child's memory, `seconds` what it may take for one page."""
        self._megabytes = megabytes
        self._seconds = seconds
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def read(self, data: bytes) -> ParsedDocument:
        """Have the child read a file.

        Raises DocumentError for what it reports, and when it dies or takes too long.
        """
        with self._lock:
            try:
                answer = self._answer(data)
            except (EOFError, OSError) as error:
                self._end()
                raise DocumentError(
                    f"its pages are too much to read in {self._megabytes:,} MB of memory and"
                    f" {self._seconds:g} s a page; print it to a new PDF file and ingest that"
                ) from error
        if isinstance(answer, ParsedDocument):
            return answer
        raise DocumentError(answer)

    def close(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            self._end()

    def _answer(self, data: bytes) -> ParsedDocument | str:
        child = self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        with (
            Connection(os.dup(child.stdin.fileno()), readable=False) as to_child,
            Connection(os.dup(child.stdout.fileno()), writable=False) as from_child,
        ):
            to_child.send_bytes(data)
            while from_child.poll(self._seconds):
                answer = from_child.recv_bytes()
                if answer != TICK:
                    result: ParsedDocument | str = pickle.loads(answer)
                    return result
        raise TimeoutError

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():  # a worker that was forked shares no child
            self._child, self._owner = None, os.getpid()
        if self._child is None or self._child.poll() is not None:
            self._end()
            # -P: no module of the folder that happens to be the current one.
            command = [sys.executable, "-P", "-m", "contextpull.documents.pdf_child"]
            self._child = subprocess.Popen(
                [*command, str(self._megabytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._child

    def _end(self) -> None:
        if self._child is None or self._owner != os.getpid():
            return
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._child.wait()
        self._child = None


_ENGINE = Engine()
atexit.register(_ENGINE.close)


def read_pdf(data: bytes) -> ParsedDocument:
    """Read a PDF file; each block carries its page.

    Headings come from the outline where its titles are found on their pages, else from fonts; a
    file without any has a heading `Page 41` a page, with the anchor `page=41`. What repeats in the
    margins of most pages stands once. Nothing that the file links or attaches is opened.
    Raises DocumentError for what is no PDF file, needs a password, was scanned without a text
    layer, or is too much to read.
    """
    return _ENGINE.read(data)
