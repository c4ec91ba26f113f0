"""What a path means: a document, a folder or a glob, also when it is written a little wrong."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull.errors import PathNotFound
from contextpull.retrieval.paths import matching_documents, normal_path
from contextpull.store import Snapshot
from contextpull.store.database import new_document
from tests.conftest import Tools
from tests.properties import same_every_time

FILES = {
    path: f"# {path}\n\nThe zebra of {path} stands here, and so it is found.\n"
    for path in (
        "README.md",
        "guide/setup.md",
        "guide/deep/er/setup.md",
        "guide/brackets[1].md",
        "guide/brackets1.md",
        "[slug].md",
        "star*.md",
        "Other/Upper Case.md",
        "C#/intro.md",
        "notes.txt",
    )
}
ALL = sorted(FILES)


def documents(tools: Tools, paths: object) -> list[str]:
    session = tools(FILES)
    searched = session.call("search", {"query": "zebra", "limit": 50, "paths": paths})
    grepped = session.call("grep", {"pattern": "zebra", "limit": 50, "paths": paths})
    assert not searched.is_error, searched.text
    found = sorted(hit["path"] for hit in searched.data["hits"])
    assert sorted({match["path"] for match in grepped.data["matches"]}) == found
    return found


@pytest.mark.parametrize(
    ("paths", "meant"),
    [
        ("guide/setup.md", ["guide/setup.md"]),
        ("./guide/setup.md", ["guide/setup.md"]),
        ("/guide/setup.md", ["guide/setup.md"]),
        ("guide//setup.md/", ["guide/setup.md"]),
        ("guide\\setup.md", ["guide/setup.md"]),
        (" guide/setup.md ", ["guide/setup.md"]),
        ("Guide/SETUP.md", ["guide/setup.md"]),
        ("other/upper case.md", ["Other/Upper Case.md"]),
        ("guide/brackets[1].md", ["guide/brackets[1].md"]),
        ("[slug].md", ["[slug].md"]),
        ("star*.md", ["star*.md"]),
        ("C#", ["C#/intro.md"]),
        ("guide", [path for path in ALL if path.startswith("guide/")]),
        ("guide/", [path for path in ALL if path.startswith("guide/")]),
        ("GUIDE/deep", ["guide/deep/er/setup.md"]),
        ("setup.md", ["guide/deep/er/setup.md", "guide/setup.md"]),
        ("*.txt", ["notes.txt"]),
        ("guide/*.md", ["guide/brackets1.md", "guide/brackets[1].md", "guide/setup.md"]),
        ("guide/**/*.md", [path for path in ALL if path.startswith("guide/")]),
        ("**/setup.md", ["guide/deep/er/setup.md", "guide/setup.md"]),
        ("guide/brackets?.md", ["guide/brackets1.md"]),
        ("er", ["guide/deep/er/setup.md"]),
        ("", ALL),
        (".", ALL),
        ("**", ALL),
        ([], ALL),
        (["notes.txt", "README.md"], ["README.md", "notes.txt"]),
        (["guide", "setup.md"], [path for path in ALL if path.startswith("guide/")]),
    ],
)
def test_a_path_a_folder_and_a_glob_mean_documents(
    tools: Tools, paths: object, meant: list[str]
) -> None:
    assert documents(tools, paths) == meant


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("guide/setupp.md", "guide/setup.md"),
        ("gide", "guide/"),
        ("guide/seutp.md", "guide/setup.md"),
        ("notes.md", "notes.txt"),
    ],
)
@pytest.mark.parametrize("tool", ["search", "grep", "index"])
def test_a_path_that_means_nothing_is_an_error_that_names_what_is_near(
    tools: Tools, tool: str, path: str, nearest: str
) -> None:
    given = {
        "search": {"query": "zebra", "paths": [path]},
        "grep": {"pattern": "zebra", "paths": path},
        "index": {"path": path},
    }
    result = tools(FILES).call(tool, given[tool])
    assert result.is_error
    assert f"No document matches the path {path!r}. Closest paths: " in result.text
    assert nearest in result.text


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "guide/../README.md", "~", "..", "x" * 100_000, "\ud800", "\0"]
)
@pytest.mark.parametrize("tool", ["search", "grep", "index", "read"])
def test_a_path_never_leads_out_of_the_store(tools: Tools, tool: str, path: str) -> None:
    given = {
        "search": {"query": "zebra", "paths": [path]},
        "grep": {"pattern": "zebra", "paths": [path]},
        "index": {"path": path},
        "read": {"ids": [path]},
    }
    result = tools(FILES).call(tool, given[tool])
    assert result.is_error
    assert len(result.text) < 1_000
    assert "root:" not in result.text


def test_one_wrong_path_among_right_ones_is_an_error(tools: Tools) -> None:
    result = tools(FILES).call("search", {"query": "zebra", "paths": ["guide", "gone.md"]})
    assert "'gone.md'" in result.text


def test_a_miss_within_paths_says_that_there_is_more_elsewhere(tools: Tools) -> None:
    session = tools({"a.md": "# A\n\nOnly zebras.\n", "b.md": "# B\n\nOnly foxes.\n"})
    result = session.call("search", {"query": "foxes", "paths": "a.md"})
    assert "without paths: other documents match" in result.text
    assert "without paths" not in session.call("search", {"query": "x", "paths": "a.md"}).text


def test_among_many_documents_the_nearest_is_still_found(tools: Tools) -> None:
    files = {f"reference/class-{n:04}-overview.md": f"# C{n}\n\nText {n}.\n" for n in range(400)}
    session = tools({**files, "guide/installation.md": "# I\n\nHow it is installed.\n"})
    result = session.call("read", {"ids": "guide/instalation.md#i"})
    assert "Closest ids: guide/installation.md#i" in result.text
    result = session.call("search", {"query": "x", "paths": "referense"})
    assert "reference/" in result.text


NAMES = st.lists(
    st.sampled_from(["a", "b", "A", "ab", ".md", "\n", "ſ", "s", "["]), min_size=1
).map("".join)
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=8, unique=True)
GLOBS = st.lists(
    st.sampled_from(["*", "**", "**/", "?", "/", "a", "b", "A", ".md", "\n", "s", "["]), max_size=6
).map("".join)


def over(paths: list[str]) -> Snapshot:
    """A snapshot of which only the paths are known."""
    documents = [new_document(path, None, size=0, mtime_ns=0, digest=b"") for path in sorted(paths)]
    database: Any = SimpleNamespace(documents=lambda: documents)
    unused: Any = None
    return Snapshot(database, unused, unused)


def meant(glob: str, paths: list[str]) -> list[str]:
    """The paths that a glob means, looked at one by one."""
    glob = normal_path(glob)
    for flags in (re.DOTALL, re.DOTALL | re.IGNORECASE):
        parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        wild = "".join(
            parts.get(part, re.escape(part)) for part in re.findall(r"(?s)\*\*/|\*\*|.", glob)
        )
        anywhere = "" if "/" in glob else "(?:.*/)?"
        expression = re.compile(f"{anywhere}{wild}(?:/.*)?", flags)
        if found := [path for path in sorted(paths) if not glob or expression.fullmatch(path)]:
            return found
    return []


@same_every_time(500)
@given(PATHS, GLOBS)
def test_a_glob_means_every_path_that_matches_it_by_itself(paths: list[str], glob: str) -> None:
    try:
        found = [each.path for each in matching_documents(over(paths), [glob])]
    except PathNotFound:
        found = []
    exact = [path for path in paths if path in {glob, normal_path(glob)}][:1]
    assert found == (exact or meant(glob, paths))
