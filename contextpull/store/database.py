"""`store.sqlite`, the truth: documents, sections, settings, one generation per committed ingest.

The file is never changed in place.
A writer works on a copy and renames it over the old one, so that a reader keeps a whole
generation for as long as it likes, needs no lock and no write permission, and a writer that is
killed leaves nothing behind but a temporary file.
"""

import json
import os
import shutil
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from contextpull.errors import StoreDamaged, StoreError, StoreNotFound
from contextpull.store.records import (
    Address,
    Skipped,
    StoredCorpus,
    StoredDocument,
    StoredSection,
)
from contextpull.types import ParsedDocument, Section

FILE = "store.sqlite"
FORMAT = 3
"""The version of the tables below. A store with a higher one is refused, a lower one migrated."""
_FORMAT_WITHOUT_NAMES = 2
"""What a store of one corpus without a name is written as: older programs can use it, too."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    description TEXT NOT NULL, keywords TEXT NOT NULL, first_section INTEGER NOT NULL,
    sections INTEGER NOT NULL, chars INTEGER NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL, problem TEXT NOT NULL, warnings TEXT NOT NULL);
CREATE TABLE sections (
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL, slug TEXT NOT NULL,
    headings TEXT NOT NULL, other_headings TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    repeated_header TEXT NOT NULL, start INTEGER NOT NULL, first_line INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL, page INTEGER NOT NULL DEFAULT 0,
    last_page INTEGER NOT NULL DEFAULT 0);
CREATE TABLE anchors (
    document INTEGER NOT NULL, slug TEXT NOT NULL, section INTEGER NOT NULL,
    PRIMARY KEY (document, slug)) WITHOUT ROWID;
CREATE TABLE skipped (path TEXT NOT NULL, reason TEXT NOT NULL);
"""
_MIGRATIONS = {
    2: (
        "ALTER TABLE sections ADD COLUMN page INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sections ADD COLUMN last_page INTEGER NOT NULL DEFAULT 0",
    ),
}
"""By format: what makes its tables of those of the format before it."""
_CORPORA = """
CREATE TABLE IF NOT EXISTS corpora (
    name TEXT PRIMARY KEY, root TEXT NOT NULL) WITHOUT ROWID
"""
"""Made where corpora have names; it is what format 3 has more than format 2."""
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS sections_by_fingerprint ON sections (fingerprint)",
    "CREATE INDEX IF NOT EXISTS sections_by_page ON sections (document, last_page)"
    " WHERE last_page > 0",
)
"""Made last: fingerprints come in no order, and each would be put into another page."""
_SECTION_COLUMNS = (
    "s.number, s.document, d.path, s.slug, s.headings, s.other_headings, s.kind, s.text,"
    " s.repeated_header, s.start, s.first_line, s.fingerprint"
)
_SELECT_ADDRESSES = (
    "SELECT s.number, s.document, d.path, s.slug, s.fingerprint FROM sections s"
    " JOIN documents d ON d.number = s.document"
)
_MOST_PARAMETERS = 500

SectionRow = tuple[str, str, str, str, str, str, int, int, int, int, int]
"""The columns of a section behind its numbers: plain values, which are cheap to hand around."""
AnchorRow = tuple[str, int]


def fingerprint(text: str) -> int:
    """A 64-bit hash of a text, white space around it aside; signed, as SQLite keeps it."""
    digest = blake2b(text.strip().encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Database:
    """One committed generation, read only."""

    def __init__(self, path: Path) -> None:
        """Open the file at `path`.

        Raises StoreNotFound when there is none, StoreDamaged, or StoreError when it is newer than
        this program understands. Every method raises StoreDamaged for what it cannot read.
        """
        if not path.is_file():
            raise StoreNotFound(
                f"There is no store at {str(path.parent)!r}. Make one: contextpull ingest FOLDER"
            )
        self.path = path
        self._lock = Lock()
        """Held from a statement to its last row: since Python 3.12 threads that run the same
        statement of one connection at once get each other's rows."""
        try:
            self._connection = _connect(path)
            weakref.finalize(self, self._connection.close)
            meta = dict(self._rows("SELECT * FROM meta"))
            self.format = check_format(meta, path)
            self.generation = int(meta["generation"])
            self.root: str = meta["root"]
            """The folder of the corpus; empty where corpora have names."""
            self.corpora = self._read_corpora()
            """The folders that it is read from, by name; or the only one, without a name."""
            self.settings: dict[str, Any] = dict(json.loads(meta["settings"]))
            """The settings that the sections were cut with."""
            self.numbering: str = meta.get("numbering", "")
            """Changes when sections are numbered anew; while it stays, a number is one section."""
            self.embedder: str = meta.get("embedder", "")
            """The name of the model whose vectors the store keeps; empty when it keeps none."""
        except (sqlite3.Error, KeyError, ValueError, TypeError) as error:
            raise StoreDamaged(str(path.parent), error) from error

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _read_corpora(self) -> tuple[StoredCorpus, ...]:
        if self.format < FORMAT:
            return (StoredCorpus("", self.root),)
        rows = self._rows("SELECT name, root FROM corpora ORDER BY name")
        return tuple(StoredCorpus._make(row) for row in rows)

    def counts(self) -> tuple[int, int, int]:
        """How many documents, sections and characters can be found."""
        (row,) = self._rows(
            "SELECT count(*), coalesce(sum(sections), 0), coalesce(sum(chars), 0)"
            " FROM documents WHERE problem = ''"
        )
        return (row[0], row[1], row[2])

    def documents(self) -> list[StoredDocument]:
        """Every document that the store knows, problems included, by path."""
        rows = self._rows("SELECT * FROM documents ORDER BY path")
        return [StoredDocument._make(row) for row in rows]

    def documents_of(self, corpus: StoredCorpus) -> list[StoredDocument]:
        """Those of one corpus, by path."""
        if not corpus.name:
            return self.documents()
        after = f"{corpus.name}0"  # what comes behind every path that begins with `name/`
        statement = "SELECT * FROM documents WHERE path > ? AND path < ? ORDER BY path"
        rows = self._rows(statement, (corpus.prefix, after))
        return [StoredDocument._make(row) for row in rows]

    def skipped(self) -> list[Skipped]:
        """Every file that was seen and left out, by path."""
        rows = self._rows("SELECT path, reason FROM skipped ORDER BY path")
        return [Skipped._make(row) for row in rows]

    def sections(self, numbers: Sequence[int]) -> list[StoredSection]:
        """The sections with these numbers, in the order asked for; unknown ones are left out."""
        found: dict[int, StoredSection] = {}
        for start in range(0, len(numbers), _MOST_PARAMETERS):
            some = numbers[start : start + _MOST_PARAMETERS]
            where = f"s.number IN ({','.join('?' * len(some))})"
            found.update((row.number, row) for row in self._select(where, some))
        return [found[number] for number in numbers if number in found]

    def sections_of(self, document: StoredDocument) -> list[StoredSection]:
        """The sections of one document, in reading order."""
        return list(self._select("s.number BETWEEN ? AND ? ORDER BY s.number", _numbers(document)))

    def resolve(self, document: StoredDocument, slug: str) -> int | None:
        """The number of the section that this slug or anchor of the document leads to."""
        rows = self._rows(
            "SELECT number FROM sections WHERE number BETWEEN ? AND ? AND slug = ?"
            " UNION ALL SELECT section FROM anchors WHERE document = ? AND slug = ?",
            (*_numbers(document), slug, document.number, slug),
        )
        return rows[0][0] if rows else None

    def slugs_of(self, document: StoredDocument) -> list[str]:
        """Every slug of one document, in reading order, then its other anchors."""
        rows = self._rows(
            "SELECT slug FROM sections WHERE number BETWEEN ? AND ?"
            " UNION ALL SELECT slug FROM anchors WHERE document = ?",
            (*_numbers(document), document.number),
        )
        return [row[0] for row in rows]

    def addresses(self, numbers: Sequence[int]) -> dict[int, Address]:
        """Where the sections with these numbers stand, by number; unknown ones are left out."""
        found: dict[int, Address] = {}
        for start in range(0, len(numbers), _MOST_PARAMETERS):
            some = numbers[start : start + _MOST_PARAMETERS]
            where = f"s.number IN ({','.join('?' * len(some))})"
            rows = self._rows(f"{_SELECT_ADDRESSES} WHERE {where}", some)
            found.update((row[0], Address._make(row)) for row in rows)
        return found

    def repeated(self, fingerprints: Sequence[int]) -> set[int]:
        """Those of at most 500 fingerprints that more than one section has."""
        rows = self._rows(
            f"SELECT fingerprint FROM sections WHERE fingerprint IN"
            f" ({','.join('?' * len(fingerprints))}) GROUP BY fingerprint HAVING count(*) > 1",
            fingerprints,
        )
        return {row[0] for row in rows}

    def copies(self, fingerprint: int, most: int = 100) -> list[Address]:
        """Where sections with this text stand, by path; at most `most` of them."""
        rows = self._rows(
            f"{_SELECT_ADDRESSES} WHERE s.fingerprint = ? ORDER BY d.path, s.number LIMIT ?",
            (fingerprint, most),
        )
        return [Address._make(row) for row in rows]

    def texts(self) -> Iterator[tuple[StoredDocument, list[tuple[int, str]]]]:
        """Each document that has sections, by path, with their numbers and texts in order."""
        for document in self.documents():
            if document.sections:
                yield document, self.texts_of(document)

    def texts_of(self, document: StoredDocument) -> list[tuple[int, str]]:
        """The numbers and texts of the sections of one document, in reading order."""
        return self._rows(
            "SELECT number, text FROM sections WHERE number BETWEEN ? AND ? ORDER BY number",
            _numbers(document),
        )

    def last_page_of(self, document: StoredDocument) -> int:
        """The last page that text of a document is on; 0 in formats without pages."""
        if self.format < 2:
            return 0
        rows = self._rows(  # by the index; in a store without it by the numbers
            "SELECT max(last_page) FROM sections"
            " WHERE document = ? AND last_page > 0 AND number BETWEEN ? AND ?",
            (document.number, *_numbers(document)),
        )
        return rows[0][0] or 0

    def check(self) -> list[str]:
        """What SQLite's own check finds wrong; empty when the file is sound."""
        try:
            rows = self._rows("PRAGMA quick_check(10)")
        except StoreDamaged as error:
            return [str(error)]
        return [row[0] for row in rows if row[0] != "ok"]

    def _rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            raise StoreDamaged(str(self.path.parent), error) from error

    def _select(self, where: str, parameters: Sequence[Any]) -> Iterator[StoredSection]:
        pages = "s.page, s.last_page" if self.format >= 2 else "0, 0"
        rows = self._rows(
            f"SELECT {_SECTION_COLUMNS}, {pages} FROM sections s"
            f" JOIN documents d ON d.number = s.document WHERE {where}",
            parameters,
        )
        for number, document, path, slug, headings, others, *rest in rows:
            yield StoredSection(
                number, document, path, slug, _lines(headings), _lines(others), *rest
            )


class DatabaseWriter:
    """The next generation in the making, in a copy of the file."""

    def __init__(self, target: Path, copy_of: Database | None, generation: int) -> None:
        """Start generation number `generation`, from a copy of an earlier one or from nothing."""
        self._target = target
        self._path = target.with_name(f"{target.name}.{os.getpid()}.new")
        self._path.unlink(missing_ok=True)
        if copy_of is not None:
            shutil.copyfile(copy_of.path, self._path)
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        # The copy is thrown away when anything goes wrong: no journal is needed.
        self._connection.execute("PRAGMA page_size = 32768")
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("PRAGMA temp_store = MEMORY")  # the index is sorted there
        self._connection.execute("BEGIN")
        if copy_of is None:
            for statement in _TABLES.split(";\n"):
                self._connection.execute(statement)
        else:
            for version in range(copy_of.format + 1, FORMAT + 1):
                for statement in _MIGRATIONS.get(version, ()):
                    self._connection.execute(statement)
        self.generation = generation
        self._numbering = self._remembered("numbering") or os.urandom(8).hex()
        self._next_document = self._maximum("documents") + 1
        last = int(self._remembered("last_section") or 0)
        self._next_section = max(self._maximum("sections"), last) + 1

    def _maximum(self, table: str) -> int:
        return int(
            self._connection.execute(f"SELECT coalesce(max(number), 0) FROM {table}").fetchone()[0]
        )

    def _remembered(self, key: str) -> str:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def add(
        self, document: StoredDocument, sections: Sequence[SectionRow], anchors: Sequence[AnchorRow]
    ) -> StoredDocument:
        """Add a document that the store does not hold; its numbers are given here."""
        stored = document._replace(
            number=self._next_document, first_section=self._next_section, sections=len(sections)
        )
        self._next_document += 1
        self._next_section += len(sections)
        placeholders = ",".join("?" * len(stored))
        self._connection.execute(f"INSERT INTO documents VALUES ({placeholders})", stored)
        self._connection.executemany(
            "INSERT INTO sections VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                (number, stored.number, *row)
                for number, row in enumerate(sections, start=stored.first_section)
            ),
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO anchors VALUES (?,?,?)",
            ((stored.number, slug, stored.first_section + at) for slug, at in anchors),
        )
        return stored

    def remove(self, document: StoredDocument) -> None:
        """Take a document and all its sections out."""
        execute = self._connection.execute
        execute("DELETE FROM sections WHERE number BETWEEN ? AND ?", _numbers(document))
        execute("DELETE FROM anchors WHERE document = ?", (document.number,))
        execute("DELETE FROM documents WHERE number = ?", (document.number,))

    def touch(self, document: StoredDocument) -> None:
        """Record a new size and time of a file whose content did not change."""
        self._connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ? WHERE number = ?",
            (document.size, document.mtime_ns, document.number),
        )

    def replace_skipped(self, skipped: Iterable[Skipped]) -> None:
        """Record which files were left out."""
        self._connection.execute("DELETE FROM skipped")
        self._connection.executemany("INSERT INTO skipped VALUES (?,?)", skipped)

    def commit(
        self,
        corpora: Sequence[StoredCorpus],
        settings: dict[str, int | str],
        embedder: str = "",
    ) -> None:
        """Make this the generation that every reader sees from now on.

        `corpora` is one without a name, or any number with names.
        `embedder` names the model whose vectors the store is to keep; empty for none.
        """
        root = next((each.root for each in corpora if not each.name), None)
        if root is None:
            self._connection.execute(_CORPORA)
            self._connection.execute("DELETE FROM corpora")
            self._connection.executemany("INSERT INTO corpora VALUES (?,?)", corpora)
        meta = {
            "format": str(FORMAT if root is None else _FORMAT_WITHOUT_NAMES),
            "generation": str(self.generation),
            "root": root or "",
            "settings": json.dumps(settings),
            "last_section": str(self._next_section - 1),
            "numbering": self._numbering,
            "embedder": embedder,
        }
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", meta.items())
        for statement in _INDEXES:
            self._connection.execute(statement)
        self._connection.execute("COMMIT")
        self._connection.close()
        with self._path.open("rb") as written:
            os.fsync(written.fileno())
        self._path.replace(self._target)

    def discard(self) -> None:
        """Throw the unfinished generation away."""
        self._connection.close()
        self._path.unlink(missing_ok=True)


def check_format(meta: dict[str, str], path: Path) -> int:
    """The format of a store; one that a newer program wrote is refused."""
    version = int(meta["format"])
    if version > FORMAT:
        raise StoreError(
            f"The store at {str(path.parent)!r} has format {version}; this contextpull reads up to"
            f" format {FORMAT}. Upgrade contextpull, or name another store with --store."
        )
    return version


def new_document(path: str, parsed: ParsedDocument | None, **facts: Any) -> StoredDocument:
    """A document on its way into the store; the writer gives it its numbers."""
    values: dict[str, Any] = {
        "number": 0,
        "path": path,
        "title": parsed.title if parsed else "",
        "description": parsed.description if parsed else "",
        "keywords": parsed.keywords if parsed else "",
        "first_section": 0,
        "sections": 0,
        "chars": 0,
        "problem": "",
        "warnings": "",
    }
    return StoredDocument(**(values | facts))


def remove_leftovers(folder: Path) -> None:
    """Delete what killed writers left; only the holder of the lock may."""
    for leftover in folder.glob("*.new"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    # Immutable: the file never changes, so SQLite needs no lock and no file beside it.
    location = quote(os.fsencode(path.resolve()))
    return sqlite3.connect(
        f"file:{location}?mode=ro&immutable=1", uri=True, check_same_thread=False
    )


def section_rows(sections: Sequence[Section]) -> list[SectionRow]:
    """The sections of one document as the database keeps them."""
    return [
        (
            section.slug,
            "\n".join(section.headings),
            "\n".join(section.other_headings),
            section.kind,
            section.text,
            section.repeated_header,
            section.start,
            section.first_line,
            fingerprint(section.text),
            section.page,
            section.last_page,
        )
        for section in sections
    ]


def anchor_rows(sections: Sequence[Section]) -> list[AnchorRow]:
    """The other anchors of one document, each with the position of the section it leads to."""
    return [(slug, at) for at, section in enumerate(sections) for slug in section.anchors]


def _numbers(document: StoredDocument) -> tuple[int, int]:
    """The first and the last section number of a document."""
    numbers = document.section_numbers
    return (numbers.start, numbers.stop - 1)


def _lines(joined: str) -> tuple[str, ...]:
    return tuple(joined.split("\n")) if joined else ()
