"""Ways to search a store that a report sets side by side, each searched as deep as is needed."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import NamedTuple

from contextpull.adapters.push import require_vectors
from contextpull.config import Mode
from contextpull.errors import InvalidInput, ModelUnavailable
from contextpull.eval.golden.grains import Grain, page_name
from contextpull.retrieval.models import Models
from contextpull.retrieval.ranking import BEST_FUSION, Fusion, rank
from contextpull.store import Snapshot

MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid", "rerank")
_RANKS = "ranks"
_ROOM_FOR_TIES = 50
_DEEPER = 4
"""How many times as deep the next ranking is where one was not deep enough."""


class Setting(NamedTuple):
    """One way to search: `hybrid`, `hybrid:0.7`, `rerank:ranks:2`."""

    name: str
    mode: Mode
    fusion: Fusion = BEST_FUSION


class Result(NamedTuple):
    """What takes one place of a ranking: a section, or the best section of a document or page."""

    name: str
    number: int
    """That of the section."""
    score: float
    """That of the section, on the scale of the setting."""


def parse_settings(text: str) -> tuple[Setting, ...]:
    """The settings in a text, separated by commas.

    Behind a mode stand its options, each after a colon. `hybrid` and `rerank` take `ranks`, which
    fuses by reciprocal rank in place of scores, and a number, what words weigh: 0 to 1 of 1 for
    scores, any number from 0 beside 1 for ranks.
    Raises `InvalidInput` for anything else, and for a setting that is named twice.
    """
    settings = tuple(_setting(each.strip()) for each in text.split(","))
    for at, each in enumerate(settings):
        if each[1:] in [earlier[1:] for earlier in settings[:at]]:
            raise InvalidInput(f"The setting {each.name!r} is named more than once.")
    return settings


def _setting(name: str) -> Setting:
    mode, *options = name.split(":")
    if mode not in MODES:
        raise InvalidInput(f"{mode!r} is no setting. Choose from: {', '.join(MODES)}.")
    if options and mode not in {"hybrid", "rerank"}:
        raise InvalidInput(f"{name!r}: {mode} takes no options. Leave {':'.join(options)!r} out.")
    by_ranks = _RANKS in options
    numbers = [each for each in options if each != _RANKS]
    if len(numbers) > 1 or options.count(_RANKS) > 1:
        raise InvalidInput(f"{name!r} has an option twice. Write {mode}:0.7 or {mode}:ranks:2.")
    words = _weight(name, numbers[0], inf if by_ranks else 1) if numbers else None
    chosen: Mode = next(each for each in MODES if each == mode)
    return Setting(name, chosen, Fusion(by="ranks" if by_ranks else "scores", words=words))


def _weight(name: str, text: str, most: float) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = inf
    if not (isfinite(weight) and 0 <= weight <= most):
        allowed = "a number from 0" if most == inf else "a number from 0 to 1, or ranks"
        raise InvalidInput(f"{name!r}: {text!r} is no option. What words weigh is {allowed}.")
    return weight


class Searcher:
    """One setting over one store; it never falls back to another."""

    def __init__(self, snapshot: Snapshot, setting: Setting, models: Models) -> None:
        """Search with these models.

        Raises `StoreError` where the setting needs vectors that the store lacks or are behind.
        """
        self.setting = setting
        self._snapshot = snapshot
        self._models = models
        if setting.mode != "lexical":
            require_vectors(snapshot)

    def results(self, query: str, k: int, by: Grain) -> list[Result]:
        """The best `k` results for a query, best first; fewer where no more can be found.

        However many sections of one document come first, the documents behind it are found: those
        that are not yet among the results are ranked by themselves.
        Raises `ModelUnavailable` where a model cannot be used.
        """
        found: dict[str, Result] = {}
        depth = 2 * k + _ROOM_FOR_TIES
        others: list[int] | None = None
        while True:
            ranked, is_complete = self._ranked(query, depth, others, by)
            for each in ranked:
                found.setdefault(each.name, each)
            if len(found) >= k or (is_complete and not (by == "doc" and ranked)):
                break
            if ranked and by == "doc":
                others = self._others(found)
                if not others or (is_complete and self.setting.mode == "lexical"):
                    break
            else:
                depth *= _DEEPER
        return list(found.values())[:k]

    def spared_seconds(self, query: str) -> float:
        """How much longer `results` would take, had no setting made the query's vector before."""
        if self.setting.mode == "lexical":
            return 0.0
        return self._models.spared_seconds(self._snapshot.dense.manifest, query)

    def _ranked(
        self, query: str, depth: int, documents: Sequence[int] | None, by: Grain
    ) -> tuple[list[Result], bool]:
        """The sections that are sure to come first, best first, and whether these are all.

        What was ranked last may share its score with some that were not ranked: it is left out.
        """
        mode, fusion = self.setting.mode, self.setting.fusion
        ranking = rank(self._snapshot, query, mode, depth, documents, self._models, fusion)
        if ranking.notes:
            raise ModelUnavailable(" ".join(ranking.notes))
        scored = ranking.scored
        if scored and not ranking.is_complete:
            last = max(each.rank for each in scored)
            scored = [each for each in scored if each.rank < last]
        names = self._names([each.number for each in scored], by)
        ordered = sorted(
            (each.rank, *names[each.number], each) for each in scored if each.number in names
        )
        return [Result(name, each.number, each.score) for *_, name, each in ordered], (
            ranking.is_complete
        )

    def _names(self, numbers: Sequence[int], by: Grain) -> dict[int, tuple[str, str]]:
        """The id of each section and the name of the result that it makes, by its number."""
        database = self._snapshot.database
        if by == "page":
            sections = database.sections(numbers)
            return {each.number: (each.id, page_name(each)) for each in sections}
        addresses = database.addresses(numbers)
        return {
            number: (each.id, each.path if by == "doc" else each.id)
            for number, each in addresses.items()
        }

    def _others(self, found: Mapping[str, Result]) -> list[int]:
        """The numbers of the documents that are not among the results."""
        documents = self._snapshot.documents
        return [each.number for path, each in documents.items() if path not in found]
