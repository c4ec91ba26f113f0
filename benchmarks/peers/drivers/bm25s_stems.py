"""The library bm25s with PyStemmer: Lucene's BM25, English stems and stop words."""

from pathlib import Path

import bm25s
import Stemmer
from protocol import Answer, Driver, load_sections, serve

_K1, _B = 1.5, 0.75


class Bm25sStems(Driver):
    """A sparse matrix in memory, written to disk once; answers whole arrays of scores."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Tokenizes, scores every word of every section ahead, and saves the matrix."""
        self.ids, texts = map(list, zip(*load_sections(sections), strict=True))
        self.stemmer = Stemmer.Stemmer("english")
        self.engine = bm25s.BM25(method="lucene", k1=_K1, b=_B)
        self.engine.index(self._tokens(texts), show_progress=False)
        self.engine.save(str(folder))

    def search(self, query: str, k: int) -> Answer:
        """Ids alone; sections that share no word with the query are no answer."""
        tokens = self._tokens([query])
        numbers, scores = self.engine.retrieve(
            tokens, k=min(k, len(self.ids)), show_progress=False, n_threads=0
        )
        return Answer(
            [
                self.ids[number]
                for number, score in zip(numbers[0], scores[0], strict=True)
                if score > 0
            ]
        )

    def _tokens(self, texts: list[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)


if __name__ == "__main__":
    serve(Bm25sStems())
