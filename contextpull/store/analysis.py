"""How text becomes terms: the analyzers of the index and of queries, and the words left out."""

import unicodedata
from functools import cache
from typing import NamedTuple

import re2
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_TERM = 120
# Scripts written without spaces, and pictures: every character is a term, and a run is a phrase.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{So}"
RUN = re2.compile(f"[{UNSPACED}]+")
_STOP_WORDS = """
    a an and are as at be but by can do does for from has have how i if in into is it its me my no
    not of on or should so such that the their then there these they this to us use used using was
    we were what when where which who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that a question is put together with; they are left out while others remain."""


class Analyzers(NamedTuple):
    """One analyzer per kind of field; its name is the tokenizer's name in the schema.

    The others are for queries.
    """

    written: TextAnalyzer
    """Lower-case words as written."""
    folded: TextAnalyzer
    """One word without its accents."""
    stemmed: TextAnalyzer
    """The English stem of one word."""
    words: TextAnalyzer
    """Lower-case words without accents."""
    stems: TextAnalyzer
    """Words without accents, reduced to their English stems."""
    names: TextAnalyzer
    """Whole identifiers, as `contextpull.sections.identifiers` joined them."""
    characters: TextAnalyzer
    """Single characters of scripts without spaces."""


@cache
def analyzers() -> Analyzers:
    """The analyzers, built once per process."""
    characters = TextAnalyzerBuilder(Tokenizer.regex(f"[{UNSPACED}]"))
    return Analyzers(
        _lower(Tokenizer.simple()).build(),
        _plain(Tokenizer.raw()).build(),
        _plain(Tokenizer.raw()).filter(Filter.stemmer("english")).build(),
        _plain(Tokenizer.simple()).build(),
        _plain(Tokenizer.simple()).filter(Filter.stemmer("english")).build(),
        _lower(Tokenizer.whitespace()).build(),
        characters.build(),
    )


def _lower(tokenizer: Tokenizer) -> TextAnalyzerBuilder:
    lower = TextAnalyzerBuilder(tokenizer).filter(Filter.lowercase())
    return lower.filter(Filter.remove_long(LONGEST_TERM))


def _plain(tokenizer: Tokenizer) -> TextAnalyzerBuilder:
    return _lower(tokenizer).filter(Filter.ascii_fold())


def separated(text: str) -> str:
    """The text with composed characters, and spaces around what is written without them.

    So the words of both kinds of script in `使用Python编程` are found.
    """
    return str(RUN.sub(r" \g<0> ", unicodedata.normalize("NFC", text)))
