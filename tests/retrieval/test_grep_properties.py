"""Grep agrees with reading every line of every file."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.retrieval import grep as grepping
from contextpull.retrieval import scanning
from contextpull.retrieval.grep import grep
from contextpull.store.ingest import ingest
from tests.conftest import write_corpus
from tests.properties import same_every_time

LINE = st.lists(
    st.sampled_from(
        ["ab", "b", "a a", "# ", "## ", "- ", "    ", "| a | b |", "|---|---|", "```", "a.b", "1. "]
    ),
    max_size=5,
).map("".join)
DOCUMENT = st.lists(LINE, max_size=30)
LITERALS = st.sampled_from(["a", "b", "ab", "a a", "a.b", "#", "- ", "|", " b", "```", "zz"])
EXPRESSIONS = st.sampled_from(
    ["a", "^a", "b$", "^$", "a.*b", "[^a]b", r"\bab\b", "a|b", "(?:ab)+", r"^\s+a", "a?b$", "x*"]
)
Lines = list[tuple[str, int]]


def found_by_grep(
    folder: Path, documents: dict[str, list[str]], pattern: str, regex: bool
) -> Lines:
    for old in folder.glob("docs/*"):
        old.unlink()
    files = {path: "\n".join(lines) for path, lines in documents.items()}
    ingest(write_corpus(folder / "docs", files), folder / "store", verify=True)
    result = grep(
        open_store(folder / "store").snapshot(),
        pattern,
        regex=regex,
        ignore_case=False,
        limit=grepping.MOST_LINES,
    )
    return [(match.section.path, match.lines[0].number) for match in result.matches]


def found_by_reading(documents: dict[str, list[str]], matches: re.Pattern[str]) -> Lines:
    """Line by line, as `grep -n` does: what follows the last line end is a line if not empty."""
    found = []
    for path, lines in sorted(documents.items()):
        if any(line.strip() for line in lines):  # others hold no text and are left out
            whole = lines[:-1] if lines[-1] == "" else lines
            found += [(path, at) for at, line in enumerate(whole, 1) if matches.search(line)]
    return found[: grepping.MOST_LINES]


@same_every_time(50)
@given(DOCUMENT, DOCUMENT, LITERALS)
def test_literals_are_found_where_reading_finds_them(
    tmp_path: Path, one: list[str], other: list[str], pattern: str
) -> None:
    documents = {"a.md": one, "b.md": other}
    found = found_by_grep(tmp_path, documents, pattern, regex=False)
    assert found == found_by_reading(documents, re.compile(re.escape(pattern)))


@same_every_time(50)
@given(DOCUMENT, DOCUMENT, EXPRESSIONS)
def test_expressions_are_found_where_python_finds_them(
    tmp_path: Path, one: list[str], other: list[str], pattern: str
) -> None:
    documents = {"a.md": one, "b.txt": other}
    found = found_by_grep(tmp_path, documents, pattern, regex=True)
    assert found == found_by_reading(documents, re.compile(pattern))


WIDE = st.lists(
    st.sampled_from(["x" * 700, "words and more ", "é" * 300, "数据 ", ". "]), max_size=9
)


@same_every_time(30)
@given(st.lists(WIDE.map("".join), min_size=1, max_size=25), st.sampled_from(["\n", "\r\n"]))
def test_line_numbers_are_right_where_long_lines_are_cut_into_sections(
    tmp_path: Path, lines: list[str], line_end: str
) -> None:
    numbered = [f"{line}needle{at};" for at, line in enumerate(lines, 1)]
    write_corpus(tmp_path / "docs", {"a.md": line_end.join(["# Top", *numbered, ""])})
    ingest(tmp_path / "docs", tmp_path / "store", verify=True)
    snapshot = open_store(tmp_path / "store").snapshot()
    for at in range(1, len(lines) + 1):
        (match,) = grep(snapshot, f"needle{at};").matches
        assert match.lines[0].number == at + 1
        assert f"needle{at};" in match.section.text


def test_threads_find_what_one_finds(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    files = {f"{n:02}.txt": "".join(f"line {n} {m % 17}\n" for m in range(400)) for n in range(20)}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    given_ = [("line 7 3", {}), ("3$", {"regex": True}), ("line", {"paths": ["01.txt", "1?.txt"]})]
    alone = [grep(snapshot, pattern, limit=100, **more) for pattern, more in given_]
    monkeypatch.setattr(scanning, "_PIECE", 2_000)
    monkeypatch.setattr(scanning, "_WINDOW", 100)
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    assert [grep(snapshot, pattern, limit=100, **more) for pattern, more in given_] == alone
