"""One build: the corpus cut by its technique, indexed, and asked every question."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from contextpull.adapters.push import Push, Searched
from contextpull.config import CutSettings
from contextpull.eval.golden.chunking.asking import Asking
from contextpull.eval.golden.chunking.by_model import cut_by_model, with_notes
from contextpull.eval.golden.chunking.corpus import Source, SourceCorpus
from contextpull.eval.golden.chunking.cutters import cut_plainly, cut_semantically, trimmed, within
from contextpull.eval.golden.chunking.handing import Handed, Wants, within_budget
from contextpull.eval.golden.chunking.indexing import Piece, Progress, as_sections, index
from contextpull.eval.golden.chunking.late import TokenEmbedder, late_vectors
from contextpull.eval.golden.chunking.likeness import by_vectors
from contextpull.eval.golden.chunking.overlapping import overlapping
from contextpull.eval.golden.chunking.plan import Build
from contextpull.eval.golden.quotes import Span
from contextpull.eval.golden.settings import Setting
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.ledger import ledger_key
from contextpull.models.embedding import Embedder
from contextpull.retrieval.models import Models
from contextpull.store.vectors import VectorCache
from contextpull.types import Section

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_VERSION = 1
"""Raised whenever the same build would hand over something else."""
_FIRST_DEPTH = 20
_DEEPER = 4


class Built(NamedTuple):
    """What a finished build handed over."""

    pieces: int
    chars: int
    """Of all pieces."""
    seconds: float
    """Cutting, indexing and vectors, as far as they were not kept from before.

    Of two builds that share a cut, with headings and without, each counts it.
    """
    handed: dict[str, tuple[Handed, ...]]
    """By question."""


class Means(NamedTuple):
    """What builds are made and asked with."""

    setting: Setting
    budget: int
    models: Models
    """For questions: their vectors, and a reranker."""
    embedder: Embedder | None = None
    """For pieces and sentences."""
    cache: Path | None = None
    """A folder that keeps vectors."""
    asking: Asking | None = None
    """For techniques that need a model."""


class KeptBuilds:
    """Finished builds in a file, or in memory only: a run that is killed goes on behind them."""

    def __init__(self, path: Path | None) -> None:
        self._file = KeptLines(path, "the finished builds")
        self._kept: dict[str, Built] = {}
        for _, record in self._file.records():
            try:
                self._kept[str(record["key"])] = _built(record)
            except (KeyError, TypeError, ValueError):
                continue  # it is built again

    def get(self, key: str) -> Built | None:
        """The build under a key, or None."""
        return self._kept.get(key)

    def add(self, key: str, name: str, built: Built) -> None:
        """Keep a build, on the disk when this returns."""
        self._kept[key] = built
        record = {"key": key, "build": name, **built._asdict()}
        self._file.add(json.dumps(record, ensure_ascii=False))


def _built(record: dict[str, Any]) -> Built:
    handed = {
        str(name): tuple(Handed(str(path), int(start), int(end)) for path, start, end in spans)
        for name, spans in record["handed"].items()
    }
    return Built(int(record["pieces"]), int(record["chars"]), float(record["seconds"]), handed)


def build_key(build: Build, corpus: SourceCorpus, wants: Sequence[Wants], means: Means) -> str:
    """What a build is kept under: everything that changes what it hands over."""
    needs_vectors = means.setting.mode != "lexical" or build.technique == "semantic"
    needs_model = build.technique == "llm" or build.notes
    return ledger_key(
        version=_VERSION,
        build=build._asdict(),
        corpus=corpus.fingerprint,
        questions=[[each.question.id, each.question.question] for each in wants],
        budget=means.budget,
        setting=means.setting[1:],
        embedder=means.embedder.fingerprint if means.embedder and needs_vectors else "",
        model=means.asking.writer.name if means.asking and needs_model else "",
    )


class CutCorpus(NamedTuple):
    """A corpus as a technique cuts it, whether headings are searched or not."""

    documents: list[tuple[Source, list[Piece]]]
    sections: list[list[Section]]
    """What is indexed of each document."""
    vectors: "NDArray[float32] | None"
    """Of all pieces, where the technique makes them itself."""
    seconds: float
    """What it took."""


class Cuts:
    """Cuts a corpus, and keeps the last cut for a build that differs in its headings alone."""

    def __init__(self, corpus: SourceCorpus, means: Means) -> None:
        self._corpus = corpus
        self._means = means
        self._last: tuple[Build, CutCorpus] | None = None

    def of(self, build: Build) -> CutCorpus:
        """The corpus as a build cuts it. Raises as models do."""
        same = build._replace(headings=True)
        if self._last is None or self._last[0] != same:
            self._last = None  # two cuts at once would take twice the memory
            self._last = same, cut_corpus(same, self._corpus, self._means)
        return self._last[1]


def make_build(
    build: Build,
    corpus: SourceCorpus,
    wants: Sequence[Wants],
    means: Means,
    on_progress: Progress | None = None,
    cut: CutCorpus | None = None,
) -> Built:
    """Index and ask, and cut before where no cut is given.

    Raises as models do; nothing is left behind but kept answers.
    """
    cut = cut or cut_corpus(build, corpus, means)
    started = perf_counter()
    pieces = [piece for _, own in cut.documents for piece in own]
    with TemporaryDirectory(prefix="contextpull-") as scratch:
        snapshot = index(
            Path(scratch) / "store",
            zip((source for source, _ in cut.documents), cut.sections, strict=True),
            headings=build.headings,
            embedder=means.embedder if means.setting.mode != "lexical" else None,
            cache=means.cache,
            vectors=cut.vectors,
            on_progress=on_progress,
        )
        seconds = cut.seconds + perf_counter() - started
        paths = [source.path for source, own in cut.documents for _ in own]
        named = [Handed(path, *piece.handed) for path, piece in zip(paths, pieces, strict=True)]
        # Numbers as ids, so that equal scores rank in the order of the corpus.
        ids = {number: f"{number:09d}" for number in range(1, len(pieces) + 1)}
        push = Push(Searched(snapshot, ids), means.setting.mode, means.models, means.setting.fusion)
        handed = {
            each.question.id: tuple(_handed(push, each.question.question, named, corpus, means))
            for each in wants
        }
    chars = sum(piece.searched.end - piece.searched.start for piece in pieces)
    return Built(len(pieces), chars, seconds, handed)


def _handed(
    push: Push, query: str, named: Sequence[Handed], corpus: SourceCorpus, means: Means
) -> list[Handed]:
    depth = _FIRST_DEPTH
    while True:
        found = push.retrieve(query, depth)
        ranked = [named[int(each) - 1] for each in found]
        handed = within_budget(ranked, corpus, means.budget)
        spent = sum(each.end - each.start for each in dict.fromkeys(ranked))
        if spent >= means.budget or len(found) < depth:
            return handed
        depth *= _DEEPER


def cut_corpus(build: Build, corpus: SourceCorpus, means: Means) -> CutCorpus:
    """The corpus as a build cuts it. Raises as models do."""
    started = perf_counter()
    sources = corpus.sources
    ours: list[list[tuple[Span, Section]]] = []
    if build.technique in {"structure-aware", "parent-child"}:
        ours = [own_sections(each, build.size) for each in sources]
    cut = list(zip(sources, _pieces(build, sources, ours, means), strict=True))
    if build.notes:
        assert means.asking is not None  # else it is left out
        cut = list(zip(sources, with_notes(cut, means.asking), strict=True))
    if build.technique == "structure-aware" and not build.notes:
        sections = [[section for _, section in own] for own in ours]
    else:
        sections = [as_sections(source, own) for source, own in cut]
    vectors = None
    if build.technique == "late":
        assert isinstance(means.embedder, TokenEmbedder)  # else it is left out
        vectors = late_vectors(means.embedder, cut)
    return CutCorpus(cut, sections, vectors, perf_counter() - started)


def _pieces(
    build: Build,
    sources: Sequence[Source],
    ours: Sequence[Sequence[tuple[Span, Section]]],
    means: Means,
) -> list[list[Piece]]:
    """The pieces of each document, those of our sections where the technique goes by them."""
    if build.technique == "parent-child":
        return [
            _parent_child(source, [span for span, _ in own], build)
            for source, own in zip(sources, ours, strict=True)
        ]
    if build.technique == "structure-aware":
        spans = [[span for span, _ in own] for own in ours]
    else:
        cut = zip(sources, _spans(build, sources, means), strict=True)
        spans = [overlapping(source, own, build.carried) for source, own in cut]
    return [[Piece(span, span) for span in own] for own in spans]


def _spans(build: Build, sources: Sequence[Source], means: Means) -> list[list[Span]]:
    if build.technique == "llm":
        assert means.asking is not None
        return cut_by_model(sources, build.size, means.asking)
    if build.technique == "semantic":
        assert means.embedder is not None
        with closing(VectorCache(means.cache, means.embedder)) as vectors:
            likeness = by_vectors(vectors)
            return [cut_semantically(each.text, build.size, likeness) for each in sources]
    how = {"recursive": "recursive", "late": "recursive", "sentence": "sentence"}
    chosen: Any = how.get(build.technique, "fixed")
    return [cut_plainly(source.text, build.size, chosen) for source in sources]


def own_sections(source: Source, size: int) -> list[tuple[Span, Section]]:
    """Our sections of at most `size` characters, but for code that stays whole; and their spans."""
    usual = CutSettings()
    settings = CutSettings(
        max_chars=size,
        hard_max_chars=max(usual.hard_max_chars, size),
        min_chars=usual.min_chars,
    )
    found, start = [], 0
    for section in source.sections(settings):
        whole = Span(start, start + len(section.text))
        found += [(span, section) for span in trimmed(source.text, [whole])]
        start = whole.end
    return found


def _parent_child(source: Source, parents: Sequence[Span], build: Build) -> list[Piece]:
    """Small pieces that stand for the section that they lie in, and hold nothing of another."""
    return [
        Piece(child, parent)
        for parent in parents
        for child in overlapping(
            source,
            within(source.text, parent, build.searched_size),
            build.carried,
            first=parent.start,
        )
    ]
