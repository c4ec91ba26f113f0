"""An edit in one place of a document leaves the ids of all other places alone."""

from hypothesis import given
from hypothesis import strategies as st

from contextpull.documents.markdown import read_markdown
from contextpull.sections.cutting import cut
from contextpull.sections.slugs import github_slug
from tests.properties import same_every_time

TITLES = st.sampled_from(["Setup", "Usage", "C#", "C++", "Ключ", "🚀 Launch", "A & B", "FAQ"])
BODIES = st.one_of(
    st.integers(1, 120).map(lambda count: "A sentence of the body. " * count),
    st.integers(1, 60).map(lambda count: "```\n" + "x = 1  # code\n" * count + "```"),
    st.integers(1, 90).map(lambda count: "| a | b |\n|---|---|\n" + "| cell | cell |\n" * count),
    st.just("Short."),
)
DOCUMENTS = st.lists(st.tuples(TITLES, BODIES), min_size=1, max_size=8)
Chapters = list[tuple[str, str]]


def leads(chapters: Chapters) -> list[set[str]]:
    """For every chapter, the ids that lead to where it begins."""
    text = "".join(f"## {title}\n\n{body}\n\n" for title, body in chapters)
    sections = cut(read_markdown(text.encode()))
    names = [{section.slug, *section.anchors} for section in sections]
    found, offset = [], 0
    for title, body in chapters:
        at = max(n for n, each in enumerate(sections) if each.start <= offset)
        found.append({name for name in names[at] if "~" not in name})
        offset += len(f"## {title}\n\n{body}\n\n".encode())
    return found


def own_ids(titles: list[str]) -> list[str]:
    """The ids as GitHub would number them."""
    seen: dict[str, int] = {}
    ids = []
    for title in titles:
        slug = github_slug(title)
        ids.append(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return ids


@same_every_time(150)
@given(DOCUMENTS)
def test_every_heading_is_reached_by_its_own_id(chapters: Chapters) -> None:
    expected = own_ids([title for title, _ in chapters])
    assert all(own in ids for own, ids in zip(expected, leads(chapters), strict=True))


@same_every_time(150)
@given(DOCUMENTS, BODIES, st.data())
def test_editing_a_body_keeps_the_ids_of_all_other_sections(
    chapters: Chapters, body: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(chapters) - 1))
    edited = [*chapters[:at], (chapters[at][0], body), *chapters[at + 1 :]]
    ids = own_ids([title for title, _ in chapters])
    assert all(own in found for own, found in zip(ids, leads(edited), strict=True))


@same_every_time(150)
@given(DOCUMENTS, TITLES, BODIES, st.data())
def test_a_new_heading_moves_only_ids_of_the_same_title(
    chapters: Chapters, title: str, body: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(chapters)))
    edited = [*chapters[:at], (title, body), *chapters[at:]]
    found = leads(edited)
    del found[at]
    ids = own_ids([title for title, _ in chapters])
    for (own_title, _), own, ids_found in zip(chapters, ids, found, strict=True):
        assert github_slug(own_title) == github_slug(title) or own in ids_found


def test_parts_of_other_sections_keep_their_ids() -> None:
    def slugs(first: str) -> list[str]:
        text = f"# A\n\n{first}\n\n# B\n\n" + "A sentence of the body. " * 300
        return [each.slug for each in cut(read_markdown(text.encode())) if each.slug[0] == "b"]

    assert slugs("Text. " * 20) == slugs("Other text. " * 2_000) == ["b", "b~2", "b~3", "b~4"]
