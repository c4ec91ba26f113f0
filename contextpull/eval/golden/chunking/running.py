"""Chunking techniques compared at an equal budget of characters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.golden.chunking.answering import (
    Answering,
    Case,
    Judged,
    case_of,
    judged_answers,
)
from contextpull.eval.golden.chunking.asking import NoAnswer
from contextpull.eval.golden.chunking.building import (
    Built,
    Cuts,
    KeptBuilds,
    Means,
    build_key,
    make_build,
)
from contextpull.eval.golden.chunking.comparing import (
    ALPHA,
    Halves,
    Pair,
    TechniqueRow,
    best_builds,
    check_alpha,
    halves_of,
    ranked_techniques,
)
from contextpull.eval.golden.chunking.corpus import SourceCorpus
from contextpull.eval.golden.chunking.handing import Wants, context_of, wants_of
from contextpull.eval.golden.chunking.indexing import Told, by_tenths
from contextpull.eval.golden.chunking.late import why_not_late
from contextpull.eval.golden.chunking.plan import (
    HALF,
    SIZES,
    TECHNIQUES,
    Build,
    LeftOut,
    Technique,
    check_budget,
    check_overlaps,
    check_sizes,
    plan_builds,
)
from contextpull.eval.golden.questions import GoldenQuestion


class Plan(NamedTuple):
    """What is compared."""

    techniques: tuple[Technique, ...] = TECHNIQUES
    sizes: tuple[int, ...] = SIZES
    headings: tuple[bool, ...] = (True, False)
    notes: bool = False
    """Build each technique once more, with notes of a model."""
    seed: int = 0
    """Of the two halves."""
    overlaps: tuple[int, ...] = (0,)
    """In percent, as are `children`; see `Build`."""
    children: tuple[int, ...] = (HALF,)
    alpha: float = ALPHA
    """From this corrected p-value on a difference could be luck."""


@dataclass(frozen=True, slots=True)
class BuildRow:
    """One build, on the questions that builds are chosen by."""

    build: Build
    pieces: int
    mean_chars: float
    seconds: float
    found: int
    """How many of all questions that count it found what they want."""
    right: int
    """How many of those that builds are chosen by it has right; found, where nobody answers."""
    errors: tuple[tuple[str, str], ...]
    """Questions without an answer or a verdict, and why."""


@dataclass(frozen=True, slots=True)
class ChunkingReport:
    """What came of a comparison."""

    plan: Plan
    budget: int
    setting: str
    scored: str
    """`found` or `answered`: what decides."""
    halves: Halves
    by_evidence: int
    """How many of the questions that count have evidence."""
    unlabelled: tuple[str, ...]
    unanswerable: tuple[str, ...]
    """Questions without a reference, which nobody can judge by; only where answers decide."""
    coarser: tuple[str, ...]
    """Questions without evidence that name sections: any part of the document counts."""
    builds: tuple[BuildRow, ...]
    techniques: tuple[TechniqueRow, ...]
    """Best first."""
    pairs: tuple[Pair, ...]
    left_out: tuple[LeftOut, ...]
    errors: tuple[tuple[str, str, str], ...]
    """By technique: questions that are told of without an answer or a verdict, and why."""


def compare_chunking(
    corpus: SourceCorpus,
    questions: Sequence[GoldenQuestion],
    plan: Plan,
    means: Means,
    *,
    answering: Answering | None = None,
    kept: KeptBuilds | None = None,
    on_progress: Told | None = None,
) -> ChunkingReport:
    """Hand every technique the same characters for each question, and see what comes of it.

    Without `answering`, found decides: see `Wants.is_found`. With it, an answer is written from
    what was handed over alone and judged, and answered right decides; questions without a
    reference are left out then. The best build of each technique is chosen on one half of the
    questions; figures are of the other half, to which only the chosen builds are answered.
    Raises `EvaluationError` for what the folder does not hold and for fewer than two questions,
    `InvalidInput` for a plan that cannot be, `Stopped` and `ModelUnavailable` as models do.
    """
    check_sizes(plan.sizes)
    check_overlaps(plan.overlaps)
    check_budget(means.budget, plan.sizes, plan.overlaps)
    check_alpha(plan.alpha)
    counted = _counted(corpus, questions, needs_reference=answering is not None)
    halves = halves_of([each.question.id for each in counted.wants], plan.seed)
    left_out = unavailable(plan, means)
    has_notes = plan.notes and means.asking is not None
    planned = plan_builds(
        plan.techniques,
        plan.sizes,
        plan.headings,
        notes=has_notes,
        overlaps=plan.overlaps,
        children=plan.children,
        unavailable=left_out,
    )
    kept = kept or KeptBuilds(None)
    built, failed = _build_all(planned, corpus, counted.wants, means, kept, on_progress)
    run = _Run(corpus, counted.wants, built, answering, on_progress)
    chosen_by, told = run.measured(halves)
    right = {each: told[each].right for each in told}
    techniques, pairs = ranked_techniques(right, run.pieces, plan.alpha)
    return ChunkingReport(
        plan=plan,
        budget=means.budget,
        setting=means.setting.name,
        scored="answered" if answering else "found",
        halves=halves,
        by_evidence=sum(bool(each.question.evidence) for each in counted.wants),
        unlabelled=counted.unlabelled,
        unanswerable=counted.unanswerable,
        coarser=tuple(each.question.id for each in counted.wants if _is_coarser(each)),
        builds=tuple(run.row(build, chosen_by[build]) for build in built),
        techniques=tuple(techniques),
        pairs=tuple(pairs),
        left_out=(*left_out, *failed),
        errors=tuple((build.technique, *error) for build in told for error in told[build].errors),
    )


class _Counted(NamedTuple):
    """The questions that count, and the ids of those that do not."""

    wants: list[Wants]
    unlabelled: tuple[str, ...]
    unanswerable: tuple[str, ...]


def _counted(
    corpus: SourceCorpus, questions: Sequence[GoldenQuestion], *, needs_reference: bool
) -> _Counted:
    labelled, unlabelled = wants_of(corpus, questions)
    bare = [each for each in labelled if needs_reference and not each.question.reference.strip()]
    wants = [each for each in labelled if each not in bare]
    if not wants:
        raise EvaluationError("No question has a reference answer, which answers are judged by.")
    return _Counted(wants, tuple(unlabelled), tuple(each.question.id for each in bare))


def unavailable(plan: Plan, means: Means) -> list[LeftOut]:
    """What the plan names and these means do not allow, each with its reason."""
    why = {
        "semantic": "" if means.embedder else "it needs vectors of sentences: name an --embedder",
        "late": why_not_late(means.embedder) or _why_no_search(means),
        "llm": "" if means.asking else "it needs a model: name a --writer",
    }
    found = [LeftOut(name, why[name]) for name in plan.techniques if why.get(name)]
    if means.asking is None:
        found.append(LeftOut("notes", "they need a model: name a --writer, and ask with --notes"))
    elif not plan.notes:
        found.append(LeftOut("notes", "one call a piece and technique: ask for them with --notes"))
    if any(plan.overlaps) and "structure-aware" in plan.techniques:
        found.append(LeftOut("structure-aware with overlap", "our sections never overlap"))
    return found


def _why_no_search(means: Means) -> str:
    if means.setting.mode == "lexical":
        return "it is a way to make vectors, and the search here is lexical: name a --setting"
    return ""


def _build_all(
    planned: Sequence[Build],
    corpus: SourceCorpus,
    wants: Sequence[Wants],
    means: Means,
    kept: KeptBuilds,
    on_progress: Told | None,
) -> tuple[dict[Build, Built], list[LeftOut]]:
    cuts = Cuts(corpus, means)
    built: dict[Build, Built] = {}
    failed: list[LeftOut] = []
    for done, build in enumerate(planned):
        name = f"building {build.name}"
        if on_progress is not None:
            on_progress(name, done, len(planned))
        key = build_key(build, corpus, wants, means)
        made = kept.get(key)
        if made is None:
            try:
                vectors = by_tenths(on_progress, name, done, len(planned))
                made = make_build(build, corpus, wants, means, vectors, cuts.of(build))
            except NoAnswer as error:
                failed.append(LeftOut(build.name, str(error)))
                continue
            kept.add(key, build.name, made)
        built[build] = made
    if not built:
        raise EvaluationError(f"Nothing could be built. {failed[0].name}: {failed[0].reason}")
    return built, failed


class _Outcomes(NamedTuple):
    right: list[bool]
    errors: tuple[tuple[str, str], ...] = ()


class _Run:
    """The builds, and what is known of each question."""

    def __init__(
        self,
        corpus: SourceCorpus,
        wants: Sequence[Wants],
        built: Mapping[Build, Built],
        answering: Answering | None,
        on_progress: Told | None,
    ) -> None:
        self._corpus = corpus
        self._wants = {each.question.id: each for each in wants}
        self._built = built
        self._answering = answering
        self._on_progress = on_progress
        self._judged: dict[Case, Judged] = {}

    @property
    def pieces(self) -> dict[Build, int]:
        """How many pieces each build has."""
        return {build: each.pieces for build, each in self._built.items()}

    def measured(self, halves: Halves) -> tuple[dict[Build, _Outcomes], dict[Build, _Outcomes]]:
        """All builds on the questions to choose by, and the best of each technique on the others.

        Raises `EvaluationError` where no answer to the others has a verdict.
        """
        self._answer(self._built, halves.choosing)
        chosen_by = {build: self._outcomes(build, halves.choosing) for build in self._built}
        right = {build: sum(each.right) for build, each in chosen_by.items()}
        best = best_builds(right, self.pieces).values()
        self._answer(best, halves.told)
        told = {build: self._outcomes(build, halves.told) for build in best}
        errors = [error for each in told.values() for error in each.errors]
        if len(errors) == len(told) * len(halves.told):
            raise EvaluationError(f"Nothing was measured: no answer has a verdict. {errors[0][1]}")
        return chosen_by, told

    def row(self, build: Build, chosen_by: _Outcomes) -> BuildRow:
        """What is told of a build."""
        built = self._built[build]
        return BuildRow(
            build,
            built.pieces,
            built.chars / built.pieces if built.pieces else 0.0,
            built.seconds,
            sum(self._is_found(build, each) for each in self._wants.values()),
            sum(chosen_by.right),
            chosen_by.errors,
        )

    def _answer(self, builds: Iterable[Build], ids: Sequence[str]) -> None:
        """Have questions answered from what builds handed over, where answers decide."""
        if self._answering is None:
            return
        cases = [self._case(build, each) for build in builds for each in ids]
        if self._on_progress is not None:
            self._on_progress(f"answering {len(set(cases))} times", 0, len(set(cases)))
        self._judged |= judged_answers(cases, self._answering)

    def _outcomes(self, build: Build, ids: Sequence[str]) -> _Outcomes:
        """Whether a build has each question right."""
        if self._answering is None:
            return _Outcomes([self._is_found(build, self._wants[each]) for each in ids])
        judged = [(each, self._judged[self._case(build, each)]) for each in ids]
        errors = tuple((name, each.error) for name, each in judged if each.error)
        return _Outcomes([each.is_right for _, each in judged], errors)

    def _is_found(self, build: Build, wants: Wants) -> bool:
        """Whether what a build handed over holds what a question wants."""
        return wants.is_found(self._built[build].handed[wants.question.id], self._corpus)

    def _case(self, build: Build, name: str) -> Case:
        handed = self._built[build].handed[name]
        return case_of(self._wants[name].question, context_of(handed, self._corpus))


def _is_coarser(wants: Wants) -> bool:
    is_bare = not wants.question.evidence
    return is_bare and any(label.is_coarser for label in wants.labels)
