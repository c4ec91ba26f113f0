"""Two runs beside each other: what was changed between them, and what that won and lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from contextpull.errors import EvaluationError
from contextpull.eval.families import Compared, Paired, by_shape, compare_family
from contextpull.eval.run_directory import SavedRun
from contextpull.eval.runs import clusters_of
from contextpull.eval.table import (
    Line,
    aligned,
    compared_rows,
    comparison_notes,
    printable,
    unit_of,
)

_NOT_COMPARED = frozenset({"rows", "close_gold", "questions", "skipped"})
_MOST_IDS = 10


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Two runs over the same questions; differences are second less first."""

    first: SavedRun
    second: SavedRun
    measure: str
    pairs: tuple[Paired, ...]
    """The second run's values beside the first's, for each row that both have."""
    overall: tuple[Compared, ...]
    """A row each; their p-values are corrected among themselves (Holm)."""
    shapes: tuple[Compared, ...]
    """Row by row and shape by shape, corrected among themselves."""

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """The settings that differ, by name, with both values."""
        return dict(_changed("", self.first.manifest, self.second.manifest))

    @property
    def only_first(self) -> list[str]:
        """The rows that the second run lacks."""
        return [name for name in self.first.outcomes if name not in self.second.outcomes]

    @property
    def only_second(self) -> list[str]:
        """The rows that the first run lacks."""
        return [name for name in self.second.outcomes if name not in self.first.outcomes]


def compare_runs(
    first: SavedRun, second: SavedRun, *, rounds: int, seed: int, across_corpora: bool = False
) -> ComparedRuns:
    """Compare rows of the same name in recall@k, question by question, over all and by shape.

    A question that was asked repeatedly counts once, with the mean of its runs; questions of one
    document are drawn together. Raises EvaluationError where the runs did not ask the same
    questions with the same gold at the same k, where they share no row, or, unless
    `across_corpora`, where they searched different sections.
    """
    _check_questions(first, second)
    _check_settings(first, second)
    if not across_corpora:
        _check_corpora(first, second)
    names = [name for name in first.outcomes if name in second.outcomes]
    if not names:
        raise EvaluationError(
            f"The two runs have no row of the same name: {first.folder} has"
            f" {_listed(list(first.outcomes))}, {second.folder} {_listed(list(second.outcomes))}."
        )
    measure = f"recall@{first.manifest['settings']['k']}"
    pairs = [_paired(name, first, second, measure) for name in names]
    shapes = by_shape(pairs, [each.shape for each in first.questions.values()])
    return ComparedRuns(
        first,
        second,
        measure,
        tuple(pairs),
        tuple(compare_family(pairs, rounds=rounds, seed=seed)),
        tuple(compare_family(shapes, rounds=rounds, seed=seed)),
    )


def compared_report(runs: ComparedRuns) -> dict[str, Any]:
    """A comparison as JSON-ready values."""
    return {
        "first": str(runs.first.folder),
        "second": str(runs.second.folder),
        "changed": {name: list(values) for name, values in runs.changed.items()},
        "measure": runs.measure,
        "rows": [
            {
                **compared.as_dict(),
                "first": fmean(pair.second),
                "second": fmean(pair.first),
                "won": _ids(runs, pair, won=True),
                "lost": _ids(runs, pair, won=False),
            }
            for pair, compared in zip(runs.pairs, runs.overall, strict=True)
        ],
        "shapes": [each.as_dict() for each in runs.shapes],
        "only_first": runs.only_first,
        "only_second": runs.only_second,
    }


def render_compared(runs: ComparedRuns) -> str:
    """A comparison as plain text for a terminal of 100 columns. Ends with a line feed."""
    clusters = len(set(runs.pairs[0].clusters))
    parts = [
        list(_heading(runs)),
        list(_means(runs)),
        [
            f"{runs.measure}: the second run less the first",
            *compared_rows(runs.overall, runs.shapes),
        ],
        list(comparison_notes(unit_of(len(runs.first.questions), clusters))),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _check_questions(first: SavedRun, second: SavedRun) -> None:
    if first.questions.keys() != second.questions.keys():
        raise EvaluationError(
            f"{first.folder} asked {len(first.questions)} questions and {second.folder}"
            f" {len(second.questions)}, not the same ones: their figures cannot be compared."
        )
    if bool(first.manifest.get("close_gold")) != bool(second.manifest.get("close_gold")):
        raise EvaluationError(
            "Only one of the two runs was scored with --close-gold. Run the other again with the"
            " same setting; with --offline nobody is asked."
        )
    for question_id, question in first.questions.items():
        other = second.questions[question_id]
        if (question.text, set(question.gold)) != (other.text, set(other.gold)):
            raise EvaluationError(
                f"Question {question_id!r} or its gold differs between the two runs. Run both over"
                " the same question file."
            )


def _check_settings(first: SavedRun, second: SavedRun) -> None:
    before, after = (run.manifest["settings"]["k"] for run in (first, second))
    if before != after:
        raise EvaluationError(
            f"{first.folder} has k = {before} and {second.folder} k = {after}. Run one of them"
            " again with the other's --k; with --offline nobody is asked."
        )


def _check_corpora(first: SavedRun, second: SavedRun) -> None:
    before, after = first.manifest["corpus"], second.manifest["corpus"]
    if before != after:
        raise EvaluationError(
            f"The two runs searched different sections (corpus {before} and {after}): what differs"
            " may come from the documents. To compare them all the same, give --across-corpora."
        )


def _changed(prefix: str, first: Any, second: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The values that differ, by name; those within others by `outer.inner`."""
    for name in sorted({*first, *second} - (set() if prefix else _NOT_COMPARED)):
        old, new = first.get(name), second.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed(f"{prefix}{name}.", old, new)
        elif old != new:
            yield f"{prefix}{name}", (old, new)


def _paired(name: str, first: SavedRun, second: SavedRun, measure: str) -> Paired:
    then, now = (
        [run.outcomes[name][each]["scores"][measure] for each in first.questions]
        for run in (first, second)
    )
    return Paired(name, "", now, then, clusters_of(first.questions.values()))


def _ids(runs: ComparedRuns, pair: Paired, *, won: bool) -> list[str]:
    """The questions that the second run of a row did better, or worse."""
    values = zip(runs.first.questions, pair.first, pair.second, strict=True)
    return [each for each, now, then in values if (now > then if won else now < then)]


def _heading(runs: ComparedRuns) -> Iterator[str]:
    yield f"first   {printable(str(runs.first.folder))}"
    yield f"second  {printable(str(runs.second.folder))}"
    for name, (old, new) in runs.changed.items():
        yield printable(f"{name}: {old} -> {new}")
    if not runs.changed:
        yield "Nothing was changed but what models answered."
    if runs.only_first:
        yield f"only in the first: {_listed(runs.only_first)}"
    if runs.only_second:
        yield f"only in the second: {_listed(runs.only_second)}"


def _means(runs: ComparedRuns) -> Iterator[str]:
    lines = [Line("row", ("n", "first", "second", "won", "lost"))]
    lists = []
    for pair in runs.pairs:
        won, lost = _ids(runs, pair, won=True), _ids(runs, pair, won=False)
        means = (f"{fmean(values):.3f}" for values in (pair.second, pair.first))
        name = printable(pair.row)
        lines.append(Line(name, (str(len(pair.first)), *means, str(len(won)), str(len(lost)))))
        lists += [f"{name} won: {_listed(won)}"] if won else []
        lists += [f"{name} lost: {_listed(lost)}"] if lost else []
    yield f"{runs.measure}, and the questions that the second run did better or worse"
    yield from aligned(lines, range(5))
    yield from lists


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_IDS} more" if len(names) > _MOST_IDS else ""
    return printable(", ".join(names[:_MOST_IDS]) + more)
