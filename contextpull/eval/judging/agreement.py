"""How far a judge agrees with people, and with itself."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.adapters.lines import Fields, load_items, shown
from contextpull.errors import EvaluationError
from contextpull.eval.judging.items import MEASURES
from contextpull.eval.statistics import LEVEL, bootstrap_interval

YES = 0.5
"""A score of at least this much says yes."""

Pair = tuple[float, float]
"""What the judge gave, and what a person gave."""


class Label(NamedTuple):
    """What a person gave one answer."""

    question_id: str
    row: str
    measure: str
    label: float
    repeat: int

    @property
    def id(self) -> str:
        """What no other label of the file may be about."""
        return f"{self.question_id}, {self.row}, {self.measure}, repeat {self.repeat}"


def load_labels(path: Path) -> list[Label]:
    """Labels: JSON lines with `id`, `row`, `measure`, `label` (0 to 1), and `repeat`, 0 if absent.

    Raises EvaluationError that lists every fault with its line.
    """
    return load_items(path, "labels", _Fields, _label)


class _Fields(Fields):
    known = ("id", "row", "measure", "label", "repeat")

    def number(self, name: str) -> float:
        """A number from 0 to 1."""
        value = self.record.get(name)
        if name not in self.record:
            self.faults.append(f"{name!r} is missing{self.misspelling(name)}")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            self.faults.append(f"{name!r} must be a number from 0 to 1, not {shown(value)}")
        else:
            return float(value)
        return 0.0

    def count(self, name: str) -> int:
        """A whole number from 0, which may be absent."""
        value = self.record.get(name, 0)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.faults.append(f"{name!r} must be a whole number from 0, not {shown(value)}")
        return 0

    def measure(self) -> str:
        """The name of a measure."""
        value = self.filled("measure")
        if value.strip() and value not in MEASURES:
            self.faults.append(f"'measure' must be one of {', '.join(MEASURES)}")
        return value


def _label(fields: _Fields) -> Label:
    return Label(
        question_id=fields.filled("id"),
        row=fields.filled("row"),
        measure=fields.measure(),
        label=fields.number("label"),
        repeat=fields.count("repeat"),
    )


def check_labels(
    labels: Iterable[Label], rows: Collection[str], questions: Collection[str]
) -> None:
    """Raise EvaluationError for a label of a question or a row that the run does not have."""
    for each in labels:
        if each.question_id not in questions or each.row not in rows:
            raise EvaluationError(
                f"There is a label of question {each.question_id!r} in the row {each.row!r}, which"
                f" the run does not have. Its rows of agents: {', '.join(rows)}."
            )


def agreement(
    labels: Sequence[Label],
    scores: Mapping[tuple[str, str, str, int], float],
    clusters: Mapping[str, Hashable],
    *,
    rounds: int,
    seed: int,
) -> list[dict[str, Any]]:
    """For each measure with labels, how the judge's scores compare, as JSON-ready values.

    `scores` is by row, question, measure and repeat, `clusters` by question. Where all labels of a
    measure are 0 or 1 it is Cohen's kappa of yes and no; else the mean absolute difference.
    """
    records = []
    for measure in MEASURES:
        given = [each for each in labels if each.measure == measure]
        keys = [(each.row, each.question_id, each.measure, each.repeat) for each in given]
        judged = [(key, each) for key, each in zip(keys, given, strict=True) if key in scores]
        if given:
            pairs = [(scores[key], each.label) for key, each in judged]
            drawn = [clusters[each.question_id] for _, each in judged]
            compare = _yes_no if all(each.label in (0, 1) for each in given) else _graded
            records.append(
                {
                    "measure": measure,
                    "labels": len(given),
                    "not_judged": len(given) - len(judged),
                    **compare(pairs, drawn, rounds, seed),
                }
            )
    return records


def cohens_kappa(confusion: Sequence[float]) -> float | None:
    """(po - pe) / (1 - pe), Cohen, 1960; None where chance alone would agree always.

    `confusion` counts yes and yes, yes and no, no and yes, no and no: the judge first.
    """
    both, judge_only, person_only, neither = confusion
    n = both + judge_only + person_only + neither
    if not n:
        return None
    judge_yes, person_yes = (both + judge_only) / n, (both + person_only) / n
    chance = judge_yes * person_yes + (1 - judge_yes) * (1 - person_yes)
    return None if chance == 1 else ((both + neither) / n - chance) / (1 - chance)


def _yes_no(
    pairs: Sequence[Pair], clusters: Sequence[Hashable], rounds: int, seed: int
) -> dict[str, Any]:
    cells = [2 * (score < YES) + (label < YES) for score, label in pairs]
    both, judge_only, person_only, neither = confusion = [cells.count(cell) for cell in range(4)]
    low, high = _kappa_bounds(cells, clusters, rounds, seed)
    n = len(pairs)
    return {
        "kind": "yes_no",
        "kappa": {"mean": cohens_kappa(confusion), "low": low, "high": high},
        "agreement": (both + neither) / n if n else None,
        "base_rate": (both + person_only) / n if n else None,
        "confusion": {
            "both_yes": both,
            "judge_only": judge_only,
            "person_only": person_only,
            "both_no": neither,
        },
    }


def _graded(
    pairs: Sequence[Pair], clusters: Sequence[Hashable], rounds: int, seed: int
) -> dict[str, Any]:
    differences = [abs(score - label) for score, label in pairs]
    interval = bootstrap_interval(differences, clusters, rounds=rounds, seed=seed)
    return {"kind": "graded", "mean_absolute_difference": interval.as_dict()}


def _kappa_bounds(
    cells: Sequence[int], clusters: Sequence[Hashable], rounds: int, seed: int
) -> tuple[float | None, float | None]:
    """The percentile bootstrap interval of kappa; rounds without one are left out.

    As in `statistics`, a round's counts are multinomial over the distinct clusters.
    """
    import numpy

    number_of = {key: number for number, key in enumerate(dict.fromkeys(clusters))}
    if len(number_of) < 2:
        return None, None
    totals = numpy.zeros((len(number_of), 4))
    numpy.add.at(totals, ([number_of[key] for key in clusters], list(cells)), 1)
    distinct, counts = numpy.unique(totals, axis=0, return_counts=True)
    drawn = numpy.random.default_rng(seed).multinomial(
        len(totals), counts / len(totals), size=rounds
    )
    found = (cohens_kappa(confusion) for confusion in (drawn @ distinct).tolist())
    kappas = [each for each in found if each is not None]
    if not kappas:
        return None, None
    tail = (1 - LEVEL) / 2
    low, high = numpy.quantile(kappas, [tail, 1 - tail])
    return float(low), float(high)


def consistency(
    measure: str, pairs: Sequence[Pair], clusters: Sequence[Hashable], *, rounds: int, seed: int
) -> dict[str, Any]:
    """How far a judge that is asked twice differs from itself, as JSON-ready values.

    `pairs` are its two scores for each answer; `differ` is the share where they are not the same.
    """
    figures = {
        "differ": [float(first != second) for first, second in pairs],
        "mean_absolute_difference": [abs(first - second) for first, second in pairs],
    }
    return {
        "measure": measure,
        "answers": len(pairs),
        **{
            name: bootstrap_interval(values, clusters, rounds=rounds, seed=seed).as_dict()
            for name, values in figures.items()
        },
    }
