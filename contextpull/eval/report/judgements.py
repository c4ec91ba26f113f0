"""What judges said of a run's answers, judge by judge, as far as it still counts."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from contextpull.eval.judging.items import MEASURES
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.report.figures import mean_over_documents
from contextpull.eval.run_directory import JUDGEMENTS, SavedRun
from contextpull.eval.statistics import Interval


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge said of one agent by one measure."""

    judge: str
    agent: str
    measure: str
    judged: int
    """Answers with a score."""
    undefined: int
    """Answers of which nothing can be said."""
    mean: Interval


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said of one answer."""

    judge: str
    measure: str
    score: float | None
    """None where it is undefined."""
    reason: str


Verdicts = dict[str, list[Verdict]]
"""By the key of the transcript that the answer stands in."""


def verdicts_of(run: SavedRun, transcripts: Collection[str]) -> list[dict[str, Any]]:
    """The first verdicts about these transcripts; of several about one answer the last counts."""
    kept: dict[tuple[str, ...], dict[str, Any]] = {}
    for _, record in KeptLines(run.folder / JUDGEMENTS, "the judgements").records():
        if record["transcript"] in transcripts and record["asking"] == 0:
            kept[record["transcript"], record["measure"], record["judge"]] = record
    return list(kept.values())


def by_transcript(records: Iterable[dict[str, Any]]) -> Verdicts:
    """The verdicts about each answer."""
    found: Verdicts = {}
    for each in records:
        verdict = Verdict(each["judge"], each["measure"], each["score"], each["reason"])
        found.setdefault(each["transcript"], []).append(verdict)
    return found


def judged(run: SavedRun, records: Iterable[dict[str, Any]]) -> tuple[Judged, ...]:
    """The mean of each judge, agent and measure, with an interval over documents."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for each in records:
        groups.setdefault((each["judge"], each["row"], each["measure"]), []).append(each)
    order = sorted(groups, key=lambda key: (key[0], key[1], MEASURES.index(key[2])))
    return tuple(_judged(run, key, groups[key]) for key in order)


def _judged(run: SavedRun, key: tuple[str, str, str], records: list[dict[str, Any]]) -> Judged:
    scored = [each for each in records if each["score"] is not None]
    ids = [each["id"] for each in scored]
    mean = mean_over_documents(run, ids, [each["score"] for each in scored])
    return Judged(*key, len(scored), len(records) - len(scored), mean)
