"""The four tools: what they are called, what they accept, and what they say when it is wrong."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.retrieval.rendering import MOST_CHARS
from contextpull.store.ingest import ingest
from contextpull.tools import TOOLS, ToolSession, call, to_anthropic, to_mcp, to_openai
from tests.conftest import tools_over, write_corpus
from tests.properties import same_every_time

MOST = MOST_CHARS + 500
FILES = {
    "guide.md": "# Guide\n\nClear the cache with `--no-cache`, and read on.\n",
    "notes.txt": "Some notes about the cache.\n",
}
BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> ToolSession:
    return tools_over(tmp_path_factory.mktemp("tools"), FILES)


def test_there_are_four_tools() -> None:
    assert [tool.name for tool in TOOLS] == ["search", "grep", "read", "index"]


@pytest.mark.parametrize("tool", TOOLS, ids=BY_NAME)
def test_the_example_of_a_tool_is_a_call_that_it_accepts(tool: Any) -> None:
    jsonschema.validate(tool.example, tool.schema)
    tool.arguments.model_validate(tool.example)


@pytest.mark.parametrize("tool", TOOLS, ids=BY_NAME)
def test_schemas_are_valid_and_as_small_as_they_can_be(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    written = json.dumps(tool.schema)
    assert not any(noise in written for noise in ('"title"', "anyOf", "$defs", "$ref"))
    assert len(written) + len(tool.description) < 1_100


def test_every_host_gets_the_same_tools_in_its_own_shape() -> None:
    expected = [(tool.name, tool.description, tool.schema) for tool in TOOLS]
    shapes = [
        (to_anthropic(), {"name", "description", "input_schema"}),
        (to_openai(), {"type", "name", "description", "parameters", "strict"}),
        (
            [each["function"] for each in to_openai(chat=True)],
            {"name", "description", "parameters"},
        ),
        (to_mcp(), {"name", "description", "inputSchema"}),
    ]
    for definitions, keys in shapes:
        assert all(definition.keys() == keys for definition in definitions)
        (schema,) = keys & {"input_schema", "parameters", "inputSchema"}
        found = [(each["name"], each["description"], each[schema]) for each in definitions]
        assert found == expected
    assert {(each["type"], each["strict"]) for each in to_openai()} == {("function", False)}
    assert {each["type"] for each in to_openai(chat=True)} == {"function"}


@pytest.mark.parametrize(
    ("tool", "arguments", "part"),
    [
        ("search", {}, "the argument 'query' is missing"),
        ("grep", {"regex": True}, "the argument 'pattern' is missing"),
        ("read", {}, "the argument 'ids' is missing"),
        ("search", {"query": "x", "in": "a.md"}, "there is no argument 'in' (the arguments are "),
        (
            "index",
            {"prefix": "a"},
            "there is no argument 'prefix' (the arguments are path, offset)",
        ),
        ("search", {"query": 5}, "'query' must be a string, not 5"),
        ("search", {"query": None}, "'query' must be a string, not null"),
        ("search", {"query": ""}, "'query': String should have at least 1 character"),
        ("search", {"query": "x", "limit": "5"}, "'limit' must be an integer, not \"5\""),
        ("search", {"query": "x", "limit": True}, "'limit' must be an integer, not true"),
        ("search", {"query": "x", "limit": 2.5}, "'limit' must be an integer, not 2.5"),
        ("search", {"query": "x", "limit": 0}, "'limit' must be greater than or equal to 1, not 0"),
        ("search", {"query": "x", "limit": 51}, "'limit' must be less than or equal to 50, not 51"),
        ("search", {"query": "x", "offset": -1}, "'offset' must be greater than or equal to 0"),
        ("search", {"query": "x", "paths": 1}, "'paths' must be a string or a list of strings"),
        ("search", {"query": "x", "paths": [1]}, "'paths' must be a string, not 1"),
        (
            "search",
            {"query": "x", "paths": ["a"] * 51},
            "'paths': List should have at most 50 items",
        ),
        ("grep", {"pattern": "x", "regex": "yes"}, "'regex' must be a boolean, not \"yes\""),
        ("grep", {"pattern": "x", "ignore_case": 1}, "'ignore_case' must be a boolean, not 1"),
        ("grep", {"pattern": "x", "context": 11}, "'context' must be less than or equal to 10"),
        ("read", {"ids": []}, "'ids': List should have at least 1 item"),
        ("read", {"ids": {"a": 1}}, "'ids' must be a string or a list of strings, not {\"a\": 1}"),
        ("read", {"ids": ["a"] * 51}, "'ids': List should have at most 50 items, not 51"),
        ("index", {"path": ["a"]}, "'path' must be a string, not [\"a\"]"),
        ("index", {"offset": None}, "'offset' must be an integer, not null"),
        ("search", {"query": 1, "limit": 0}, "'query' must be a string, not 1; 'limit' must be"),
    ],
)
def test_a_wrong_argument_gets_a_sentence_that_names_it_and_a_call_that_is_right(
    session: ToolSession, tool: str, arguments: dict[str, Any], part: str
) -> None:
    result = session.call(tool, arguments)
    assert result.is_error
    assert result.data == {"error": result.text}
    assert part in result.text
    assert result.text.endswith(f"A call that works: {tool}({json.dumps(BY_NAME[tool].example)})")
    assert "pydantic" not in result.text
    assert "http" not in result.text


@pytest.mark.parametrize("name", ["neighbours", "", "Search", "search ", "x" * 100_000])
def test_an_unknown_tool_is_told_which_there_are(session: ToolSession, name: str) -> None:
    result = session.call(name, {"query": "x"})
    assert result.is_error
    assert result.text.endswith("The tools are search, grep, read, index.")
    assert len(result.text) < 200


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "cache", "paths": "notes.txt", "limit": 3.0}),
        ("grep", {"pattern": "cache", "paths": "notes.txt", "ignore_case": None}),
        ("read", {"ids": "notes.txt"}),
    ],
)
def test_a_list_of_one_may_be_written_as_a_string(
    session: ToolSession, tool: str, arguments: dict[str, Any]
) -> None:
    jsonschema.validate(arguments, BY_NAME[tool].schema)
    result = session.call(tool, arguments)
    assert "Some notes about the cache." in result.text
    assert "guide.md" not in result.text


@pytest.mark.parametrize("tool", TOOLS, ids=BY_NAME)
def test_what_programs_get_is_what_the_output_schema_says(session: ToolSession, tool: Any) -> None:
    calls: dict[str, dict[str, Any]] = {
        "search": {"query": "cache"},
        "grep": {"pattern": "cache", "context": 1},
        "read": {"ids": ["guide.md#guide", "notes.txt"]},
        "index": {},
    }
    data = session.call(tool.name, calls[tool.name]).data
    jsonschema.validate(data, tool.output_schema)
    assert data.keys() == tool.output_schema["properties"].keys()
    json.dumps(data)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 120)
    | st.sampled_from([0.0, 1.0, 1.5, 50.0, 51.0, 10**6, 10.0**6, -1.0])
    | st.sampled_from(["", "a", "cache", "guide.md"])
    | st.lists(st.sampled_from(["a", "guide.md", 1, None, ""]), max_size=3)
    | st.just(["a"] * 51)
    | st.just({})
)
NAMES = sorted({name for tool in TOOLS for name in tool.schema["properties"]})


@same_every_time(600)
@given(st.sampled_from(TOOLS), st.dictionaries(st.sampled_from([*NAMES, "x"]), VALUES, max_size=4))
def test_the_dispatcher_accepts_exactly_what_the_schema_says(
    session: ToolSession, tool: Any, arguments: dict[str, Any]
) -> None:
    if "required" in tool.schema and "x" not in arguments:
        arguments = {tool.schema["required"][0]: "cache", **arguments}
    is_valid = jsonschema.Draft202012Validator(tool.schema).is_valid(arguments)
    refused = "A call that works: " in session.call(tool.name, arguments).text
    assert refused != is_valid


HOSTILE = {
    "x" * 200 + "/" + "y" * 200 + ".md": "needle\n\n".join(
        f"{'#' * level} {'heading ' * 37}{level}\n\n" for level in range(1, 7)
    )
    + "the needle stands here\n",
    "code.md": "# Code\n\n```\n" + ("needle " + "z" * 400 + "\n") * 1_500 + "```\n",
    "rows.md": "# Rows\n\n| a |\n|---|\n" + ("| needle " + "w " * 3_000 + "|\n") * 9,
    "wide.md": "# Wide\n\n" + "数据 needle 🐘 " * 20_000 + "\n",
    "short.txt": "needle\n" * 5_000,
    "list.md": "".join(f"- needle `name_{n}` {'of a thing ' * 30}\n" for n in range(300)),
    "heads.md": "".join(
        f"# needle {n} {'long ' * 50}\n\nBody {n} with a needle.\n\n" for n in range(200)
    ),
    **{
        f"same/{n}{'-copy' * 30}.md": "# Same\n\nThe needle is the same in all of these.\n"
        for n in range(60)
    },
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    settings = CutSettings(hard_max_chars=10**7)
    ingest(write_corpus(folder / "docs", HOSTILE), folder / "store", settings)
    return folder / "store"


@pytest.mark.parametrize("snippets", ["heading", "short", "full"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "needle", "limit": 50}),
        ("search", {"query": "needle", "limit": 50, "offset": 40}),
        ("search", {"query": "same needle copies", "limit": 50}),
        ("grep", {"pattern": "needle", "limit": 100}),
        ("grep", {"pattern": "needle", "limit": 100, "context": 10}),
        ("grep", {"pattern": "needle", "limit": 100, "context": 10, "paths": "rows.md"}),
        ("grep", {"pattern": "name_", "limit": 100, "context": 3}),
        ("grep", {"pattern": "Body", "limit": 100, "context": 10}),
        ("read", {"ids": list(HOSTILE)[:7], "context": 5}),
        ("read", {"ids": "code.md", "offset": 16_000}),
        ("read", {"ids": "no/" + "x" * 100_000}),
        ("index", {}),
        ("index", {"path": "heads.md"}),
        ("index", {"path": "x" * 200}),
        ("index", {"path": next(iter(HOSTILE))}),
        ("index", {"path": "same"}),
        ("index", {"path": "q" * 100_000}),
        ("search", {"q" * 100_000: 1, "r" * 100_000: 2}),
        ("search", {"query": "x", "paths": ["p" * 100_000]}),
        ("grep", {"pattern": "(" + "x" * 900, "regex": True}),
    ],
)
def test_no_result_is_larger_than_a_host_takes(
    hostile: Path, snippets: Any, tool: str, arguments: dict[str, Any]
) -> None:
    session = ToolSession(open_store(hostile), snippets)
    for _ in range(2):  # the second time with everything seen before
        result = session.call(tool, arguments)
        assert len(result.text) <= MOST
        assert len(json.dumps(result.data, ensure_ascii=False)) <= 4 * MOST


def test_matches_that_did_not_fit_are_on_the_next_pages(hostile: Path) -> None:
    session = ToolSession(open_store(hostile))
    given_ = {"pattern": "name_", "limit": 100, "context": 1}
    seen: list[str] = []
    while True:
        result = session.call("grep", {**given_, "offset": len(seen)})
        seen += [
            line["text"].split("`")[1]
            for match in result.data["matches"]
            for line in match["lines"]
            if line["is_match"]
        ]
        if "More: offset=" not in result.text:
            break
        assert result.text.endswith(f"More: offset={len(seen)}")
    assert seen == [f"name_{n}" for n in range(300)]


def test_hits_that_did_not_fit_are_on_the_next_page(hostile: Path) -> None:
    session = ToolSession(open_store(hostile), "full")
    first = session.call("search", {"query": "needle", "limit": 50})
    shown = len(first.data["hits"])
    assert 0 < shown < 50
    assert first.data["has_more"]
    assert first.text.endswith(f"More: offset={shown}")
    second = session.call("search", {"query": "needle", "limit": 50, "offset": shown})
    assert second.text.startswith(f"{shown + 1}. ")
    ids = [hit["id"] for result in (first, second) for hit in result.data["hits"]]
    assert len(ids) == len(set(ids))


def test_an_error_leaves_the_session_usable(session: ToolSession) -> None:
    assert session.call("read", {"ids": "gone.md"}).is_error
    assert not session.call("read", {"ids": "guide.md"}).is_error


@pytest.mark.parametrize(
    "arguments", [{"query": "cache", "limit": 1}, '{"query": "cache", "limit": 1}']
)
def test_a_call_without_a_session_gives_what_a_session_gives(
    tmp_path: Path, arguments: Any
) -> None:
    expected = tools_over(tmp_path, FILES).call("search", {"query": "cache", "limit": 1})
    store = open_store(tmp_path / "store")
    assert call(store, "search", arguments) == expected


def test_a_call_without_arguments_may_have_none_at_all(session: ToolSession) -> None:
    assert session.call("index", "") == session.call("index", {})


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("{oops", '"{oops"'),
        ('"cache"', '"cache"'),
        ("[1, 2]", "[1, 2]"),
        ("null", "null"),
        ("[" * 100_000, '"' + "[" * 58 + "…"),
        (["cache"], '["cache"]'),
        (None, "null"),
        (5, "5"),
    ],
)
def test_arguments_that_are_no_object_are_told_so(
    session: ToolSession, arguments: Any, shown: str
) -> None:
    result = session.call("search", arguments)
    assert result.is_error
    assert f"search: the arguments must be one JSON object, not {shown}. A call" in result.text


def test_only_a_session_tells_that_text_it_has_shown_was_changed(tmp_path: Path) -> None:
    session = tools_over(tmp_path, FILES)
    store = open_store(tmp_path / "store")
    before = session.call("read", {"ids": "notes.txt"})
    write_corpus(tmp_path / "docs", {"notes.txt": "Other notes about the cache.\n"})
    ingest(tmp_path / "docs", tmp_path / "store")
    after = session.call("read", {"ids": "notes.txt"})
    alone = call(store, "read", {"ids": "notes.txt"})
    assert "Other notes" in after.text
    assert after.data == alone.data != before.data
    assert "CHANGED" in after.text
    assert "CHANGED" not in alone.text
