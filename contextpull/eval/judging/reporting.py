"""Judgements as figures: a mean with its interval for each row and measure, and agreement."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from contextpull.eval.judging.agreement import Label, agreement, consistency
from contextpull.eval.statistics import bootstrap_interval

_ANSWER = ("row", "id", "measure", "repeat")
"""What tells one judged answer from another."""

Judgement = dict[str, Any]


class Figures:
    """Figures over judgements of one run; intervals draw documents, or questions without one."""

    def __init__(self, cluster_of: Mapping[str, Hashable], rounds: int, seed: int) -> None:
        """`cluster_of` says by a question's id what it is drawn together with."""
        self._rounds = rounds
        self._seed = seed
        self._cluster_of = cluster_of

    def row(
        self, row: str, measure: str, judgements: Iterable[Judgement], unanswered: int
    ) -> dict[str, Any]:
        """One row by one measure; faithfulness also by what the model had seen."""
        found = [
            each
            for each in judgements
            if (each["row"], each["measure"]) == (row, measure) and not each["asking"]
        ]
        kinds = ("read", "snippets") if measure == "faithfulness" else ()
        return {
            "row": row,
            "measure": measure,
            "answers": len(found),
            "unanswered": unanswered,
            **self.over(found),
            "by_evidence": {
                kind: self.over([each for each in found if each["evidence"] == kind])
                for kind in kinds
            },
        }

    def agreement(
        self, judgements: Iterable[Judgement], labels: Sequence[Label]
    ) -> list[dict[str, Any]]:
        """The judge beside people; see `agreement`."""
        scores = {
            tuple(each[name] for name in _ANSWER): each["score"]
            for each in judgements
            if each["score"] is not None and not each["asking"]
        }
        return agreement(labels, scores, self._cluster_of, rounds=self._rounds, seed=self._seed)

    def consistency(self, judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
        """The judge beside itself, measure by measure; see `consistency`."""
        both: dict[tuple[Any, ...], list[float]] = {}
        for each in judgements:
            if each["score"] is not None:
                both.setdefault(tuple(each[name] for name in _ANSWER), []).append(each["score"])
        measures = dict.fromkeys(measure for _, _, measure, _ in both)
        pairs = {
            name: [(key[1], scores) for key, scores in both.items() if key[2] == name]
            for name in measures
        }
        return [
            consistency(
                measure,
                [(scores[0], scores[1]) for _, scores in found if len(scores) == 2],
                [self._cluster_of[each] for each, scores in found if len(scores) == 2],
                rounds=self._rounds,
                seed=self._seed,
            )
            for measure, found in pairs.items()
        ]

    def over(self, judgements: Sequence[Judgement]) -> dict[str, Any]:
        """How many were judged, undefined and in error, and the mean of what was judged."""
        judged = [each for each in judgements if each["outcome"] == "ok"]
        failed = [each for each in judgements if each["outcome"] not in {"ok", "undefined"}]
        mean = bootstrap_interval(
            [each["score"] for each in judged],
            [self._cluster_of[each["id"]] for each in judged],
            rounds=self._rounds,
            seed=self._seed,
        )
        return {
            "judged": len(judged),
            "undefined": _counted(each["undefined"] for each in judgements if each["undefined"]),
            "errors": _counted(each["outcome"] for each in failed),
            "cut": sum(bool(each["left_out"]) for each in judged),
            "mean": mean.as_dict(),
        }


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
