"""From a document's blocks to its sections.

1. A fragment starts at every heading; its heading path is the chain of headings above it.
2. A bare heading joins the fragment behind it.
3. A fragment that is too long is split into parts.
4. A fragment that is still too short joins the one before it, unless that is full.

The texts of the sections, joined in order, are the text of the document.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from contextpull.config import CutSettings
from contextpull.sections.slugs import TOP, Slugger, part_slug
from contextpull.sections.splitting import is_short, length, split_points
from contextpull.types import Block, BlockKind, ParsedDocument, Section

_NO_HEADING = Block("heading", 0, 0)


@dataclass(slots=True)
class _Fragment:
    """A span of the document on its way to become a section."""

    start: int
    end: int
    slug: str
    headings: tuple[str, ...] = ()
    blocks: list[Block] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    other_headings: list[str] = field(default_factory=list)

    @property
    def is_bare(self) -> bool:
        return len(self.blocks) == 1 and self.blocks[0].kind == "heading"


def cut(document: ParsedDocument, settings: CutSettings | None = None) -> list[Section]:
    """Cut a document into sections, in reading order; none when it holds only white space."""
    settings = settings or CutSettings()
    if not document.text.strip():
        return []
    fragments = _at_headings(document, settings.heading_depth)
    if settings.min_chars:
        fragments = _with_bare_headings_joined(fragments, settings.max_chars // 2)
    fragments = [part for whole in fragments for part in _parts(document.text, whole, settings)]
    fragments = _with_short_joined(document.text, fragments, settings)
    return _sections(document.text, fragments, settings)


def _at_headings(document: ParsedDocument, depth: int) -> list[_Fragment]:
    slugger = Slugger()
    levels: list[int] = []
    titles: list[str] = []
    end = len(document.text)
    current = _Fragment(0, end, TOP)
    fragments = [current]
    for block in document.blocks:
        if block.kind == "heading" and block.title and block.level <= depth:
            start = block.start
            if not current.blocks:
                fragments.pop()
                start = current.start
            elif len(fragments) == 1 and not current.headings:
                slugger.slug(TOP)
            current.end = start
            while levels and levels[-1] >= block.level:
                levels.pop()
                titles.pop()
            levels.append(block.level)
            titles.append(block.title)
            slug = slugger.slug(block.title, block.anchor)
            current = _Fragment(start, end, slug, tuple(titles))
            fragments.append(current)
        current.blocks.append(block)
    return fragments


def _with_bare_headings_joined(fragments: Sequence[_Fragment], limit: int) -> list[_Fragment]:
    """Join each heading without a body to the fragment behind it, whose id the two then share.

    No more than `limit` bytes of headings come before one fragment.
    """
    joined: list[_Fragment] = []
    own_start = 0
    for fragment in reversed(fragments):
        if fragment.is_bare and joined and own_start - fragment.start <= limit:
            _prepend(fragment, joined[-1])
        else:
            joined.append(fragment)
            own_start = fragment.start
    joined.reverse()
    return joined


def _prepend(fragment: _Fragment, to: _Fragment) -> None:
    to.start = fragment.start
    to.blocks[:0] = fragment.blocks
    to.anchors[:0] = [fragment.slug, *fragment.anchors]
    ancestors = to.headings[:-1]
    strangers = [*fragment.headings[-1:], *fragment.other_headings]
    to.other_headings[:0] = [title for title in strangers if title not in ancestors]


def _parts(text: bytes, whole: _Fragment, settings: CutSettings) -> list[_Fragment]:
    """Split a fragment that is longer than `max_chars`; the first part keeps its slug."""
    if length(text, whole.start, whole.end) <= settings.max_chars:
        return [whole]
    points = split_points(text, whole.start, whole.end, whole.blocks, settings)
    parts: list[_Fragment] = []
    first = last = 0
    for number, (start, end) in enumerate(pairwise([whole.start, *points, whole.end]), start=1):
        while first < len(whole.blocks) and whole.blocks[first].end <= start:
            first += 1
        while last < len(whole.blocks) and whole.blocks[last].start < end:
            last += 1
        slug = part_slug(whole.slug, number)
        parts.append(_Fragment(start, end, slug, whole.headings, whole.blocks[first:last]))
    parts[0].anchors = whole.anchors
    parts[0].other_headings = whole.other_headings
    return parts


def _with_short_joined(
    text: bytes, fragments: Sequence[_Fragment], settings: CutSettings
) -> list[_Fragment]:
    """Join what is shorter than `min_chars` to the fragment before it; the first to the next.

    No fragment grows by that beyond `max_chars` and `min_chars` together; one that is longer
    because something in it must stay whole grows by less than `min_chars`.
    """
    bound = settings.max_chars + settings.min_chars
    joined: list[_Fragment] = []
    before = most = 0
    for fragment in fragments:
        size = length(text, fragment.start, fragment.end)
        own_most = bound if size <= bound else size + settings.min_chars
        if joined and before + size <= most and _is_short(text, fragment, settings):
            _append(fragment, joined[-1])
            before += size
            continue
        if len(joined) == 1 and before + size <= own_most and _is_short(text, joined[0], settings):
            _prepend(joined.pop(), fragment)
            size += before
        joined.append(fragment)
        before, most = size, own_most
    return joined


def _is_short(text: bytes, fragment: _Fragment, settings: CutSettings) -> bool:
    return is_short(text, fragment.start, fragment.end, settings.min_chars)


def _append(fragment: _Fragment, to: _Fragment) -> None:
    to.end = fragment.end
    to.blocks.extend(fragment.blocks)
    to.anchors += [fragment.slug, *fragment.anchors]
    if fragment.headings != to.headings:  # a part repeats the headings of the parts before it
        to.other_headings += fragment.headings[-1:]
    to.other_headings += fragment.other_headings


def _sections(text: bytes, fragments: Sequence[_Fragment], settings: CutSettings) -> list[Section]:
    sections = []
    line = 1
    line_end = "\n" if b"\n" in text else "\r"
    for fragment in fragments:
        content = text[fragment.start : fragment.end].decode()
        sections.append(
            Section(
                slug=fragment.slug,
                anchors=tuple(fragment.anchors),
                headings=fragment.headings,
                kind=_kind(fragment),
                text=content,
                start=fragment.start,
                first_line=line,
                repeated_header=_repeated_header(fragment, settings.max_chars),
                other_headings=tuple(fragment.other_headings),
                page=fragment.blocks[0].page if fragment.blocks else 0,
                last_page=fragment.blocks[-1].page if fragment.blocks else 0,
            )
        )
        line += content.count(line_end)
    return sections


def line_ends(text: str) -> int:
    """How many lines end in the text: at LF, at CRLF, or at CR where there is no LF at all."""
    return text.count("\n") or text.count("\r")


def _kind(fragment: _Fragment) -> BlockKind:
    """The kind of the first block that is more than a heading or metadata."""
    kinds = [block.kind for block in fragment.blocks]
    telling = (kind for kind in kinds if kind != "heading" and kind != "front matter")
    return next(telling, kinds[0] if kinds else "prose")


def _repeated_header(fragment: _Fragment, longest: int) -> str:
    """The header of the table that this fragment begins in the middle of, if it does."""
    first = fragment.blocks[0] if fragment.blocks else _NO_HEADING
    begins_inside = first.kind == "table" and first.breaks and fragment.start >= first.breaks[0]
    return first.header if begins_inside and len(first.header) <= longest else ""
