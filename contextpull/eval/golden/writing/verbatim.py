"""Where the words that a model quotes stand in a text, exactly as they are there."""

from collections.abc import Iterator
from unicodedata import combining, normalize

from contextpull.eval.untrusted import INVISIBLE


def verbatim(quote: str, text: str) -> str:
    """The part of the text that a quote repeats, as it stands there; empty where there is none.

    Letter by letter, case and signs included. Only what cannot be seen may differ: runs of white
    space, characters without a shape, and the form in which Unicode writes an accent.
    """
    if quote.strip() and quote.strip() in text:
        return quote.strip()
    wanted = "".join(sign for sign, _, _ in _visible(quote)).strip()
    if not wanted:
        return ""
    signs = list(_visible(text))
    found = "".join(sign for sign, _, _ in signs).find(wanted)
    if found < 0:
        return ""
    return text[signs[found][1] : signs[found + len(wanted) - 1][2]]


def _visible(text: str) -> Iterator[tuple[str, int, int]]:
    """What is seen of a text, character by character, with where in the text each comes from."""
    at, after_blank = 0, False
    while at < len(text):
        end = at + 1
        while end < len(text) and combining(text[end]):
            end += 1
        cluster = INVISIBLE.sub("", text[at:end])
        if cluster.isspace():
            if not after_blank:
                yield " ", at, end
            after_blank = True
        elif cluster:
            for sign in normalize("NFC", cluster):
                yield sign, at, end
            after_blank = False
        at = end
