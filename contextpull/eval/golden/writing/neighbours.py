"""Passages that one question can be asked about together."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

from contextpull.adapters.push import Searched
from contextpull.errors import MissingExtra, StoreError
from contextpull.eval.generation.corpus import SourceSection
from contextpull.eval.generation.words import content

Neighbour = Callable[[SourceSection], SourceSection | None]
"""The passage that is most like one, if any is like it enough."""

_LOOKED_AT = 50
_RARE_SHARE = 0.05
_RARE_ANYWAY = 8
"""A term is rare that stands in so many sections at most, or in this share of all."""
_FEWEST_SHARED = 3
_COPY = 0.98


def neighbour_finder(
    searched: Searched, passages: Sequence[SourceSection], least: float
) -> tuple[Neighbour, str]:
    """How to find neighbours among the passages, and by what: `vectors` or `rare terms`.

    The store's vectors are used where it has them. A neighbour is a section of another document,
    or of another part of the same one, at a similarity of `least` or more, and no copy.
    """
    try:
        return _ByVectors(searched, passages, least), "vectors"
    except (StoreError, MissingExtra):
        return _ByTerms(passages, least), "rare terms"


def are_apart(one: SourceSection, other: SourceSection) -> bool:
    """Whether two sections are two places: not parts of one section, which a reader sees as one."""
    return one.id.partition("~")[0] != other.id.partition("~")[0]


class _ByVectors:
    """The cosine of two sections' vectors."""

    def __init__(self, searched: Searched, passages: Sequence[SourceSection], least: float) -> None:
        self._dense = searched.snapshot.dense
        numbers = {section_id: number for number, section_id in searched.ids.items()}
        self._passages = {numbers[section.id]: section for section in passages}
        self._numbers = {section.id: number for number, section in self._passages.items()}
        self._least = least

    def __call__(self, section: SourceSection) -> SourceSection | None:
        try:
            vector = self._dense.vector(self._numbers[section.id])
        except StoreError:  # made since: the next ingest gives it one
            return None
        for near in self._dense.search(vector, _LOOKED_AT, exact=True):
            other = self._passages.get(near.number)
            if near.cosine < self._least:
                break
            if other is not None and near.cosine < _COPY and are_apart(section, other):
                return other
        return None


class _ByTerms:
    """The overlap of two sections' rare terms, each weighted by how few sections hold it.

    The weight of what both hold by that of the lesser of both (the overlap coefficient of
    Szymkiewicz and Simpson), with the inverse document frequency ln(N / n) as the weight.
    """

    def __init__(self, passages: Sequence[SourceSection], least: float) -> None:
        self._passages = passages
        self._least = least

    @cached_property
    def _held(self) -> dict[str, dict[str, float]]:
        """By section, the weight of each of its rare terms."""
        said = {section.id: content(section.text) for section in self._passages}
        times = Counter(term for terms in said.values() for term in terms)
        most = max(_RARE_ANYWAY, int(_RARE_SHARE * len(said)))
        weights = {
            term: math.log(len(said) / count)
            for term, count in times.items()
            if count <= most and count * 2 <= len(said)
        }
        return {
            section_id: {term: weights[term] for term in sorted(terms) if term in weights}
            for section_id, terms in said.items()
        }

    @cached_property
    def _holders(self) -> dict[str, list[SourceSection]]:
        holders: dict[str, list[SourceSection]] = {}
        for section in self._passages:
            for term in self._held[section.id]:
                holders.setdefault(term, []).append(section)
        return holders

    def __call__(self, section: SourceSection) -> SourceSection | None:
        own = self._held[section.id]
        shared: Counter[str] = Counter()
        others: dict[str, SourceSection] = {}
        for term in own:
            for other in self._holders[term]:
                if are_apart(section, other):
                    shared[other.id] += 1
                    others[other.id] = other
        found = [
            (-self._likeness(own, self._held[other_id]), other_id)
            for other_id, count in shared.items()
            if count >= _FEWEST_SHARED
        ]
        likeness, closest = min(found, default=(0.0, ""))
        return others[closest] if closest and -likeness >= self._least else None

    def _likeness(self, one: dict[str, float], other: dict[str, float]) -> float:
        both = math.fsum(weight for term, weight in one.items() if term in other)
        lesser = min(math.fsum(one.values()), math.fsum(other.values()))
        return both / lesser if lesser else 0.0
