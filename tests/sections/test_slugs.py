"""Slugs are those of GitHub; anchors that a document gives go before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.sections.slugs import Slugger, github_slug, part_slug
from tests.properties import same_every_time


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Getting Started", "getting-started"),
        ("C#", "c"),
        ("C++ & C#", "c--c"),
        ("`--no-cache` flag", "--no-cache-flag"),
        ("UV_CACHE_DIR", "uv_cache_dir"),
        ("What's new in 3.12?", "whats-new-in-312"),
        ("🚀 Launch", "-launch"),
        ("Überschrift ÄÖÜ", "überschrift-äöü"),
        ("Ключ доступа", "ключ-доступа"),
        ("数据库 设置", "数据库-设置"),
        ("हिन्दी", "हिन्दी"),
        ("½ m²", "-m"),
        ("Chapter Ⅷ", "chapter-ⅷ"),
        ("a‿b", "a‿b"),
        ("A - B", "a---b"),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_titles_get_the_anchor_that_github_gives(title: str, slug: str) -> None:
    assert github_slug(title) == slug


def given_slugs(*titles: str) -> list[str]:
    slugger = Slugger()
    return [slugger.slug(title) for title in titles]


def test_repeats_are_numbered_from_one() -> None:
    assert given_slugs("Setup", "Setup", "Setup") == ["setup", "setup-1", "setup-2"]


def test_a_number_that_is_taken_is_passed_over() -> None:
    assert given_slugs("Setup", "Setup 1", "Setup") == ["setup", "setup-1", "setup-2"]
    assert given_slugs("Setup", "Setup", "Setup 1") == ["setup", "setup-1", "setup-1-1"]


def test_a_title_without_letters_is_called_section() -> None:
    assert given_slugs("!!!", "???") == ["section", "section-1"]


def test_a_given_anchor_goes_before_the_title() -> None:
    slugger = Slugger()
    assert slugger.slug("Title", "Given_Anchor") == "Given_Anchor"
    assert slugger.slug("Given_Anchor") == "given_anchor"
    assert slugger.slug("Other", "Given_Anchor") == "Given_Anchor-1"


@pytest.mark.parametrize(
    "anchor", ["a#b", "a~2", "a b", "", "\t", "a\x1b[0m", "x" * 201, "a\u200bb"]
)
def test_an_anchor_that_would_break_an_id_is_not_used(anchor: str) -> None:
    assert Slugger().slug("Title", anchor) == "title"


def test_parts_after_the_first_are_numbered_from_two() -> None:
    assert [part_slug("a", part) for part in (1, 2, 3)] == ["a", "a~2", "a~3"]


@same_every_time(200)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.sampled_from(["A", "A 1", "A-1", "A 1 1", "?", ""]), st.text(max_size=8)),
            st.one_of(st.none(), st.sampled_from(["a", "a-1", "A"]), st.text(max_size=4)),
        ),
        max_size=20,
    )
)
def test_no_slug_is_given_twice(headings: list[tuple[str, str | None]]) -> None:
    slugger = Slugger()
    slugs = [slugger.slug(title, anchor) for title, anchor in headings]
    assert len(set(slugs)) == len(slugs)
    assert all(slug and not set(slug) & set("#~ \n") for slug in slugs)
