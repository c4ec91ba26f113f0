"""The BM25 that the public package ragbisect 0.2.0 brings as its baseline."""

from pathlib import Path

from protocol import Answer, Driver, serve
from ragbisect.corpus import read_chunks_jsonl
from ragbisect.retrievers import BM25Retriever


class RagbisectBm25(Driver):
    """Held in memory; pure Python."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Counts the words of every section."""
        self.retriever = BM25Retriever(read_chunks_jsonl(sections))

    def search(self, query: str, k: int) -> Answer:
        """Ids alone."""
        return Answer(self.retriever.retrieve(query, k))


if __name__ == "__main__":
    serve(RagbisectBm25())
