"""Which files of a folder are read, and that every other one is accounted for."""

import os
from pathlib import Path

import pytest

from contextpull.documents.discovery import Discovery, discover
from contextpull.errors import InvalidInput
from tests.conftest import write_corpus


def paths(discovery: Discovery) -> list[str]:
    return [file.path for file in discovery.files]


def reasons(discovery: Discovery) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in discovery.skipped}


def test_files_come_sorted_with_size_and_place(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"b.md": "12345", "a/c.txt": "x", "a.md": "", "B.MD": "x"})
    discovery = discover(tmp_path)
    assert paths(discovery) == ["B.MD", "a.md", "a/c.txt", "b.md"]
    last = discovery.files[-1]
    assert (last.location, last.size) == (str(tmp_path.resolve() / "b.md"), 5)
    assert last.mtime_ns == (tmp_path / "b.md").stat().st_mtime_ns


def test_a_file_without_a_reader_is_listed(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"a.zzz": "x", "LICENSE": "x", "b.ZZZ": "x"})
    assert paths(discover(tmp_path)) == []
    assert reasons(discover(tmp_path)) == {
        "LICENSE": "no reader for a name without suffix",
        "a.zzz": "no reader for .zzz",
        "b.ZZZ": "no reader for .zzz",
    }


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    assert discover(tmp_path) == Discovery()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        discover(tmp_path / "absent")
    write_corpus(tmp_path, {"a.md": "x"})
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        discover(tmp_path / "a.md")


def test_the_store_inside_the_corpus_is_passed_over(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"a.md": "x", "store/b.md": "x", "sub/store/c.md": "x"})
    discovery = discover(tmp_path, leave_out=tmp_path / "store")
    assert paths(discovery) == ["a.md", "sub/store/c.md"]
    assert discovery.skipped == []


def test_the_store_is_passed_over_by_whatever_path_it_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path / "real", {"a.md": "x", "store/b.md": "x"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = tmp_path / "link" / "sub" / ".." / "store"
    assert paths(discover(tmp_path / "real", leave_out=store)) == ["a.md"]


def test_what_concerns_a_corpus_is_what_may_change_what_is_found(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    files = {"a.md": "x", "sub/b.md": "x", ".gitignore": "*.log.md\nbuild/\n", "build/c.md": "x"}
    write_corpus(root, {**files, "node_modules/d.md": "x", ".git/HEAD": "x", "store/e.md": "x"})
    found = discover(root, leave_out=root / "store")

    def concerning(*names: str) -> list[str]:
        return [name for name in names if found.concerns(str((root / name).resolve()))]

    of_it = ["", "a.md", "gone.md", "no.reader", "sub", "sub/new.md", "node_modules"]
    ruling = [".gitignore", "sub/.ignore", "sub/.contextpullignore", ".git"]
    assert concerning(*of_it, *ruling) == [*of_it, *ruling]
    assert concerning(".git/index", "node_modules/d.md", "x.log.md", "build", "build/c.md") == []
    assert concerning("__pycache__", ".a.md.swp", "store", "store/e.md", "../other.md", "..") == []


def test_rules_above_the_corpus_concern_it_and_nothing_else_there(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"docs/a.md": "x", ".git/HEAD": "x", "README.md": "x"})
    found = discover(tmp_path / "docs")
    assert found.concerns(str(tmp_path.resolve() / ".gitignore"))
    assert not found.concerns(str(tmp_path.resolve() / "README.md"))
    assert not found.concerns(str(tmp_path.resolve() / "other"))


def test_links_out_of_the_corpus_are_listed_not_followed(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"secret.md": "x", "docs-evil/x.md": "x", "docs/a.md": "x"})
    docs = tmp_path / "docs"
    (docs / "file.md").symlink_to(tmp_path / "secret.md")
    (docs / "folder").symlink_to(tmp_path / "docs-evil")
    (docs / "relative.md").symlink_to("../secret.md")
    (docs / "absolute.md").symlink_to("/etc/passwd")
    (docs / "hop.md").symlink_to("file.md")
    discovery = discover(docs)
    assert paths(discovery) == ["a.md"]
    assert set(reasons(discovery)) == {
        "absolute.md",
        "file.md",
        "folder",
        "hop.md",
        "relative.md",
    }
    assert set(reasons(discovery).values()) == {"a link out of the corpus"}


def test_a_link_to_a_file_of_the_corpus_is_a_file(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"sub/a.md": "x"})
    (tmp_path / "b.md").symlink_to("sub/a.md")
    assert paths(discover(tmp_path)) == ["b.md", "sub/a.md"]


def test_a_link_to_a_folder_of_the_corpus_is_read_in_its_place_only(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"sub/a.md": "x"})
    (tmp_path / "again").symlink_to("sub")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    discovery = discover(tmp_path)
    assert paths(discovery) == ["sub/a.md"]
    assert set(reasons(discovery)) == {"again", "sub/up"}
    assert all("read in its own place" in reason for reason in reasons(discovery).values())


def test_broken_links_and_loops_are_listed(tmp_path: Path) -> None:
    (tmp_path / "broken.md").symlink_to("absent.md")
    (tmp_path / "self.md").symlink_to("self.md")
    (tmp_path / "one.md").symlink_to("two.md")
    (tmp_path / "two.md").symlink_to("one.md")
    discovery = discover(tmp_path)
    assert discovery.files == []
    assert set(reasons(discovery)) == {"broken.md", "self.md", "one.md", "two.md"}
    assert set(reasons(discovery).values()) == {"a broken link"}


def test_the_corpus_itself_may_be_a_link(tmp_path: Path) -> None:
    write_corpus(tmp_path / "real", {"a.md": "x"})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "b.md").symlink_to(tmp_path / "link" / "a.md")
    assert paths(discover(tmp_path / "link")) == ["a.md", "b.md"]


def test_pipes_are_listed_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "link.md").symlink_to("pipe.md")
    discovery = discover(tmp_path)
    assert discovery.files == []
    assert reasons(discovery) == {
        "link.md": "not a regular file",
        "pipe.md": "not a regular file",
    }


def test_a_link_is_no_ignore_file(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"patterns": "*.md\n", "docs/a.md": "x"})
    (tmp_path / "docs" / ".gitignore").symlink_to("../patterns")
    assert paths(discover(tmp_path / "docs")) == ["a.md"]


@pytest.mark.parametrize("rules", ["", "*.txt\n!x.txt\ncaf*.log\n"])
def test_names_that_are_no_text_are_shown_in_hexadecimal(tmp_path: Path, rules: str) -> None:
    names = ["caf\udce9.md", "\udcff\udcfe/a.md", "tab\tline\n.md", "né\u200b.md"]
    write_corpus(tmp_path, {".gitignore": rules, **dict.fromkeys(names, "x")})
    discovery = discover(tmp_path)
    assert paths(discovery) == ["%FF%FE/a.md", "caf%E9.md", "né%E2%80%8B.md", "tab%09line%0A.md"]
    assert all(Path(file.location).read_text() == "x" for file in discovery.files)


def test_two_names_that_look_the_same_are_not_mixed_up(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"a\nb.md": "x", "a%0Ab.md": "y"})
    discovery = discover(tmp_path)
    assert paths(discovery) == ["a%0Ab.md"]
    assert reasons(discovery) == {"a%0Ab.md": "another file has the same readable name"}


@pytest.mark.parametrize("name", ["my file.md", "°.md", "🐘.md", "ключ.md", "a#b.md", "a[1].md"])
def test_odd_names_stay_as_they_are(tmp_path: Path, name: str) -> None:
    write_corpus(tmp_path, {name: "x"})
    assert paths(discover(tmp_path)) == [name]


def test_folders_nested_too_deep_are_listed(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"d/" * 100 + "a.md": "x", "d/" * 101 + "b.md": "x"})
    discovery = discover(tmp_path)
    assert paths(discovery) == ["d/" * 100 + "a.md"]
    assert reasons(discovery) == {"d/" * 101: "nested deeper than 100 folders"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_folders_that_cannot_be_read_are_listed(tmp_path: Path) -> None:
    write_corpus(tmp_path, {"a.md": "x", "locked/b.md": "x"})
    (tmp_path / "locked").chmod(0)
    try:
        discovery = discover(tmp_path)
        with pytest.raises(InvalidInput, match="cannot be read"):
            discover(tmp_path / "locked")
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert paths(discovery) == ["a.md"]
    assert reasons(discovery) == {"locked/": "cannot be read: Permission denied"}
