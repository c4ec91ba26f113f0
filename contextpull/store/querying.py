"""From what somebody typed to a query of the lexical index.

There is no query syntax to get wrong: every string is a query.
Sections that hold the text in double quotes as a phrase come first; all terms add to the score.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tantivy import Occur, Query, Schema, Searcher

from contextpull.sections.identifiers import identifiers
from contextpull.store.analysis import RUN, STOP_WORDS, analyzers, separated

LONGEST_QUERY = 2_000
"""Characters beyond this are not searched for."""
MOST_TERMS = 48
"""Of more distinct words than this, the rarest are searched for."""

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»')
_MOST_REPEATS = 5


class Weights(NamedTuple):
    """What a match in each field is worth, beside one of a word as written in the body (1).

    Chosen by measurement on judged collections: benchmarks/retrieval has the figures.
    """

    stems: float = 1.2
    """The same word in any of its forms: cache, caches, cached for caching."""
    headings: float = 0.6
    context: float = 0.2
    identifiers: float = 2.0
    definitions: float = 3.0
    characters: float = 1.0


class Terms(NamedTuple):
    """What a query asks for."""

    words: dict[str, int]
    """Lower-case words as written, and how often each occurs in the query."""
    names: list[str]
    runs: list[str]
    """Runs of characters of scripts without spaces."""
    phrases: list[str]
    only_phrases: bool
    """Whether nothing that tells sections apart stands outside the quotes."""
    is_exact: bool
    """Whether it names something exactly: an identifier, a code span, a quoted phrase."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the query can be searched for."""
        return not (self.words or self.names or self.runs)


def terms_of(text: str) -> Terms:
    """Take a query apart. Never fails; the result may be empty."""
    raw = text[:LONGEST_QUERY].encode("utf-8", "replace")
    text = separated(raw.decode())
    phrases = ["".join(groups) for groups in _QUOTED.findall(text)]
    words = Counter(word for word in analyzers().written.analyze(text) if not RUN.fullmatch(word))
    telling = {word: count for word, count in words.items() if word not in STOP_WORDS}
    found = analyzers().names.analyze(separated(b" ".join(identifiers(raw)).decode()))
    names = list(dict.fromkeys(found))
    unquoted = analyzers().written.analyze(_QUOTED.sub(" ", text)) if phrases else []
    return Terms(
        words=telling or dict(words),
        names=names,
        runs=RUN.findall(text),
        phrases=phrases,
        only_phrases=bool(phrases) and STOP_WORDS.issuperset(unquoted),
        is_exact=bool(names or phrases or "`" in text),
    )


def compile_query(
    terms: Terms, schema: Schema, searcher: Searcher, weights: Weights | None = None
) -> Query:
    """The query of the lexical index for these terms; they must not be empty."""
    weights = weights or Weights()
    words = _rarest(_without_accents(terms.words), searcher)
    scored = [
        *_word_queries(words, schema, weights),
        *_name_queries(terms.names, schema, weights),
        *_run_queries(terms.runs, schema, weights),
    ]
    required = [query for phrase in terms.phrases for query in _phrase(phrase, schema)]
    # A flat union of term queries is what the engine can prune; nothing is nested without need.
    union = Query.boolean_query([(Occur.Should, query) for query in scored])
    if not required:
        return union
    return Query.boolean_query([(Occur.Must, query) for query in [union, *required]])


def _without_accents(words: dict[str, int]) -> dict[str, int]:
    plain: Counter[str] = Counter()
    for word, count in words.items():
        plain.update(dict.fromkeys(analyzers().folded.analyze(word), count))
    return plain


def _rarest(words: dict[str, int], searcher: Searcher) -> dict[str, int]:
    if len(words) <= MOST_TERMS:
        return words
    by_rarity = sorted(words, key=lambda word: (searcher.doc_freq("body", word) or 1 << 40, word))
    return {word: words[word] for word in by_rarity[:MOST_TERMS]}


def _word_queries(words: dict[str, int], schema: Schema, weights: Weights) -> Iterator[Query]:
    """A word counts as often as the query repeats it, within reason: long questions gain by it."""
    stems: Counter[str] = Counter()
    for word, count in words.items():
        (stem,) = analyzers().stemmed.analyze(word) or [word]
        stems[stem] += count
        yield _term(schema, "body", word, min(count, _MOST_REPEATS))
    for stem, repeats in stems.items():
        count = min(repeats, _MOST_REPEATS)
        yield _term(schema, "stems", stem, weights.stems * count)
        yield _term(schema, "headings", stem, weights.headings * count)
        yield _term(schema, "context", stem, weights.context * count)


def _name_queries(names: Sequence[str], schema: Schema, weights: Weights) -> Iterator[Query]:
    for name in names[:MOST_TERMS]:
        yield _term(schema, "identifiers", name, weights.identifiers)
        yield _term(schema, "definitions", name, weights.definitions)


def _run_queries(runs: Sequence[str], schema: Schema, weights: Weights) -> Iterator[Query]:
    """A single character is a term; of a longer run every pair of neighbours is a phrase."""
    pairs = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    for pair in list(dict.fromkeys(pairs))[:MOST_TERMS]:
        if len(pair) == 1:
            yield _term(schema, "characters", pair, weights.characters)
        else:
            phrase = Query.phrase_query(schema, "characters", list(pair))
            yield Query.boost_query(phrase, weights.characters)


def _phrase(text: str, schema: Schema) -> Iterator[Query]:
    """The words of a quoted phrase, next to each other."""
    words = analyzers().words.analyze(text)
    # At its ends a run may be part of a longer one; between words it is whole.
    while words and RUN.fullmatch(words[-1]):
        words.pop()
    while words and RUN.fullmatch(words[0]):
        words.pop(0)
    for field, terms in (("body", words), ("characters", analyzers().characters.analyze(text))):
        if len(terms) == 1:
            yield _term(schema, field, terms[0], 1.0)
        elif terms:
            yield Query.phrase_query(schema, field, list(terms))


def _term(schema: Schema, field: str, term: str, weight: float) -> Query:
    return Query.boost_query(Query.term_query(schema, field, term, "freq"), weight)
