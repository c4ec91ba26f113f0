"""The documents of a folder, read once for all ways to cut them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.discovery import discover
from contextpull.documents.formats import reader_of
from contextpull.errors import EvaluationError
from contextpull.eval.golden.grains import listed
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.quotes import Span
from contextpull.eval.golden.schema import page_of
from contextpull.sections.cutting import cut
from contextpull.store.database import FILE, Database
from contextpull.store.ingest import ingest
from contextpull.store.parsing import contents
from contextpull.types import ParsedDocument, Section


class Heading(NamedTuple):
    """A heading of a document."""

    start: int
    """The character that it begins at."""
    level: int
    title: str


@dataclass(frozen=True)
class Source:
    """One document: its text as its reader gives it, with places in characters."""

    path: str
    parsed: ParsedDocument

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return self.parsed.text.decode()

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """The headings, in order."""
        blocks = [each for each in self.parsed.blocks if each.kind == "heading" and each.title]
        starts = self._in_characters([each.start for each in blocks])
        return tuple(
            Heading(start, each.level, each.title)
            for start, each in zip(starts, blocks, strict=True)
        )

    @cached_property
    def _pages(self) -> list[tuple[int, int]]:
        """Where each block with a page begins, and its page."""
        blocks = [each for each in self.parsed.blocks if each.page]
        starts = self._in_characters([each.start for each in blocks])
        return [(start, each.page) for start, each in zip(starts, blocks, strict=True)]

    def sections(self, settings: CutSettings) -> list[Section]:
        """What our own cutting makes of it."""
        return cut(self.parsed, settings)

    def heading_path(self, start: int) -> tuple[str, ...]:
        """The chain of headings that a place stands under, one that begins there included."""
        chain: list[Heading] = []
        for each in self.headings:
            if each.start > start:
                break
            while chain and chain[-1].level >= each.level:
                chain.pop()
            chain.append(each)
        return tuple(each.title for each in chain)

    def headings_within(self, span: Span) -> tuple[str, ...]:
        """The titles of the headings that begin behind a span's start and inside it."""
        return tuple(each.title for each in self.headings if span.start < each.start < span.end)

    def pages(self, span: Span) -> range | None:
        """The pages of what lies in a span, from 1; None in formats without pages."""
        before = [page for start, page in self._pages if start <= span.start][-1:]
        inside = [page for start, page in self._pages if span.start < start < span.end]
        covered = before + inside
        return range(covered[0], covered[-1] + 1) if covered else None

    @cached_property
    def all_pages(self) -> frozenset[int]:
        """The pages that hold text; none in formats without pages."""
        return frozenset(page for _, page in self._pages)

    def _in_characters(self, offsets: Sequence[int]) -> list[int]:
        """Ascending byte offsets as offsets in the text."""
        data = self.parsed.text
        edges = zip([0, *offsets], offsets, strict=False)
        return list(accumulate(len(data[start:end].decode()) for start, end in edges))


class Unread(NamedTuple):
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class SourceCorpus:
    """What lies in a folder."""

    root: Path
    sources: tuple[Source, ...]
    """By path."""
    unread: tuple[Unread, ...]

    @cached_property
    def by_path(self) -> dict[str, Source]:
        """The documents by their paths."""
        return {each.path: each for each in self.sources}

    @cached_property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that change with every path, text and heading."""
        digest = sha256()
        for each in self.sources:
            marks = repr([(block.kind, block.start, block.page) for block in each.parsed.blocks])
            for part in (each.path.encode(), each.parsed.text, marks.encode()):
                digest.update(b"%d:" % len(part))
                digest.update(part)
        return digest.hexdigest()


def read_corpus(folder: Path) -> SourceCorpus:
    """Read the documents of a folder that an ingest can read; the others are listed.

    They are ingested into a scratch store first: a file whose reader fails, hangs or needs too
    much costs that file there, and is not read here.
    Raises `InvalidInput` for a folder that is not there or is none, and `EvaluationError` where
    nothing in it can be read.
    """
    with TemporaryDirectory(prefix="contextpull-") as scratch:
        ingest(folder, Path(scratch) / "store")
        database = Database(Path(scratch) / "store" / FILE)
        unread = [Unread(each.path, each.reason) for each in database.skipped()]
        unread += [Unread(each.path, each.problem) for each in database.documents() if each.problem]
        database.close()
    left_out = {each.path for each in unread}
    files = [each for each in discover(folder).files if each.path not in left_out]
    if not files:
        first = f" The first: {unread[0].path}: {unread[0].reason}." if unread else ""
        raise EvaluationError(f"The folder {str(folder)!r} holds no document with text.{first}")
    sources = [
        Source(each.path, reader_of(each.path)(contents(each, ReadLimits()))) for each in files
    ]
    return SourceCorpus(folder, tuple(sources), tuple(sorted(unread)))


class Label(NamedTuple):
    """What an entry of `expected` names, whatever the cutting: a document, or a page of it."""

    path: str
    page: int = 0
    is_coarser: bool = False
    """Whether the entry names a section, or a page where none is known."""

    @property
    def entry(self) -> str:
        """The entry that names this and no more."""
        return f"{self.path}#page={self.page}" if self.page else self.path


def labels_of(
    corpus: SourceCorpus, questions: Sequence[GoldenQuestion]
) -> dict[str, tuple[Label, ...]]:
    """What each question expects, by its id; a section counts as its document.

    Raises `EvaluationError` for documents and pages that the folder does not hold: nothing could
    find them.
    """
    absent: list[str] = []
    labels = {}
    for question in questions:
        found = [_label(corpus, entry) for entry in question.expected]
        absent += [
            f"{entry!r} (question {question.id})"
            for entry, label in zip(question.expected, found, strict=True)
            if label is None
        ]
        labels[question.id] = tuple(dict.fromkeys(each for each in found if each))
    if absent:
        raise EvaluationError(
            f"The folder {str(corpus.root)!r} does not hold {listed(absent)}: nothing could find"
            f" it. Paths count from that folder, such as {corpus.sources[0].path!r}; name the one"
            f" that was ingested.{_why_unread(corpus, absent)}"
        )
    return labels


def _label(corpus: SourceCorpus, entry: str) -> Label | None:
    if entry in corpus.by_path:
        return Label(entry)
    path = entry.rpartition("#")[0]
    source = corpus.by_path.get(path)
    if source is None:
        return None
    page = page_of(entry)
    if not page or not source.all_pages:
        return Label(path, is_coarser=True)
    return Label(path, page) if page in source.all_pages else None


def _why_unread(corpus: SourceCorpus, absent: Sequence[str]) -> str:
    for path, reason in corpus.unread:
        if any(path in each for each in absent):
            return f" {path} is left out: {reason}."
    return ""
