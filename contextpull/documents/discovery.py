"""Which files of a folder belong to the corpus.

Ignore files (`.gitignore`, `.ignore`, `.contextpullignore`) hold gitignore patterns; a deeper
file outranks a higher one, and in one folder a later name in that list outranks an earlier.
"""

import os
import re
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextpull.documents.formats import format_of
from contextpull.errors import InvalidInput

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_FILES = (".gitignore", ".ignore", ".contextpullignore")
_VENDORED = frozenset(
    {"node_modules", "bower_components", "vendor", "third_party", "site-packages", "venv"}
)
_CACHES = frozenset({"__pycache__"})
_RULING = frozenset({*_IGNORE_FILES, ".git"})
"""Names whose coming and going changes which rules hold."""
_ANYTHING = re.compile(r"^(!?)(?:\*|/?\*\*(?:/\*\*?)*)(/?)\s*$")
_BELOW = re.compile(r"^(.*[^/])/\*\*(/?)\s*$")
_DEEPEST = 100
"""Folders nested deeper than this are reported instead of walked."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the corpus that some reader takes."""

    path: str
    """Relative to the corpus, with `/`; what is no text in the name is written `%XX`."""
    location: str
    """Where the file is; may hold surrogates for bytes that are no UTF-8."""
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that was seen and left out, and why."""

    path: str
    reason: str
    is_fault: bool = False
    """Whether it is left out since something is wrong, and not because it is no document."""


@dataclass(slots=True)
class Discovery:
    """What lies in a folder, each list sorted by path."""

    files: list[SourceFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    folders: "dict[str, tuple[_Rules, ...] | None]" = field(default_factory=dict, compare=False)
    """Folders whose entries decide what is found, by location, with the rules that hold in each;
    None for one above the corpus, in which only ignore files count."""
    left_out: str = field(default="", compare=False)

    def concerns(self, location: str) -> bool:
        """Whether what came, changed or went at this place may change what is found."""
        folder, name = os.path.split(location)
        if location in self.folders or (folder in self.folders and name in _RULING):
            return True
        rules = self.folders.get(folder)
        if rules is None or location == self.left_out or name in _CACHES:
            return False
        if Path(location).is_symlink():
            return True  # links of the corpus may go through one that is hidden
        hidden = name.startswith(".")
        return not hidden and not _verdict(rules, location, Path(location).is_dir())

    def decides_folders(self, location: str) -> bool:
        """Whether something at this place that `concerns` the corpus may change its folders."""
        path = Path(location)
        is_known = location in self.folders or path.name in _RULING
        return is_known or path.is_dir() or path.is_symlink()


def discover(
    root: Path, leave_out: Path | None = None, *, prefix: str = "", read_as: str = ""
) -> Discovery:
    """Walk a folder and tell which of its files belong to the corpus: those that a reader takes.

    The folder `leave_out` is passed over without a word: it is where the store lies.
    Paths begin with `prefix`; files that `read_as` (see CutSettings) names have a reader, whatever
    their suffix.

    Hidden entries and what an ignore file excludes are left out silently; every other file that
    is not taken is listed with its reason.
    Raises InvalidInput when `root` is not a folder that can be read.
    """
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "does not exist"
        raise InvalidInput(f"The corpus {str(root)!r} {what}. Name a folder of documents.")
    if not os.access(root, os.R_OK | os.X_OK):
        raise InvalidInput(f"The folder {str(root)!r} cannot be read: check its permissions.")
    walk = _Walk(root.resolve(), str(leave_out.resolve()) if leave_out else "", prefix, read_as)
    above = _folders_above(walk.root)
    walk.found.folders.update(dict.fromkeys(map(str, above)))
    walk.folder(str(walk.root), prefix, _rules_above(walk.root, above))
    walk.found.files.sort(key=lambda file: file.path)
    walk.found.skipped.sort(key=lambda file: file.path)
    return walk.found


def readable_name(name: str) -> str:
    """A name that can be stored and shown on one line, whatever bytes it holds."""
    if name.isprintable():
        return name
    return "".join(
        char if char.isprintable() else "".join(f"%{byte:02X}" for byte in os.fsencode(char))
        for char in name
    )


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one ignore file, for paths below its folder."""

    folder: str
    name: str
    spec: "GitIgnoreSpec"
    patterns: tuple[tuple[re.Pattern[str], bool | None], ...]
    """The strongest first, each with what it says of the paths that it matches."""
    refused: tuple[str, ...]
    """Lines of the file that cannot be read as patterns; the others apply all the same."""

    def verdict(self, location: str, is_folder: bool) -> bool | None:
        """True to leave out, False to keep, None when no pattern speaks of this very path.

        Patterns that speak of a folder above it had their say when that was entered.
        """
        path = _matchable(os.path.relpath(location, self.folder)) + "/" * is_folder
        if self.spec.check_file(path).include is None:
            return None
        return next((says for pattern, says in self.patterns if pattern.fullmatch(path)), None)


class _Walk:
    def __init__(self, root: Path, leave_out: str, prefix: str, read_as: str) -> None:
        self.root = root
        self.found = Discovery(left_out=leave_out)
        self._read_as = read_as
        self._deepest = prefix.count("/") + _DEEPEST
        self._taken: set[str] = set()

    def folder(self, location: str, prefix: str, rules: tuple[_Rules, ...]) -> None:
        try:
            with os.scandir(location) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self._skip(prefix or ".", f"cannot be read: {error.strerror}", is_fault=True)
            return
        own = tuple(_rules_in(location, _ignore_files(entries)))
        for rule in own:
            for line in rule.refused:
                reason = f"pattern {readable_name(line)!r} cannot be applied"
                self._skip(prefix + rule.name, reason, is_fault=True)
        rules = (*own, *rules)
        self.found.folders[location] = rules
        for entry in entries:
            if not entry.name.startswith("."):
                self._entry(entry, prefix + readable_name(entry.name), rules)

    def _entry(self, entry: os.DirEntry[str], path: str, rules: tuple[_Rules, ...]) -> None:
        try:
            is_link = entry.is_symlink()
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError as error:
            self._skip(path, f"cannot be read: {error.strerror}", is_fault=True)
            return
        verdict = _verdict(rules, entry.path, is_folder)
        if verdict is True or (is_folder and entry.name in _CACHES):
            return
        if entry.path == self.found.left_out:
            return
        if is_folder:
            if entry.name in _VENDORED and verdict is None:
                self._skip(path + "/", "a vendored folder; name it with ! in .contextpullignore")
            elif path.count("/") >= self._deepest:
                self._skip(path + "/", f"nested deeper than {_DEEPEST} folders", is_fault=True)
            else:
                self.folder(entry.path, path + "/", rules)
        elif not is_link or self._link_stays_inside(entry, path):
            self._file(entry, path)

    def _link_stays_inside(self, entry: os.DirEntry[str], path: str) -> bool:
        try:
            target = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):
            self._skip(path, "a broken link", is_fault=True)
            return False
        if not target.is_relative_to(self.root):
            self._skip(path, "a link out of the corpus")
            return False
        if target.is_dir():
            self._skip(path, "a link to a folder of the corpus, which is read in its own place")
            return False
        self.found.folders.setdefault(str(target.parent), ())  # may be one that is not walked
        return True

    def _file(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            status = entry.stat()
        except OSError as error:
            self._skip(path, f"cannot be read: {error.strerror}", is_fault=True)
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(path, "not a regular file")
        elif format_of(path, self._read_as) is None:
            self._skip(
                path, f"no reader for {Path(path).suffix.lower() or 'a name without suffix'}"
            )
        elif path in self._taken:
            self._skip(path, "another file has the same readable name", is_fault=True)
        else:
            self._taken.add(path)
            self.found.files.append(
                SourceFile(path, entry.path, status.st_size, status.st_mtime_ns)
            )

    def _skip(self, path: str, reason: str, *, is_fault: bool = False) -> None:
        self.found.skipped.append(SkippedFile(path, reason, is_fault))


def _verdict(rules: tuple[_Rules, ...], location: str, is_folder: bool) -> bool | None:
    verdicts = (rule.verdict(location, is_folder) for rule in rules)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _matchable(path: str) -> str:
    """The path as patterns see it: bytes that are no UTF-8 are replaced, as in ignore files."""
    return os.fsencode(path).decode("utf-8", errors="replace").replace(os.sep, "/")


def _ignore_files(entries: list[os.DirEntry[str]]) -> set[str]:
    """Names of ignore files; as git does, one that is a link, a pipe or a folder is none."""
    names = (entry for entry in entries if entry.name in _IGNORE_FILES)
    return {entry.name for entry in names if entry.is_file(follow_symlinks=False)}


def _rules_in(folder: str, names: set[str]) -> Iterator[_Rules]:
    """The rules of one folder's ignore files, the strongest first."""
    for name in reversed(_IGNORE_FILES):
        if name in names:
            try:
                text = Path(folder, name).read_text("utf-8-sig", errors="replace")
            except OSError:
                continue
            yield _rules(folder, name, text.split("\n"))


def _rules(folder: str, name: str, lines: list[str]) -> _Rules:
    from pathspec import GitIgnoreSpec

    found: list[Any] = []
    refused = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of brackets within brackets
        for line in lines:
            try:
                found += GitIgnoreSpec.from_lines([_exact(line)], backend="simple").patterns
            except (ValueError, re.error):
                refused.append(line)
    patterns = tuple((each.regex, each.include) for each in reversed(found) if each.regex)
    return _Rules(folder, name, GitIgnoreSpec(found), patterns, tuple(refused))


def _exact(line: str) -> str:
    """The pattern, written so that pathspec lets it match no more paths than git does.

    `*` would match a path of any depth, a final `/**` also the folder before it.
    """
    if "[:" in line:
        raise ValueError("classes of characters are not supported")
    return _BELOW.sub(r"\1/**/*\2", _ANYTHING.sub(r"\1?*\2", line))


def _folders_above(root: Path) -> list[Path]:
    """The folders between the corpus and the top of its git checkout; none outside of one."""
    folders: list[Path] = []
    if (root / ".git").exists():
        return []
    for folder in root.parents:
        folders.append(folder)
        if (folder / ".git").exists():
            return folders
    return []


def _rules_above(root: Path, folders: list[Path]) -> tuple[_Rules, ...]:
    """The `.gitignore` rules of the folders above the corpus.

    A folder that these rules leave out was named by the user all the same: then they do not count.
    """
    rules: list[_Rules] = []
    for folder in folders:
        if (folder / ".gitignore").is_file() and not (folder / ".gitignore").is_symlink():
            rules.extend(_rules_in(str(folder), {".gitignore"}))
    return () if _verdict(tuple(rules), str(root), is_folder=True) else tuple(rules)
