"""Which documents a path or glob means; which id a slightly wrong one was meant to be."""

import difflib
import heapq
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import re2

from contextpull.errors import PathNotFound
from contextpull.store import Snapshot
from contextpull.store.records import StoredDocument

LONGEST_PATTERN = 500

_MOST_NEAREST = 3
_MOST_COMPARED = 100
_PIECE = 3
_WILD = frozenset("*?")


def normal_path(path: str) -> str:
    """A path as the store writes it: no `./`, no leading or trailing slash, `/` between names."""
    text = path.encode("utf-8", "replace").decode()  # half a character is in no path
    parts = text.strip().replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in {"", "."})


def matching_documents(snapshot: Snapshot, patterns: Sequence[str]) -> list[StoredDocument]:
    """The documents that any of the patterns means, by path.

    A pattern is a path of a document, a folder, or a glob (`*` within a name, `**` across
    folders, `?`); one without a slash matches names in every folder.
    Raises PathNotFound for a pattern that means none.
    """
    chosen: dict[str, StoredDocument] = {}
    for pattern in patterns:
        wanted = normal_path(pattern[:LONGEST_PATTERN])
        exact = snapshot.documents.get(pattern)
        found = [exact] if exact else _meant_by(snapshot, wanted)
        if not found:
            near = nearest(wanted, _with_folders(snapshot.documents))
            raise PathNotFound(pattern[:LONGEST_PATTERN], near)
        chosen.update((document.path, document) for document in found)
    return [chosen[path] for path in sorted(chosen)]


def nearest(wanted: str, among: Iterable[str], likeness: float = 0.5) -> list[str]:
    """Up to three of the strings that look most like the wanted one, best first.

    `likeness`, 0 to 1, is the least that counts.
    Only those that share most pieces with it are compared letter by letter, which is slow.
    """
    wanted = wanted[:LONGEST_PATTERN].lower()
    folded = {each.lower(): each for each in reversed(list(among))}
    candidates = list(folded)
    if len(candidates) > _MOST_COMPARED:
        pieces = {wanted[at : at + _PIECE] for at in range(max(1, len(wanted) - _PIECE + 1))}
        candidates = heapq.nlargest(
            _MOST_COMPARED,
            candidates,
            lambda each: (sum(piece in each for piece in pieces), -len(each)),
        )
    close = difflib.get_close_matches(wanted, candidates, _MOST_NEAREST, likeness)
    return [folded[each] for each in close]


def _with_folders(paths: Iterable[str]) -> list[str]:
    every = list(paths)
    return [*dict.fromkeys(path.rpartition("/")[0] + "/" for path in every if "/" in path), *every]


def _meant_by(snapshot: Snapshot, pattern: str) -> list[StoredDocument]:
    documents = snapshot.documents
    if not pattern:
        return list(documents.values())
    if pattern in documents:
        return [documents[pattern]]
    if "/" in pattern and not _WILD & set(pattern):
        inside = [each for path, each in documents.items() if path.startswith(f"{pattern}/")]
        if inside:
            return inside
    lines, by_start = snapshot.path_lines
    for case_sensitive in (True, False):
        expression = glob_expression(pattern, case_sensitive)
        starts = (hit.start() for hit in expression.finditer(lines))
        # An empty match at a line's end is one of the engine's next attempt, not of a path.
        found = [by_start[start] for start in starts if start in by_start]
        if found:
            return found
    return []


@lru_cache(maxsize=256)
def glob_expression(pattern: str, case_sensitive: bool) -> Any:
    """A linear-time expression for the lines that a document, folder or glob means.

    The pattern is as `normal_path` writes it. Brackets stand for themselves; NUL, in a line, for a
    line break.
    """
    wild = re2.escape(pattern.replace("\n", "\0"))
    wild = wild.replace(r"\*\*\/", "(?:.*/)?").replace(r"\*\*", ".*")
    wild = wild.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    options = re2.Options()
    options.case_sensitive = case_sensitive
    options.never_nl = True
    options.never_capture = True
    return re2.compile(f"(?m)^{anywhere}{wild}(?:/.*)?$", options)
