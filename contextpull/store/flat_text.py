"""`text.bin`: the text of every section in one flat file, for grep. Derived from the database.

Documents come by path, sections in reading order, lines end in LF alone, and every document ends
with one, so that a match of one line lies in one section and its line in one document.
"""

import json
import mmap
import os
import struct
import time
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple

from contextpull.errors import StoreError
from contextpull.store.records import StoredDocument

FILE = "text.bin"

_MAGIC = b"contextpull text 2\n"
_TAIL = struct.Struct("<QI")
"""At the end: where the text ends, and the checksum of everything before."""
_OFFSET, _NUMBER = "Q", "I"


class Extent(NamedTuple):
    """A span of the flat text."""

    start: int
    end: int


class _Tables(NamedTuple):
    """Where each section and each document begins, and which it is."""

    section_starts: "array[int]"
    document_starts: "array[int]"
    section_numbers: "array[int]"
    document_numbers: "array[int]"

    @classmethod
    def empty(cls) -> "_Tables":
        return cls(*(array(kind) for kind in (_OFFSET, _OFFSET, _NUMBER, _NUMBER)))


class FlatText:
    """The flat text of one generation, memory-mapped, with the section at every offset."""

    def __init__(self, path: Path, *, verify: bool = False) -> None:
        """Map the file; raises StoreError when it is missing or damaged.

        A file that was not touched since it was written is trusted, unless `verify` has it read.
        """
        try:
            with path.open("rb") as file:
                self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._read_tables(0 if verify else os.fstat(file.fileno()).st_mtime_ns)
        except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
            raise StoreError(f"The flat text {str(path)!r} cannot be used: {error}") from error

    def _read_tables(self, modified: int) -> None:
        if self.bytes[: len(_MAGIC)] != _MAGIC:
            raise ValueError("it is not one of ours")
        at, checksum = _TAIL.unpack(self.bytes[-_TAIL.size :])
        head, _, tables = self.bytes[at : -_TAIL.size].partition(b"\n")
        facts = json.loads(head)
        if modified != facts["written"] and checksum != _checksum(self.bytes):
            raise ValueError("it is damaged")
        self.generation: int = facts["generation"]
        self.text = Extent(len(_MAGIC), at)
        counts = facts["sections"], facts["documents"]
        self.tables = _Tables.empty()
        begin = 0
        for column, count in zip(self.tables, counts * 2, strict=True):
            column.frombytes(tables[begin : begin + count * column.itemsize])
            begin += count * column.itemsize
        if begin != len(tables):
            raise ValueError("its tables are incomplete")

    def section_at(self, offset: int) -> int:
        """The number of the section that holds this offset."""
        place = bisect_right(self.tables.section_starts, offset) - 1
        return self.tables.section_numbers[place]

    def section_start(self, offset: int) -> int:
        """Where the section that holds this offset begins."""
        starts = self.tables.section_starts
        return starts[bisect_right(starts, offset) - 1]

    def document_extent(self, offset: int) -> Extent:
        """The extent of the document that holds this offset."""
        place = bisect_right(self.tables.document_starts, offset) - 1
        return self.extent_of(range(place, place + 1))

    def document_at(self, offset: int) -> int:
        """The number of the document that holds this offset."""
        place = bisect_right(self.tables.document_starts, offset) - 1
        return self.tables.document_numbers[place]

    def extent_of(self, places: range) -> Extent:
        """The extent of documents that stand one after another, by their places in the tables."""
        starts = self.tables.document_starts
        last = places.stop == len(starts)
        return Extent(starts[places.start], self.text.end if last else starts[places.stop])

    @property
    def places(self) -> dict[int, int]:
        """The place in the tables of each document, by its number."""
        return {number: place for place, number in enumerate(self.tables.document_numbers)}

    def extents(self, documents: set[int] | None) -> list[Extent]:
        """Spans that hold exactly these documents, in order; neighbours are joined."""
        if documents is None:
            return [self.text]
        starts = self.tables.document_starts
        ends = [*starts[1:], self.text.end]
        joined: list[Extent] = []
        for number, start, end in zip(self.tables.document_numbers, starts, ends, strict=True):
            if number in documents:
                begins = joined.pop().start if joined and joined[-1].end == start else start
                joined.append(Extent(begins, end))
        return joined


def write_flat_text(
    path: Path,
    generation: int,
    documents: Iterable[StoredDocument],
    texts_of: Callable[[StoredDocument], list[tuple[int, str]]],
    previous: FlatText | None = None,
) -> None:
    """Write the file anew and put it in place in one step.

    `texts_of` gives the numbers and texts of a document's sections; a document that `previous`
    holds under the same number is copied from there instead.
    """
    places = previous.places if previous else {}

    def moved(indexed: tuple[int, StoredDocument]) -> int | None:
        """The same for documents that stand one after another in `previous` as well."""
        index, document = indexed
        return places[document.number] - index if document.number in places else None

    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    with unfinished.open("wb") as file:
        writer = _Writer(file)
        for distance, run in groupby(enumerate(documents), moved):
            if previous is None or distance is None:
                for _, document in run:
                    writer.add(document.number, texts_of(document))
            else:
                copied = [index + distance for index, _ in run]
                writer.copy(previous, range(copied[0], copied[-1] + 1))
        written = writer.finish(generation)
        file.flush()
        os.fsync(file.fileno())
    os.utime(unfinished, ns=(written, written))
    unfinished.replace(path)


class _Writer:
    """Writes the text, then the tables, and keeps the checksum of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._checksum = 0
        self._tables = _Tables.empty()
        self._at = 0
        self._write(_MAGIC)

    def add(self, number: int, sections: list[tuple[int, str]]) -> None:
        """Append a document."""
        self._tables.document_starts.append(self._at)
        self._tables.document_numbers.append(number)
        text = ""
        for section, text in _with_plain_line_ends(sections):
            self._tables.section_starts.append(self._at)
            self._tables.section_numbers.append(section)
            self._write(text.encode())
        if not text.endswith("\n"):
            self._write(b"\n")

    def copy(self, source: FlatText, places: range) -> None:
        """Append documents that stand one after another in another flat text."""
        extent, tables = source.extent_of(places), source.tables
        moved = self._at - extent.start
        documents = slice(places.start, places.stop)
        sections = slice(*(bisect_left(tables.section_starts, edge) for edge in extent))
        for own, starts in (
            (self._tables.section_starts, tables.section_starts[sections]),
            (self._tables.document_starts, tables.document_starts[documents]),
        ):
            own.extend(start + moved for start in starts)
        self._tables.section_numbers.extend(tables.section_numbers[sections])
        self._tables.document_numbers.extend(tables.document_numbers[documents])
        with memoryview(source.bytes) as content, content[extent.start : extent.end] as text:
            self._write(text)

    def finish(self, generation: int) -> int:
        """Append the tables and the facts; the time that the facts say it was written."""
        end = self._at
        facts = {
            "generation": generation,
            "sections": len(self._tables.section_starts),
            "documents": len(self._tables.document_starts),
            "written": time.time_ns(),
        }
        self._write(json.dumps(facts).encode() + b"\n")
        for column in self._tables:
            self._write(column.tobytes())
        self._file.write(_TAIL.pack(end, self._checksum))
        return facts["written"]

    def _write(self, data: bytes | memoryview) -> None:
        self._checksum = zlib.crc32(data, self._checksum)
        self._at += self._file.write(data)


def _checksum(content: mmap.mmap) -> int:
    with memoryview(content) as view:
        return zlib.crc32(view[: -_TAIL.size])


def _with_plain_line_ends(sections: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The sections of one document with LF for CRLF, or for CR in a document that has no LF."""
    if not any("\r" in text for _, text in sections):
        return sections
    line_end = "\r\n" if any("\n" in text for _, text in sections) else "\r"
    plain = []
    held = ""
    for number, text in sections:
        text = held + text
        held = "\r" if line_end == "\r\n" and text.endswith("\r") else ""  # LF may come next
        plain.append((number, text.removesuffix(held).replace(line_end, "\n")))
    plain[-1] = (plain[-1][0], plain[-1][1] + held)
    return plain
