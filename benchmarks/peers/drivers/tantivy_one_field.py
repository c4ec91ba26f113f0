"""The engine tantivy alone: one text field, English stems, English stop words left out."""

from pathlib import Path

import tantivy
from protocol import Answer, Driver, load_sections, serve
from words import any_of

_HEAP = 200_000_000
_THREADS = 2


class TantivyOneField(Driver):
    """On disk, and maps its files; keeps no text, so it has nothing to show."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Indexes the text of each section beside its number."""
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", tokenizer_name="english")
        schema.add_unsigned_field("number", fast=True)
        self.index = tantivy.Index(schema.build(), path=str(folder))
        self.index.register_tokenizer("english", _english())
        self.ids = []
        writer = self.index.writer(_HEAP, _THREADS)
        for number, (section, text) in enumerate(load_sections(sections)):
            entry = tantivy.Document(body=text)
            entry.add_unsigned("number", number)
            writer.add_document(entry)
            self.ids.append(section)
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, query: str, k: int) -> Answer:
        """Ids alone."""
        words = any_of(query)
        if not words:
            return Answer([])
        parsed, _ = self.index.parse_query_lenient(words, ["body"])
        hits = self.searcher.search(parsed, k).hits
        numbers = self.searcher.fast_field_values("number", [address for _, address in hits])
        return Answer([self.ids[int(number or 0)] for number in numbers])


def _english() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for each in (
        tantivy.Filter.remove_long(40),
        tantivy.Filter.lowercase(),
        tantivy.Filter.stopword("english"),
        tantivy.Filter.stemmer("english"),
    ):
        builder = builder.filter(each)
    return builder.build()


if __name__ == "__main__":
    serve(TantivyOneField())
