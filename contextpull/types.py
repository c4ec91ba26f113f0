"""The nouns that every part shares: blocks, documents, sections, hits, questions.

Offsets are UTF-8 byte offsets into a document's text, half open; lines count from 1.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

BlockKind = Literal["heading", "prose", "list", "table", "code", "front matter"]


class Block(NamedTuple):
    """One piece of a document's structure, at `text[start:end]`.

    Blocks come in document order and never overlap; what lies between two of them
    (blank lines, link definitions) belongs to the one before.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """Headings only: 1 to 6."""
    title: str = ""
    """Headings only: the text a reader sees, without markup."""
    anchor: str | None = None
    """Headings only: the id that the document itself gives."""
    breaks: tuple[int, ...] = ()
    """Offsets inside the block where it may be split: table rows, list items."""
    solid: tuple[tuple[int, int], ...] = ()
    """Spans inside the block that stay whole: code inside a list."""
    header: str = ""
    """Tables only: the header row, to be repeated above a part that begins further down."""
    page: int = 0
    """The page that it begins on, from 1; 0 in formats without pages."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What a reader makes of one file: its whole text and the blocks that lie in it."""

    text: bytes
    """UTF-8, exactly the characters of the file, without a byte order mark."""
    blocks: tuple[Block, ...]
    title: str = ""
    """The title that the file itself declares (front matter), or nothing."""
    description: str = ""
    keywords: str = ""
    """Other front-matter values worth finding: tags, authors, identifiers."""
    warnings: tuple[str, ...] = ()


class Section(NamedTuple):
    """The unit that is addressed, searched, read and cited; a slice of one document."""

    slug: str
    """The part of the id behind `#`; unique within the document."""
    anchors: tuple[str, ...]
    """Other slugs that lead here: headings whose fragments were merged into this section."""
    headings: tuple[str, ...]
    """The chain of headings, outermost first; empty before the first heading."""
    kind: BlockKind
    """The kind of its first block behind the heading."""
    text: str
    start: int
    first_line: int
    repeated_header: str = ""
    """The header of the table that this part continues; shown when read, not part of the text."""
    other_headings: tuple[str, ...] = ()
    """Headings inside the text beside the last of `headings`; they are searched as headings too."""
    page: int = 0
    """The page that it begins on, from 1; 0 in formats without pages."""
    last_page: int = 0

    @property
    def heading_path(self) -> str:
        """The headings joined as they are shown."""
        return " > ".join(self.headings)


@dataclass(frozen=True, slots=True)
class Passage:
    """A section as other tools exchange it: `{"id", "text", "source"}`."""

    id: str
    text: str
    source: str


Shape = str
"""`conceptual`, `exact_lookup`, `comparison`, `aggregation`, `table`, or a user's own."""


@dataclass(frozen=True, slots=True)
class Question:
    """A line of an eval set and the section ids that answer it."""

    id: str
    text: str
    shape: Shape
    gold: tuple[str, ...]
    answer: str = ""
    source: str = ""
    identifier: str = ""
    extra: dict[str, object] = field(default_factory=dict)
    """Fields of the file that we do not use, kept so that writing it back loses nothing."""


class Retriever(Protocol):
    """Anything that answers a query with section ids, best first.

    It may have more: `concurrency`, how many queries it may be given at once (1 without);
    `generate(query, section_ids) -> str`, an answer; `stats() -> dict` with the amounts `queries`,
    `tool_calls`, `tokens_in`, `tokens_out` and `usd`. ragbisect knows the same of its adapters.
    """

    def retrieve(self, query: str, k: int) -> list[str]:
        """Return at most `k` section ids, best first, without repeats."""
        ...
