"""Records that are kept as they come: a file of JSON lines that is only ever added to."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contextpull.errors import EvaluationError


class KeptLines:
    """The file; whoever shares it between threads adds one line at a time.

    What a process was killed over is the line that it was writing, which is passed over when read.
    """

    def __init__(self, path: Path | None, what: str) -> None:
        """Keep lines in `path`, whose folder is there; `what` names them in errors.

        Without a path nothing is kept, and there are no records.
        """
        self.path = path
        self._what = what

    def records(self) -> Iterator[tuple[int, Any]]:
        """What each line holds, with its number, but for lines that are no JSON.

        Nothing where there is no file. Raises EvaluationError for one that cannot be read.
        """
        if self.path is None:
            return
        try:
            if not self.path.exists():
                return
            with self.path.open("rb") as file:  # line by line: a file may hold more than memory
                for number, line in enumerate(file, start=1):
                    try:
                        record = json.loads(line)
                    except (ValueError, RecursionError):
                        continue
                    yield number, record
        except OSError as error:
            raise self._error("read", error) from error

    def add(self, line: str) -> None:
        """Add a line, on the disk when this returns. Raises EvaluationError where that fails."""
        if self.path is None:
            return
        try:
            with self.path.open("ab+") as file:
                size = file.seek(0, os.SEEK_END)
                if size:
                    file.seek(size - 1)
                    if file.read(1) != b"\n":  # the rest of a line that was never finished
                        file.write(b"\n")
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._error("keep", error, " What was kept before is whole.") from error

    def _error(self, verb: str, error: OSError, more: str = "") -> EvaluationError:
        return EvaluationError(
            f"Cannot {verb} {self._what} in {self.path}: {error.strerror}.{more}"
        )
