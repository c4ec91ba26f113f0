"""What of a section is searched, field by field."""

from contextpull.config import CutSettings
from contextpull.documents.markdown import read_markdown
from contextpull.sections.cutting import cut
from contextpull.sections.fields import SearchFields, search_fields

BODY = "A body that is long enough to stand alone, as most are."


def fields_of(text: str) -> list[SearchFields]:
    document = read_markdown(text.encode())
    about = f"{document.title}\n{document.description}\n{document.keywords}"
    return search_fields(cut(document, CutSettings(min_chars=0)), about)


def test_the_own_heading_and_the_outer_ones_are_searched_apart() -> None:
    fields = fields_of(f"# Guide\n\n{BODY}\n\n## Caches\n\n{BODY}\n")
    assert [each.headings for each in fields] == ["Guide", "Caches"]
    assert fields[1].context == "Guide\n"
    assert fields[1].body == f"## Caches\n\n{BODY}\n"


def test_front_matter_is_found_through_the_first_section_with_content() -> None:
    front = "---\ntitle: The Title\ndescription: What it is about.\ntags: [zebra, TX-4419]\n---\n"
    matter, first, second = fields_of(f"{front}# A\n\n{BODY}\n\n# B\n\n{BODY}\n")
    assert matter == SearchFields("", "", "", "", "")
    for part in ("The Title", "What it is about.", "zebra TX-4419"):
        assert part in first.context
        assert part not in second.context
    assert first.body == f"# A\n\n{BODY}\n\n"


def test_front_matter_in_toml_is_found_too() -> None:
    front = '+++\ntitle = "The Title"\ndescription = "About."\ntags = ["zebra"]\n+++\n'
    _, first = fields_of(f"{front}# A\n\n{BODY}\n")
    assert first.context == "The Title\nAbout.\nzebra"


def test_a_document_of_front_matter_alone_is_still_found() -> None:
    (only,) = fields_of("---\ntitle: The Title\n---\n")
    assert "The Title" in only.context


def test_short_front_matter_joins_the_first_section_and_still_speaks_for_it() -> None:
    document = read_markdown(f"---\ntitle: T\n---\n# A\n\n{BODY}\n".encode())
    (only,) = search_fields(cut(document), document.title)
    assert (only.headings, only.context) == ("A", "T")


def test_merged_headings_are_searched_as_headings() -> None:
    document = read_markdown(f"# A\n\n{BODY}\n\n## Tiny\n\nx\n".encode())
    (only,) = search_fields(cut(document), "")
    assert only.headings == "A\nTiny"


def test_names_in_the_text_and_names_that_it_defines_are_told_apart() -> None:
    text = "# `UV_CACHE_DIR`\n\nSee `--no-cache`.\n\n| Key |\n|---|\n| `tool.uv` |\n"
    (only,) = fields_of(text)
    assert only.identifiers.split() == ["UV_CACHE_DIR", "--no-cache", "no-cache", "tool.uv"]
    assert only.definitions.split() == ["UV_CACHE_DIR", "Key", "tool.uv"]


def test_no_sections_have_no_fields() -> None:
    assert search_fields([], "about") == []
