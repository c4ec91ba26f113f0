"""Where to stop answering: the top result of every question, and the cut-off that they support."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from contextpull import __version__
from contextpull.adapters.lines import Faults, decoded, numbered_lines
from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.golden.cutoff import FOLDS, REPEATS, Cutoff, find_cutoff
from contextpull.eval.golden.grains import Asked, Grain, asked_of
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.reading import same_question
from contextpull.eval.golden.settings import Searcher, Setting, parse_settings
from contextpull.eval.statistics import LEVEL, ROUNDS, require_numpy
from contextpull.retrieval.models import Models
from contextpull.store import Snapshot

Value = Literal["similarity", "relevance", "score"]
SETTING_OF: dict[Value, str] = {"similarity": "dense", "relevance": "rerank", "score": "lexical"}
"""The setting whose top result has the value: its cosine, its logit, its score by words."""
Kind = Literal["answer", "near miss"]


@dataclass(frozen=True, slots=True)
class Top:
    """The top result of one question."""

    id: str
    """Empty for a question that the documents do not answer."""
    question: str
    kind: Kind
    section: str
    """Its id; empty where nothing was found."""
    value: float | None
    """None where nothing was found, or where the value is no finite number."""


@dataclass(frozen=True, slots=True)
class Declining:
    """A measured cut-off, with what it was measured on."""

    by: Grain
    measure: Value
    setting: str
    asked: Asked
    unanswerable: int
    tops: tuple[Top, ...]
    """Labelled questions in their order, then those that the documents do not answer."""
    found: Cutoff

    @property
    def unmeasured(self) -> tuple[Top, ...]:
        """The questions without a value; they count on neither side."""
        return tuple(each for each in self.tops if each.value is None)


def answer_cutoff(
    snapshot: Snapshot,
    questions: Sequence[GoldenQuestion],
    *,
    unanswerable: Sequence[str] = (),
    by: Grain = "doc",
    measure: Value = "similarity",
    setting: Setting | None = None,
    models: Models | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Declining:
    """Measure below which value of the top result it is better to decline.

    The top result of a labelled question is an answer where it is what the question expects at
    this grain, else a near miss; that of an unanswerable question is a near miss. `similarity` is
    the cosine of the top result by vectors, `relevance` the cross-encoder's logit of the top
    result that it ranked, `score` the score of the top result of `setting`, by words if not given.
    Raises what `asked_of` raises; `InvalidInput` for a text in place of a list of questions, for a
    blank one, for a measure that is none, and for a `setting` beside another one than `score`;
    `EvaluationError` for a question that is both labelled and unanswerable; `StoreError` and
    `ModelUnavailable` as `golden_report`.
    """
    outside = _outside(unanswerable, questions)
    if measure not in SETTING_OF:
        raise InvalidInput(f"`measure` must be {' or '.join(SETTING_OF)}, not {measure!r}.")
    if setting is not None and measure != "score":
        raise InvalidInput(
            f"{measure} belongs to {SETTING_OF[measure]}; only score takes a setting."
        )
    require_numpy()
    asked = asked_of(snapshot, questions, by)
    chosen = setting or parse_settings(SETTING_OF[measure])[0]
    searcher = Searcher(snapshot, chosen, models or Models())
    wanted = [(each.question.id, each.question.question, each.targets) for each in asked.wanted]
    every = [*wanted, *(("", each, ()) for each in outside)]
    tops = []
    for question_id, question, targets in every:
        best = searcher.results(question, 1, by)
        sections = snapshot.database.sections([each.number for each in best])
        is_answer = any(target(each) for target in targets for each in sections)
        value = best[0].score if best and isfinite(best[0].score) else None
        section = sections[0].id if sections else ""
        kind: Kind = "answer" if is_answer else "near miss"
        tops.append(Top(question_id, question, kind, section, value))
        if on_progress is not None:
            on_progress(len(tops), len(every))
    found = find_cutoff(
        _values(tops, "answer"), _values(tops, "near miss"), rounds=rounds, seed=seed
    )
    return Declining(by, measure, chosen.name, asked, len(outside), tuple(tops), found)


def load_unanswerable(path: Path) -> list[str]:
    """The questions of a text file, one a line; blank lines are none.

    Raises `EvaluationError` for a file that is not there, is not UTF-8, or holds no question.
    """
    faults = Faults(str(path), place=f"{path}:")
    questions = []
    for number, line in numbered_lines(path):
        try:
            questions.append(decoded(line).strip())
        except ValueError as error:
            faults.add(number, str(error))
    faults.raise_if_any()
    if not questions:
        raise EvaluationError(f"{path} holds no question. Write one a line.")
    return questions


def cutoff_record(declining: Declining) -> dict[str, Any]:
    """What was measured as JSON-ready values; undefined figures are None."""
    found = declining.found
    return {
        "contextpull": __version__,
        "by": declining.by,
        "measure": declining.measure,
        "setting": declining.setting,
        "questions": len(declining.asked.wanted),
        "unlabelled": list(declining.asked.unlabelled),
        "too_coarse": list(declining.asked.too_coarse),
        "notes": list(declining.asked.notes),
        "unanswerable": declining.unanswerable,
        "answers": found.answers,
        "near_misses": found.near_misses,
        "unmeasured": [_top_record(each) for each in declining.unmeasured],
        "separation": found.separation.as_dict(),
        "cutoff": found.interval.as_dict()["mean"],
        "cutoff_interval": found.interval.as_dict() if found.chosen else None,
        "reason": found.reason or None,
        "at_cutoff": found.chosen.as_dict() if found.chosen else None,
        "held_out": found.held_out.as_dict() if found.held_out else None,
        "cross_validation": {"folds": FOLDS, "repeats": REPEATS},
        "table": [each.as_dict() for each in found.table],
        "interval": {"level": LEVEL, "rounds": found.rounds, "seed": found.seed},
        "tops": [_top_record(each) for each in declining.tops],
    }


def _top_record(top: Top) -> dict[str, Any]:
    return {
        "id": top.id or None,
        "question": top.question,
        "kind": top.kind,
        "section": top.section or None,
        "value": top.value,
    }


def _values(tops: Sequence[Top], kind: Kind) -> list[float]:
    return [each.value for each in tops if each.kind == kind and each.value is not None]


def _outside(unanswerable: Sequence[str], questions: Sequence[GoldenQuestion]) -> list[str]:
    """The unanswerable questions, each once: what is asked twice would count twice."""
    if isinstance(unanswerable, (str, bytes)) or not isinstance(unanswerable, Sequence):
        raise InvalidInput(
            f"`unanswerable` must be a list of questions, not {unanswerable!r}. "
            "Put a single one into a list."
        )
    labelled = {same_question(each.question): each.id for each in questions}
    outside: dict[str, str] = {}
    for each in unanswerable:
        if not isinstance(each, str) or not each.strip():
            raise InvalidInput(f"`unanswerable` holds {each!r}, which is no question.")
        same = same_question(each)
        if same in labelled:
            raise EvaluationError(
                f"{each!r} is question {labelled[same]!r} of the golden file and cannot "
                "be unanswerable too. Take it out of one of them."
            )
        outside.setdefault(same, each)
    return list(outside.values())
