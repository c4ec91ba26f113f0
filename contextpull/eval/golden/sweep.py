"""A corpus cut and indexed anew for every combination of settings, and asked the same questions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Literal, NamedTuple

from contextpull.config import CutSettings
from contextpull.errors import InvalidInput
from contextpull.eval.golden.chunking.corpus import Label, Source, SourceCorpus, labels_of
from contextpull.eval.golden.chunking.cutters import Likeness, cut_plainly, cut_semantically
from contextpull.eval.golden.chunking.indexing import (
    Piece,
    Progress,
    Told,
    as_sections,
    by_tenths,
    index,
)
from contextpull.eval.golden.chunking.likeness import by_vectors
from contextpull.eval.golden.chunking.overlapping import overlapping
from contextpull.eval.golden.chunking.plan import check_overlaps
from contextpull.eval.golden.grains import Grain
from contextpull.eval.golden.picks import Between, compared_pairs
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.reporting import (
    CUTOFFS,
    Measured,
    SettingRow,
    checked_cutoffs,
    measured,
)
from contextpull.eval.golden.settings import Setting, parse_settings
from contextpull.eval.statistics import ROUNDS
from contextpull.models.embedding import Embedder
from contextpull.retrieval.models import Models
from contextpull.store import Snapshot
from contextpull.store.vectors import VectorCache
from contextpull.types import Section

Cutter = Literal["sections", "recursive", "sentence", "fixed", "semantic"]
_DEFAULT = CutSettings()
_NO_SECTIONS = (
    "A section is another one when the cutting changes: --by section would compare unlike things."
    " Choose doc, page or evidence, which a cutting does not move."
)

_NO_OVERLAP = "Our sections never overlap: --overlap is of the other cutters."


class SweepBuild(NamedTuple):
    """One way to cut and index a corpus."""

    cutter: Cutter = "sections"
    max_chars: int = _DEFAULT.max_chars
    min_chars: int = _DEFAULT.min_chars
    """`sections` only, as is `heading_depth`."""
    heading_depth: int = _DEFAULT.heading_depth
    headings: bool = True
    """Whether headings, title and description are searched with each section."""
    overlap: int = 0
    """What a piece carries over from the text before it, in percent of `max_chars`; not
    `sections`, which never overlap."""

    @property
    def name(self) -> str:
        """`sections 2000`, and behind it what is not as usual."""
        parts = [self.cutter, str(self.max_chars)]
        parts += [f"min {self.min_chars}"] * (self.min_chars != _DEFAULT.min_chars)
        parts += [f"depth {self.heading_depth}"] * (self.heading_depth != _DEFAULT.heading_depth)
        parts += [f"overlap {self.overlap}%"] * bool(self.overlap)
        return " ".join([*parts, *["no headings"] * (not self.headings)])

    @property
    def settings(self) -> CutSettings:
        """As an ingest takes them; raises `InvalidInput` for those that it does not take."""
        return CutSettings(
            heading_depth=self.heading_depth,
            max_chars=self.max_chars,
            hard_max_chars=max(_DEFAULT.hard_max_chars, self.max_chars),
            min_chars=self.min_chars,
        )

    @property
    def ingest_options(self) -> str:
        """What `contextpull ingest` needs to cut so; empty where it cannot."""
        if self.cutter != "sections" or not self.headings:
            return ""
        made = self.settings
        options = (
            ("--max-chars", made.max_chars, _DEFAULT.max_chars),
            ("--hard-max-chars", made.hard_max_chars, _DEFAULT.hard_max_chars),
            ("--min-chars", made.min_chars, _DEFAULT.min_chars),
            ("--heading-depth", made.heading_depth, _DEFAULT.heading_depth),
        )
        return " ".join(f"{name} {value}" for name, value, usual in options if value != usual)


def sweep_builds(
    cutters: Sequence[Cutter] = ("sections",),
    max_chars: Sequence[int] = (1_000, 2_000),
    min_chars: Sequence[int] = (_DEFAULT.min_chars,),
    heading_depths: Sequence[int] = (_DEFAULT.heading_depth,),
    headings: Sequence[bool] = (True,),
    overlaps: Sequence[int] = (0,),
) -> list[SweepBuild]:
    """Every combination once; what a cutter does not look at makes none of its own.

    Raises `InvalidInput` for settings that an ingest would not take, for overlaps that are no
    percent, and for an overlap where all that is cut are sections.
    """
    check_overlaps(overlaps)
    if any(overlaps) and set(cutters) == {"sections"}:
        raise InvalidInput(f"{_NO_OVERLAP} Name another --cutter beside, such as recursive.")
    every = [
        SweepBuild(cutter, most, least, depth, with_headings)
        if cutter == "sections"
        else SweepBuild(cutter, most, headings=with_headings, overlap=overlap)
        for cutter in cutters
        for most in max_chars
        for least in min_chars
        for depth in heading_depths
        for overlap in overlaps
        for with_headings in headings
    ]
    if not every:
        raise InvalidInput("There is no combination to build: name a value of each setting.")
    for each in every:
        _ = each.settings
    return list(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One build, searched in one way."""

    build: SweepBuild
    sections: int
    build_seconds: float
    """Cutting, indexing and vectors; files are read once for all."""
    measured: SettingRow

    @property
    def name(self) -> str:
        """The build and the setting."""
        return f"{self.build.name}, {self.measured.setting.name}"


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What came of a sweep."""

    corpus: SourceCorpus
    report: Measured
    """That of the first build: which questions count is the same for all."""
    rows: tuple[SweepRow, ...]
    """Best first: by nDCG, then MRR, then the median time of a search."""
    comparisons: tuple[Between, ...]
    """Of the best row with every other, in their order, corrected for their number (Holm).

    The family is that of multiple comparisons with the best (Hsu, Annals of Statistics 9(5), 1981).
    """
    notes: tuple[str, ...]
    embedder: str = ""
    """The name of the model that made vectors, if one did."""

    @property
    def measure(self) -> str:
        """What rows are ranked by."""
        return f"ndcg@{self.report.cutoffs[-1]}"


def sweep(
    corpus: SourceCorpus,
    questions: Sequence[GoldenQuestion],
    builds: Sequence[SweepBuild],
    settings: Sequence[Setting] = parse_settings("lexical"),
    *,
    by: Grain = "doc",
    k: Sequence[int] = CUTOFFS,
    embedder: Embedder | None = None,
    models: Models | None = None,
    cache: Path | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    on_progress: Told | None = None,
) -> SweepReport:
    """Cut, index and ask for every build, in a scratch folder that is gone afterwards.

    A label that names a section counts as its document. `cache` keeps vectors between runs.
    Raises `EvaluationError` for labels that the folder does not hold, `InvalidInput` for the grain
    `section`, for settings that need vectors without an embedder, and as `golden_report` does.
    """
    check_grain(by)
    cutoffs = checked_cutoffs(k)
    check_embedder(builds, settings, embedder)
    labels = labels_of(corpus, questions)
    asked = [
        replace(each, expected=tuple(dict.fromkeys(label.entry for label in labels[each.id])))
        for each in questions
    ]
    models = models or Models(keep_all_vectors=True)
    uses_vectors = any(each.mode != "lexical" for each in settings)
    rows: list[SweepRow] = []
    reports: list[Measured] = []
    with closing(VectorCache(cache, embedder)) if embedder else nullcontext() as vectors:
        likeness = by_vectors(vectors) if vectors else None
        for done, build in enumerate(builds):
            if on_progress is not None:
                on_progress(build.name, done, len(builds))
            told = by_tenths(on_progress, build.name, done, len(builds))
            with TemporaryDirectory(prefix="contextpull-") as scratch:
                snapshot, seconds = _indexed(
                    Path(scratch) / "store",
                    build,
                    corpus,
                    likeness,
                    embedder if uses_vectors else None,
                    cache,
                    told,
                )
                report = measured(
                    snapshot, asked, settings, by=by, k=cutoffs, models=models,
                    rounds=rounds, seed=seed,
                )  # fmt: skip
                rows += _rows(build, snapshot, seconds, report)
            reports.append(report)
    if on_progress is not None:
        on_progress("", len(builds), len(builds))
    ranked = sorted(rows, key=lambda row: _merit(row, cutoffs[-1]))
    beside = _beside_best(ranked, f"ndcg@{cutoffs[-1]}", rounds, seed)
    notes = tuple(_notes(corpus, questions, labels, by, builds))
    name = embedder.name if embedder else ""
    return SweepReport(corpus, reports[0], tuple(ranked), beside, notes, name)


def _indexed(
    folder: Path,
    build: SweepBuild,
    corpus: SourceCorpus,
    likeness: Likeness | None,
    embedder: Embedder | None,
    cache: Path | None,
    on_progress: Progress,
) -> tuple[Snapshot, float]:
    """The corpus as a build cuts and indexes it, and the seconds that this took."""
    started = perf_counter()
    snapshot = index(
        folder,
        ((source, cut_for(build, source, likeness)) for source in corpus.sources),
        headings=build.headings,
        embedder=embedder,
        cache=cache,
        on_progress=on_progress,
    )
    return snapshot, perf_counter() - started


def check_grain(by: Grain) -> None:
    """Raise `InvalidInput` for a grain that moves with the cutting."""
    if by == "section":
        raise InvalidInput(_NO_SECTIONS)


def check_embedder(
    builds: Sequence[SweepBuild], settings: Sequence[Setting], embedder: object
) -> None:
    """Raise `InvalidInput` where something needs vectors and there is no embedder."""
    needing = [each.name for each in settings if each.mode != "lexical"]
    needing += ["semantic" for each in builds if each.cutter == "semantic"][:1]
    if needing and embedder is None:
        raise InvalidInput(f"{', '.join(needing)} needs vectors: name an --embedder.")


def cut_for(build: SweepBuild, source: Source, likeness: Likeness | None) -> list[Section]:
    """A document as a build cuts it."""
    if build.cutter == "sections":
        return source.sections(build.settings)
    if build.cutter == "semantic":
        assert likeness is not None  # `check_embedder` saw to it
        spans = cut_semantically(source.text, build.max_chars, likeness)
    else:
        spans = cut_plainly(source.text, build.max_chars, build.cutter)
    carrying = overlapping(source, spans, build.max_chars * build.overlap // 100)
    return as_sections(source, [Piece(span, span) for span in carrying])


def _rows(
    build: SweepBuild, snapshot: Snapshot, seconds: float, report: Measured
) -> Iterator[SweepRow]:
    sections = snapshot.database.counts()[1]
    for each in report.rows:
        yield SweepRow(build, sections, seconds, each)


def _merit(row: SweepRow, k: int) -> tuple[float, float, float, str]:
    """Smaller is better."""
    measures = row.measured.row.overall.measures
    ndcg, mrr = (measures[f"{name}@{k}"].mean for name in ("ndcg", "mrr"))
    return -ndcg, -mrr, row.measured.median_ms, row.name


def _beside_best(
    ranked: Sequence[SweepRow], measure: str, rounds: int, seed: int
) -> tuple[Between, ...]:
    best, *others = (replace(each.measured.row, name=each.name) for each in ranked)
    pairs = [(best, other) for other in others]
    return compared_pairs(pairs, measure, rounds=rounds, seed=seed)


def _notes(
    corpus: SourceCorpus,
    questions: Sequence[GoldenQuestion],
    labels: Mapping[str, Sequence[Label]],
    by: Grain,
    builds: Sequence[SweepBuild],
) -> Iterator[str]:
    if any(each.overlap for each in builds) and any(each.cutter == "sections" for each in builds):
        yield _NO_OVERLAP
    scored_by_label = [each for each in questions if by != "evidence" or not each.evidence]
    coarser = sum(any(label.is_coarser for label in labels[each.id]) for each in scored_by_label)
    if coarser:
        yield (
            f"{coarser} questions name sections, or pages that are not known: the whole document"
            " counts, since sections move with the cutting."
        )
    if corpus.read_as:
        yield f"Read as another format than the names say: {corpus.read_as}."
    if corpus.unread:
        first = corpus.unread[0]
        yield (f"{len(corpus.unread)} files were left out, the first {first.path}: {first.reason}.")
