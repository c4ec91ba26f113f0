"""What an ingest tells: of each file that it touched or left out, and in all."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from contextpull.store.database import Database
from contextpull.store.parsing import ParsedFile
from contextpull.store.planning import Plan
from contextpull.store.records import Skipped, StoredDocument

Outcome = Literal["added", "changed", "removed", "unchanged", "unreadable", "left out"]
"""`unreadable`: it should be in the store, and nothing of it is; `left out`: no reader takes it, or
a rule that is not the user's own keeps it out. What ignore files exclude is not told at all."""


class Progress(NamedTuple):
    """How far the reading is."""

    files: int
    all_files: int
    bytes: int
    all_bytes: int


class FileReport(NamedTuple):
    """What became of one file."""

    path: str
    outcome: Outcome
    sections: int = 0
    """How many of it are in the store."""
    pages: int = 0
    """The last page that text is on; 0 in formats without pages."""
    warnings: tuple[str, ...] = ()
    reason: str = ""
    """Why it is not in the store, where it is not."""

    @property
    def is_fault(self) -> bool:
        """Whether it deserves a look: it cannot be read, or its reader warns of something."""
        return self.outcome == "unreadable" or bool(self.warnings)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest found and did."""

    generation: int
    documents: int
    """Those that can be found of the corpora that were brought up to date; so below."""
    sections: int
    chars: int
    added: int
    changed: int
    removed: int
    unchanged: int
    files: tuple[FileReport, ...]
    """Every file that was touched, is not in the store, or warns of something, by path."""
    notes: tuple[str, ...]
    """What was repaired or redone beside the changes."""
    missing: tuple[str, ...]
    """A sentence on each corpus that could not be brought up to date."""
    seconds: float

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Files that are not in the store, by path, each with its reason."""
        return tuple(Skipped(each.path, each.reason) for each in self.files if each.reason)

    @property
    def warnings(self) -> tuple[Skipped, ...]:
        """Files that are in the store and deserve a look."""
        return tuple(
            Skipped(each.path, "\n".join(each.warnings)) for each in self.files if each.warnings
        )

    @property
    def faults(self) -> tuple[FileReport, ...]:
        """Files that cannot be read or warn of something."""
        return tuple(each for each in self.files if each.is_fault)


def read_now(parsed: ParsedFile, *, is_new: bool) -> FileReport:
    """Of a file that this ingest read."""
    document = parsed.document
    if document.problem:
        return FileReport(document.path, "unreadable", reason=document.problem)
    return FileReport(
        document.path,
        "added" if is_new else "changed",
        len(parsed.sections),
        max(row[-1] for row in parsed.sections),
        _lines(document.warnings),
    )


def not_read(
    plan: Plan, database: Database, documents: list[StoredDocument], read: Container[str]
) -> Iterator[FileReport]:
    """Of files that are gone, were left out, or are known to be unreadable or to warn."""
    for gone in plan.gone:
        yield FileReport(gone.path, "removed")
    for each in plan.found.skipped:
        outcome: Outcome = "unreadable" if each.is_fault else "left out"
        yield FileReport(each.path, outcome, reason=each.reason)
    for document in documents:
        if document.path in read:
            continue
        if document.problem:
            yield FileReport(document.path, "unreadable", reason=document.problem)
        elif document.warnings:
            pages = database.last_page_of(document)
            warnings = _lines(document.warnings)
            yield FileReport(document.path, "unchanged", document.sections, pages, warnings)


def _lines(warnings: str) -> tuple[str, ...]:
    return tuple(warnings.splitlines())
