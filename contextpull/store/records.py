"""What the store gives back."""

from typing import NamedTuple

from contextpull.sections.cutting import line_ends


class StoredCorpus(NamedTuple):
    """A folder that a store is read from."""

    name: str
    """What its paths in the store begin with; empty for one that is the only one of its store."""
    root: str
    """The folder's absolute path."""

    @property
    def prefix(self) -> str:
        """`name/`, or nothing where there is no name."""
        return f"{self.name}/" if self.name else ""


class StoredDocument(NamedTuple):
    """One file of the corpus, as the last ingest saw it."""

    number: int
    path: str
    title: str
    description: str
    keywords: str
    first_section: int
    sections: int
    """How many; they are numbered from `first_section` on, in reading order."""
    chars: int
    size: int
    """Bytes of the file; -1 when it must be looked at again whatever its size."""
    mtime_ns: int
    digest: bytes
    problem: str
    """Why nothing of the file is in the store; empty when its sections are."""
    warnings: str

    @property
    def section_numbers(self) -> range:
        """The numbers of its sections, in reading order."""
        return range(self.first_section, self.first_section + self.sections)


class StoredSection(NamedTuple):
    """One section, with its place in document and corpus."""

    number: int
    """Its key in the store; a later ingest may number it anew."""
    document: int
    path: str
    slug: str
    headings: tuple[str, ...]
    other_headings: tuple[str, ...]
    kind: str
    text: str
    repeated_header: str
    start: int
    first_line: int
    fingerprint: int
    """Equal for sections whose text is the same but for white space around it."""
    page: int = 0
    """The page that it begins on, from 1; 0 in formats without pages."""
    last_page: int = 0

    @property
    def id(self) -> str:
        """`path/of/file.md#slug`."""
        return f"{self.path}#{self.slug}"

    @property
    def heading_path(self) -> str:
        """The headings joined as they are shown."""
        return " > ".join(self.headings)

    @property
    def last_line(self) -> int:
        """The line of the file that the text ends on, blank lines behind it aside."""
        return self.first_line + line_ends(self.text.rstrip())

    @property
    def pages(self) -> str:
        """`p. 41` or `p. 41-43`, as it is cited; empty in formats without pages."""
        if not self.page:
            return ""
        return f"p. {self.page}" + (f"-{self.last_page}" if self.last_page > self.page else "")


class Address(NamedTuple):
    """Where a section stands, without its text."""

    number: int
    document: int
    path: str
    slug: str
    fingerprint: int
    """As in StoredSection."""

    @property
    def id(self) -> str:
        """`path/of/file.md#slug`."""
        return f"{self.path}#{self.slug}"


class Skipped(NamedTuple):
    """A file that is not in the store, and why."""

    path: str
    reason: str
