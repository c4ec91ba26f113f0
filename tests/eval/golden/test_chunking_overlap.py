"""What pieces carry over from the text before them: what must hold of it, whatever the text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.markdown import read_markdown
from contextpull.eval.golden.chunking.building import Means, cut_corpus
from contextpull.eval.golden.chunking.corpus import Source, SourceCorpus
from contextpull.eval.golden.chunking.cutters import Plain, cut_plainly, within
from contextpull.eval.golden.chunking.overlapping import overlapping
from contextpull.eval.golden.chunking.plan import Build, Technique
from contextpull.eval.golden.quotes import Span
from contextpull.eval.golden.settings import parse_settings
from contextpull.retrieval.models import Models
from tests.eval.golden.test_chunking_cutters import PLAIN, SIZES, WORDS, parts_character
from tests.properties import same_every_time


def document(text: str) -> Source:
    return Source("a.md", read_markdown(text.encode()))


PARTS = WORDS | st.characters(codec="utf-8", exclude_categories=["C"])
SOURCES = st.lists(PARTS, max_size=60).map(lambda parts: document("".join(parts)))
OVERLAPS = st.integers(0, 60)


@given(SOURCES, SIZES, OVERLAPS, st.sampled_from(PLAIN))
@same_every_time(300)
def test_what_is_carried_over_is_the_end_of_the_text_before_under_the_same_headings(
    source: Source, size: int, most: int, how: Plain
) -> None:
    own = cut_plainly(source.text, size, how)
    made = overlapping(source, own, most)
    assert [each.end for each in made] == [each.end for each in own]
    for piece, before in zip(made, own, strict=True):
        assert before.start - most <= piece.start <= before.start
        assert piece.end - piece.start <= size + most
        assert source.heading_path(piece.start) == source.heading_path(before.start)
        assert source.headings_within(piece) == source.headings_within(before)
        assert not source.text[piece.start].isspace()
        if piece != before:
            assert not parts_character(source.text, piece.start)


@given(SOURCES, SIZES, st.integers(0, 60), st.sampled_from(PLAIN))
@same_every_time(200)
def test_pieces_that_overlap_are_together_the_text(
    source: Source, size: int, most: int, how: Plain
) -> None:
    at = 0
    for piece in overlapping(source, cut_plainly(source.text, size, how), most):
        assert not source.text[at : piece.start].strip()
        at = piece.end
    assert not source.text[at:].strip()


@given(SOURCES, SIZES, st.sampled_from(PLAIN))
@same_every_time(100)
def test_without_overlap_a_cut_stays_as_it_is(source: Source, size: int, how: Plain) -> None:
    own = cut_plainly(source.text, size, how)
    assert overlapping(source, own, 0) == own


@given(SOURCES, st.integers(4, 20), OVERLAPS, st.integers(0, 40))
@same_every_time(100)
def test_children_carry_nothing_over_from_before_their_parent(
    source: Source, size: int, most: int, start: int
) -> None:
    parent = Span(min(start, len(source.text)), len(source.text))
    children = within(source.text, parent, size)
    assert all(each.start >= parent.start for each in overlapping(source, children, most, start))


def pieces(text: str, size: int, most: int) -> list[str]:
    source = document(text)
    spans = overlapping(source, cut_plainly(source.text, size, "fixed"), most)
    return [source.text[span.start : span.end] for span in spans]


def test_a_piece_begins_with_a_word_of_the_text_before() -> None:
    text = "One two three four five six."
    assert pieces(text, 14, 0) == ["One two three", "four five six."]
    assert pieces(text, 14, 5) == ["One two three", "four five six."]
    assert pieces(text, 14, 6) == ["One two three", "three four five six."]
    assert pieces(text, 14, 12) == ["One two three", "two three four five six."]
    assert pieces(text, 14, 99) == ["One two three", text]


def test_a_character_is_a_word_where_a_script_has_no_spaces() -> None:
    assert pieces("灯塔很高。海很深。", 5, 3) == ["灯塔很高。", "很高。海很深。"]
    assert pieces("กำลังกำลัง", 6, 3)[1:] == ["งกำลัง"]  # no mark is parted from its letter


def test_no_heading_is_passed() -> None:
    text = "# Lamp\n\nIt burns.\n\n# Oil\n\nIt is dear. It is heavy."
    assert pieces(text, 19, 99) == [
        "# Lamp\n\nIt burns.",
        "# Oil\n\nIt is dear.",
        "# Oil\n\nIt is dear. It is heavy.",
    ]


@pytest.mark.parametrize("technique", ["recursive", "parent-child", "structure-aware"])
def test_what_is_searched_overlaps_and_our_sections_never_do(technique: Technique) -> None:
    told = "The lamp burns oil every night of the year. " * 30
    source = document(f"# Lamp\n\n{told}\n\n# Oil\n\n{told}")
    corpus = SourceCorpus(Path("docs"), (source,), ())
    means = Means(parse_settings("lexical")[0], 6_000, Models())
    build = Build(technique, 400, headings=True)
    plain = cut_corpus(build, corpus, means).documents[0][1]
    cut = cut_corpus(build._replace(overlap=20), corpus, means).documents[0][1]
    if technique == "structure-aware":
        assert cut == plain
        return
    assert [each.searched.end for each in cut] == [each.searched.end for each in plain]
    carried = [one.searched.start - two.searched.start for one, two in zip(plain, cut, strict=True)]
    most = 80 if technique == "recursive" else 40
    assert most // 2 < max(carried) <= most
    if technique == "parent-child":
        assert [each.handed for each in cut] == [each.handed for each in plain]
        assert all(each.searched.start >= each.handed.start for each in cut)
