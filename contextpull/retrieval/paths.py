"""Which documents a path or glob means; which id a slightly wrong one was meant to be."""

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import re2

from contextpull.errors import PathNotFound
from contextpull.store import Snapshot
from contextpull.store.records import StoredDocument

LONGEST_PATTERN = 500

_MOST_NEAREST = 3
_MOST_COMPARED = 20_000


def normal_path(path: str) -> str:
    """A path as the store writes it: no `./`, no leading or trailing slash, `/` between names."""
    parts = path.strip().replace("\\", "/").split("/")
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
        found = _meant_by(snapshot.documents, wanted)
        if not found:
            raise PathNotFound(pattern, nearest(wanted, snapshot.documents))
        chosen.update((document.path, document) for document in found)
    return [chosen[path] for path in sorted(chosen)]


def nearest(wanted: str, among: Iterable[str], likeness: float = 0.5) -> list[str]:
    """Up to three of the strings that look most like the wanted one, best first.

    `likeness`, 0 to 1, is the least that counts.
    """
    candidates = list(among)
    if len(candidates) > _MOST_COMPARED:
        tail = wanted.rpartition("/")[2].lower()
        candidates = [each for each in candidates if tail in each.lower()][:_MOST_COMPARED]
    folded = {each.lower(): each for each in reversed(candidates)}
    close = difflib.get_close_matches(wanted.lower(), folded, _MOST_NEAREST, likeness)
    return [folded[each] for each in close]


def _meant_by(documents: dict[str, StoredDocument], pattern: str) -> list[StoredDocument]:
    if not pattern:
        return list(documents.values())
    if pattern in documents:
        return [documents[pattern]]
    for case_sensitive in (True, False):
        glob = _glob(pattern, case_sensitive)
        found = [document for path, document in documents.items() if glob.fullmatch(path)]
        if found:
            return found
    return []


@lru_cache(maxsize=256)
def _glob(pattern: str, case_sensitive: bool) -> Any:
    """A linear-time expression for a document, folder or glob; brackets stand for themselves."""
    wild = re2.escape(pattern)
    wild = wild.replace(r"\*\*\/", "(?:.*/)?").replace(r"\*\*", ".*")
    wild = wild.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    options = re2.Options()
    options.case_sensitive = case_sensitive
    options.dot_nl = True
    return re2.compile(f"{anywhere}{wild}(?:/.*)?", options)
