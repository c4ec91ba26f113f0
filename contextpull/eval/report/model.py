"""Everything that a report shows of a run, as plain values: what pages, plots and exports share.

Figures that are undefined are nan. All text in here is as untrusted as the documents and models
that it comes from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from contextpull.errors import EvaluationError
from contextpull.eval.report.agents import AgentView, agent_view
from contextpull.eval.report.costs import Cost, agent_cost, row_cost
from contextpull.eval.report.figures import interval, number
from contextpull.eval.report.judgements import (
    Judged,
    Verdicts,
    by_transcript,
    judged,
    verdicts_of,
)
from contextpull.eval.run_directory import MANIFEST, AgentRun, SavedRun, load_run, open_ledger
from contextpull.eval.statistics import Interval
from contextpull.eval.transcripts import Transcript

Seen = Literal["read", "surfaced"]


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a row over some questions."""

    n: int
    errors: int
    """Of which failed or were not asked; they count as misses."""
    hits: int
    hit: Interval
    """The share of questions with any gold among the first k, with its Wilson interval."""
    measures: dict[str, Interval]
    """By name: recall@k, mrr@k, ndcg@k|hit."""


@dataclass(frozen=True, slots=True)
class RowView:
    """One row of the table."""

    name: str
    agent: str
    """The agent whose row it is; empty for a push row or a retriever of the user's."""
    seen: Seen | None
    """What of an agent counts as retrieved; None for other rows."""
    is_best_push: bool
    """Whether the other rows are compared with it."""
    overall: Summary
    shapes: dict[str, Summary]
    cost: Cost
    failures: tuple[tuple[str, str], ...]
    """Questions that failed or were not asked, and why."""

    @property
    def is_pull(self) -> bool:
        """Whether an agent is behind it."""
        return bool(self.agent)


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A row beside the best push row in recall@k: the row less that row."""

    row: str
    baseline: str
    measure: str
    shape: str
    """Empty for all questions."""
    n: int
    difference: Interval
    p: float
    p_holm: float
    """Corrected for the number of comparisons: over all questions, or by shape."""
    detectable: float
    """The smallest difference that this sample shows with 80% power; nan where it is too small."""
    verdict: str
    """better, worse, none differs, cannot tell."""


@dataclass(frozen=True, slots=True)
class HitsView:
    """A row beside the best push row in hits."""

    row: str
    baseline: str
    gained: int
    """Questions that only the row hits."""
    lost: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a row returned for a question."""

    ranking: tuple[str, ...]
    scores: dict[str, float]
    hit: bool
    """Whether any gold is in the ranking."""
    answer: str
    """Of a retriever that answers; an agent's is in its transcript."""
    error: str
    """Why it failed or was not asked; empty where it was answered."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent did for a question in one repeat."""

    agent: str
    repeat: int
    key: str
    """What its verdicts are kept under."""
    transcript: Transcript | None
    """None where it was not asked."""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One question with what came of it."""

    id: str
    text: str
    shape: str
    gold: tuple[str, ...]
    copies: tuple[str, ...]
    """Word-for-word copies of gold that count as it."""
    answer: str
    source: str
    results: tuple[Result, ...]
    """One a row, in the order of the rows."""
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the figures come from."""

    version: str
    written: datetime
    """When the run was finished, by the time of its file."""
    has_text: bool
    """Whether transcripts hold what tools returned."""
    model: str
    """Empty without one."""
    embedder: str
    reranker: str
    k: int
    rounds: int
    seed: int
    repeats: int
    corpus: str
    questions: str
    limits: dict[str, Any]
    skipped: dict[str, str]
    """By shape of which nothing was asked, why; without those of which a run does not know it."""
    closed_gold: int | None
    """Questions to whose gold copies were added; None where that was not asked for."""
    clusters: int
    """What each bootstrap round draws: documents, and questions that share none."""
    fingerprints: dict[str, str]
    """By agent."""


@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """A run as a report shows it; equal to itself alone."""

    folder: Path
    name: str
    saved: SavedRun
    provenance: Provenance
    measure: str
    """recall@k under its name."""
    rows: tuple[RowView, ...]
    shapes: tuple[str, ...]
    """In the order of the table; questions may have none."""
    comparisons: tuple[ComparisonView, ...]
    """Over all questions."""
    comparisons_by_shape: tuple[ComparisonView, ...]
    hits: tuple[HitsView, ...]
    agents: tuple[AgentView, ...]
    questions: tuple[QuestionView, ...]
    judged: tuple[Judged, ...]
    verdicts: Verdicts

    @property
    def best_push(self) -> RowView | None:
        """The row that the others are compared with; None without a push row."""
        return next((row for row in self.rows if row.is_best_push), None)

    @property
    def shape_sizes(self) -> dict[str, int]:
        """By shape how many questions have it."""
        return {
            shape: max(row.shapes[shape].n for row in self.rows if shape in row.shapes)
            for shape in self.shapes
        }


def view_of(folder: Path) -> RunView:
    """Read a finished run. Raises EvaluationError where there is none, or it cannot be read."""
    run = load_run(folder)
    try:
        return _view(run)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EvaluationError(
            f"The run in {str(folder)!r} lacks what a report needs ({error!r}). Score it anew:"
            " give `contextpull eval run` the same command with --offline."
        ) from error


def _view(run: SavedRun) -> RunView:
    folder = run.folder
    ledger = open_ledger(folder)
    made = {
        agent: list(run.runs_of(agent, ledger, run.questions.values()))
        for agent in run.report["agents"]
    }
    keys = {each.key for runs in made.values() for each in runs if each.transcript}
    verdicts = verdicts_of(run, keys)
    best = _best_push(run, made)
    costs = {agent: agent_cost(run, agent, runs) for agent, runs in made.items()}
    return RunView(
        folder=folder,
        name=folder.resolve().name,
        saved=run,
        provenance=_provenance(run),
        measure=f"recall@{run.report['k']}",
        rows=tuple(_row(run, record, best, costs) for record in run.report["rows"]),
        shapes=tuple(dict.fromkeys(each for row in run.report["rows"] for each in row["shapes"])),
        comparisons=tuple(map(_comparison, run.report["comparisons"])),
        comparisons_by_shape=tuple(map(_comparison, run.report["comparisons_by_shape"])),
        hits=tuple(map(_hits, run.report["comparisons_of_hits"])),
        agents=tuple(agent_view(run, name, runs) for name, runs in made.items()),
        questions=tuple(_questions(run, made)),
        judged=judged(run, verdicts),
        verdicts=by_transcript(verdicts),
    )


def _provenance(run: SavedRun) -> Provenance:
    manifest, settings = run.manifest, run.manifest["settings"]
    closed, models = manifest.get("close_gold"), manifest.get("models") or {}
    written = (run.folder / MANIFEST).stat().st_mtime
    return Provenance(
        version=manifest["contextpull"],
        written=datetime.fromtimestamp(written, UTC),
        has_text=manifest["has_text"],
        model=manifest["model"] or "",
        embedder=models.get("embedder") or "",
        reranker=models.get("reranker") or "",
        **{name: settings[name] for name in ("k", "rounds", "seed", "repeats")},
        corpus=manifest["corpus"],
        questions=manifest["questions"],
        limits=manifest.get("limits") or {},
        skipped={str(name): str(why) for name, why in manifest.get("skipped", {}).items()},
        closed_gold=closed["questions"] if closed else None,
        clusters=run.report["rows"][0]["interval"]["clusters"],
        fingerprints={name: each["fingerprint"] for name, each in run.report["agents"].items()},
    )


def _summary(record: dict[str, Any]) -> Summary:
    return Summary(
        n=record["n"],
        errors=record["errors"],
        hits=record["hits"]["yes"],
        hit=interval(record["hits"]),
        measures={name: interval(each) for name, each in record["measures"].items()},
    )


def _best_push(run: SavedRun, made: dict[str, list[AgentRun]]) -> str:
    """The row that others are compared with; alone in a run it is compared with none."""
    if run.report["comparisons"]:
        return str(run.report["comparisons"][0]["baseline"])
    names = [each["row"] for each in run.report["rows"]]
    return "" if made or len(names) != 1 else str(names[0])


def _row(run: SavedRun, record: dict[str, Any], best: str, costs: dict[str, Cost]) -> RowView:
    name = record["row"]
    agent, seen = _agent_of(name, costs)
    return RowView(
        name=name,
        agent=agent,
        seen=seen,
        is_best_push=name == best,
        overall=_summary(record),
        shapes={shape: _summary(each) for shape, each in record["shapes"].items()},
        cost=costs[agent] if agent else row_cost(run, name, record["stats"]),
        failures=tuple((each["id"], each["error"] or "") for each in record["failures"]),
    )


def _agent_of(row: str, agents: Iterable[str]) -> tuple[str, Seen | None]:
    views: tuple[Seen, ...] = ("read", "surfaced")
    for agent in agents:
        for seen in views:
            if row == f"{agent}, {seen}":
                return agent, seen
    return "", None


def comparison_view(record: dict[str, Any], baseline: str, measure: str) -> ComparisonView:
    """A comparison with this baseline in this measure, as a report has it."""
    return ComparisonView(
        row=record["row"],
        baseline=baseline,
        measure=measure,
        shape=record["shape"] or "",
        n=record["n"],
        difference=interval(record["difference"]),
        p=record["p"],
        p_holm=record["p_holm"],
        detectable=number(record["detectable"]),
        verdict=record["verdict"],
    )


def _comparison(record: dict[str, Any]) -> ComparisonView:
    return comparison_view(record, record["baseline"], record["measure"])


def _hits(record: dict[str, Any]) -> HitsView:
    gained, lost = record["only_first"], record["only_second"]
    return HitsView(record["row"], record["baseline"], gained, lost, record["p"], record["p_holm"])


def _questions(run: SavedRun, made: dict[str, list[AgentRun]]) -> list[QuestionView]:
    attempts: dict[str, list[Attempt]] = {}
    for agent, runs in made.items():
        for each in runs:
            attempt = Attempt(agent, each.repeat, each.key, each.transcript)
            attempts.setdefault(each.question.id, []).append(attempt)
    found = []
    for question in run.questions.values():
        copies = run.copies_of(question)
        gold = {*question.gold, *copies}
        found.append(
            QuestionView(
                id=question.id,
                text=question.text,
                shape=question.shape,
                gold=question.gold,
                copies=copies,
                answer=question.answer,
                source=question.source,
                results=tuple(
                    _result(run.outcomes[row["row"]][question.id], gold)
                    for row in run.report["rows"]
                ),
                attempts=tuple(attempts.get(question.id, ())),
            )
        )
    return found


def _result(outcome: dict[str, Any], gold: set[str]) -> Result:
    return Result(
        ranking=tuple(outcome["ranking"]),
        scores=outcome["scores"],
        hit=any(each in gold for each in outcome["ranking"]),
        answer=outcome["answer"] or "",
        error=outcome["error"] or "",
        seconds=outcome["seconds"],
    )
