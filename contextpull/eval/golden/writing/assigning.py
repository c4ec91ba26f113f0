"""Which passage is asked about in which way, and what stands in for one that gives no question."""

from collections.abc import Iterator
from dataclasses import replace

from contextpull.adapters.push import Searched
from contextpull.eval.generation.corpus import SourceSection
from contextpull.eval.golden.writing.attempts import Attempt
from contextpull.eval.golden.writing.neighbours import Neighbour, neighbour_finder
from contextpull.eval.golden.writing.passages import Choice
from contextpull.eval.golden.writing.plan import TWO_PLACES, WritingPlan, shared_out

_LOOKED_UP = 500
"""So many passages at most are looked at for one that is like another."""


class Assigner:
    """Gives out what is asked about; each passage once, each pair once."""

    def __init__(self, searched: Searched, choice: Choice, plan: WritingPlan) -> None:
        self._plan = replace(plan, count=max(1, len(choice.chosen)))
        self._chosen = list(choice.chosen)
        self._reserve = list(choice.reserve)
        self._pairs: set[frozenset[str]] = set()
        self._looked_up = 0
        self.found_by = ""
        """By what neighbours were found; empty where none are wanted."""
        self.without_neighbour = 0
        """Questions over two places that became others, or none, for lack of two."""
        self._neighbour: Neighbour = lambda _section: None
        if self._plan.counts.get(TWO_PLACES):
            self._neighbour, self.found_by = neighbour_finder(searched, choice.all, plan.similarity)

    def first(self) -> list[Attempt]:
        """An attempt for each chosen passage, in their order."""
        kinds = self._plan.kinds if self._chosen else []
        pairs = self._two_places(kinds.count(TWO_PLACES))
        kinds = [kind for kind in kinds if kind != TWO_PLACES]
        kinds += self._instead(len(self._chosen) - len(kinds))
        alone = iter(kinds)
        attempts = []
        for section in self._chosen:
            other = pairs.get(section.id)
            kind = TWO_PLACES if other else next(alone, "")
            if kind:
                attempts.append(Attempt(kind, (section, other) if other else (section,)))
        return attempts

    def in_place_of(self, attempt: Attempt) -> Attempt | None:
        """Another passage asked about in the same way: of the same document while there are any."""
        document = attempt.passages[0].document
        for section in sorted(self._reserve, key=lambda each: each.document != document):
            if attempt.kind != TWO_PLACES:
                self._reserve.remove(section)
                return Attempt(attempt.kind, (section,))
            other = self._other(section)
            if other is not None:
                self._reserve.remove(section)
                return Attempt(TWO_PLACES, (section, other))
        return None

    def _two_places(self, wanted: int) -> dict[str, SourceSection]:
        """So many of the passages with another place each; some come from the reserve for it."""
        pairs: dict[str, SourceSection] = {}
        for section in [*self._chosen, *self._reserve]:
            if len(pairs) == wanted:
                break
            other = self._other(section)
            if other is not None:
                pairs[section.id] = other
        for section in [each for each in self._reserve if each.id in pairs]:
            swapped = next(each for each in reversed(self._chosen) if each.id not in pairs)
            self._chosen[self._chosen.index(swapped)] = section
            self._reserve[self._reserve.index(section)] = swapped
        self.without_neighbour = wanted - len(pairs)
        return pairs

    def _other(self, section: SourceSection) -> SourceSection | None:
        if self._looked_up >= _LOOKED_UP + self._plan.count:
            return None
        self._looked_up += 1
        other = self._neighbour(section)
        pair = frozenset((section.id, other.id)) if other else frozenset()
        if other is None or pair in self._pairs:
            return None
        self._pairs.add(pair)
        return other

    def _instead(self, places: int) -> Iterator[str]:
        """Kinds for the questions over two places that there cannot be."""
        mix = {kind: share for kind, share in self._plan.mix.items() if kind != TWO_PLACES}
        for kind, count in shared_out(min(places, self.without_neighbour), mix).items():
            yield from [kind] * count
