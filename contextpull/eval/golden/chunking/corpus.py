"""The documents of a folder, read once for all ways to cut them."""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from contextpull.config import CutSettings, ReadLimits
from contextpull.documents.formats import check_read_as
from contextpull.errors import EvaluationError
from contextpull.eval.golden.grains import check_questions, listed
from contextpull.eval.golden.places import Place, resolve
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.quotes import Span
from contextpull.sections.cutting import cut
from contextpull.store import corpora
from contextpull.store.database import FILE, Database
from contextpull.store.ingest import parse_files
from contextpull.types import ParsedDocument, Section

_USUAL = CutSettings()


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

    def heading_start(self, at: int) -> int:
        """Where the last heading begins that begins no later than `at`; 0 before the first."""
        behind = bisect_right(self.headings, at, key=lambda each: each.start)
        return self.headings[behind - 1].start if behind else 0

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

    def has_section(self, slug: str) -> bool:
        """Whether a cutting at some heading depth gives a section this slug, or leads it to one.

        How many parts a section is split into is another matter: a part counts as its section.
        """
        whole = slug.partition("~")[0]
        less_deep = range(_USUAL.heading_depth - 1, 0, -1)
        return whole in self._slugs or any(whole in self._slugs_at(each) for each in less_deep)

    @cached_property
    def _slugs(self) -> frozenset[str]:
        return self._slugs_at(_USUAL.heading_depth)

    def _slugs_at(self, heading_depth: int) -> frozenset[str]:
        most = max(_USUAL.hard_max_chars, len(self.parsed.text))
        unsplit = CutSettings(heading_depth, max_chars=most, hard_max_chars=most)
        sections = self.sections(unsplit)
        return frozenset(slug for each in sections for slug in (each.slug, *each.anchors))

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
    name: str = ""
    """What the paths begin with, where a store knows the folder by a name."""
    read_as: str = ""
    """The files that were read as another format than their names say; see `CutSettings`."""

    def __contains__(self, path: object) -> bool:
        """Whether there is a document of this path."""
        return path in self.by_path

    def has_section(self, path: str, slug: str) -> bool:
        """Whether some cutting gives the document a section of this slug; see `Source`."""
        return self.by_path[path].has_section(slug)

    def pages(self, path: str) -> Collection[int]:
        """The pages from the first to the last that hold text: a section may cover an empty one."""
        known = self.by_path[path].all_pages
        return range(min(known), max(known) + 1) if known else ()

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


def read_corpus(
    folder: Path,
    store: Path | None = None,
    *,
    read_as: str | None = None,
    limits: ReadLimits | None = None,
) -> SourceCorpus:
    """Read the documents of a folder as an ingest does, each once; what cannot be is listed.

    Where `store` was read from the folder, its `read_as` holds, unless another is given, and paths
    begin with its name for the folder, if it has one.
    Raises `InvalidInput` for a folder that is not there or is none, and for a `read_as` that says
    nothing; `StoreError` for a store that is not there or cannot be read; `EvaluationError` where
    nothing in the folder can be.
    """
    source, kept = _as_ingested(folder, store)
    chosen = kept if read_as is None else read_as
    check_read_as(chosen)
    found = corpora.walk([source], store, chosen).everything
    unread = [Unread(each.path, each.reason) for each in found.skipped]
    sources: list[Source] = []
    settings = CutSettings(read_as=chosen)
    reading = parse_files(found.files, settings, limits or ReadLimits(), keeps_parsed=True)
    with closing(reading):
        for document, parsed in ((each.document, each.parsed) for each in reading):
            if parsed is None:
                unread.append(Unread(document.path, document.problem))
            else:
                sources.append(Source(document.path, parsed))
    unread.sort()
    if not sources:
        first = f" The first: {unread[0].path}: {unread[0].reason}." if unread else ""
        raise EvaluationError(f"The folder {str(folder)!r} holds no document with text.{first}")
    return SourceCorpus(folder, tuple(sources), tuple(unread), source.name, chosen)


def _as_ingested(folder: Path, store: Path | None) -> tuple[corpora.Source, str]:
    """The folder under its name in a store, and how that reads it; as it is without one."""
    unnamed = corpora.Source("", folder)
    if store is None:
        return unnamed, ""
    with closing(Database(store / FILE)) as database:
        for corpus in database.corpora:
            if corpus.root == unnamed.record.root:
                read_as: str = database.settings.get("read_as", "")
                return unnamed._replace(name=corpus.name), read_as
    return unnamed, ""


class Label(NamedTuple):
    """What an entry of `expected` names, whatever the cutting: a document, or a page of it."""

    path: str
    page: int = 0
    is_coarser: bool = False
    """Whether the entry names a section, or a page on which no text is known to begin."""

    @property
    def entry(self) -> str:
        """The entry that names this and no more."""
        return f"{self.path}#page={self.page}" if self.page else self.path


def labels_of(
    corpus: SourceCorpus, questions: Sequence[GoldenQuestion]
) -> dict[str, tuple[Label, ...]]:
    """What each question expects, by its id; a section counts as its document.

    What an entry leads to is as in a store (`places.resolve`), but that a section counts which some
    cutting would make. Raises `EvaluationError` for what the folder does not hold, since nothing
    could find it, and as `check_questions` does.
    """
    check_questions(questions)
    absent: list[tuple[str, str]] = []
    labels = {}
    for question in questions:
        found = {entry: _label(corpus, entry) for entry in question.expected}
        absent += [(entry, question.id) for entry, label in found.items() if label is None]
        labels[question.id] = tuple(dict.fromkeys(each for each in found.values() if each))
    if absent:
        named = [f"{entry!r} (question {name})" for entry, name in absent]
        raise EvaluationError(
            f"The folder {str(corpus.root)!r} does not hold {listed(named)}: nothing could find"
            f" it. {_advice(corpus, [entry for entry, _ in absent])}"
        )
    return labels


def _label(corpus: SourceCorpus, entry: str) -> Label | None:
    place = resolve(entry, corpus)
    if place.kind == "nowhere":
        return None
    page = place.page if place.page in corpus.by_path[place.path].all_pages else 0
    return Label(place.path, page, is_coarser=not page and place != Place("document", place.path))


def _advice(corpus: SourceCorpus, absent: Collection[str]) -> str:
    """What to try where a folder does not hold these entries."""
    if all(entry.rpartition("#")[0] in corpus for entry in absent):
        return "`contextpull golden check FILE --store STORE` names what comes closest."
    paths = (
        f"Paths count from that folder, such as {corpus.sources[0].path!r}; name the one that was"
        " ingested."
    )
    for path, reason in corpus.unread:
        if any(path in entry for entry in absent):
            return f"{paths} {path} is left out: {reason}."
    return paths
