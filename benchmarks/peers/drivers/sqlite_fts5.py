"""SQLite's FTS5 alone: porter stems over unicode61, stop words left out of the query."""

import sqlite3
from pathlib import Path

from protocol import Answer, Driver, load_sections, serve
from words import any_of


class SqliteFts5(Driver):
    """One file on disk; contentless, so it keeps no text and has nothing to show."""

    def build(self, corpus: Path, sections: Path, folder: Path) -> None:  # noqa: ARG002
        """Indexes the text of each section in one transaction."""
        self.database = sqlite3.connect(folder / "index.sqlite")
        self.database.execute(
            "CREATE VIRTUAL TABLE body"
            " USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self.ids = []
        with self.database:
            for number, (section, text) in enumerate(load_sections(sections)):
                self.database.execute("INSERT INTO body(rowid, text) VALUES (?, ?)", (number, text))
                self.ids.append(section)

    def search(self, query: str, k: int) -> Answer:
        """Ids alone."""
        words = any_of(query)
        if not words:
            return Answer([])
        rows = self.database.execute(
            "SELECT rowid FROM body WHERE body MATCH ? ORDER BY rank LIMIT ?", (words, k)
        )
        return Answer([self.ids[number] for (number,) in rows])


if __name__ == "__main__":
    serve(SqliteFts5())
