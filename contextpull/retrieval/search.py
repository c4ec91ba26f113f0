"""Search: the best sections as hits with snippets, identical ones shown once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from contextpull.config import Mode, Snippets
from contextpull.retrieval.models import Models
from contextpull.retrieval.paths import matching_documents
from contextpull.retrieval.ranking import Ranking, rank
from contextpull.retrieval.snippets import SnippetMaker
from contextpull.retrieval.work import Work
from contextpull.store import Snapshot
from contextpull.store.lexical import Scored
from contextpull.store.querying import LONGEST_QUERY, terms_of
from contextpull.store.records import Address, StoredSection

MOST_HITS = 50
SHORT_CHARS = 110
FULL_CHARS = 600

_DEEPEST = 2_000
"""Ranks beyond this are never fetched: paging ends here."""


class Hit(NamedTuple):
    """One section that answers a search."""

    section: StoredSection
    score: float
    snippet: str
    copies: tuple[str, ...]
    """Ids of other sections with the same text."""
    has_phrases: bool
    """Whether it holds all that the query has in quotes; those that do come first."""


class SearchResult(NamedTuple):
    """A page of hits, best first."""

    hits: list[Hit]
    offset: int
    has_more: bool
    notes: tuple[str, ...]


def search(
    snapshot: Snapshot,
    query: str,
    *,
    limit: int = 10,
    offset: int = 0,
    paths: Sequence[str] = (),
    snippets: Snippets = "short",
    mode: Mode | None = None,
    models: Models | None = None,
    work: Work | None = None,
) -> SearchResult:
    """The sections that match a query best; equal scores rank by id.

    Without a `mode` both words and vectors count where the store keeps vectors, else words alone.
    `models` are loaded when they are needed, and may be used by any number of searches.

    Any string is a query. Sections that hold what stands in double quotes come first, but for
    `dense`, which knows no quotes.
    Raises PathNotFound when one of `paths` means no document, Stopped when `work` is to end.
    """
    limit = max(1, min(limit, MOST_HITS))
    documents = None
    if paths:
        documents = [document.number for document in matching_documents(snapshot, paths)]
        if len(documents) == len(snapshot.documents):
            documents = None
    chosen = mode or ("hybrid" if snapshot.keeps_vectors else "lexical")
    ranking = partial(
        rank, snapshot, query, chosen, documents=documents, models=models or Models(), work=work
    )
    found, has_more, notes = _distinct(snapshot, ranking, offset + limit)
    hits = _hits(snapshot, query, found[offset:], documents, snippets)
    return SearchResult(hits, offset, has_more, (*_notes(query), *notes))


class _Ranked(NamedTuple):
    """A section in the ranking, before its text is looked at."""

    key: tuple[bool, float]
    """Smaller is better, as in Scored.rank."""
    id: str
    scored: Scored
    address: Address


def _distinct(
    snapshot: Snapshot, ranking_to: Callable[..., Ranking], wanted: int
) -> tuple[list[_Ranked], bool, tuple[str, ...]]:
    """The best `wanted` sections with different texts, whether more follow, and notes."""
    depth = min(wanted * 2 + 10, _DEEPEST)
    while True:
        ranking = ranking_to(depth=depth)
        exhausted = ranking.is_complete or depth == _DEEPEST
        ranked = _ranked(snapshot, ranking.scored)
        unique: dict[int, _Ranked] = {}
        for each in ranked:
            unique.setdefault(each.address.fingerprint, each)
        found = list(unique.values())
        # What was fetched last may share its score with some that were not: it is not counted on.
        if exhausted or (len(found) > wanted and found[wanted - 1].key < ranked[-1].key):
            return found[:wanted], len(found) > wanted, ranking.notes
        depth = min(depth * 4, _DEEPEST)


def _ranked(snapshot: Snapshot, scored: Sequence[Scored]) -> list[_Ranked]:
    addresses = snapshot.database.addresses([each.number for each in scored])
    return sorted(
        _Ranked(each.rank, address.id, each, address)
        for each in scored
        if (address := addresses.get(each.number))
    )


def _hits(
    snapshot: Snapshot,
    query: str,
    ranked: Sequence[_Ranked],
    documents: list[int] | None,
    snippets: Snippets,
) -> list[Hit]:
    maker = None
    if snippets != "heading":
        maker = SnippetMaker(terms_of(query), SHORT_CHARS if snippets == "short" else FULL_CHARS)
    sections = snapshot.database.sections([each.address.number for each in ranked])
    repeated = snapshot.database.repeated([section.fingerprint for section in sections])
    allowed = None if documents is None else set(documents)
    return [
        Hit(
            section,
            each.scored.score,
            maker.snippet(section) if maker else "",
            _copies(snapshot, section, allowed) if section.fingerprint in repeated else (),
            each.scored.has_phrases,
        )
        for each, section in zip(ranked, sections, strict=True)
    ]


def _copies(
    snapshot: Snapshot, section: StoredSection, allowed: set[int] | None
) -> tuple[str, ...]:
    return tuple(
        copy.id
        for copy in snapshot.database.copies(section.fingerprint)
        if copy.number != section.number and (allowed is None or copy.document in allowed)
    )


def _notes(query: str) -> tuple[str, ...]:
    if len(query) > LONGEST_QUERY:
        return (f"Only the first {LONGEST_QUERY:,} characters of the query were searched for.",)
    return ()
