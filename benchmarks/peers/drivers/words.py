"""Queries for engines that bring a query language, but no reading of free text."""

import re

_GROUPS = (
    "the a an this that these those such",
    "and or but nor so if than then",
    "of in on at to by for from with without into onto over under between through about as",
    "i me my we us our you your he his she her it its they them their one",
    "what which who whom whose when where why how",
    "is are was were be been being do does did have has had can could may might must shall should",
    "will would not no",
    "there here any some all each both more most other only just also very too",
)
STOP_WORDS = frozenset(word for group in _GROUPS for word in group.split())
"""Those that carry no content in an English question."""

_PIECE = re.compile(r'"[^"]+"|\w+')
_WORD = re.compile(r"\w+")
_WRITTEN = re.compile(r'"[^"]+"|\S+')


def any_of(query: str) -> str:
    """`a OR "b c" OR d`: the words that carry content, and phrases in double quotes whole.

    Empty when the query has no word. SQLite FTS5 and tantivy both read it. A word that is asked
    for twice counts twice, as BM25 has it.
    """
    pieces = [" ".join(_WORD.findall(piece)) for piece in _PIECE.findall(query)]
    pieces = [piece for piece in pieces if piece]
    chosen = [piece for piece in pieces if piece.lower() not in STOP_WORDS] or pieces
    return " OR ".join(f'"{piece}"' for piece in chosen)


def keywords(query: str) -> list[str]:
    """The words that carry content, as they are written: `--no-cache` and `C++` stay whole.

    So do phrases in double quotes, and whatever else a server may read as its own syntax.
    """
    words = [word.rstrip("?!.,;:").strip("`()") for word in _WRITTEN.findall(query)]
    words = [word for word in words if word]
    return [word for word in words if word.lower() not in STOP_WORDS] or words
