"""What is too long for one result can be read to its end."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.retrieval.rendering import MOST_CHARS
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import Tools, write_corpus
from tests.properties import same_every_time

CUT = re.compile(
    r"\n\[cut: characters [\d,]+ to [\d,]+ of [\d,]+; go on with the same ids and offset=(\d+)\]\Z"
)


def read_pages(session: ToolSession, **arguments: object) -> list[str]:
    """The pages of one reading, followed by their hints, without the hints."""
    pages = []
    offset = 0
    while True:
        result = session.call("read", {**arguments, "offset": offset})
        assert not result.is_error
        assert len(result.text) <= MOST_CHARS + 200
        cut = CUT.search(result.text)
        pages.append(result.text[: cut.start()] if cut else result.text)
        assert result.data["next_offset"] == (int(cut.group(1)) if cut else None)
        if not cut:
            return pages
        offset = int(cut.group(1))


def test_a_giant_line_is_read_to_its_tail(tools: Tools) -> None:
    session = tools({"a.md": "# L\n\n" + "Q" * 300_000 + " tail\n"})
    pages = read_pages(session, ids="a.md")
    assert "".join(pages).count("Q") == 300_000
    assert " tail" in pages[-1]


def test_deep_content_is_found_and_every_cut_says_so(tools: Tools) -> None:
    code = "".join(f"line {n} of the code, marker{n}\n" for n in range(700))
    session = tools({"a.md": f"# Deep\n\n```\n{code}```\n"})
    for marker in ("marker3", "marker199", "marker330", "marker690"):
        hit = session.call("search", {"query": marker}).data["hits"][0]
        assert f"{marker}\n" in "".join(read_pages(session, ids=hit["id"]))
        assert session.call("grep", {"pattern": f"{marker}$", "regex": True}).data["total"] == 1
    assert CUT.search(session.call("read", {"ids": "a.md"}).text)


def test_one_section_larger_than_a_page_reaches_programs_in_the_same_pieces(tools: Tools) -> None:
    row = "| " + "cell " * 12_000 + "|"
    text = f"# T\n\n| a |\n|---|\n{row}\n| last |\n"
    session = tools({"a.md": text})
    offset: int | None = 0
    texts: dict[str, str] = {}
    while offset is not None:
        data = session.call("read", {"ids": "a.md", "offset": offset}).data
        for section in data["sections"]:
            assert len(section["text"]) <= MOST_CHARS
            texts[section["id"]] = texts.get(section["id"], "") + section["text"]
        offset = data["next_offset"]
    assert "".join(texts.values()).count("cell") == 12_000
    assert "last" in "".join(texts.values())


def test_behind_the_end_there_is_nothing(tools: Tools) -> None:
    session = tools({"a.md": "# A\n\nShort.\n"})
    result = session.call("read", {"ids": "a.md", "offset": 10_000})
    assert result.text.startswith("Nothing left: the text ends at character ")
    assert result.data == {"sections": [], "next_offset": None}


def test_the_announcement_of_a_change_moves_no_page(tmp_path: Path) -> None:
    long = "# A\n\n" + "".join(f"Sentence number {n} of a long page. " for n in range(1_500))
    root = write_corpus(tmp_path / "docs", {"a.md": long})
    ingest(root, tmp_path / "store")
    reader, newcomer = (ToolSession(open_store(tmp_path / "store")) for _ in range(2))
    read_pages(reader, ids="a.md")
    write_corpus(root, {"a.md": long.replace("Sentence", "Phrase")})
    ingest(root, tmp_path / "store")
    pages = read_pages(reader, ids="a.md")
    assert all(page.startswith("[CHANGED since you last saw it: a.md#a") for page in pages)
    unmarked = [page.partition("\n")[2] for page in pages]
    assert "".join(unmarked) == "".join(read_pages(newcomer, ids="a.md"))


PARAGRAPHS = st.lists(
    st.sampled_from(
        ["A sentence. " * 90, "数据库。" * 400, "x" * 5_000, "- item\n" * 300, "# H\n\nT"]
    ),
    min_size=1,
    max_size=12,
)


@same_every_time(25)
@given(st.lists(PARAGRAPHS, min_size=1, max_size=3), st.integers(0, 2))
def test_the_pages_joined_are_the_whole(
    tmp_path: Path, documents: list[list[str]], context: int
) -> None:
    files = {f"{n}.md": "\n\n".join(parts) + "\n" for n, parts in enumerate(documents)}
    for old in tmp_path.glob("docs/*"):
        old.unlink()
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store", verify=True)
    session = ToolSession(open_store(tmp_path / "store"))
    whole = "".join(read_pages(session, ids=list(files), context=context))
    snapshot = open_store(tmp_path / "store").snapshot()
    at = 0
    for document in snapshot.documents.values():
        for section in snapshot.database.sections_of(document):
            text = section.text.strip("\r\n")
            begin = whole.index(text, whole.index(f"[{section.id}] ", at))
            assert begin >= at
            at = begin + len(text)
    heads = re.findall(r"^\[\d\.md#\S+\] .*\(lines \d+-\d+(?:, context)?\)$", whole, re.M)
    assert len(heads) == len(set(heads))
