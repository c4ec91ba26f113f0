"""What may and what may not be concluded from a run, as far as its settings decide that."""

from math import isfinite

from contextpull.eval.report.model import RunView

_FEW = 100
"""Questions of a shape below which only large differences show."""


def caveats_of(run: RunView) -> tuple[str, ...]:
    """Sentences, the ones about this run's own figures first."""
    return (*_of_sample(run), *_of_push(run), *_of_agents(run), *_of_all(run))


def _of_sample(run: RunView) -> list[str]:
    found = []
    shown = [each.detectable for each in run.comparisons if isfinite(each.detectable)]
    if shown:
        least, most = (f"{each:.3f}" for each in (min(shown), max(shown)))
        between = least if least == most else f"{least} to {most}, depending on the row"
        found.append(
            f"This sample shows differences in recall of {between}, in 80 of 100 cases. “Cannot"
            " tell” means that none was shown, not that the rows are alike."
        )
    fewest = min(run.shape_sizes.values(), default=_FEW)
    if fewest < _FEW:
        few = f"{fewest:,} question{'' if fewest == 1 else 's'}"
        found.append(
            f"A shape has as few as {few} here; plan 100 to 200 a shape to tell"
            " rows apart by shape."
        )
    return found


def _of_push(run: RunView) -> list[str]:
    if not run.comparisons:
        return []
    return [
        "The best push row was picked by these same questions, which favours it: a pull row that"
        " is better is better in spite of that."
    ]


def _of_agents(run: RunView) -> list[str]:
    if not run.agents:
        return []
    found = [
        "A pull row measures a model and the tools together. Another model is another row.",
        "Tokens and dollars are those of an agent's whole conversation, its answer included. A push"
        " row only searches: what a model costs that is then given its k sections is not in here.",
        "“Surfaced” counts what search and grep merely showed the agent; it says how far the tools"
        " led, not what the agent relied on.",
    ]
    if run.provenance.repeats == 1:
        found.append(
            "Every question was asked once: how much answers vary from run to run is not known."
        )
    if run.judged:
        found.append(
            "A judge's mean is no result before it is known how far the judge agrees with people;"
            " rows that different judges judged cannot be compared."
        )
    return found


def _of_all(run: RunView) -> list[str]:
    unit = "documents, as questions of one document are alike"
    if run.provenance.clusters == len(run.questions):
        unit = "questions"
    return [
        "Recall is a lower bound for all rows alike: a question may be answered by a section that"
        " nobody marked as gold.",
        "Finding the right section is not answering rightly.",
        f"An interval [low, high] holds 95% of {run.provenance.rounds:,} means over resampled"
        f" {unit}; there are {run.provenance.clusters:,} to draw from. It says how far a figure"
        " could move with other questions of the same kind, and nothing of another corpus.",
    ]
