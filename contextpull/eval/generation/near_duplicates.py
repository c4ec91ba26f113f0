"""Pairs of texts that are nearly the same, found without comparing every text with every other.

A text is the set of its runs of three words; likeness is the Jaccard coefficient of two such sets.
Two sets of likeness t share at least one of the rarest (1 - t) of either (prefix filtering:
Bayardo, Ma and Srikant, Scaling Up All Pairs Similarity Search, 2007), so only texts that do are
compared, and these exactly. Nothing is hashed and nothing is random.
"""

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from contextpull.eval.generation.words import words

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

    Integers = NDArray[int64]

LEAST_LIKENESS = 0.4
FEWEST_WORDS = 20
"""A shorter text is like others by chance."""
MOST_HOLDERS = 50
"""A run of words in more texts than this is boilerplate and brings no two of them together."""
_AT_ONCE = 20_000
_ROUNDING = 1e-9


class Pair(NamedTuple):
    """Two texts by their numbers, the lower first, and how alike they are."""

    first: int
    second: int
    likeness: float


class _Shingles(NamedTuple):
    """The distinct shingles of all texts: text by text, within a text by number."""

    holders: "Integers"
    """The text that each belongs to."""
    numbers: "Integers"
    sizes: "Integers"
    """How many shingles each text has."""
    different: int
    """How many different shingles there are."""


def near_duplicates(
    texts: Sequence[str],
    *,
    least: float = LEAST_LIKENESS,
    fewest_words: int = FEWEST_WORDS,
    most_holders: int = MOST_HOLDERS,
) -> list[Pair]:
    """Every pair of texts that are at least `least` alike, but not the same, in order.

    Left out are texts of fewer than `fewest_words` words, and pairs of which no shared shingle
    is rare: each is in more than `most_holders` texts. Needs numpy, and time that grows with the
    length of the texts together, not with the square of their number.
    """
    shingles = _shingles(texts, fewest_words)
    if not len(shingles.numbers):
        return []
    first, second = _candidates(shingles, least, most_holders)
    likeness = _likeness(shingles, first, second)
    kept = (likeness >= least - _ROUNDING) & (likeness < 1)
    columns = (first[kept].tolist(), second[kept].tolist(), likeness[kept].tolist())
    return [Pair(*row) for row in zip(*columns, strict=True)]


def _shingles(texts: Sequence[str], fewest_words: int) -> _Shingles:
    import numpy as np

    numbers, lengths = _numbered(texts, fewest_words)
    holders = np.repeat(np.arange(len(lengths)), lengths)
    if len(numbers) < 3:
        empty = np.zeros(0, dtype=np.int64)
        return _Shingles(empty, empty, np.zeros(len(lengths), dtype=np.int64), 0)
    different = int(numbers.max()) + 1
    whole = holders[2:] == holders[:-2]
    _, twos = np.unique(numbers[:-1] * different + numbers[1:], return_inverse=True)
    _, threes = np.unique((twos[:-1] * different + numbers[2:])[whole], return_inverse=True)
    count = int(threes.max(initial=-1)) + 1
    # One number for both, so that one sort drops what a text repeats.
    both = np.unique(holders[:-2][whole] * max(count, 1) + threes)
    owners = both // max(count, 1)
    sizes = np.bincount(owners, minlength=len(lengths))
    return _Shingles(owners, both % max(count, 1), sizes, count)


def _numbered(texts: Sequence[str], fewest_words: int) -> tuple["Integers", "Integers"]:
    """All words as numbers, text after text, and how many of them each text has."""
    import numpy as np

    known: dict[str, int] = {}
    numbers, lengths = array("q"), array("q")
    for text in texts:
        found = words(text)
        if len(found) < max(fewest_words, 3):
            found = []
        numbers.extend([known.setdefault(word, len(known)) for word in found])
        lengths.append(len(found))
    return np.array(numbers, dtype=np.int64), np.array(lengths, dtype=np.int64)


def _candidates(
    shingles: _Shingles, least: float, most_holders: int
) -> tuple["Integers", "Integers"]:
    """Pairs that share a shingle which is among the rarest of both, each pair once, in order."""
    import numpy as np

    holders, numbers, sizes, count = shingles
    times = np.bincount(numbers, minlength=count)
    rarest_first = np.lexsort((numbers, times[numbers], holders))
    holders, numbers = holders[rarest_first], numbers[rarest_first]
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(holders)) - starts[holders]
    prefix = sizes - np.ceil(least * sizes - _ROUNDING).astype(np.int64) + 1
    used = (place < prefix[holders]) & (times[numbers] > 1) & (times[numbers] <= most_holders)
    by_shingle = np.lexsort((holders[used], numbers[used]))
    holders, numbers = holders[used][by_shingle], numbers[used][by_shingle]
    found = [np.zeros(0, dtype=np.int64)]
    for apart in range(1, most_holders):
        same = numbers[:-apart] == numbers[apart:]
        if not same.any():
            break
        first, second = holders[:-apart][same], holders[apart:][same]
        small = np.minimum(sizes[first], sizes[second])
        fits = small >= least * np.maximum(sizes[first], sizes[second]) - _ROUNDING
        found.append(first[fits] * len(sizes) + second[fits])
    pairs = np.unique(np.concatenate(found))
    return pairs // len(sizes), pairs % len(sizes)


def _likeness(shingles: _Shingles, first: "Integers", second: "Integers") -> "NDArray[float64]":
    """The Jaccard coefficient of each pair."""
    import numpy as np

    holders, numbers, sizes, count = shingles
    held = holders * count + numbers  # sorted, as the shingles are
    starts = np.cumsum(sizes) - sizes
    shared = np.zeros(len(first), dtype=np.int64)
    for at in range(0, len(first), _AT_ONCE):
        some = slice(at, at + _AT_ONCE)
        small = np.where(sizes[first[some]] <= sizes[second[some]], first[some], second[some])
        large = first[some] + second[some] - small
        lengths = sizes[small]
        pair = np.repeat(np.arange(len(small)), lengths)
        offset = np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        wanted = large[pair] * count + numbers[starts[small][pair] + offset]
        place = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
        shared[some] = np.bincount(pair[held[place] == wanted], minlength=len(small))
    return np.asarray(shared / np.maximum(sizes[first] + sizes[second] - shared, 1))
