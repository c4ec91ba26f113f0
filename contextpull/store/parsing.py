"""One file of the corpus to sections and what is searched of them; runs in worker processes."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.discovery import SourceFile
from contextpull.documents.formats import reader_of
from contextpull.documents.summary import summary_of
from contextpull.errors import ContextPullError, DocumentError
from contextpull.sections.cutting import cut
from contextpull.sections.fields import Searchable, SearchFields, search_fields
from contextpull.store.database import (
    AnchorRow,
    SectionRow,
    anchor_rows,
    new_document,
    section_rows,
)
from contextpull.store.records import StoredDocument
from contextpull.types import ParsedDocument, Section

UNKNOWN_SIZE = -1
"""Recorded for a file that must be tried again even when it looks unchanged."""

_FRESH_NS = 50_000_000
"""A file written so shortly before it was read may change again within one tick of its clock."""


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What became of one file, in plain values that pass cheaply between processes."""

    document: StoredDocument
    sections: list[SectionRow]
    anchors: list[AnchorRow]
    fields: list[tuple[str, ...]]
    """The values of SearchFields, section by section."""
    parsed: ParsedDocument | None = None
    """What its reader made of it, in place of its sections, where that is what was asked for."""

    def without_text(self, limits: ReadLimits) -> "ParsedFile":
        """The same file, when its sections are more than memory holds."""
        document = self.document._replace(chars=0, warnings="", problem=_too_much(limits))
        return ParsedFile(document, [], [], [])


def digest(data: bytes) -> bytes:
    """The hash by which a file's content is known again."""
    return blake2b(data, digest_size=16).digest()


def parse_file(
    file: SourceFile,
    settings: CutSettings,
    limits: ReadLimits,
    now_ns: int,
    *,
    keeps_parsed: bool = False,
) -> ParsedFile:
    """Read one file and cut it; a problem becomes part of the result, never an exception.

    With `keeps_parsed` the document is kept whole and its sections are not.
    """
    facts = {"size": UNKNOWN_SIZE, "mtime_ns": settled(file, now_ns), "digest": b""}
    try:
        reader = reader_of(file.path, settings.read_as)
        data = contents(file, limits)
        facts |= {"size": len(data), "digest": digest(data)}
        parsed = reader(data)
        sections = cut(parsed, settings)
    except DocumentError as error:
        return _problem(file, facts, str(error))
    except (OSError, ContextPullError) as error:
        return _problem(file, facts | {"size": UNKNOWN_SIZE}, _unreadable(error))
    except MemoryError:
        return _problem(file, facts, _too_much(limits))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # not only Exception: a panic of a library in Rust is none
        return _problem(file, facts, f"its reader failed: {type(error).__name__}: {error}")
    if not sections:
        return _problem(file, facts, "no text in it")
    if keeps_parsed:
        return ParsedFile(_document(file.path, facts, parsed, sections), [], [], [], parsed)
    return parsed_file(file.path, facts, parsed, sections)


def obstacle(file: SourceFile, read_as: str, limits: ReadLimits) -> str:
    """Why a file cannot even be given to its reader, told without reading it; empty if it can."""
    try:
        reader_of(file.path, read_as)
        _check_size(file.size, limits)
        open(file.location, "rb").close()  # noqa: PTH123 - as below
    except DocumentError as error:
        return str(error)
    except (OSError, ContextPullError) as error:
        return _unreadable(error)
    return ""


def given_up(file: SourceFile, reason: str, now_ns: int) -> ParsedFile:
    """What is left of a file whose reader did not end by itself.

    It is tried again when it changes, and at once if it did while it was read.
    """
    facts: dict[str, object] = {"size": UNKNOWN_SIZE, "mtime_ns": settled(file, now_ns)}
    content = digest_of(file)
    if content is not None and _is_as_found(file):
        facts["size"] = file.size
    return _problem(file, facts | {"digest": content or b""}, f"its reader {reason}")


def settled(file: SourceFile, now_ns: int) -> int:
    """The time of a file to know it by; 0 while another change might get the same time."""
    return 0 if file.mtime_ns > now_ns - _FRESH_NS else file.mtime_ns


def is_unchanged(file: SourceFile, known: StoredDocument) -> bool:
    """Whether a file holds what the store knows of it; read only when size and time cannot tell."""
    if known.size == UNKNOWN_SIZE or (file.size, file.mtime_ns) == (known.size, known.mtime_ns):
        return True
    return file.size == known.size and digest_of(file) == known.digest


def digest_of(file: SourceFile) -> bytes | None:
    """The hash of a file's content now; None when it cannot be read."""
    try:
        with open(file.location, "rb") as stream:  # noqa: PTH123 - a name that is no text has no Path
            return digest(stream.read())
    except OSError:
        return None


def _is_as_found(file: SourceFile) -> bool:
    with suppress(OSError):
        status = os.stat(file.location)  # noqa: PTH116 - a name that is no text has no Path
        return (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns)
    return False


def contents(file: SourceFile, limits: ReadLimits) -> bytes:
    """The bytes of a file. Raises OSError, and DocumentError for one that is too large."""
    data = b""
    if file.size <= limits.max_file_bytes:
        with open(file.location, "rb") as stream:  # noqa: PTH123 - a name that is no text has no Path
            data = stream.read(file.size + 1)  # a buffer of the limit's size would cost more
            if len(data) > file.size:  # it grew since it was found
                data += stream.read(limits.max_file_bytes)
    _check_size(max(file.size, len(data)), limits)
    return data


def _check_size(size: int, limits: ReadLimits) -> None:
    if size > limits.max_file_bytes:
        bound = f"{limits.max_file_bytes / 1024**2:,.4g} MB"
        raise DocumentError(f"larger than {bound}; split it or leave it out")


def _unreadable(error: OSError | ContextPullError) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be read: {reason}"


def _too_much(limits: ReadLimits) -> str:
    return f"its reader needed more than {limits.megabytes:,} MB of memory"


def _problem(file: SourceFile, facts: dict[str, object], reason: str) -> ParsedFile:
    return ParsedFile(new_document(file.path, None, problem=reason, **facts), [], [], [])


def parsed_file(
    path: str, facts: dict[str, object], parsed: ParsedDocument, sections: Sequence[Section]
) -> ParsedFile:
    """A document that was read and cut, on its way into a store.

    `facts` are `size`, `mtime_ns` and `digest` of its file.
    """
    document = _document(path, facts, parsed, sections)
    fields = [tuple(each) for each in fields_of(document, sections)]
    return ParsedFile(document, section_rows(sections), anchor_rows(sections), fields)


def _document(
    path: str, facts: dict[str, object], parsed: ParsedDocument, sections: Sequence[Section]
) -> StoredDocument:
    document = new_document(
        path,
        parsed,
        chars=sum(len(section.text) for section in sections),
        warnings="\n".join(parsed.warnings),
        **facts,
    )
    return document._replace(
        title=parsed.title or _first_heading(sections) or Path(path).stem,
        description=parsed.description or summary_of(parsed),
    )


def fields_of(document: StoredDocument, sections: Sequence[Searchable]) -> list[SearchFields]:
    """What is searched of each section of a document."""
    path_words = os.path.splitext(document.path)[0].replace("/", " ")  # noqa: PTH122
    about = [document.title, document.description, document.keywords, path_words]
    return search_fields(sections, "\n".join(about))


def _first_heading(sections: Sequence[Section]) -> str:
    titled = (each for each in sections if each.headings and not _is_only_numbered(each))
    return next((each.headings[0] for each in titled), "")


def _is_only_numbered(section: Section) -> bool:
    """Whether its heading is a reader's for a page or slide without one: `Page 41`, `page=41`."""
    kind, _, number = section.slug.partition("~")[0].partition("=")
    return section.headings == (f"{kind.title()} {number}",)
