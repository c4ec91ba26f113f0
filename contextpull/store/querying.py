"""From what somebody typed to a query of the lexical index.

There is no query syntax to get wrong: every string is a query.
Text in double quotes must occur as a phrase; all other terms add to a section's score.
"""

import math
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
_SHORTEST_STEM = 3
_LONGEST_ENDING = 5
_MOST_FORMS = 8
_MOST_FORMS_READ = 400


class Weights(NamedTuple):
    """What a match in each field is worth, beside one of a word as written in the body (1).

    Chosen by measurement over the uv documentation: benchmarks/core has the figures.
    """

    variants: float = 0.3
    """Other forms of a word: cache, caches, cached for caching."""
    headings: float = 0.3
    context: float = 0.1
    identifiers: float = 1.5
    definitions: float = 1.0
    characters: float = 1.0


class Terms(NamedTuple):
    """What a query asks for."""

    words: dict[str, int]
    """Lower-case words as written, and how often each occurs in the query."""
    names: list[str]
    runs: list[str]
    """Runs of characters of scripts without spaces."""
    phrases: list[str]

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
    names = analyzers().names.analyze(separated(b" ".join(identifiers(raw)).decode()))
    runs = RUN.findall(text)
    return Terms(telling or dict(words), list(dict.fromkeys(names)), runs, phrases)


def compile_query(
    terms: Terms, schema: Schema, searcher: Searcher, weights: Weights | None = None
) -> Query:
    """The query of the lexical index for these terms; they must not be empty."""
    weights = weights or Weights()
    words = _rarest(_without_accents(terms.words), searcher)
    scored = [
        *_word_queries(words, schema, searcher, weights),
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


def _word_queries(
    words: dict[str, int], schema: Schema, searcher: Searcher, weights: Weights
) -> Iterator[Query]:
    stems: Counter[str] = Counter()
    for word, count in words.items():
        count = min(count, _MOST_REPEATS)
        (stem,) = analyzers().stemmed.analyze(word) or [word]
        stems[stem] += count
        variants = _variants(word, stem, searcher)
        own = 1 + weights.variants * variants.pop(word, 1.0)
        yield _term(schema, "body", word, count * own)
        for variant, share in variants.items():
            yield _term(schema, "body", variant, count * weights.variants * share)
    for stem, count in stems.items():
        yield _term(schema, "headings", stem, weights.headings * count)
        yield _term(schema, "context", stem, weights.context * count)


def _variants(word: str, stem: str, searcher: Searcher) -> dict[str, float]:
    """The most frequent words of the corpus with this stem, each with its share of the weight.

    Stemming happens here rather than in the index, which so serves any language and holds each
    word once. The share is what makes the inverse document frequency of a form that of the stem.
    """
    if len(stem) < _SHORTEST_STEM or not word.isalpha():
        return {}
    prefix = stem[:-1] if len(stem) > _SHORTEST_STEM else stem  # policy, policies: polici
    longest = len(word) + _LONGEST_ENDING
    forms = [
        (form, frequency)
        for form, frequency in searcher.terms_with_prefix("body", prefix, limit=_MOST_FORMS_READ)
        if len(form) <= longest and analyzers().stemmed.analyze(form) == [stem]
    ]
    forms.sort(key=lambda each: (-each[1], each[0]))
    total = min(searcher.num_docs, sum(frequency for _, frequency in forms))
    of_stem = _inverse_frequency(total, searcher.num_docs)
    return {
        # Sections that were removed count until the engine tidies up: there may be more than all.
        form: of_stem / _inverse_frequency(min(frequency, searcher.num_docs), searcher.num_docs)
        for form, frequency in forms[:_MOST_FORMS]
    }


def _inverse_frequency(frequency: int, documents: int) -> float:
    """BM25's inverse document frequency, as the engine computes it (Lucene's form)."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


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
