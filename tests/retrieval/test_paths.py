"""What a path means: a document, a folder or a glob, also when it is written a little wrong."""

import pytest

from tests.conftest import Tools

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
