"""Whatever the document: sections join to its text, stand where they say, and stay in bounds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.config import CutSettings
from contextpull.documents.markdown import read_markdown
from contextpull.documents.plain import read_plain
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.types import Block, ParsedDocument, Section
from tests.properties import same_every_time
from tests.strategies import MARKUP, cut_settings, markdown


def holds(document: ParsedDocument, sections: list[Section]) -> bool:
    """Check what is true of every cut document."""
    text = document.text
    if not text.strip():
        return not sections
    assert "".join(section.text for section in sections).encode() == text
    line_end = b"\n" if b"\n" in text else b"\r"
    expected_start = 0
    for section in sections:
        assert section.text
        assert section.start == expected_start
        assert section.first_line == 1 + text[: section.start].count(line_end)
        expected_start += len(section.text.encode())
    slugs = [section.slug for section in sections]
    anchors = [anchor for section in sections for anchor in section.anchors]
    assert len({*slugs, *anchors}) == len(slugs) + len(anchors)
    assert not any(set(slug) & set(" \t\r\n#") for slug in (*slugs, *anchors))
    return True


def unsplittable(document: ParsedDocument, section: Section) -> list[int]:
    """Sizes of what must stay whole in a section: code blocks and table rows."""
    end = section.start + len(section.text.encode())
    starts = [*(block.start for block in document.blocks[1:]), len(document.text)]
    spans: list[tuple[int, int]] = []
    for block, following in zip(document.blocks, starts, strict=True):
        if block.kind == "code":
            spans.append((block.start, following))
        spans.extend(block.solid)
        if block.kind == "table":
            edges = [block.start, *block.breaks[bool(block.header) :], following]
            spans += pairwise(edges)
    inside = [(a, b) for a, b in spans if section.start < b and a < end]
    return [len(document.text[max(a, section.start) : min(b, end)].decode()) for a, b in inside]


def in_bounds(document: ParsedDocument, section: Section, settings: CutSettings) -> bool:
    """A long section is one piece that must stay whole, its headings and short neighbours."""
    size = len(section.text)
    if size <= settings.max_chars + settings.min_chars:
        return True
    whole = max(unsplittable(document, section), default=0)
    return size - whole <= settings.max_chars + settings.min_chars


@same_every_time(300)
@given(markdown(), cut_settings())
def test_markdown_of_every_dialect_joins_again(text: str, settings: CutSettings) -> None:
    document = read_markdown(text.encode())
    assert holds(document, cut(document, settings))


@same_every_time(150)
@given(markdown())
def test_markdown_joins_again_under_default_settings(text: str) -> None:
    document = read_markdown(text.encode())
    assert document.text == text.encode()
    assert holds(document, cut(document))


@same_every_time(300)
@given(markdown(), cut_settings())
def test_no_part_outgrows_its_bound(text: str, settings: CutSettings) -> None:
    document = read_markdown(text.encode())
    for section in cut(document, settings):
        assert in_bounds(document, section, settings)


@same_every_time(400)
@given(st.one_of(MARKUP, st.text(max_size=300)), cut_settings())
def test_arbitrary_text_joins_again(text: str, settings: CutSettings) -> None:
    for reader in (read_markdown, read_plain):
        try:
            document = reader(text.encode())
        except DocumentError:
            continue
        assert holds(document, cut(document, settings))


@same_every_time(200)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        document = read_markdown(data)
    except DocumentError:
        return
    assert holds(document, cut(document))


@same_every_time(300)
@given(st.one_of(markdown(), MARKUP))
def test_blocks_come_in_order_and_never_overlap(text: str) -> None:
    try:
        document = read_markdown(text.encode())
    except DocumentError:
        return
    position = 0
    for block in document.blocks:
        assert position <= block.start < block.end <= len(document.text)
        assert all(block.start <= point < block.end for point in block.breaks)
        assert list(block.breaks) == sorted(block.breaks)
        position = block.end


@pytest.mark.parametrize("kind", ["heading", "prose", "list", "table", "code", "front matter"])
def test_a_block_of_any_kind_is_cut_within_bounds(kind: str) -> None:
    text = ("word " * 50 + "\n") * 100
    block = Block(kind, 0, len(text), level=1, title="T")  # type: ignore[arg-type]
    document = ParsedDocument(text.encode(), (block,))
    sections = cut(document)
    assert holds(document, sections)
    if kind != "table":
        assert max(len(section.text) for section in sections) <= 2_040
