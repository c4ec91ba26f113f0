"""The answers that a system gave to golden questions, judged.

    report = answer_report(load_golden("golden.jsonl"), load_answers("answers.jsonl", questions),
                           lambda item: 1.0 if item.reference in item.answer else 0.0)

Prompts, judges and what becomes of their verdicts are those of `contextpull.eval.judging`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

from contextpull.errors import InvalidInput
from contextpull.eval.golden.answer_files import GivenAnswer, TextOf, check_answers
from contextpull.eval.golden.answer_sources import SourceTexts
from contextpull.eval.golden.chunking.answering import RIGHT_FROM
from contextpull.eval.golden.places import Places
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.judging.agreement import Label, check_labels
from contextpull.eval.judging.answers import Answer
from contextpull.eval.judging.asking import KeptVerdicts
from contextpull.eval.judging.items import Evidence, Item, evidence_in
from contextpull.eval.judging.judges import FunctionJudge, Judge
from contextpull.eval.judging.reporting import Figures, Judgement
from contextpull.eval.judging.running import Judging, Settings
from contextpull.eval.metered import Budget, Price, Progress, check_price
from contextpull.eval.running import chosen
from contextpull.eval.runs import clusters_of
from contextpull.eval.statistics import require_numpy, wilson_interval
from contextpull.store import Snapshot
from contextpull.types import Question

ROW = "answers"
"""The name of the one row of a report, as labels of people give it."""

Plan = Callable[[int, int], None]
"""Called before anybody is asked: with the verdicts to ask for, and those kept from before."""


def answer_report(
    questions: Sequence[GoldenQuestion],
    answers: Iterable[GivenAnswer],
    judge: Judge | Callable[[Item], object],
    settings: Settings = Settings(),  # noqa: B008 - it never changes
    *,
    snapshot: Snapshot | None = None,
    keep: str | os.PathLike[str] | None = None,
    labels: Sequence[Label] = (),
    budget: Budget | None = None,
    price: Price = lambda _tokens: None,
    on_plan: Plan | None = None,
    on_progress: Progress | None = None,
) -> dict[str, Any]:
    """Have answers judged by each measure; all that came of it as JSON-ready values.

    Faithfulness is judged against the texts of an answer's sources, which `snapshot` has where they
    are names; correctness and completeness against the question's reference; helpfulness beside it
    or, without one, by the question alone. `headline` is over all questions, and those without an
    answer are in it. Verdicts are kept in the file `keep` as they land and never asked for again; a
    plain function has no name to keep them under: wrap it into a `FunctionJudge`.

    Raises `EvaluationError` for questions and answers that do not fit together, sources that lead
    nowhere, verdicts that `offline` lacks, and nothing that could be judged; `InvalidInput` for
    settings that make no sense here; `MissingExtra` without numpy.
    """
    require_numpy()
    if settings.rows:
        raise InvalidInput("Answers to golden questions have no rows to choose from.")
    check_price(budget, price, "this judge")
    given = list(answers)
    text_of = SourceTexts(snapshot) if "faithfulness" in settings.measures else None
    check_answers(questions, given, text_of)
    path_of = partial(_path_of, Places(snapshot) if snapshot else None)
    every = [_question(each, path_of) for each in questions]
    asked = chosen(every, (), settings.sample, settings.seed)
    check_labels(labels, (ROW,), {each.id for each in questions})
    cluster_of = dict(zip((each.id for each in asked), clusters_of(asked), strict=True))
    judging = Judging(
        _answers(asked, given, text_of),
        _judge(judge, keep),
        settings,
        KeptVerdicts(Path(keep) if keep else None),
        cluster_of,
    )
    judging.check()
    if on_plan:
        on_plan(judging.missing, judging.possible - judging.missing)
    judging.ask(budget or Budget(), price, on_progress)
    figures = Figures(cluster_of, settings.rounds, settings.seed)
    return _report(judging.report(labels), asked, {each.id for each in given}, figures)


def gate_names(measures: Iterable[str]) -> tuple[str, ...]:
    """What a build may be held to where these measures are judged."""
    return (*measures, "answered", *(["right"] if "correctness" in measures else []))


def gated_figures(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The means of the measures and the shares of the headline, for gates; nan where undefined."""
    headline = report["headline"]
    found = {row["measure"]: row["mean"] for row in report["rows"]} | {
        name: headline[name]["share"] for name in ("answered", "right") if headline[name]
    }
    means = {name: each["mean"] for name, each in found.items()}
    return {ROW: {name: nan if mean is None else mean for name, mean in means.items()}}


def _path_of(places: Places | None, entry: str) -> str:
    """The document that an entry names; told by the entry alone where no store knows it."""
    known = places(entry).path if places else ""
    return known or entry.rpartition("#")[0] or entry


def _question(golden: GoldenQuestion, path_of: Callable[[str], str]) -> Question:
    return Question(
        golden.id,
        golden.question,
        golden.shape,
        golden.expected,
        answer=golden.reference,
        source=path_of(golden.expected[0]) if golden.expected else "",
    )


def _answers(
    questions: Sequence[Question], given: Sequence[GivenAnswer], text_of: TextOf | None
) -> list[Answer]:
    """One for each question; its text is empty where nothing was answered."""
    answer_to = {each.id: each for each in given}
    answers = []
    for question in questions:
        found = answer_to.get(question.id)
        texts = [text_of(source) for source in found.sources] if found and text_of else []
        answers.append(
            Answer(
                ROW,
                question,
                repeat=0,
                transcript="",
                text=found.answer if found else "",
                evidence=evidence_in(texts) if texts else Evidence("none"),
                may_lack_reference=True,
            )
        )
    return answers


def _judge(judge: Judge | Callable[[Item], object], keep: object) -> Judge:
    if not callable(judge):
        return judge
    name = getattr(judge, "__qualname__", type(judge).__qualname__)
    if keep:
        raise InvalidInput(
            f"Verdicts of the function {name!r} cannot be kept: whether it was changed since is not"
            " known. Give FunctionJudge(function, name), and another name with each change."
        )
    return FunctionJudge(judge, name)


def _report(
    judged: dict[str, Any], questions: Sequence[Question], answered: set[str], figures: Figures
) -> dict[str, Any]:
    first = [each for each in judged["judgements"] if not each["asking"]]
    shapes = sorted({each.shape for each in questions if each.shape})
    for row in judged["rows"]:
        of_measure = [each for each in first if each["measure"] == row["measure"]]
        del row["by_evidence"]  # sources all count as read: it would say the same again
        row["shapes"] = {
            shape: figures.over([each for each in of_measure if each["id"] in of_shape])
            for shape in shapes
            for of_shape in [{each.id for each in questions if each.shape == shape}]
        }
    is_judged = "correctness" in judged["settings"]["measures"]
    right = _right(first, questions, answered) if is_judged else None
    there = [each.id for each in questions if each.id in answered]
    headline = {
        "questions": len(questions),
        "answered": {
            "count": len(there),
            "share": wilson_interval(len(there), len(questions)).as_dict(),
        },
        "right": right,
        "not_answered": [each.id for each in questions if each.id not in answered],
    }
    del judged["settings"]["rows"]
    return {"headline": headline, **judged}


def _right(
    judgements: Iterable[Judgement], questions: Sequence[Question], answered: set[str]
) -> dict[str, Any]:
    """How many of the questions with a reference were answered right."""
    scores = {each["id"]: each["score"] for each in judgements if each["measure"] == "correctness"}
    ids = [each.id for each in questions if each.answer.strip()]
    found = [scores[each] for each in ids if each in answered]
    right = sum(score is not None and score >= RIGHT_FROM for score in found)
    no_verdict = found.count(None)
    return {
        "from": RIGHT_FROM,
        "with_reference": len(ids),
        "right": right,
        "not_right": len(found) - right - no_verdict,
        "no_verdict": no_verdict,
        "not_answered": len(ids) - len(found),
        "share": wilson_interval(right, len(ids)).as_dict(),
    }
