"""Whether a passage holds a quote, and what comes closest where it does not.

Both are compared token by token: a word, a number, a sign of a currency or a percentage; in scripts
that put no space between words (Chinese, Japanese, Thai …) a character with its marks. Case, normal
form, punctuation and white space do not count; numbers count to the digit and the sign.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from math import ceil
from typing import NamedTuple
from unicodedata import category, decimal, normalize

LEAST_PART = 3
"""Tokens: a shorter part of a quote, or a shorter piece between ellipses, proves nothing."""

_MOST_COMPARED = 300
"""Tokens of a quote that `closest` looks at."""

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x109F),  # Tibetan, Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x30FF),  # ideographic marks, kana
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),  # ideographs
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x323AF),
)
_BEFORE_A_SIGN = frozenset("\"'`|=:")
_TOKEN = re.compile(
    "(?P<number>(?:(?<![^ s])-)?d[di]*(?:[.,]d[di]*)*)|(?P<word>[wm][wmi]*|c[mi]*)|(?P<sign>s)"
)
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_ELLIPSIS = re.compile(r"\[?(?:…|\.{3,})\]?")


class Span(NamedTuple):
    """Characters of a text, half open."""

    start: int
    end: int


class Match(NamedTuple):
    """The text of a passage that comes closest to a quote."""

    span: Span
    text: str
    likeness: float
    """0 to 1: twice the characters in common, in order, over the characters of both."""


class _Token(NamedTuple):
    key: str
    start: int
    end: int


def holds(passage_text: str, quote: str) -> bool:
    """Whether a passage holds a quote, wholly or as much of it as the passage's border leaves.

    A part counts when it is at least half of the quote's tokens, three at the least, and reaches
    the passage's end (the quote goes on behind it), its start, or both. Pieces with an ellipsis
    between them may stand apart, in order. A quote without words is nowhere.
    """
    passage, wanted = _keys(passage_text), _keys(quote)
    if not wanted:
        return False
    return (
        _joined(wanted) in _joined(passage)
        or _has_part_at_border(passage, wanted)
        or _has_pieces(passage, quote)
    )


def hold_all(passages: Sequence[str], quote: str) -> bool:
    """Whether passages hold a quote whole: one of them does, or its pieces between ellipses stand
    in them in their order. A quote without words is nowhere.
    """
    wanted = _keys(quote)
    if not wanted:
        return False
    # No token is empty: what stands in two passages is never taken for one piece.
    keys = [key for text in passages for key in (*_keys(text), "")]
    return _joined(wanted) in _joined(keys) or _has_pieces(keys, quote)


def closest(passage_text: str, quote: str) -> Match:
    """The text of a passage that looks most like a quote; empty where one of both has no words.

    Only the first 300 tokens of the quote are compared.
    """
    passage, wanted = _tokens(passage_text), _tokens(quote)[:_MOST_COMPARED]
    if not passage or not wanted:
        return Match(Span(0, 0), "", 0.0)
    first = _densest(passage, wanted)
    windows = (Span(first, first + len(wanted)), _aligned(passage, wanted, first))
    likeness, window = max(
        (_likeness(passage[window.start : window.end], wanted), window) for window in windows
    )
    found = passage[window.start : window.end]
    span = Span(found[0].start, found[-1].end)
    return Match(span, passage_text[span.start : span.end], likeness)


def is_unspaced(char: str) -> bool:
    """Whether a character is of a script that puts no space between words."""
    return any(first <= ord(char) <= last for first, last in _UNSPACED)


def tokens_in(text: str) -> int:
    """How many tokens a text has: words, or characters where a script does not space words."""
    return len(_tokens(text))


class _Classes(dict[int, str]):
    """What each character is to the pattern of a token, looked up once a character."""

    def __missing__(self, code: int) -> str:
        self[code] = _class_of(chr(code))
        return self[code]


_CLASSES = _Classes()


def _class_of(char: str) -> str:
    kind = category(char)
    if kind == "Nd":
        return "d"
    if kind == "Cf":
        return "i"
    if kind[0] == "M":
        return "m"
    if kind[0] in "LN":
        return "c" if is_unspaced(char) else "w"
    if kind == "Sc" or char in "%‰":
        return "s"
    if char in ".,":
        return char
    if char in "-−":
        return "-"
    is_open = char.isspace() or kind in {"Ps", "Pi", "Cc"} or char in _BEFORE_A_SIGN
    return " " if is_open else "p"


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[_Token, ...]:
    return tuple(
        _Token(_key(text[found.start() : found.end()], found.lastgroup), *found.span())
        for found in _TOKEN.finditer(text.translate(_CLASSES))
    )


def _key(text: str, group: str | None) -> str:
    """A token as it is compared."""
    if group == "number":
        plain = "".join(str(decimal(char, char)) for char in text if category(char) != "Cf")
        plain = plain.replace("−", "-")
        return plain.replace(",", "") if _GROUPED.fullmatch(plain) else plain
    visible = "".join(char for char in text if category(char) != "Cf")
    folded = normalize("NFC", visible).casefold()
    return normalize("NFC", folded)


def _keys(text: str) -> tuple[str, ...]:
    return tuple(token.key for token in _tokens(text))


def _joined(keys: Sequence[str]) -> str:
    return "\n".join(("", *keys, ""))


def _has_part_at_border(passage: Sequence[str], wanted: Sequence[str]) -> bool:
    least = max(LEAST_PART, ceil(len(wanted) / 2))
    if len(passage) < least:
        return False
    for size in range(min(len(passage), len(wanted) - 1), least - 1, -1):
        if passage[-size] == wanted[0] and passage[-size:] == wanted[:size]:
            return True
        if passage[size - 1] == wanted[-1] and passage[:size] == wanted[-size:]:
            return True
    return _joined(passage) in _joined(wanted)


def _has_pieces(passage: Sequence[str], quote: str) -> bool:
    """Whether the pieces that an ellipsis parts stand there one behind the other."""
    pieces = [_keys(piece) for piece in _ELLIPSIS.split(quote)]
    pieces = [piece for piece in pieces if piece]
    if len(pieces) < 2 or min(map(len, pieces)) < LEAST_PART:
        return False
    whole, at = _joined(passage), 0
    for piece in map(_joined, pieces):
        found = whole.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece) - 1
    return True


def _densest(passage: Sequence[_Token], wanted: Sequence[_Token]) -> int:
    """Where a window of the quote's length shares most pairs of characters with it."""
    pairs = {pair for token in wanted for pair in _pairs(token.key)}
    shared = [sum(pair in pairs for pair in _pairs(token.key)) for token in passage]
    width = min(len(wanted), len(passage))
    total = best = sum(shared[:width])
    first = 0
    for at in range(width, len(shared)):
        total += shared[at] - shared[at - width]
        if total > best:
            best, first = total, at - width + 1
    return first


def _pairs(key: str) -> list[str]:
    return [key[at : at + 2] for at in range(max(1, len(key) - 1))]


def _aligned(passage: Sequence[_Token], wanted: Sequence[_Token], first: int) -> Span:
    """The window from where the quote's first token would stand to where its last one would."""
    reach = len(wanted) // 2
    low, high = max(0, first - reach), min(len(passage), first + len(wanted) + reach)
    matcher = SequenceMatcher(
        None,
        [token.key for token in passage[low:high]],
        [token.key for token in wanted],
        autojunk=False,
    )
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return Span(first, first + len(wanted))
    start = low + blocks[0].a - blocks[0].b
    behind = len(wanted) - blocks[-1].b - blocks[-1].size
    end = low + blocks[-1].a + blocks[-1].size + behind
    return Span(max(low, start), min(high, end))


def _likeness(found: Sequence[_Token], wanted: Sequence[_Token]) -> float:
    text, quote = (" ".join(token.key for token in each) for each in (found, wanted))
    return SequenceMatcher(None, text, quote, autojunk=False).ratio()
