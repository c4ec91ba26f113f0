"""Where sections begin, what they are called, and what joins what."""

from itertools import pairwise

import pytest

from contextpull.config import CutSettings
from contextpull.documents.markdown import read_markdown
from contextpull.sections.cutting import cut
from contextpull.types import Section

SPLIT_ALL = CutSettings(min_chars=0)
BODY = "A body that is long enough to stand alone, as most are."


def sections_of(text: str, settings: CutSettings = SPLIT_ALL) -> list[Section]:
    return cut(read_markdown(text.encode()), settings)


def slugs(text: str, settings: CutSettings = SPLIT_ALL) -> list[str]:
    return [section.slug for section in sections_of(text, settings)]


def test_fences_setext_duplicates_and_sharp_signs_give_five_sections() -> None:
    text = "# Real\n\n```python\n# not heading\n```\n\nTitle\n=====\n\n## Setup\n## Setup\n## C#"
    sections = sections_of(text)
    assert [section.slug for section in sections] == ["real", "title", "setup", "setup-1", "c"]
    assert sections[4].headings == ("Title", "C#")


def test_an_indented_fence_holds_no_heading() -> None:
    assert slugs("# Real\n\n    ```\n    # not heading\n    ```\n\n## Next\n") == ["real", "next"]


def test_the_heading_path_is_the_chain_of_headings() -> None:
    text = "# A\n\nx\n\n### B\n\nx\n\n## C\n\nx\n\n# D\n\nx\n"
    paths = [section.heading_path for section in sections_of(text)]
    assert paths == ["A", "A > B", "A > C", "D"]


def test_text_before_the_first_heading_is_top() -> None:
    assert slugs("Intro.\n\n# Top\n\nText.\n") == ["top", "top-1"]
    assert slugs("\n\n# Top\n\nText.\n") == ["top"]


def test_link_definitions_before_the_first_heading_belong_to_it() -> None:
    sections = sections_of("[a]: b\n\n# Title\n\nText.\n")
    assert [section.slug for section in sections] == ["title"]
    assert sections[0].first_line == 1


def test_a_document_of_white_space_has_no_sections() -> None:
    assert slugs(" \n\t\n") == []
    assert slugs("") == []


def test_a_document_of_link_definitions_is_one_section() -> None:
    assert slugs("[a]: b\n[c]: d\n") == ["top"]


def test_a_heading_without_text_starts_no_section() -> None:
    assert slugs("# ![](logo.png)\n\nText.\n\n## Next\n\nText.\n") == ["top", "next"]


def test_headings_deeper_than_the_depth_start_no_section() -> None:
    text = "# A\n\nx\n\n## B\n\nx\n\n### C\n\nx\n"
    assert slugs(text, CutSettings(heading_depth=2, min_chars=0)) == ["a", "b"]


def test_a_bare_heading_joins_what_follows_and_still_leads_there() -> None:
    (section,) = sections_of(f"# A\n\n## B\n\n### C\n\n{BODY}\n", CutSettings())
    assert section.slug == "c"
    assert section.anchors == ("a", "b")
    assert section.headings == ("A", "B", "C")
    assert section.other_headings == ()


def test_a_bare_heading_of_another_branch_stays_searchable() -> None:
    (section,) = sections_of(f"## Old\n\n# New\n\n{BODY}\n", CutSettings())
    assert section.slug == "new"
    assert section.other_headings == ("Old",)


def test_a_bare_heading_joins_a_section_that_is_split_afterwards() -> None:
    text = "# A\n\n## B\n\n" + "A sentence of the body. " * 300
    sections = sections_of(text, CutSettings())
    assert sections[0].anchors == ("a",)
    assert [section.slug for section in sections][:3] == ["b", "b~2", "b~3"]


def test_a_short_section_joins_the_one_before_it() -> None:
    (section,) = sections_of(f"# A\n\n{BODY}\n\n## B\n\nTiny.\n", CutSettings())
    assert section.slug == "a"
    assert section.anchors == ("b",)
    assert section.other_headings == ("B",)


def test_a_short_beginning_joins_what_follows() -> None:
    (section,) = sections_of(f"Hi.\n\n# A\n\n{BODY}\n", CutSettings())
    assert (section.slug, section.anchors, section.first_line) == ("a", ("top",), 1)


def test_short_sections_join_only_while_there_is_room() -> None:
    text = "".join(f"# Term {number}\n\nShort.\n\n" for number in range(500))
    sections = sections_of(text, CutSettings())
    assert max(len(section.text) for section in sections) <= 2_040
    found = {name for section in sections for name in (section.slug, *section.anchors)}
    assert found == {f"term-{number}" for number in range(500)}


def test_bare_headings_join_only_while_there_is_room() -> None:
    text = "".join(f"# Term {number}\n" for number in range(500)) + f"\n{BODY}\n"
    sections = sections_of(text, CutSettings())
    assert max(len(section.text) for section in sections) <= 2_040
    found = {name for section in sections for name in (section.slug, *section.anchors)}
    assert found == {f"term-{number}" for number in range(500)}


def test_a_part_that_joins_the_part_before_repeats_no_heading() -> None:
    settings = CutSettings(max_chars=100, hard_max_chars=200, min_chars=20)
    text = "# A\n\n" + "word " * 18 + "\n\nTail.\n"
    (section,) = sections_of(text, settings)
    assert section.anchors == ("a~2",)
    assert section.other_headings == ()


def test_a_short_introduction_stays_with_the_code_that_it_introduces() -> None:
    code = "```\n" + "x = 1\n" * 500 + "```\n"
    text = f"# A\n\n{BODY}\n\n## Example\n\nUse:\n\n{code}"
    sections = sections_of(text, CutSettings())
    assert [section.slug for section in sections] == ["a", "example"]
    assert sections[1].text.startswith("## Example\n\nUse:\n\n```\n")


def test_code_is_whole_up_to_the_hard_limit_and_split_at_lines_beyond_it() -> None:
    settings = CutSettings(max_chars=200, hard_max_chars=1_000, min_chars=0)
    whole = "```\n" + "x = 1\n" * 100 + "```\n"
    (section,) = sections_of("# A\n\n" + whole, settings)
    assert section.text.endswith(whole)
    split = sections_of("# A\n\n```\n" + "x = 1\n" * 1_000 + "```\n", settings)
    assert max(len(section.text) for section in split) <= 200
    assert all(section.text.endswith("\n") for section in split)


def test_code_in_a_list_is_whole_and_keeps_its_indentation() -> None:
    settings = CutSettings(max_chars=200, hard_max_chars=1_000, min_chars=0)
    item = "- " + "word " * 30 + "\n\n    ```\n" + "    code\n" * 60 + "    ```\n\n"
    sections = sections_of(item + "- " + "next " * 30 + "\n", settings)
    starts = [section.text[:8] for section in sections]
    assert starts == ["- word w", "    ```\n", "- next n"]


def test_a_nested_item_begins_its_part_with_its_indentation() -> None:
    settings = CutSettings(max_chars=100, hard_max_chars=200, min_chars=0)
    text = "- " + "outer " * 14 + "\n" + "".join(f"  - {'inner ' * 14}\n" for _ in range(3))
    assert [section.text[:9] for section in sections_of(text, settings)][1:] == ["  - inner"] * 3


def test_prose_splits_at_paragraphs_then_sentences_then_words_then_anywhere() -> None:
    settings = CutSettings(max_chars=100, hard_max_chars=200, min_chars=0)
    for unit in ("A whole paragraph of text.\n\n", "A sentence ends. ", "word ", "x"):
        sections = sections_of(unit * (1_000 // len(unit)), settings)
        assert max(len(section.text) for section in sections) <= 100
        for before, after in pairwise(sections):
            assert before.text.endswith(unit[-2:])
            assert after.text.startswith(unit[:1])


def test_chinese_sentences_are_boundaries() -> None:
    settings = CutSettings(max_chars=100, hard_max_chars=200, min_chars=0)
    sections = sections_of("这是一个很长的句子。" * 50, settings)
    assert all(section.text.endswith("。") for section in sections)


def test_a_long_heading_is_split_like_text() -> None:
    sections = sections_of("# " + "word " * 5_000 + "\n\nText.\n", CutSettings())
    assert max(len(section.text) for section in sections) <= 2_040
    assert len(sections[0].headings[0]) <= 300


def test_many_link_definitions_behind_a_block_are_split_like_text() -> None:
    definitions = "".join(f"[x{number}]: https://example.com/{number}\n" for number in range(500))
    for before in ("# A\n\n", "```\ncode\n```\n\n", "| a |\n|---|\n| b |\n\n"):
        sections = sections_of(before + definitions, CutSettings())
        assert max(len(section.text) for section in sections) <= 2_040
        assert not any(section.repeated_header for section in sections)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_count_from_one_under_every_line_end(line_end: str) -> None:
    text = "\n".join(["---", "title: T", "---", "# A", "", "x", "", "B", "---", "", "y", ""])
    sections = sections_of(text.replace("\n", line_end))
    assert [(each.slug, each.first_line) for each in sections] == [("top", 1), ("a", 4), ("b", 8)]


def test_a_cut_between_cr_and_lf_does_not_miscount_lines() -> None:
    settings = CutSettings(max_chars=100, hard_max_chars=100, min_chars=0)
    text = "x" * 99 + "\r\n" + "y\r\n"
    sections = sections_of(text, settings)
    assert sections[0].text.endswith("x\r")
    for section in sections:
        assert section.first_line == 1 + text[: section.start].count("\n")
