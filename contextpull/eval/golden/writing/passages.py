"""What is asked about: sections that say something, spread over documents, each with its share."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextpull.eval.generation.conceptual import FENCED_CODE
from contextpull.eval.generation.corpus import Corpus, SourceSection
from contextpull.eval.generation.sampling import draw, spread
from contextpull.eval.generation.words import word_count, words
from contextpull.eval.golden.writing.plan import shared_out

FEWEST_WORDS = 25
"""Of a passage, code and pictures aside; less says nothing that somebody would ask for."""
_FLOOR_SHARE = 0.5
"""So much of all questions is shared out to documents evenly, the rest by their length."""
_LISTED = 0.6
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>|<!--.*?-->", re.S | re.I)
_TARGET = re.compile(r"(?<=\])\([^)\s]*\)|https?://\S+")
_CONTENTS_HEADING = re.compile(r"\W*(?:table of )?(?:contents|index)\W*", re.I)
_CONTENTS_LINE = re.compile(
    r"\s*(?:[-*+]|\d+[.)])?\s*\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?\s*"  # a link and nothing else
    r"|.*(?:\.\s?){4,}\s*\d+\s*"  # dots that lead to a page
    r"|.*\S\s{3,}\d+\s*"
)
_FEWEST_LINES = 4
_NUMBER = re.compile(r"[-+(]?[^\W\d_]{0,3}\d[\d.,:/%)\-]*[^\W\d_]{0,2}%?")
_TOKEN = re.compile(r"[^\s|]+")
_RULE = re.compile(r"[-:=_.*+]+")
_LEAST_LETTERS = 0.5


class Choice(NamedTuple):
    """What may be asked about."""

    chosen: tuple[SourceSection, ...]
    """As many as questions are wanted, or all that there are."""
    reserve: tuple[SourceSection, ...]
    """The others, in the order in which they stand in for one that gives no question."""
    passed_over: Mapping[str, int]
    """How many sections each rule left out, by its reason."""

    @property
    def all(self) -> tuple[SourceSection, ...]:
        """Everything that may be asked about."""
        return self.chosen + self.reserve


def choose_passages(corpus: Corpus, count: int, seed: int) -> Choice:
    """The passages of a set of `count` questions.

    Half of the questions are shared out evenly to documents, the rest by how many passages they
    have; within a document, to the parts under its outer headings in turn. The same seed over the
    same sections chooses the same, and a document more or less hardly moves the choice in others.
    """
    reasons = [
        reason_to_pass_over(section, is_repeated=number in corpus.repeated)
        for number, section in enumerate(corpus.sections)
    ]
    usable = [section for section, why in zip(corpus.sections, reasons, strict=True) if not why]
    ordered = spread(
        usable,
        seed,
        name=lambda section: f"passage {section.id}",
        groups=(lambda section: section.document, lambda section: section.headings[:2]),
    )
    left = shares_of_documents(Counter(section.document for section in ordered), count, seed)
    chosen, reserve = [], []
    for section in ordered:
        if left[section.document]:
            left[section.document] -= 1
            chosen.append(section)
        else:
            reserve.append(section)
    passed_over = Counter(reason for reason in reasons if reason)
    return Choice(tuple(chosen), tuple(reserve), dict(sorted(passed_over.items())))


def shares_of_documents(sizes: Mapping[str, int], count: int, seed: int) -> dict[str, int]:
    """How many of `count` questions each document gets; none gets more than it has passages.

    Every document gets one before any gets a second, and which ones when they are too many, the
    seed draws.
    """
    documents = sorted(sizes, key=lambda path: draw(seed, "document", path))
    even = max(min(count, len(documents)), int(count * _FLOOR_SHARE))
    floor = shared_out(even, dict.fromkeys(documents, 1.0), sizes)
    room = {path: sizes[path] - floor[path] for path in documents}
    rest = shared_out(
        count - sum(floor.values()), {path: float(sizes[path]) for path in documents}, room
    )
    return {path: floor[path] + rest[path] for path in documents}


def reason_to_pass_over(section: SourceSection, *, is_repeated: bool = False) -> str:
    """Why nobody should be asked about a section; empty for one that may be asked about."""
    if section.is_metadata:
        return "front matter"
    if is_repeated:
        return "its text stands in another section, too"
    text = _PICTURE.sub(" ", section.text)
    if _is_contents(section.heading, text):
        return "a contents page"
    said = _TARGET.sub(" ", FENCED_CODE.sub(" ", text))
    if _is_bare_numbers(said):
        return "a table of bare numbers"
    if word_count(said) < FEWEST_WORDS:
        return f"a scrap: fewer than {FEWEST_WORDS} words, code and pictures aside"
    if _is_garbled(said):
        return "text that can hardly be read"
    return ""


def _is_contents(heading: str, text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    listed = sum(_CONTENTS_LINE.fullmatch(line) is not None for line in lines)
    if _CONTENTS_HEADING.fullmatch(heading) and listed * 2 >= len(lines):
        return True
    return len(lines) >= _FEWEST_LINES and listed >= _LISTED * len(lines)


def _is_bare_numbers(text: str) -> bool:
    """Whether most of what the text holds are numbers, the lines of a table aside."""
    tokens = [token for token in _TOKEN.findall(text) if not _RULE.fullmatch(token)]
    numbers = sum(_NUMBER.fullmatch(token) is not None for token in tokens)
    return bool(tokens) and numbers >= _LISTED * len(tokens)


def _is_garbled(text: str) -> bool:
    """Whether a reader of the file did not find its letters: as after a bad recognition."""
    signs: Sequence[str] = [sign for sign in text if not sign.isspace()]
    letters = sum(map(len, words(text)))
    return "\ufffd" in text or letters < _LEAST_LETTERS * len(signs)
