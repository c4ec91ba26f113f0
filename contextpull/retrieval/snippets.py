"""How much of a section a hit shows. What is shown is the text as it stands, never marked up."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import re2

from contextpull.store.querying import Terms
from contextpull.store.records import StoredSection

_ELLIPSIS = "…"
_BOUNDARY = re.compile(
    rb"\n\s*\n|\n(?=\s*(?:[-*+|#>]|\d+[.)]))"  # paragraphs, items, rows
    rb"|(?<=[.!?])\s+(?=[A-Z`\"(*_])" + "|(?<=。)|(?<=！)|(?<=？)".encode()  # sentences
)
_MARKUP_ONLY = re.compile(r"[\s|:=+*#_>~`-]*")
_WITHOUT_MARKS = str.maketrans("", "", "`*")
_MOST_TEXT = 20_000
_NAME_WEIGHT = 3.0
_SHOWN_WEIGHT = 0.5
"""Of a word that stands in the headings, which the hit shows anyway."""


class SnippetMaker:
    """Finds the passage of a section that says most about a query."""

    def __init__(self, terms: Terms, limit: int) -> None:
        """Make snippets of at most about `limit` characters."""
        self._limit = limit
        self._names = set(terms.names)
        self._pattern = _pattern(terms)

    def snippet(self, section: StoredSection) -> str:
        """The passage with most of the query's terms, on one line; cuts are marked with `…`."""
        text = section.text[:_MOST_TEXT].encode()
        spans = _spans(text)
        scores = self._scores(text, spans, section.heading_path.lower())
        by_score = sorted(scores, key=lambda at: (-scores[at], at))
        titles = {*section.headings, *section.other_headings}
        for at in (*by_score, *range(len(spans))):
            passage = text[spans[at].start : spans[at].end].decode()
            if _says_something(passage, titles):
                return self._window(" ".join(passage.split()))
        return self._window(" ".join(text.decode().split()))

    def _scores(self, text: bytes, spans: Sequence["_Span"], shown: str) -> dict[int, float]:
        """What the distinct terms in each passage are worth, for those that have any."""
        found: dict[int, set[str]] = defaultdict(set)
        at = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            start, end = match.span()
            while at < len(spans) and spans[at].end <= start:
                at += 1
            if at == len(spans):
                break
            found[at].add(text[start:end].decode().lower())
        return {at: sum(self._weight(term, shown) for term in found[at]) for at in found}

    def _weight(self, term: str, shown: str) -> float:
        if term in self._names:
            return _NAME_WEIGHT
        return _SHOWN_WEIGHT if term in shown else 1.0

    def _window(self, passage: str) -> str:
        """The passage itself, or the part of it that begins shortly before the first term."""
        if len(passage) <= self._limit:
            return passage
        match = self._pattern.search(passage) if self._pattern else None
        room = len(passage) - self._limit
        start = max(0, min(match.start() - self._limit // 3, room)) if match else 0
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


class _Span(NamedTuple):
    start: int
    end: int


def _spans(text: bytes) -> list[_Span]:
    """The sentences, rows and items of a text, in order."""
    spans = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if match.start() > start:
            spans.append(_Span(start, match.start()))
        start = match.end()
    if start < len(text):
        spans.append(_Span(start, len(text)))
    return spans


def _says_something(passage: str, titles: set[str]) -> bool:
    """Whether a passage is more than a heading that the hit shows anyway, or bare markup."""
    title = passage.translate(_WITHOUT_MARKS).strip("#=- \t\r\n")
    return title not in titles and not _MARKUP_ONLY.fullmatch(passage)


def _pattern(terms: Terms) -> Any:
    """An expression for all terms, longer ones first; a word also counts at the head of another."""
    wanted = [*terms.names, *terms.runs, *terms.words]
    if not wanted:
        return None
    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    stems = [word[: max(4, len(word) - 3)] if word.isalpha() else word for word in wanted]
    unique = sorted(dict.fromkeys(stems), key=len, reverse=True)
    return re2.compile("|".join(re2.escape(each) for each in unique), options)
