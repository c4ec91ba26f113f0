"""Comparison: two sections of different documents that are nearly the same, and how they differ."""

from collections import Counter
from collections.abc import Sequence

from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.conceptual import FEWEST_WORDS, prose_words
from contextpull.eval.generation.corpus import Corpus
from contextpull.eval.generation.near_duplicates import Pair, near_duplicates
from contextpull.eval.generation.plan import Made, Plan
from contextpull.eval.generation.sampling import spread
from contextpull.eval.generation.words import words
from contextpull.eval.generation.writing import AskedWriter, Draft
from contextpull.eval.generation.written import Candidate, Progress, write_questions

MOST_RIVALS = 3
"""A section with more near-duplicates than this makes no clear pair with any of them."""
_SHORTEST_WORD = 3
_NONE = "no two documents have sections that are nearly the same and yet differ"
_TASK = (
    "The question is a comparison: it can be answered only by somebody who reads both passages,"
    " and asks how they differ in one point, or what holds in one case and in the other. Name both"
    " cases by what tells them apart, such as a year, a version, a product or a place. Decline"
    " where they differ in nothing but names or wording."
)


def near_pairs(corpus: Corpus) -> list[Pair]:
    """All pairs of sections that are nearly the same; front matter aside. Needs numpy."""
    return near_duplicates(
        ["" if section.is_metadata else section.text for section in corpus.sections]
    )


def comparison(
    corpus: Corpus,
    pairs: Sequence[Pair],
    writer: AskedWriter,
    plan: Plan,
    kept: Kept,
    on_progress: Progress | None = None,
) -> Made:
    """Questions whose gold is both sections of a pair."""
    chosen = comparable(corpus, pairs, plan)
    made = Made("comparison", by="writer", candidates=len(chosen))
    if not chosen:
        made.skipped = _NONE
        return made
    candidates = [
        Candidate((corpus.sections[pair.first], corpus.sections[pair.second]), _TASK, _sound)
        for pair in chosen
    ]
    return write_questions(made, candidates, writer, plan, kept, on_progress)


def comparable(corpus: Corpus, pairs: Sequence[Pair], plan: Plan) -> list[Pair]:
    """Pairs across documents, no section in two of them, spread over the pairs of documents."""
    rivals = Counter(number for pair in pairs for number in pair[:2])
    fitting = [
        pair
        for pair in pairs
        if max(rivals[pair.first], rivals[pair.second]) <= MOST_RIVALS
        and not corpus.repeated.intersection(pair[:2])
        and _differ(corpus, pair)
    ]
    sections = corpus.sections
    used: set[int] = set()
    chosen = []
    for pair in spread(
        fitting,
        plan.seed,
        name=lambda pair: f"{sections[pair.first].id} {sections[pair.second].id}",
        groups=(
            lambda pair: sections[pair.first].document.rpartition("/")[0],
            lambda pair: (sections[pair.first].document, sections[pair.second].document),
        ),
    ):
        if used.isdisjoint(pair[:2]):
            used.update(pair[:2])
            chosen.append(pair)
    return chosen


def _differ(corpus: Corpus, pair: Pair) -> bool:
    """Whether the two say different things: a number or a longer word in one of them only."""
    first, second = corpus.sections[pair.first], corpus.sections[pair.second]
    if first.document == second.document:
        return False
    if min(prose_words(first.text), prose_words(second.text)) < FEWEST_WORDS // 2:
        return False
    apart = set(words(first.text)) ^ set(words(second.text))
    return any(word.isdigit() or len(word) >= _SHORTEST_WORD for word in apart)


def _sound(_draft: Draft) -> str:
    """Nothing more is asked of a comparison than of every question."""
    return ""
