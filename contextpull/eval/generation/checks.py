"""What a question must not do, whoever wrote it."""

import re
from collections.abc import Sequence

from contextpull.eval.generation.corpus import SourceSection
from contextpull.eval.generation.words import (
    content,
    longest_shared_run,
    marks,
    plain,
    squeezed,
    words,
)
from contextpull.types import Question

SHORTEST = 12
LONGEST = 300
LONGEST_RUN = 6
"""Words in a row that a question may share with the text it asks about."""
ALIKE = 0.8
_FEWEST_HEADING_WORDS = 3
"""Of a shorter heading nobody can say that it was copied: it is just the topic."""
_SHORTEST_QUOTE = 12
_SAME_WORDS = "another question of the set has the same words"
_POINTING = re.compile(
    r"\b(?:this|these|that|those|the|given|provided|above|following|first|second|both)\s+"
    r"(?:(?:given|provided|above|following|first|second|two)\s+)?"
    r"(?:sections?|passages?|documents?|texts?|excerpts?|snippets?|chunks?|paragraphs?|contexts?)\b"
    r"|\b(?:this|these|the (?:given|above|following))\s+(?:tables?|figures?|pages?|lists?)\b"
    r"|\baccording to the (?:author|text|table|document\w*)\b|\b(?:mentioned|described) above\b",
    re.I,
)


class Kept:
    """The questions kept so far; tells whether another one says something new."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._ids: set[str] = set()
        self._alike: dict[frozenset[str], list[tuple[frozenset[str], str]]] = {}

    def add(self, question: Question) -> str:
        """Keep a question, or say why not: an empty string where it was kept."""
        if question.id in self._ids:
            return _SAME_WORDS
        fault = self.fault(question.text)
        if not fault:
            said, told = content(question.text), marks(question.text)
            self._alike.setdefault(told, []).append((said, question.text))
            self._texts.add(_bare(question.text))
            self._ids.add(question.id)
        return fault

    def fault(self, text: str) -> str:
        """Why a question of these words says nothing new; an empty string where it does."""
        if _bare(text) in self._texts:
            return _SAME_WORDS
        said = content(text)
        for other, other_text in self._alike.get(marks(text), ()):
            if len(said & other) >= ALIKE * len(said | other):
                return f"another question is nearly the same: {other_text}"
        return ""


def fault_of(
    text: str,
    sections: Sequence[SourceSection],
    *,
    shortest: int = SHORTEST,
    longest: int = LONGEST,
) -> str:
    """Why a written question gives its section away or cannot stand alone; empty if it is sound."""
    if not shortest <= len(text) <= longest:
        return f"it has {len(text)} characters; {shortest} to {longest} are allowed"
    if "\n" in text:
        return "it has more than one line"
    pointing = _POINTING.search(text)
    if pointing:
        return f"it says {pointing[0]!r}, which means nothing to somebody who has not read it"
    for section in sections:
        fault = _leak(text, section)
        if fault:
            return fault
    return ""


def _bare(text: str) -> str:
    return squeezed(plain(text)).rstrip("?.! ")


def _leak(text: str, section: SourceSection) -> str:
    asked = f" {' '.join(words(text))} "
    heading = words(section.heading)
    if len(heading) >= _FEWEST_HEADING_WORDS and f" {' '.join(heading)} " in asked:
        return f"it copies the heading {section.heading!r}"
    run = longest_shared_run(text, section.text)
    if run > LONGEST_RUN:
        return f"it shares {run:g} words in a row with the text; {LONGEST_RUN} are allowed"
    return ""


def quote_fault(quote: str, section: SourceSection) -> str:
    """Why a quote does not support an answer; empty where the section holds it word for word."""
    wanted = squeezed(quote)
    if len(wanted) < _SHORTEST_QUOTE and len(wanted) < len(squeezed(section.text)):
        return f"the quote is shorter than {_SHORTEST_QUOTE} characters"
    if wanted not in squeezed(section.text):
        return "the quote does not stand in the text word for word"
    return ""


def holds_name(text: str, name: str) -> bool:
    """Whether the text holds a name whole: `HG-44` does not stand in `HG-4412`."""
    pattern = rf"(?<![\w]){re.escape(plain(name))}(?![-._:@+]*\w)"
    return re.search(pattern, plain(text)) is not None
