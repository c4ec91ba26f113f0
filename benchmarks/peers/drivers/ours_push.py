"""This project's push row: its lexical index over sections that somebody else cut."""

from pathlib import Path

from protocol import Answer, Driver, serve

from contextpull.adapters.push import bm25_over_passages
from contextpull.adapters.ragbisect import load_passages


class OursPush(Driver):
    """Fields, word forms and identifiers of `search`; no database, no snippets, no collapsing."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Reads headings out of each section and indexes it; the index is a temporary one."""
        self.retriever = bm25_over_passages(load_passages(sections))

    def search(self, query: str, k: int) -> Answer:
        """Ids alone."""
        return Answer(list(self.retriever.retrieve(query, k)))


if __name__ == "__main__":
    serve(OursPush())
