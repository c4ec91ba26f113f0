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
from bisect import bisect_right
from collections.abc import Iterable
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


class FlatText:
    """The flat text of one generation, memory-mapped, with the section at every offset."""

    def __init__(self, path: Path) -> None:
        """Map the file; raises StoreError when it is missing or damaged."""
        try:
            with path.open("rb") as file:
                self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._read_tables(os.fstat(file.fileno()).st_mtime_ns)
        except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
            raise StoreError(f"The flat text {str(path)!r} cannot be used: {error}") from error

    def _read_tables(self, modified: int) -> None:
        if self.bytes[: len(_MAGIC)] != _MAGIC:
            raise ValueError("it is not one of ours")
        at, checksum = _TAIL.unpack(self.bytes[-_TAIL.size :])
        head, _, tables = self.bytes[at : -_TAIL.size].partition(b"\n")
        facts = json.loads(head)
        # A file that was not touched since it was written need not be read to be trusted.
        if modified != facts["written"] and checksum != _checksum(self.bytes):
            raise ValueError("it is damaged")
        self.generation: int = facts["generation"]
        self.text = Extent(len(_MAGIC), at)
        counts = facts["sections"], facts["documents"]
        columns = [array(kind) for kind in (_OFFSET, _OFFSET, _NUMBER, _NUMBER)]
        begin = 0
        for column, count in zip(columns, counts * 2, strict=True):
            column.frombytes(tables[begin : begin + count * column.itemsize])
            begin += count * column.itemsize
        if begin != len(tables):
            raise ValueError("its tables are incomplete")
        self._section_starts, self._document_starts = columns[:2]
        self._section_numbers, self._document_numbers = columns[2:]

    def section_at(self, offset: int) -> int:
        """The number of the section that holds this offset."""
        return self._section_numbers[bisect_right(self._section_starts, offset) - 1]

    def section_start(self, offset: int) -> int:
        """Where the section that holds this offset begins."""
        return self._section_starts[bisect_right(self._section_starts, offset) - 1]

    def document_extent(self, offset: int) -> Extent:
        """The extent of the document that holds this offset."""
        index = bisect_right(self._document_starts, offset) - 1
        last = index + 1 == len(self._document_starts)
        return Extent(
            self._document_starts[index],
            self.text.end if last else self._document_starts[index + 1],
        )

    def document_at(self, offset: int) -> int:
        """The number of the document that holds this offset."""
        return self._document_numbers[bisect_right(self._document_starts, offset) - 1]

    def extents(self, documents: set[int] | None) -> list[Extent]:
        """Spans that hold exactly these documents, in order; neighbours are joined."""
        if documents is None:
            return [self.text]
        ends = [*self._document_starts[1:], self.text.end]
        joined: list[Extent] = []
        for number, start, end in zip(
            self._document_numbers, self._document_starts, ends, strict=True
        ):
            if number in documents:
                begins = joined.pop().start if joined and joined[-1].end == start else start
                joined.append(Extent(begins, end))
        return joined


def write_flat_text(
    path: Path, generation: int, texts: Iterable[tuple[StoredDocument, list[tuple[int, str]]]]
) -> None:
    """Write the file anew and put it in place in one step."""
    section_starts, document_starts = array(_OFFSET), array(_OFFSET)
    section_numbers, document_numbers = array(_NUMBER), array(_NUMBER)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    with unfinished.open("wb") as raw:
        file = _Checked(raw)
        at = file.write(_MAGIC)
        for document, sections in texts:
            document_starts.append(at)
            document_numbers.append(document.number)
            text = ""
            for number, text in _with_plain_line_ends(sections):
                section_starts.append(at)
                section_numbers.append(number)
                at += file.write(text.encode())
            if not text.endswith("\n"):
                at += file.write(b"\n")
        facts = {
            "generation": generation,
            "sections": len(section_starts),
            "documents": len(document_starts),
            "written": time.time_ns(),
        }
        file.write(json.dumps(facts).encode() + b"\n")
        for column in (section_starts, document_starts, section_numbers, document_numbers):
            file.write(column.tobytes())
        raw.write(_TAIL.pack(at, file.checksum))
        raw.flush()
        os.fsync(raw.fileno())
    os.utime(unfinished, ns=(facts["written"], facts["written"]))
    unfinished.replace(path)


class _Checked:
    """Writes to a file and keeps the checksum of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = 0

    def write(self, data: bytes) -> int:
        self.checksum = zlib.crc32(data, self.checksum)
        return self._file.write(data)


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
