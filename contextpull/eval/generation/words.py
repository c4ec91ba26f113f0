"""Texts as words: what near-duplicates, copies and questions are compared by."""

import re
from unicodedata import normalize

_UNSPACED = "぀-ヿ㐀-䶿一-鿿豈-﫿"
"""Kana and Han are written without spaces: each character counts as a word."""
_WORDS = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_TERMS = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:[-._:@]+[^\W{_UNSPACED}]+)*")
_MARK = re.compile(r"[\d_]|\w[-.:@]+\w")
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_UNSPACED_WEIGHT = 0.5
"""Two characters of such a script say about what a word does."""
_STOP_WORDS = (
    "a an and any are as at be by can do does for from give has have how i if in is it its list of"
    " on or that the there these they this to was what when where which who why will with you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words(text: str) -> list[str]:
    """The words of a text, in order, case aside; signs between them are dropped."""
    return _WORDS.findall(plain(text))


def terms(text: str) -> list[str]:
    """As `words`, but names joined by signs stay whole: `tool.uv.sources`, `HG-4412`."""
    return _TERMS.findall(plain(text))


def marks(text: str) -> frozenset[str]:
    """The numbers and names in a text: what tells two alike questions apart."""
    return frozenset(term for term in terms(text) if _MARK.search(term))


def content(text: str) -> frozenset[str]:
    """The terms of a text that are no stop words."""
    return frozenset(terms(text)) - STOP_WORDS


def plain(text: str) -> str:
    """The text in one Unicode form, in lower case, without characters that nobody sees."""
    return _IGNORED.sub("", normalize("NFC", text)).casefold()


def squeezed(text: str) -> str:
    """The text with every run of white space as one blank, invisible characters dropped."""
    return " ".join(_IGNORED.sub("", normalize("NFC", text)).split())


def word_count(text: str) -> float:
    """How many words a text has; a character of a script without blanks counts as half of one."""
    return sum(_weight(word) for word in words(text))


def longest_shared_run(one: str, other: str) -> float:
    """How many words in a row two texts share at most; unspaced characters count as half."""
    first, second = terms(one), terms(other)
    starts: dict[str, list[int]] = {}
    for at, term in enumerate(second):
        starts.setdefault(term, []).append(at)
    return max(
        (
            _run(first, at, second, start)
            for at, term in enumerate(first)
            for start in starts.get(term, ())
            if not at or not start or first[at - 1] != second[start - 1]
        ),
        default=0.0,
    )


def _run(first: list[str], at: int, second: list[str], start: int) -> float:
    weight = 0.0
    for one, other in zip(first[at:], second[start:], strict=False):
        if one != other:
            break
        weight += _weight(one)
    return weight


def _weight(term: str) -> float:
    is_unspaced = len(term) == 1 and re.match(f"[{_UNSPACED}]", term) is not None
    return _UNSPACED_WEIGHT if is_unspaced else 1.0
