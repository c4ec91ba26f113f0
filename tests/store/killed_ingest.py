"""A process that dies while it ingests.

python -m tests.store.killed_ingest events FOLDER STORE N    dies at the N-th system event, or
                                                             from the commit on when N is negative
python -m tests.store.killed_ingest progress FOLDER STORE    prints a line per file, to be killed
python -m tests.store.killed_ingest between FOLDER STORE     dies when the database is committed

Where the store keeps vectors it goes on to those.
With 0 for N it lives, and the last line that it prints is how many events there were.
"""

import os
import signal
import sys
from pathlib import Path

from contextpull.store.database import FILE
from contextpull.store.derived import DerivedWriter
from contextpull.store.embedding import keep_vectors
from contextpull.store.ingest import ingest


class DeathAtEvent:
    """Dies at the n-th event that Python reports: a file opened, renamed or removed …"""

    def __init__(self, number: int) -> None:
        self.count = 0
        self._number = abs(number)
        self._counts = number >= 0

    def __call__(self, event: str, facts: tuple[object, ...]) -> None:
        self._counts |= event == "os.rename" and str(facts[1]).endswith(FILE)
        self.count += self._counts and event.startswith(("open", "os.", "sqlite3.", "shutil."))
        if self.count and self.count == self._number:
            os.kill(os.getpid(), signal.SIGKILL)


def main(how: str, folder: str, store: str, number: str = "0") -> None:
    """Ingest the folder, and die."""
    death = DeathAtEvent(int(number))
    if how == "events":
        sys.addaudithook(death)
    if how == "between":
        DerivedWriter.commit = lambda *_: os._exit(9)  # type: ignore[method-assign]
    ingest(Path(folder), Path(store), progress=lambda *_: print("file", flush=True))
    keep_vectors(Path(store), model=None, cache=None)
    print(death.count)


if __name__ == "__main__":
    main(*sys.argv[1:])
