"""Ignore files leave out what git would leave out, and vendored folders come back when named."""

from pathlib import Path

import pytest

from contextpull.documents.discovery import SkippedFile, discover
from tests.conftest import write_corpus

FILES = ("a.md", "b.md", "docs/a.md", "docs/b.md", "docs/deep/a.md", "other/a.md", "other/b.txt")


def found(root: Path, rules: dict[str, str], files: tuple[str, ...] = FILES) -> list[str]:
    write_corpus(root, {**dict.fromkeys(files, "text"), **rules})
    return [file.path for file in discover(root).files]


def left_out(root: Path, rules: dict[str, str]) -> set[str]:
    return set(FILES) - set(found(root, rules))


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".contextpullignore"])
def test_three_names_hold_patterns(tmp_path: Path, name: str) -> None:
    assert left_out(tmp_path, {name: "b.*\n"}) == {"b.md", "docs/b.md", "other/b.txt"}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("a.md", {"a.md", "docs/a.md", "docs/deep/a.md", "other/a.md"}),
        ("/a.md", {"a.md"}),
        ("docs/a.md", {"docs/a.md"}),
        ("docs/", {"docs/a.md", "docs/b.md", "docs/deep/a.md"}),
        ("deep/", {"docs/deep/a.md"}),
        ("/deep/", set()),
        ("a.md/", set()),
        ("docs/*", {"docs/a.md", "docs/b.md", "docs/deep/a.md"}),
        ("docs/**", {"docs/a.md", "docs/b.md", "docs/deep/a.md"}),
        ("**/deep", {"docs/deep/a.md"}),
        ("docs/**/a.md", {"docs/a.md", "docs/deep/a.md"}),
        ("*.md\n!a.md", {"b.md", "docs/b.md"}),
        ("*.md\n!/a.md", {"b.md", "docs/a.md", "docs/b.md", "docs/deep/a.md", "other/a.md"}),
        ("!a.md\na.md", {"a.md", "docs/a.md", "docs/deep/a.md", "other/a.md"}),
        ("docs/\n!docs/a.md", {"docs/a.md", "docs/b.md", "docs/deep/a.md"}),
        ("docs/*\n!docs/a.md", {"docs/b.md", "docs/deep/a.md"}),
        ("docs/**\n!docs/**/\n!docs/**/a.md", {"docs/b.md"}),
        ("*\n!*/\n!a.md", {"b.md", "docs/b.md", "other/b.txt"}),
        ("/*\n!/docs/", {"a.md", "b.md", "other/a.md", "other/b.txt"}),
        ("*/\n!docs", {"docs/deep/a.md", "other/a.md", "other/b.txt"}),
        ("[ab].md", {"a.md", "b.md"} | {"docs/a.md", "docs/b.md", "docs/deep/a.md", "other/a.md"}),
        ("?.txt", {"other/b.txt"}),
        ("# a.md\n\n   \n", set()),
        ("\\#a.md\n\\!a.md", set()),
        ("a.md   \r\n", {"a.md", "docs/a.md", "docs/deep/a.md", "other/a.md"}),
        ("\ufeffb.txt", {"other/b.txt"}),
    ],
)
def test_patterns_mean_what_they_mean_to_git(
    tmp_path: Path, patterns: str, expected: set[str]
) -> None:
    assert left_out(tmp_path, {".gitignore": patterns}) == expected


def test_a_deeper_file_outranks_a_higher_one(tmp_path: Path) -> None:
    rules = {".gitignore": "*.md\n", "docs/.gitignore": "!a.md\n", "docs/deep/.gitignore": "*\n"}
    assert found(tmp_path, rules) == ["docs/a.md", "other/b.txt"]


def test_patterns_of_a_deeper_file_are_anchored_there(tmp_path: Path) -> None:
    assert left_out(tmp_path, {"docs/.gitignore": "/a.md\ndeep/a.md\n"}) == {
        "docs/a.md",
        "docs/deep/a.md",
    }


def test_in_one_folder_our_own_file_outranks_the_others(tmp_path: Path) -> None:
    rules = {".gitignore": "*.md\n", ".ignore": "!a.md\n", ".contextpullignore": "/a.md\n!b.md\n"}
    assert left_out(tmp_path, rules) == {"a.md"}


def test_gitignore_files_above_count_up_to_the_top_of_the_checkout(tmp_path: Path) -> None:
    write_corpus(tmp_path, {".gitignore": "a.md\n", "top/.gitignore": "b.md\n", "top/.git/x": ""})
    assert found(tmp_path / "top/in/docs", {}) == [
        "a.md",
        "docs/a.md",
        "docs/deep/a.md",
        "other/a.md",
        "other/b.txt",
    ]


def test_gitignore_files_above_count_for_nothing_outside_a_checkout(tmp_path: Path) -> None:
    write_corpus(tmp_path, {".gitignore": "*.md\n"})
    assert set(found(tmp_path / "docs", {})) == set(FILES)


def test_a_folder_that_is_itself_ignored_was_named_all_the_same(tmp_path: Path) -> None:
    write_corpus(tmp_path, {".gitignore": "build/\n", ".git/x": ""})
    assert set(found(tmp_path / "build/docs", {})) == set(FILES)


VENDORED = ("vendor/a.md", "docs/node_modules/x/a.md", "a.md")


def test_vendored_folders_are_listed_not_read(tmp_path: Path) -> None:
    assert found(tmp_path, {}, VENDORED) == ["a.md"]
    assert [skipped.path for skipped in discover(tmp_path).skipped] == [
        "docs/node_modules/",
        "vendor/",
    ]


@pytest.mark.parametrize("pattern", ["!vendor/", "!vendor", "!/vendor/"])
def test_a_vendored_folder_comes_back_when_it_is_named(tmp_path: Path, pattern: str) -> None:
    assert found(tmp_path, {".contextpullignore": pattern}, VENDORED) == ["a.md", "vendor/a.md"]


def test_an_ignored_vendored_folder_is_not_listed(tmp_path: Path) -> None:
    found(tmp_path, {".gitignore": "node_modules/\nvendor/\n"}, VENDORED)
    assert discover(tmp_path).skipped == []


def test_hidden_files_and_caches_are_left_out_silently(tmp_path: Path) -> None:
    files = (".hidden.md", ".github/a.md", "docs/.x/a.md", "__pycache__/a.md", "a.md")
    assert found(tmp_path, {}, files) == ["a.md"]
    assert discover(tmp_path).skipped == []


def test_lines_that_are_no_patterns_are_listed_and_the_others_apply(tmp_path: Path) -> None:
    rules = {"docs/.gitignore": "[z-a]\n[[:alpha:]].md\na\\\n!\nb.md\n[[x]\n"}
    assert left_out(tmp_path, rules) == {"docs/b.md"}
    assert discover(tmp_path).skipped == [
        SkippedFile("docs/.gitignore", f"pattern {line!r} cannot be applied", is_fault=True)
        for line in ("[z-a]", "[[:alpha:]].md", "a\\", "!")
    ]


def test_an_ignore_file_that_is_a_folder_is_passed_over(tmp_path: Path) -> None:
    assert left_out(tmp_path, {".gitignore/a.md": "x"}) == set()


def test_patterns_match_names_that_are_no_text(tmp_path: Path) -> None:
    names = ("b.md", "caf\udce9.md", "th\udce9.md")
    write_corpus(tmp_path, {".gitignore": b"caf\xe9.md\n", **dict.fromkeys(names, "x")})
    assert [file.path for file in discover(tmp_path).files] == ["b.md", "th%E9.md"]
