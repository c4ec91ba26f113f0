"""The public package contextpull 0.2.1 as a library."""

import sys
from pathlib import Path

from protocol import Answer, Driver, run, serve

from contextpull import Ops, Store


class Earlier(Driver):
    """Its command makes the store, its `Ops` answer."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """`contextpull ingest` with its defaults."""
        store = folder / "store.sqlite"
        run([Path(sys.executable).with_name("contextpull"), "ingest", corpus, "--store", store])
        self.ops = Ops(Store.open(store))

    def search(self, query: str, k: int) -> Answer:
        """Ids of sections, each with its snippet made."""
        return Answer([hit.id for hit in self.ops.search(query, limit=k).hits])

    def grep(self, pattern: str, regex: bool) -> int:
        """Shows the first twenty and counts no further."""
        return len(self.ops.grep(pattern, regex=regex, limit=20).matches)


if __name__ == "__main__":
    serve(Earlier())
