"""How much of a section a hit shows. What is shown is the text as it stands, never marked up."""

import re
from typing import Any, NamedTuple

import re2

from contextpull.store.querying import Terms
from contextpull.store.records import StoredSection

_ELLIPSIS = "…"
_SPLIT = re.compile(
    r"\n\s*\n|\n(?=\s*(?:[-*+|#>]|\d+[.)]))|(?<=[.!?])\s+(?=[A-Z`\"(*_])|(?<=[。！？])"
)
_MARKUP_ONLY = re.compile(r"[\s|:=+*#_>~`-]*")
_MOST_TEXT = 20_000


class SnippetMaker:
    """Finds the passage of a section that says most about a query."""

    def __init__(self, terms: Terms, limit: int) -> None:
        """Make snippets of at most about `limit` characters."""
        self._limit = limit
        self._terms = _expression(terms)

    def snippet(self, section: StoredSection) -> str:
        """The passage with most of the query's words, on one line; cuts are marked with `…`."""
        best, best_score = "", -1
        for passage in _passages(section):
            score = self._score(passage)
            if score > best_score:
                best, best_score = passage, score
        return self._window(best)

    def _score(self, passage: str) -> int:
        if self._terms is None:
            return 0
        return len({match.group().lower() for match in self._terms.finditer(passage)})

    def _window(self, passage: str) -> str:
        """The passage itself, or the part of it that begins shortly before the first term."""
        if len(passage) <= self._limit:
            return passage
        match = self._terms.search(passage) if self._terms else None
        start = (
            max(0, min(match.start() - self._limit // 3, len(passage) - self._limit))
            if match
            else 0
        )
        if start:
            start = passage.find(" ", start, start + 20) + 1 or start
        end = start + self._limit
        if end < len(passage):
            end = max(passage.rfind(" ", start + self._limit * 3 // 4, end), 0) or end
        head = _ELLIPSIS if start else ""
        tail = _ELLIPSIS if end < len(passage) else ""
        return head + passage[start:end].strip() + tail


class Line(NamedTuple):
    """A line that was cut to fit, around what matters in it."""

    text: str
    is_cut: bool


def clip_line(line: str, start: int, limit: int) -> Line:
    """At most `limit` characters of a line around the character `start`; cuts are marked."""
    if len(line) <= limit:
        return Line(line, False)
    begin = max(0, min(start - limit // 3, len(line) - limit))
    end = begin + limit
    head = _ELLIPSIS if begin else ""
    tail = _ELLIPSIS if end < len(line) else ""
    return Line(head + line[begin:end] + tail, True)


def _passages(section: StoredSection) -> list[str]:
    """The sentences, rows and items of a section, its own headings left out."""
    shown = {*section.headings, *section.other_headings}
    passages = []
    for part in _SPLIT.split(section.text[:_MOST_TEXT]):
        passage = " ".join(part.split())
        title = passage.strip("#=- ").strip()
        if passage and title not in shown and not _MARKUP_ONLY.fullmatch(passage):
            passages.append(passage)
    return passages or [" ".join(section.text[:_MOST_TEXT].split())]


def _expression(terms: Terms) -> Any:
    wanted = [*terms.names, *terms.runs, *terms.words]
    if not wanted:
        return None
    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    # Longer terms first; a word also counts at the head of a longer one (cache, caching).
    stems = [word[: max(4, len(word) - 3)] if word.isalpha() else word for word in wanted]
    unique = sorted(dict.fromkeys(stems), key=len, reverse=True)
    return re2.compile("|".join(re2.escape(each) for each in unique), options)
