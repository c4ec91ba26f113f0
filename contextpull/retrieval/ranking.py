"""Ranking: by words (BM25), by vectors, by both together, and anew by a cross-encoder."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from contextpull.config import Mode
from contextpull.errors import ContextPullError
from contextpull.retrieval.models import Models
from contextpull.retrieval.work import Work
from contextpull.store import Snapshot
from contextpull.store.embedding import embedded_text
from contextpull.store.lexical import Scored
from contextpull.store.querying import terms_of


class Fusion(NamedTuple):
    """How two rankings become one."""

    by: Literal["scores", "ranks"] = "scores"
    """By `combined`, or by `reciprocal_rank_fusion`."""
    words: float | None = None
    """What words weigh: of 1 altogether for scores, beside 1 for ranks; None for what is best."""


BEST_FUSION = Fusion()
FUSED = 200
"""The best of each ranking that are fused."""
MOST_HOLDING = 2_000
"""Of the sections that hold what a query has in quotes; further ones are taken not to."""
RERANKED = 20
"""The best that a cross-encoder reads; each costs it up to 100 ms of one processor."""
SHARE_OF_WORDS = 0.5
SHARE_WHEN_EXACT = 0.8
"""For queries that name something exactly, which vectors blur.

Both shares were chosen by measurement: benchmarks/retrieval has the figures.
"""
_FUSED_DIGITS = 6
_ERROR_CHARS = 300
_RERANKED_AT_ONCE = 8
"""Between so many a search can be stopped."""


class Ranking(NamedTuple):
    """Sections with their scores, better ones first but for equal ranks."""

    scored: list[Scored]
    is_complete: bool
    """Whether nothing follows, however many are asked for."""
    notes: tuple[str, ...] = ()
    """What was done otherwise than asked, in sentences."""


def rank(
    snapshot: Snapshot,
    query: str,
    mode: Mode,
    depth: int,
    documents: Sequence[int] | None,
    models: Models,
    fusion: Fusion = BEST_FUSION,
    work: Work | None = None,
) -> Ranking:
    """Rank sections for a query; `documents` restricts them to documents by number.

    Only `lexical` looks at `depth`: the others rank what is among the best of each way to search.
    What cannot be done, for want of vectors or of a model, is left out and noted.
    Raises Stopped when `work` is to end.
    """
    work = work or Work()
    work.check()
    if mode == "lexical":
        return _by_words(snapshot, query, depth, documents)
    notes: list[str] = []
    near = None
    try:
        most = depth if mode == "dense" else FUSED
        near = _by_vectors(snapshot, query, most, documents, models, work)
    except ContextPullError as error:
        notes.append(f"Ranked by words alone, without vectors: {_short(error)}")
    if mode == "dense" and near is not None:
        return near
    if near or mode == "rerank":
        words = _best_by_words(snapshot, query, documents)
        ranking = _fused(query, words, near.scored, fusion) if near else Ranking(words, True)
    else:
        ranking = _by_words(snapshot, query, depth, documents)
    if mode == "rerank":
        try:
            ranking = _reranked(snapshot, query, ranking.scored, models, work)
        except ContextPullError as error:
            notes.append(f"Not reranked: {_short(error)}")
    return ranking._replace(notes=tuple(notes))


def combined(
    words: Mapping[int, float], near: Mapping[int, float], share_of_words: float
) -> dict[int, float]:
    """The fused score of everything in either ranking, 0 to 1, from the scores in both.

    A convex combination of scores brought to one scale: BM25 as a part of its best, cosines
    between the lowest and the highest; what a ranking lacks scores 0 there. It ranks better than
    reciprocal ranks do, since it keeps how far ahead the best is.
    Bruch, Gai and Ingber, ACM TOIS 42(1), 2023.
    """
    most = max(words.values(), default=0.0) or 1.0
    low = min(near.values(), default=0.0)
    span = (max(near.values(), default=0.0) - low) or 1.0
    scores = {number: share_of_words * score / most for number, score in words.items()}
    for number, cosine in near.items():
        part = (1 - share_of_words) * (cosine - low) / span
        scores[number] = scores.get(number, 0.0) + part
    return {number: round(score, _FUSED_DIGITS) for number, score in scores.items()}


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[int]], weights: Sequence[float], k: int = 60
) -> dict[int, float]:
    """The fused score of everything that is ranked: the sum of weight / (k + rank), from rank 1.

    Cormack, Clarke and Buettcher, SIGIR 2009, where every weight is 1.
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for place, number in enumerate(ranking, start=1):
            scores[number] = scores.get(number, 0.0) + weight / (k + place)
    return scores


def _by_words(
    snapshot: Snapshot, query: str, depth: int, documents: Sequence[int] | None
) -> Ranking:
    scored = snapshot.index.search(query, depth, documents)
    return Ranking(scored, len(scored) < depth)


def _best_by_words(snapshot: Snapshot, query: str, documents: Sequence[int] | None) -> list[Scored]:
    """The best by words in their order, equal ones by id; of those with all quotes, all."""
    most = MOST_HOLDING if terms_of(query).phrases else 2 * FUSED  # room for equal scores
    scored = _in_order(snapshot, snapshot.index.search(query, most, documents))
    holding = sum(each.has_phrases for each in scored) if most == MOST_HOLDING else 0
    return scored[: max(FUSED, holding)]


def _by_vectors(
    snapshot: Snapshot,
    query: str,
    depth: int,
    documents: Sequence[int] | None,
    models: Models,
    work: Work,
) -> Ranking:
    dense = snapshot.dense
    vector = models.query_vector(dense.manifest, query, work)
    work.check()
    near = dense.search(vector, depth, _numbers_in(snapshot, documents))
    scored = [Scored(each.number, each.cosine) for each in near]
    return Ranking(_in_order(snapshot, scored), len(near) < depth)


def _numbers_in(snapshot: Snapshot, documents: Sequence[int] | None) -> list[range] | None:
    if documents is None:
        return None
    wanted = set(documents)
    every = snapshot.documents.values()
    return [document.section_numbers for document in every if document.number in wanted]


def _fused(query: str, words: Sequence[Scored], near: Sequence[Scored], fusion: Fusion) -> Ranking:
    """Both rankings as one; what lacks a quoted phrase stays behind what holds it, or away."""
    terms = terms_of(query)
    if fusion.by == "ranks":
        weight = 1.0 if fusion.words is None else fusion.words
        orders = [[each.number for each in ranking] for ranking in (words, near)]
        scores = reciprocal_rank_fusion(orders, [weight, 1.0])
    else:
        best = SHARE_WHEN_EXACT if terms.is_exact else SHARE_OF_WORDS
        share = best if fusion.words is None else fusion.words
        scores = combined(_scores(words), _scores(near), share)
    holding = {each.number for each in words if each.has_phrases}
    fused = [
        Scored(number, score, not terms.phrases or number in holding)
        for number, score in scores.items()
    ]
    if terms.only_phrases:
        fused = [each for each in fused if each.has_phrases]
    return Ranking(fused, is_complete=True)


def _reranked(
    snapshot: Snapshot, query: str, scored: Sequence[Scored], models: Models, work: Work
) -> Ranking:
    """The best by what a cross-encoder thinks of them; behind them the others, as they were."""
    by_number = {each.number: each for each in scored}
    order = [each.number for each in _in_order(snapshot, scored)]
    sections = snapshot.database.sections(order[:RERANKED])
    texts = [embedded_text(section) for section in sections]
    logits: list[float] = []
    for start in range(0, len(texts), _RERANKED_AT_ONCE):
        some = texts[start : start + _RERANKED_AT_ONCE]
        logits += models.rerank_scores(query, some, work)
        work.tell(f"Reranked {start + len(some)} of {len(texts)}.")
    lowest = min(logits, default=0.0)
    scores = {section.number: logit for section, logit in zip(sections, logits, strict=True)}
    behind = (number for number in order if number not in scores)
    scores |= {number: lowest - place for place, number in enumerate(behind, start=1)}
    ranked = [by_number[number]._replace(score=score) for number, score in scores.items()]
    return Ranking(ranked, is_complete=True)


def _scores(scored: Sequence[Scored]) -> dict[int, float]:
    return {each.number: each.score for each in scored}


def _in_order(snapshot: Snapshot, scored: Sequence[Scored]) -> list[Scored]:
    """Best first, equal ones by id; sections that the store does not hold are left out."""
    addresses = snapshot.database.addresses([each.number for each in scored])
    known = [each for each in scored if each.number in addresses]
    return sorted(known, key=lambda each: (each.rank, addresses[each.number].id))


def _short(error: ContextPullError) -> str:
    text = str(error)
    return text if len(text) <= _ERROR_CHARS else f"{text[: _ERROR_CHARS - 1]}…"
