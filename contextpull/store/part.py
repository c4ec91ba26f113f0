"""A part of a store: some of its documents, as if there were no others.

Everything that is counted, compared or ranked is made of these documents alone: the database shows
nothing else, lexical index and flat text are built of what it shows.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from contextpull.errors import StoreError
from contextpull.store.database import FILE, Database
from contextpull.store.opening import Snapshot, rebuilt_index, rebuilt_text
from contextpull.store.records import StoredDocument

_VIEWS = {"documents": "number", "sections": "document", "anchors": "document"}
"""Tables, each with the column that tells the document."""


class PartialDatabase(Database):
    """One committed generation, of which only documents with certain paths can be seen."""

    def __init__(self, path: Path, allows: Callable[[str], bool]) -> None:
        """Open the file at `path` and hide every document and file whose path is not allowed.

        Raises what Database does.
        """
        super().__init__(path)
        paths = self._rows("SELECT number, path FROM documents")
        inside = [(number,) for number, name in paths if allows(name)]
        skipped = [each for each in self.skipped() if allows(each.path)]
        # What has no schema in a statement is looked for among temporary tables and views first.
        self._rows("PRAGMA temp_store = MEMORY")
        self._rows("CREATE TEMP TABLE inside (number INTEGER PRIMARY KEY)")
        self._rows("CREATE TEMP TABLE skipped (path TEXT NOT NULL, reason TEXT NOT NULL)")
        for table, column in _VIEWS.items():
            self._rows(
                f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {column} IN inside"
            )
        self._connection.executemany("INSERT INTO inside VALUES (?)", inside)
        self._connection.executemany("INSERT INTO skipped VALUES (?,?)", skipped)
        self._connection.commit()


def open_part(
    path: Path, allows: Callable[[str], bool], previous: Snapshot | None = None
) -> Snapshot:
    """The newest committed generation of the store at `path`, of its allowed documents alone.

    What is derived is built in a private place for as long as the snapshot is used, or taken from
    `previous`, an earlier snapshot of the same part, when no document of it changed since.
    Raises StoreError when the store cannot be read or there is no room.
    """
    database = PartialDatabase(path / FILE, allows)
    if previous and _holds_the_same(database, previous.database):
        return Snapshot(database, previous.index, previous.text, is_partial=True)
    try:
        with tempfile.TemporaryDirectory(prefix="contextpull-") as private:
            index = rebuilt_index(Path(private), database)
            text = rebuilt_text(Path(private), database)
    except OSError as error:
        raise StoreError(
            f"A part of the store at {str(path)!r} cannot be built, since there is no room for"
            f" temporary files: {error.strerror or error}. Name another place in TMPDIR."
        ) from error
    return Snapshot(database, index, text, is_partial=True)


def _holds_the_same(one: Database, other: Database) -> bool:
    """Whether both have the same documents, with sections of the same numbers."""
    return one.numbering == other.numbering and _contents(one) == _contents(other)


def _contents(database: Database) -> list[StoredDocument]:
    """The documents without what changes of a file while its content does not."""
    return [each._replace(size=0, mtime_ns=0) for each in database.documents()]
