"""The lexical index: BM25 over the fields of each section. Derived from the database."""

import json
import os
import re
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import tantivy
from tantivy import Document, Index, Occur, Query, SchemaBuilder

from contextpull.errors import StoreError
from contextpull.sections.fields import SearchFields
from contextpull.store.analysis import analyzers, separated
from contextpull.store.querying import Terms, Weights, compile_query, terms_of

FOLDER = "lexical"

_TEXT_FIELDS = ("body", "stems", *SearchFields._fields[1:])
_LINK_TARGET = re.compile(r"\]\([^)\s]*")
"""Where a link leads is no part of what a sentence says, and would stand inside its phrases."""
_HEAP_PER_THREAD = 64_000_000
_SMALLEST_HEAP = 20_000_000
_MANY_SECTIONS = 5_000
_SCORE_DIGITS = 3
"""Sums of floats differ by chance in the digits behind these: rounded, such scores are equal."""
_MARKER = 3
"""Raised whenever analyzers or fields change: an index with another marker is built again."""
_READ_ONLY = "Lockfile"
"""What the engine says when it cannot make a lock file beside the index."""
_META = "meta.json"
_TAIL = struct.Struct("<II")
"""What each of the engine's files ends with: the length of its footer and a magic number."""
_MAGIC = 1337
_DAMAGE = (ValueError, OSError, LookupError, TypeError, AttributeError)
"""What reading an index can raise whose files hold anything at all."""


class Scored(NamedTuple):
    """A section by number, with its score."""

    number: int
    score: float
    has_phrases: bool = True
    """Whether it holds all that the query has in quotes."""

    @property
    def rank(self) -> tuple[bool, float]:
        """Smaller is better."""
        return (not self.has_phrases, -self.score)


class LexicalIndex:
    """The index as of one generation, for any number of searches."""

    def __init__(self, index: Index) -> None:
        _register(index)
        index.config_reader(reload_policy="manual")
        index.reload()
        self._index = index
        self._searcher = index.searcher()

    @classmethod
    def open(cls, folder: Path) -> "LexicalIndex":
        """Open the index in a folder; a folder that cannot be written to is no hindrance.

        Raises StoreError when there is no index, or none that this program can read.
        """
        if not (folder / _META).is_file():
            raise StoreError(f"There is no lexical index at {str(folder)!r}.")
        try:
            _check_files(folder)
            return cls(Index(_schema(), path=str(folder)))
        except _DAMAGE as error:
            if _READ_ONLY not in str(error):
                raise StoreError(f"The lexical index cannot be read: {error}") from error
        return cls._open_mirror(folder)

    @classmethod
    def _open_mirror(cls, folder: Path) -> "LexicalIndex":
        """Open through links from a folder of our own, where the engine can make its lock file."""
        try:
            # The engine maps its files when it opens them: the links may go then.
            with tempfile.TemporaryDirectory(prefix="contextpull-") as mirror:
                for file in folder.iterdir():
                    if file.suffix != ".lock":
                        Path(mirror, file.name).symlink_to(file.resolve())
                return cls(Index(_schema(), path=mirror))
        except _DAMAGE as error:
            raise StoreError(f"The lexical index cannot be read: {error}") from error

    @property
    def generation(self) -> int:
        """The generation of the database that the index was built from; 0 when it says none."""
        marker = Query.term_query(self._index.schema, "marker", _MARKER)
        hits = self._searcher.search(marker, 1).hits
        if not hits:
            return 0
        values = self._searcher.fast_field_values("generation", [address for _, address in hits])
        return int(values[0] or 0)

    def search(
        self,
        query: str,
        limit: int,
        documents: Sequence[int] | None = None,
        weights: Weights | None = None,
    ) -> list[Scored]:
        """The best `limit` sections, best first; equal ranks in no promised order.

        Where fewer hold the quoted phrases of a query, others follow that match its words, unless
        the query is nothing but phrases. `documents` restricts the search to documents by number.
        """
        terms = terms_of(query)
        if terms.is_empty or documents == []:
            return []
        found = self._best(terms, limit, documents, weights)
        if not terms.phrases or terms.only_phrases or len(found) >= limit:
            return found
        held = {each.number for each in found}
        others = self._best(terms._replace(phrases=[]), limit, documents, weights)
        found += [each._replace(has_phrases=False) for each in others if each.number not in held]
        return found[:limit]

    def _best(
        self, terms: Terms, limit: int, documents: Sequence[int] | None, weights: Weights | None
    ) -> list[Scored]:
        query = compile_query(terms, self._index.schema, self._searcher, weights)
        if documents is not None:
            within = Query.term_set_query(self._index.schema, "document", list(documents))
            within = Query.const_score_query(within, 0.0)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, within)])
        hits = self._searcher.search(query, limit, count=False).hits
        numbers = self._searcher.fast_field_values("section", [address for _, address in hits])
        return [
            Scored(int(number), round(float(score), _SCORE_DIGITS))
            for number, (score, _) in zip(numbers, hits, strict=True)
            if number is not None
        ]


class LexicalWriter:
    """Adds and removes sections; nothing is seen before `commit`.

    Raises StoreError for what cannot be written.
    """

    def __init__(self, folder: Path, *, afresh: bool, sections: int = 0) -> None:
        """Write the index in `folder`.

        `afresh` replaces what is there. `sections` says about how many will be added.
        """
        self._folder = folder
        self._place = folder
        if afresh:
            self._place = folder.with_name(f"{folder.name}.{os.getpid()}.new")
            shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir(parents=True, exist_ok=True)
        self._schema = _schema()
        threads = min(4, os.cpu_count() or 1) if sections > _MANY_SECTIONS else 1
        heap = max(_SMALLEST_HEAP, _HEAP_PER_THREAD if sections > _MANY_SECTIONS else 0)
        try:
            index = Index(self._schema, path=str(self._place))
            index.config_reader(reload_policy="manual")  # else a thread reads what was committed
            _register(index)
            self._writer = index.writer(heap * threads, threads)
        except ValueError as error:
            raise _unwritable(error) from error

    def add(self, number: int, document: int, fields: SearchFields) -> None:
        """Add one section under its number."""
        entry = Document()
        entry.add_unsigned("section", number)
        entry.add_unsigned("document", document)
        body = _LINK_TARGET.sub("](", fields.body) if "](" in fields.body else fields.body
        for name, text in zip(_TEXT_FIELDS, (body, body, *fields[1:]), strict=True):
            if text:
                entry.add_text(name, text if text.isascii() else separated(text))
        if not fields.body.isascii():
            entry.add_text("characters", fields.body)
        try:
            self._writer.add_document(entry)
        except ValueError as error:
            raise _unwritable(error) from error

    def remove_document(self, document: int) -> None:
        """Remove every section of a document."""
        self._delete("document", document)

    def commit(self, generation: int) -> None:
        """Make everything visible at once, marked with the generation that it belongs to."""
        marker = Document()
        marker.add_unsigned("marker", _MARKER)
        marker.add_unsigned("generation", generation)
        try:
            self._delete("marker", _MARKER)
            self._writer.add_document(marker)
            self._writer.commit()
            self._writer.wait_merging_threads()
        except ValueError as error:
            raise _unwritable(error) from error
        _share(self._place)
        if self._place != self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._place.replace(self._folder)

    def _delete(self, field: str, value: int) -> None:
        # By query: the engine's deletion by term takes the value for signed, and finds nothing.
        self._writer.delete_documents_by_query(Query.term_query(self._schema, field, value))


def _unwritable(error: ValueError) -> StoreError:
    return StoreError(f"The lexical index cannot be written: {error}")


def _check_files(folder: Path) -> None:
    """Raise ValueError when a file of the index is not as the engine wrote it.

    Those that are older than the list of them were not touched since, and are not read here.
    """
    finished = (folder / _META).stat().st_mtime_ns
    for path in _files(folder):
        if path.stat().st_mtime_ns >= finished and not _is_whole(path.read_bytes()):
            raise ValueError(f"{path.name} is damaged")


def _files(folder: Path) -> Iterator[Path]:
    """The files of the last commit; beside them lie those that a writer is working on."""
    segments = json.loads((folder / _META).read_bytes())["segments"]
    deletions = {
        segment["segment_id"].replace("-", ""): (segment["deletes"] or {}).get("opstamp")
        for segment in segments
    }
    for path in folder.iterdir():
        name, *more = path.name.split(".")
        if name in deletions and (len(more) == 1 or more[0] == str(deletions[name])):
            yield path


def _is_whole(data: bytes) -> bool:
    """Whether the checksum in the footer of one of the engine's files is right."""
    if len(data) < _TAIL.size:
        return False
    length, magic = _TAIL.unpack(data[-_TAIL.size :])
    end = len(data) - _TAIL.size - length
    if magic != _MAGIC or end < 0:
        return False
    footer = json.loads(data[end : -_TAIL.size])
    return bool(footer["crc"] == zlib.crc32(memoryview(data)[:end]))


def _schema() -> tantivy.Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field("section", fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_unsigned_field("marker", indexed=True)
    builder.add_unsigned_field("generation", fast=True)
    builder.add_text_field("body", tokenizer_name="words", index_option="position")
    builder.add_text_field("stems", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("headings", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("context", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("identifiers", tokenizer_name="names", index_option="freq")
    builder.add_text_field("definitions", tokenizer_name="names", index_option="freq")
    builder.add_text_field("characters", tokenizer_name="characters", index_option="position")
    return builder.build()


def _register(index: Index) -> None:
    for name, analyzer in analyzers()._asdict().items():
        index.register_tokenizer(name, analyzer)


def _share(folder: Path) -> None:
    """Give the engine's private bookkeeping files the permissions of their neighbours."""
    # Not by the umask: asking for it changes it for a moment, for every thread of the process.
    neighbour = next(_files(folder))
    for name in (_META, ".managed.json"):
        with suppress(OSError):
            shutil.copymode(neighbour, folder / name)
