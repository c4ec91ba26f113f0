"""Zip files that hold a document: opened in memory, read within bounds."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from contextpull.documents.composing import NEEDS_PASSWORD
from contextpull.errors import DocumentError

_LARGEST_MEMBER = 64 * 1024 * 1024
_LARGEST_TOTAL = 256 * 1024 * 1024
_LARGEST_UNSUSPECTED = 4 * 1024 * 1024
_HIGHEST_RATIO = 200
"""A larger member that is packed tighter than this is taken for a bomb."""
_MOST_MEMBERS = 50_000
_DEEPEST_XML = 500


class Archive:
    """The members of a zip file. All that is read of it stays within one bound."""

    def __init__(self, data: bytes, kind: str) -> None:
        """Open it. Raises DocumentError when it is no zip file; `kind` says what was expected."""
        self._kind = kind
        self._read = 0
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._members = {member.filename: member for member in self._zip.infolist()}
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise DocumentError(f"not {kind}: no readable zip file ({error})") from error
        if len(self._members) > _MOST_MEMBERS:
            raise DocumentError(f"more than {_MOST_MEMBERS:,} files inside; it is not read")

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        """The names of the members, in the order of the file."""
        return iter(self._members)

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises DocumentError when it is absent, encrypted, damaged, or larger than the bounds.
        """
        member = self._members.get(name)
        if member is None:
            raise DocumentError(f"not {self._kind}: {name} is missing in it")
        if member.flag_bits & 1:
            raise DocumentError(NEEDS_PASSWORD)
        size, packed = member.file_size, max(member.compress_size, 1)
        is_bomb = size > _LARGEST_UNSUSPECTED and size > _HIGHEST_RATIO * packed
        if size > _LARGEST_MEMBER or is_bomb or self._read + size > _LARGEST_TOTAL:
            raise DocumentError(f"{name} in it unpacks to {size:,} bytes; it is not read")
        self._read += size
        try:
            return self._zip.read(member)
        except (
            *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError),
            *(NotImplementedError, RuntimeError, MemoryError),
        ) as error:
            raise DocumentError(f"damaged: {name} in it cannot be unpacked ({error})") from error

    def xml(self, name: str) -> Any:
        """The root element of a member, parsed without entities and without anything outside.

        Raises DocumentError as `read` does, and for XML that is broken or nested too deeply.
        """
        return parse_xml(self.read(name), name)


def parse_xml(data: bytes, name: str) -> Any:
    """The root element; entities are refused, nothing is fetched. Raises DocumentError."""
    parser = DefusedXMLParser(
        target=_Bounded(name), forbid_dtd=False, forbid_entities=True, forbid_external=True
    )
    try:
        parser.feed(data)
        return parser.close()
    except DefusedXmlException as error:
        raise DocumentError(f"{name} declares XML entities; it is not read") from error
    except (ParseError, ValueError, LookupError, AssertionError) as error:
        raise DocumentError(f"damaged: {name} is not valid XML ({error})") from error


class _Bounded:
    """Builds the tree and refuses elements that lie too deep."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._builder = TreeBuilder()
        self._depth = 0
        self.data = self._builder.data

    def start(self, tag: str, attributes: dict[str, str]) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST_XML:
            raise DocumentError(f"{self._name} is nested deeper than {_DEEPEST_XML} elements")
        return self._builder.start(tag, attributes)

    def end(self, tag: str) -> Any:
        self._depth -= 1
        return self._builder.end(tag)

    def close(self) -> Any:
        return self._builder.close()
