"""The metadata block at the head of a file, and what is none."""

import pytest

from contextpull.documents.front_matter import FrontMatter, front_matter
from contextpull.documents.markdown import read_markdown


def matter_of(text: str) -> FrontMatter:
    matter = front_matter(text)
    assert matter is not None
    return matter


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_yaml_gives_title_description_and_keywords(line_end: str) -> None:
    lines = ["---", "title: The Title", "description: About: it", "tags: [a, TX-1]", "v: 1.10"]
    lines[2] = "description: 'About: it'"
    text = line_end.join([*lines, "---", "# A", ""])
    matter = matter_of(text)
    assert text[matter.end :].startswith("# A")
    assert (matter.title, matter.description) == ("The Title", "About: it")
    assert matter.keywords == "a TX-1 1.10"
    assert matter.warnings == ()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_toml_gives_title_description_and_keywords(line_end: str) -> None:
    lines = ["+++", 'title = "The Title"', 'summary = "About"', "[taxonomies]", 'tags = ["a", "b"]']
    text = line_end.join([*lines, "+++", "# A", ""])
    matter = matter_of(text)
    assert text[matter.end :].startswith("# A")
    assert (matter.title, matter.description, matter.keywords) == ("The Title", "About", "a b")


def test_front_matter_is_a_block_of_its_own() -> None:
    document = read_markdown(b"---\ntitle: T\n---\n# A\n")
    assert [(block.kind, block.start, block.end) for block in document.blocks] == [
        ("front matter", 0, 17),
        ("heading", 17, 21),
    ]
    assert document.title == "T"


def test_three_dots_and_the_end_of_the_file_close_the_block() -> None:
    assert matter_of("---\ntitle: T\n...\ntext").end == 17
    assert matter_of("---\ntitle: T\n---").title == "T"


def test_a_byte_order_mark_hides_nothing() -> None:
    assert read_markdown("\ufeff---\ntitle: T\n---\n".encode()).title == "T"


def test_an_empty_block_is_front_matter() -> None:
    assert front_matter("---\n---\ntext") == FrontMatter(8)
    assert front_matter("+++\n+++\ntext") == FrontMatter(8)


def test_broken_yaml_keeps_its_plain_lines_and_warns() -> None:
    matter = matter_of("---\ntitle: Rust: the book\ntags: [a\nowner: me\n---\ntext")
    assert matter.title == "Rust: the book"
    assert "me" in matter.keywords
    assert "front matter is not valid YAML" in matter.warnings[0]


def test_broken_yaml_may_begin_with_a_comment() -> None:
    assert matter_of("---\n# by hand\ntitle: a: b\n---\n").title == "a: b"


def test_broken_toml_warns() -> None:
    matter = matter_of("+++\ntitle = \n+++\ntext")
    assert "front matter is not valid TOML" in matter.warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nSome prose.\n\n---\n",
        "---\n- a\n- b\n---\n",
        "---\n\n# Chapter\n\nNote: this: is prose\n\n---\n",
        "---\ntitle: never closed\n",
        "----\ntitle: T\n----\n",
        "text\n---\ntitle: T\n---\n",
        " ---\ntitle: T\n---\n",
        "***\ntitle: T\n***\n",
        "",
    ],
)
def test_a_thematic_break_is_no_front_matter(text: str) -> None:
    assert front_matter(text) is None


def test_headings_between_thematic_breaks_are_headings() -> None:
    document = read_markdown(b"---\n\n# Chapter\n\nNote: this: is prose\n\n---\n")
    assert [block.title for block in document.blocks if block.kind == "heading"] == ["Chapter"]


def test_values_that_are_no_text_are_passed_over() -> None:
    assert matter_of("---\ntitle: [a, b]\ndescription: {c: d}\n---\n").title == ""
    matter = matter_of("+++\ndate = 2024-01-01\nweight = 5\ndraft = true\nslug = 's'\n+++\n")
    assert matter.keywords == "s"


ALIASES = "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{f'*{chr(97 + n)},' * 9}]\n" for n in range(20))
HOSTILE_YAML = [
    "a: &a [x,x,x,x,x,x,x,x,x]\n" + ALIASES,
    "a: " + "[" * 50_000 + "]" * 50_000 + "\n",
    "a: " + "{a: " * 50_000 + "}" * 50_000 + "\n",
    "- " * 50_000 + "a\n",
    "? [a, b]\n: c\n",
    "a: &a\n  b: *a\n",
    "a: !!python/object/apply:os.system ['true']\n",
    "".join(f"key{number}: value\n" for number in range(20_000)),
    "a: : b " + " " * 50_000 + "x\nkey: value\n",
]


@pytest.mark.parametrize("source", HOSTILE_YAML, ids=range(len(HOSTILE_YAML)))
def test_hostile_yaml_has_a_bounded_end(source: str) -> None:
    document = read_markdown(f"---\n{source}---\n# A\n".encode())
    assert len(document.keywords) <= 500 * 1_001
    assert document.blocks[-1].title == "A"


HOSTILE_TOML = [
    "a = " + "[" * 50_000 + "]" * 50_000 + "\n",
    "a." * 50_000 + "b = 1\n",
    "[" + "a." * 50_000 + "b]\n",
    "a = " + "9" * 50_000 + "\n",
    "".join(f"key{number} = 'value'\n" for number in range(10_000)),
]


@pytest.mark.parametrize("source", HOSTILE_TOML, ids=range(len(HOSTILE_TOML)))
def test_hostile_toml_has_a_bounded_end(source: str) -> None:
    document = read_markdown(f"+++\n{source}+++\n# A\n".encode())
    assert len(document.keywords) <= 500 * 1_001
    assert document.blocks[-1].title == "A"
