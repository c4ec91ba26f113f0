"""Judges the answers of a kept run, and tells what came of it."""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.judging.agreement import Label, check_labels
from contextpull.eval.judging.answers import Answer, answers_of
from contextpull.eval.judging.asking import (
    Asked,
    KeptVerdicts,
    Task,
    ask_judge,
    judgement_record,
)
from contextpull.eval.judging.items import MEASURES, Item, Measure, Undefined
from contextpull.eval.judging.judges import Judge
from contextpull.eval.judging.reporting import Figures
from contextpull.eval.ledger import Ledger
from contextpull.eval.metered import Budget, Price, Progress, Spent, check_price
from contextpull.eval.run_directory import (
    JUDGEMENTS,
    load_run,
    open_ledger,
    writing_run,
)
from contextpull.eval.runs import clusters_of
from contextpull.eval.statistics import ROUNDS, require_numpy

NO_TEXT = "This run was published without the text of results: faithfulness cannot be judged."
WHY_UNDEFINED: dict[Undefined, str] = {
    "nothing_shown": "nothing was shown to the model",
    "no_text": "the text that was shown is not in this run",
    "no_reference": "the question has no reference answer",
}
_IDS_SHOWN = 5


class Settings(NamedTuple):
    """What is judged, and how."""

    measures: tuple[Measure, ...] = MEASURES
    rows: tuple[str, ...] = ()
    """Agents; all without any."""
    sample: int | None = None
    """Only so many questions, drawn by the seed, the same for all rows."""
    twice: bool = False
    """Ask for every verdict a second time, to see whether it is the same."""
    concurrency: int = 4
    offline: bool = False
    """Ask nobody: all verdicts must be kept already."""
    rounds: int = ROUNDS
    seed: int = 0


def judge_run(
    folder: str | os.PathLike[str],
    judge: Judge,
    settings: Settings = Settings(),  # noqa: B008 - it never changes
    *,
    labels: Sequence[Label] = (),
    budget: Budget | None = None,
    price: Price = lambda _tokens: None,
    on_progress: Progress | None = None,
) -> dict[str, Any]:
    """Judge the answers of agents in a kept run; all that came of it as JSON-ready values.

    Verdicts are kept in the run's folder as they land and never asked for again; what failed is
    asked again the next time. Raises EvaluationError for a folder without a run of agents, a row
    or label that fits nothing, verdicts that `offline` lacks, or nothing that could be judged;
    InvalidInput for a budget in dollars where the judge's price is unknown; MissingExtra without
    numpy.
    """
    require_numpy()
    check_price(budget, price, "this judge")
    run = load_run(Path(folder))
    with _ledger(run.folder, settings.offline) as ledger:
        answers = answers_of(run, ledger, settings.rows, settings.sample, settings.seed)
        check_labels(labels, run.report["agents"], run.questions)
        clusters = clusters_of(run.questions.values())
        cluster_of = dict(zip(run.questions, clusters, strict=True))
        kept = KeptVerdicts(run.folder / JUDGEMENTS)
        judging = Judging(answers, judge, settings, kept, cluster_of)
        judging.check()
        judging.ask(budget or Budget(), price, on_progress)
    return {"run": str(run.folder), **judging.report(labels)}


@contextmanager
def _ledger(folder: Path, offline: bool) -> Iterator[Ledger]:
    """The transcripts; nobody else writes to the folder while verdicts are kept in it."""
    if offline:
        yield open_ledger(folder)
    else:
        with writing_run(folder) as ledger:
            yield ledger


class Judging:
    """What is judged, and what came of it."""

    def __init__(
        self,
        answers: Sequence[Answer],
        judge: Judge,
        settings: Settings,
        kept: KeptVerdicts,
        cluster_of: Mapping[str, Hashable],
    ) -> None:
        """`cluster_of` says by a question's id what it is drawn together with in intervals."""
        self._answers = answers
        self._cluster_of = cluster_of
        self._judge = judge
        self._settings = settings
        self._kept = kept
        tasks = [
            Task(answer.item(measure), answer.transcript, asking)
            for asking in range(2 if settings.twice else 1)
            for answer in answers
            for measure in settings.measures
            if answer.text
        ]
        self._tasks = {task.key(judge): task for task in tasks}
        self._before = {key for key in self._tasks if key in self._kept}
        self._asked = Asked({}, Spent(), "")

    @property
    def possible(self) -> int:
        """How many verdicts there can be."""
        return sum(1 for _ in self._wanted())

    @property
    def missing(self) -> int:
        """How many of them were not kept before, and so are to be asked for."""
        return sum(key not in self._before for key, _ in self._wanted())

    def check(self) -> None:
        """Raise EvaluationError where nobody needs to be asked: nothing could come of it."""
        if not self.possible:
            raise EvaluationError(_nothing(task.item for task in self._tasks.values()))
        missing = [task for key, task in self._wanted() if key not in self._before]
        if self._settings.offline and missing:
            shown = ", ".join(
                f"{each.item.measure} of {each.item.question_id} ({each.item.row})"
                for each in missing[:_IDS_SHOWN]
            )
            more = f" and {len(missing) - _IDS_SHOWN} more" if len(missing) > _IDS_SHOWN else ""
            raise EvaluationError(
                f"No verdict of {self._judge.name!r} is kept for {shown}{more}: the judge, its"
                " prompt or the answer differs, or it was never asked. Judge without --offline."
            )

    def ask(self, budget: Budget, price: Price, on_progress: Progress | None) -> None:
        """Ask for what is missing, and keep it."""
        if self._settings.offline:
            return
        for key, task in self._tasks.items():
            if task.item.undefined and key not in self._before:
                self._kept.add(key, task, self._judge, None)
        self._asked = ask_judge(
            self._judge,
            [(key, task) for key, task in self._wanted() if key not in self._before],
            self._kept,
            concurrency=self._settings.concurrency,
            budget=budget,
            price=price,
            on_progress=on_progress,
        )

    def _wanted(self) -> Iterator[tuple[str, Task]]:
        """What can be judged."""
        return ((key, task) for key, task in self._tasks.items() if not task.item.undefined)

    def report(self, labels: Sequence[Label]) -> dict[str, Any]:
        """All of it, with every judgement."""
        settings, spent = self._settings, self._asked.spent
        judgements = [self._record(key, task) for key, task in self._tasks.items()]
        figures = Figures(self._cluster_of, settings.rounds, settings.seed)
        return {
            "judge": self._judge.name,
            "rows": [
                figures.row(row, measure, judgements, unanswered)
                for row, unanswered in _unanswered(self._answers).items()
                for measure in settings.measures
            ],
            "agreement": figures.agreement(judgements, labels),
            "consistency": figures.consistency(judgements) if settings.twice else [],
            "asked": spent.questions,
            "kept": len(self._before & {key for key, _ in self._wanted()}),
            "stopped": self._asked.stopped,
            "tokens": spent.tokens.model_dump(),
            "dollars": spent.dollars,
            "settings": {**settings._asdict(), "measures": list(settings.measures)},
            "judgements": judgements,
        }

    def _record(self, key: str, task: Task) -> dict[str, Any]:
        verdict, failure = self._kept.get(key), self._asked.failures.get(key)
        item = task.item
        if item.undefined:
            outcome = "undefined"
        elif verdict is not None:
            outcome = "ok"
        else:
            outcome = failure.outcome if failure else "not_asked"
        place = f"{item.measure} of question {item.question_id!r}, {item.row}"
        return {
            **judgement_record(task, self._judge.name, verdict),
            "outcome": outcome,
            "error": f"{place}: {failure}" if failure else None,
        }


def _nothing(items: Iterable[Item]) -> str:
    """Why no item can be judged, and what to try."""
    undefined = {item.undefined for item in items} - {None}
    if "no_text" in undefined:
        return f"{NO_TEXT} Judge other measures, or the run that it was published from."
    why = "; ".join(text for name, text in WHY_UNDEFINED.items() if name in undefined)
    return (
        f"No answer can be judged: {why or 'there is none'}."
        " Judge other measures, or a run whose questions are answered."
    )


def _unanswered(answers: Sequence[Answer]) -> dict[str, int]:
    """By row, how many questions have no answer."""
    counts = dict.fromkeys((each.row for each in answers), 0)
    for each in answers:
        counts[each.row] += not each.text
    return counts
