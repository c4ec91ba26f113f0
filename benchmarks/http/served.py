"""A server process at a free port, with its CPU time and memory."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

from measuring import cpu_s

_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20


class Served:
    """`contextpull serve STORE --http --no-auth`, until the block ends."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "contextpull", "serve", str(store), "--no-ingest"]
        options = ["--http", "--port", "0", "--no-auth", "--rate-limit", "0"]
        self._process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = self._address()
        threading.Thread(target=self._drain, daemon=True).start()

    def _address(self) -> str:
        assert self._process.stderr
        for line in self._process.stderr:
            if found := re.search(r"serving at (http\S+)", line):
                return found[1]
        raise RuntimeError("The server ended before it served.")

    def _drain(self) -> None:
        """Read the access log, which would fill its pipe."""
        assert self._process.stderr
        for _ in self._process.stderr:
            pass

    def __enter__(self) -> "Served":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)

    def cpu_s(self) -> float:
        """CPU seconds of the process so far."""
        return cpu_s(self._process.pid)

    def resident_mb(self) -> float:
        """Its resident memory, the mapped store included."""
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * _PAGE_MB
