"""What counts as seen is what the tools say they showed, whatever the documents say."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.eval.seen import Seen, is_replaced, seen, texts_read
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import Tools, write_corpus
from tests.properties import same_every_time
from tests.strategies import cut_settings, markdown

QUOTED = """\
# Quotes

What read gives back:

[b.md#real] B > Real (lines 1-3)
# B

A quoted sentence.

[a.md#other] A > Other (lines 3-3)
Another one, of a document that is asked for.
[previous: a.md#quotes; next: b.md#real]

[a.md#third] A > Third (lines 1-9)

## Behind

1. b.md#real | B > Real
   1. a.md#other

2 lines in 1 document.
b.md#real | B > Real
12: a line
"""
REAL = "# B\n\nA sentence.\n\n## Real\n\nAnother sentence, of some length, that is read.\n"


def shown(session: ToolSession, tool: str, **arguments: object) -> tuple[Seen, Seen]:
    """What the text of a result says was seen, and what its data says."""
    result = session.call(tool, arguments)
    assert not result.is_error, result.text
    data = result.data
    surfaced: list[str] = []
    for hit in data.get("hits", data.get("matches", ())):
        surfaced += [hit["id"], *hit.get("copies", ())[:2]]
    read = tuple(each["id"] for each in data.get("sections", ()) if each["text"])
    return seen(tool, result.text, arguments), Seen(read, tuple(dict.fromkeys(surfaced)))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"ids": ["a.md#quotes"]}),
        ("read", {"ids": ["a.md#behind", "b.md#real"]}),
        ("read", {"ids": ["b.md#real", "a.md#quotes"]}),
        ("read", {"ids": "a.md"}),
        ("read", {"ids": ["a.md", "b.md"]}),
        ("read", {"ids": ["[A.md#Quotes]"], "context": 1}),
        ("search", {"query": "quoted sentence"}),
        ("search", {"query": "document line real", "limit": 1, "offset": 1}),
        ("search", {"query": '"a quoted" sentence'}),
        ("grep", {"pattern": "b.md#real", "context": 3}),
        ("grep", {"pattern": "a", "context": 1, "limit": 3}),
        ("grep", {"pattern": "nowhere at all"}),
    ],
)
def test_a_document_that_quotes_results_adds_nothing(
    tools: Tools, tool: str, arguments: dict[str, object]
) -> None:
    session = tools({"a.md": QUOTED, "b.md": REAL})
    found, expected = shown(session, tool, **arguments)
    assert found == expected


def test_a_heading_or_path_may_look_like_a_result(tools: Tools) -> None:
    files = {
        "1. x (lines 1-2)/[y] a.md": "# C#] x (lines 1-9)\n\nText of it.\n\n"
        "## ~ | 2. b.md#c\n\nMore text.",
        "b.md": REAL,
    }
    session = tools(files)
    for tool, arguments in (
        ("read", {"ids": list(files)}),
        ("search", {"query": "text sentence"}),
        ("grep", {"pattern": "t"}),
    ):
        found, expected = shown(session, tool, **arguments)
        assert found == expected
        assert found != Seen()


def test_copies_are_seen_where_their_ids_are(tools: Tools) -> None:
    session = tools({f"{n}.md": "# Same\n\nThe very same text.\n" for n in range(5)})
    found, expected = shown(session, "search", query="same text")
    assert found == expected
    assert found.surfaced == ("0.md#same", "1.md#same", "2.md#same")


def test_a_cut_read_counts_and_its_later_pages_too(tools: Tools) -> None:
    long = "".join(f"## Part {n}\n\n" + f"Sentence {n} goes on. " * 60 + "\n\n" for n in range(30))
    session = tools({"a.md": f"# A\n\n{long}"})
    read: list[str] = []
    arguments: dict[str, object] = {"ids": "a.md"}
    while True:
        result = session.call("read", arguments)
        read += seen("read", result.text, arguments).read
        if not (offset := result.data["next_offset"]):
            break
        arguments["offset"] = offset
    snapshot = open_store(session._store.path).snapshot()
    every = [each.id for each in snapshot.database.sections_of(snapshot.documents["a.md"])]
    assert read == every
    behind = session.call("read", {"ids": "a.md", "offset": 10**6}).text
    assert seen("read", behind, {"ids": "a.md", "offset": 10**6}) == Seen()


def test_a_later_page_of_one_section_is_of_that_section(tools: Tools) -> None:
    session = tools({"a.md": "# L\n\n" + "Q" * 40_000 + "\n"})
    for arguments in ({"ids": "a.md#l", "offset": 9}, {"ids": ["a.md#l"], "offset": 9}):
        assert seen("read", session.call("read", arguments).text, arguments).read == ("a.md#l",)


def test_an_announced_change_is_no_section(tmp_path: Path) -> None:
    root = write_corpus(tmp_path / "docs", {"a.md": REAL, "b.md": REAL})
    ingest(root, tmp_path / "store")
    session = ToolSession(open_store(tmp_path / "store"))
    session.call("search", {"query": "sentence"})
    write_corpus(root, {"a.md": REAL + "\nAnd more.\n"})
    ingest(root, tmp_path / "store")
    result = session.call("read", {"ids": "a.md"})
    assert result.text.startswith("[CHANGED since")
    found, expected = shown(session, "read", ids="a.md")
    assert seen("read", result.text, {"ids": "a.md"}) == found == expected


def test_a_table_that_goes_on_is_read_behind_its_header(tools: Tools) -> None:
    rows = "".join(f"| row {n} | a cell of some length |\n" for n in range(300))
    session = tools({"a.md": f"# T\n\n| a | b |\n|---|---|\n{rows}"})
    found, expected = shown(session, "read", ids="a.md")
    assert found == expected
    assert len(found.read) > 3


def test_structured_results_count_as_their_text_does(tools: Tools) -> None:
    session = tools({"a.md": QUOTED, "b.md": REAL})
    for tool, arguments in (
        ("search", {"query": "sentence"}),
        ("grep", {"pattern": "sentence"}),
        ("read", {"ids": ["a.md", "b.md#real"]}),
        ("index", {}),
    ):
        result = session.call(tool, arguments)
        assert seen(tool, json.dumps(result.data), arguments) == seen(tool, result.text, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "<persisted-output>\nOutput too large (60.2KB). Full output saved to: /x/y.json\n\n"
        "Preview (first 2KB):\n[a.md#b] A > B (lines 1-1)\nText\n",
        "Error: result (120,004 characters across 3,159 lines) exceeds maximum allowed tokens."
        " Output has been saved to /x/y.txt.\n[a.md#b] A > B (lines 1-1)\nText",
    ],
)
def test_what_a_host_kept_from_the_model_was_not_seen(text: str) -> None:
    assert is_replaced(text)
    assert seen("read", text, {"ids": ["a.md#b"]}) == Seen()
    assert seen("search", text.replace("[a.md#b] A", "1. a.md#b | A")) == Seen()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[doc#s1] The limit is 7.", ("doc#s1",)),
        ("[doc#s2] The limit is 7.", ()),
        ("The limit is 7 [doc#s1].", ()),
        ("", ()),
        ("[", ()),
        ("{", ()),
        ('{"sections": 3}', ()),
        ('{"sections": [3, {"id": 4, "text": "x"}, {"id": "doc#s1", "text": ""}]}', ()),
        ("[" * 100_000, ()),
    ],
)
def test_of_another_servers_read_only_asked_ids_count(text: str, read: tuple[str, ...]) -> None:
    assert seen("read", text, {"id": "doc#s1"}) == Seen(read=read)


@pytest.mark.parametrize("arguments", [None, "x", [1], {"ids": None}, {"ids": [3]}, {"ids": ""}])
def test_arguments_of_any_kind_do(arguments: object) -> None:
    text = "[a.md#b] A > B (lines 1-1)\nText\n[next: a.md#c]"
    assert seen("read", text, arguments).read == ("a.md#b",)
    assert seen("other", text, arguments) == Seen()


def test_pages_of_heads_alone_take_no_time() -> None:
    heads = "[a.md#b] A > B (lines 1-9000)\n\n" * 500
    assert seen("read", heads, {"ids": "a.md"}).read == ("a.md#b",)
    assert seen("read", "[a.md#b] A (lines 1-1)\n" + "[#x] " * 3_000, {"ids": "a.md"}).read
    assert seen("search", "1. " + "#a | " * 3_000).surfaced


@same_every_time(40)
@given(st.lists(markdown(), min_size=1, max_size=3), cut_settings(), st.integers(0, 2), st.data())
def test_any_documents_are_read_as_their_data_says(
    tmp_path: Path, texts: list[str], settings: CutSettings, context: int, data: st.DataObject
) -> None:
    files = {f"{n}.md": text for n, text in enumerate(texts)}
    for old in tmp_path.glob("docs/*"):
        old.unlink()
    root = write_corpus(tmp_path / "docs", {**files, "last.md": QUOTED})
    ingest(root, tmp_path / "store", settings=settings, verify=True)
    session = ToolSession(open_store(tmp_path / "store"))
    snapshot = open_store(tmp_path / "store").snapshot()
    sections = [
        section
        for document in snapshot.documents.values()
        for section in snapshot.database.sections_of(document)
    ]
    every = [*(section.id for section in sections), *snapshot.documents]
    ids = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=6))
    found, expected = shown(session, "read", ids=ids, context=context)
    assert set(found.read) <= set(expected.read)
    # A head counts blank lines before its text, which are not shown, and lines that end at CR;
    # either may hide the section behind it.
    plain = [each.text.replace("\r\n", "\n") for each in sections]
    if not any(text.startswith("\n") or "\r" in text for text in plain):
        assert found == expected
    for tool, arguments in (
        ("search", {"query": "cache sentence row comment"}),
        ("grep", {"pattern": "e", "context": context}),
    ):
        found, expected = shown(session, tool, **arguments)
        assert found == expected


def test_the_texts_that_were_read_are_those_of_the_sections_whatever_they_quote(
    tools: Tools,
) -> None:
    session = tools({"a.md": QUOTED, "b.md": REAL})
    arguments = {"ids": ["a.md#quotes", "b.md#b", "b.md#real"]}
    result = session.call("read", arguments)
    found = texts_read(result.text, arguments)
    sections = {each["id"]: each["text"].strip("\n") for each in result.data["sections"]}
    assert found == sections
    assert {"a.md#quotes", "b.md#real"} <= found.keys()
    of_data = texts_read(json.dumps(result.data), arguments)
    assert {name: text.strip("\n") for name, text in of_data.items()} == sections


def test_a_section_that_a_page_was_cut_in_has_no_text(tools: Tools) -> None:
    line = "A sentence of some length, again and again.\n"
    session = tools({f"{name}.md": f"# {name}\n\n{line * 40}" for name in "abcdefghijkl"})
    ids = [f"{name}.md#{name}" for name in "abcdefghijkl"]
    result = session.call("read", {"ids": ids})
    assert "[cut: " in result.text
    found = texts_read(result.text, {"ids": ids})
    assert found
    assert set(found) < set(ids)
    assert all(text == f"# {name[0]}\n\n{line * 40}".strip() for name, text in found.items())


@pytest.mark.parametrize(
    "text", ["", "no head", "{", '{"sections": 1}', '{"sections": [1, {"id": "a"}]}', "[a.md#b] x"]
)
def test_what_is_no_result_of_read_has_no_texts(text: str) -> None:
    assert texts_read(text) == {}
