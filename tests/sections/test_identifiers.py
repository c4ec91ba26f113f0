"""Names that people look up exactly are found whole, in documents and in queries alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.sections.identifiers import defined_names, identifiers
from tests.properties import same_every_time


def found(text: str) -> list[str]:
    return [name.decode() for name in identifiers(text.encode())]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("use `--no-cache` here", ["--no-cache", "no-cache"]),
        ("-h prints help", ["-h", "h"]),
        ("--index=internal-x", ["--index", "index", "internal-x"]),
        ("set UV_CACHE_DIR.", ["UV_CACHE_DIR"]),
        ("**TX-4419**: late", ["TX-4419"]),
        ("in tool.uv.sources", ["tool.uv.sources"]),
        ("C++, C# and F#.", ["C++", "C#", "F#"]),
        ("C++17", ["C++17"]),
        (".NET and .env files", [".NET", "NET", ".env", "env"]),
        ("Python 3.12 or 3.12.1-rc.1", ["3.12", "3.12.1-rc.1"]),
        ("a std::vector<int>", ["std::vector"]),
        ("self->next", ["self->next"]),
        ("npm install @types/node", ["@types", "types"]),
        ("node@18", ["node@18"]),
        ("$HOME", ["$HOME", "HOME"]),
        ("__init__ and x86_64", ["__init__", "x86_64"]),
        ("ключ-доступа", ["ключ-доступа"]),
        ("127.0.0.1:8080", ["127.0.0.1:8080"]),
    ],
)
def test_identifiers_stay_whole(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    ["plain words only", "", "don't", "1,000", "GB/s", "a -- b", "- item", "end. Next", "_", "***"],
)
def test_words_are_no_identifiers(text: str) -> None:
    assert found(text) == []


def test_where_links_lead_is_passed_over() -> None:
    assert found("[the docs](../some-page.md#a-b) at https://example.com/x-y_z") == []
    assert found("[`--flag`](a-b.md)") == ["--flag", "flag"]


@pytest.mark.parametrize("fence", ["```", "````", "`````", "~~~"])
def test_fenced_blocks_are_passed_over(fence: str) -> None:
    block = f"{fence}sh\nuv pip-sync --x-y\n{fence}"
    assert found(f"before-it\n\n{block}\n\nafter-it") == ["before-it", "after-it"]


def test_a_fence_within_a_longer_fence_does_not_end_it() -> None:
    assert found("````md\n```\na-b\n```\n````\nc-d") == ["c-d"]


def test_an_unclosed_fence_is_passed_over_to_the_end() -> None:
    assert found("a-b\n```\nc-d\n\ne-f") == ["a-b"]


def test_endless_names_are_left_out() -> None:
    assert found("a-" * 100 + "b c-d") == ["c-d"]


@same_every_time(300)
@given(st.one_of(st.text(alphabet="ab-_.:@$+#>`~[](é1 \n", max_size=80), st.text(max_size=80)))
def test_every_identifier_occurs_in_the_text(text: str) -> None:
    for name in found(text):
        assert name in text
        assert name.split() == [name]


@same_every_time(200)
@given(st.from_regex(r"\A[a-z]{1,5}([-._]|::|->)[a-z]{1,5}\Z"), st.sampled_from(" \n,;\"'|*"))
def test_an_identifier_is_the_same_alone_and_in_a_sentence(name: str, edge: str) -> None:
    assert found(name) == [name]
    assert found(f"say{edge}{name}{edge}now") == [name]


def defined(text: str) -> list[str]:
    return [name.decode() for name in defined_names(text.encode())]


def test_rows_lists_and_terms_define_names() -> None:
    table = (
        "| Option | Meaning |\n|:--|---|\n| `--flag` | x |\n| **bold_key** | y |\n| two words | z |"
    )
    assert defined(table) == ["Option", "--flag", "bold_key"]
    assert defined("| only_row | x |") == ["only_row"]
    assert defined("  | nested | x |") == ["nested"]
    items = "- `one`: first\n* `two` second\n+ `three`\n- **`four`**\n- plain `five`\n- `two words`"
    assert defined(items) == ["one", "two", "three", "four"]
    assert defined("<dl>\n<dt><code>term</code></dt>\n<dt id='x'>other</dt>") == ["term", "other"]


def test_running_text_defines_nothing() -> None:
    assert defined("Text with a | pipe and `code`.\n\n1. `numbered`") == []
    assert defined("") == []


@same_every_time(300)
@given(st.text(alphabet="ab|`-*+ <dt>é\n", max_size=80))
def test_every_defined_name_occurs_in_the_text(text: str) -> None:
    for name in defined(text):
        assert name in text
        assert " " not in name
