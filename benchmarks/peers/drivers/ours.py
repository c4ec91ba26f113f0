"""This project as a library: `open_store` and `search` on a store that its command made."""

import sys
from pathlib import Path

from protocol import Answer, Driver, run, serve

from contextpull import open_store
from contextpull.retrieval.grep import grep
from contextpull.retrieval.search import search


class Ours(Driver):
    """The working tree's package, in the environment that runs the benchmark."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """`contextpull ingest`."""
        run([sys.executable, "-m", "contextpull", "ingest", corpus, "--store", folder / "store"])
        self.snapshot = open_store(folder / "store").snapshot()

    def search(self, query: str, k: int) -> Answer:
        """Ids of sections, each with its snippet made."""
        return Answer([hit.section.id for hit in search(self.snapshot, query, limit=k).hits])

    def grep(self, pattern: str, regex: bool) -> int:
        """Counts every matching line up to 10,000 and shows twenty."""
        return grep(self.snapshot, pattern, regex=regex, ignore_case=True).total


if __name__ == "__main__":
    serve(Ours())
