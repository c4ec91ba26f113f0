"""What is handed over for a question, and whether it holds what the question wants."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contextpull.errors import EvaluationError
from contextpull.eval.golden.chunking.corpus import Label, SourceCorpus, labels_of
from contextpull.eval.golden.chunking.cutters import whole_end
from contextpull.eval.golden.grains import listed
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.quotes import Span, hold_all


class Handed(NamedTuple):
    """A span of a document that is handed over."""

    path: str
    start: int
    end: int


def within_budget(ranked: Iterable[Handed], corpus: SourceCorpus, budget: int) -> list[Handed]:
    """What comes first, each once, until `budget` characters are spent.

    The last one is cut at its end to what is left: so every technique is handed as much, however
    long its pieces are. A piece costs all its characters, those too that one before it held: they
    are read twice.
    """
    handed: list[Handed] = []
    left = budget
    for each in dict.fromkeys(ranked):
        if each.end - each.start >= left:
            last = _cut(each, corpus, left)
            return [*handed, last] if last.end > last.start else handed
        handed.append(each)
        left -= each.end - each.start
    return handed


def _cut(handed: Handed, corpus: SourceCorpus, left: int) -> Handed:
    text = corpus.by_path[handed.path].text
    end = whole_end(text, handed.start, handed.start + left)
    body = text[handed.start : end].rstrip()
    return handed._replace(end=handed.start + len(body))


class Wants(NamedTuple):
    """What a question wants among what is handed over."""

    question: GoldenQuestion
    labels: tuple[Label, ...]

    def is_found(self, handed: Sequence[Handed], corpus: SourceCorpus) -> bool:
        """Whether all its evidence is there, whole; without evidence any page or document.

        Pieces that lie next to each other in a document, or overlap, count as one: a quote that was
        cut is there when both were handed over. Evidence counts in what is expected: in a document,
        or in what covers a page of it.
        """
        if not self.question.evidence:
            return any(_is_of(label, each, corpus) for label in self.labels for each in handed)
        return _has_all(self, _by_document(handed, corpus), corpus)


def wants_of(
    corpus: SourceCorpus, questions: Sequence[GoldenQuestion]
) -> tuple[list[Wants], list[str]]:
    """What each labelled question wants, and the ids of questions without labels.

    Raises `EvaluationError` for what the folder does not hold, evidence too: nothing could find
    it; and where no question is labelled, or two have one id.
    """
    labels = labels_of(corpus, questions)
    wants = [Wants(each, labels[each.id]) for each in questions if each.expected]
    if not wants:
        raise EvaluationError(
            f"None of the {len(questions)} questions is labelled: `expected` names nothing."
            " `contextpull golden label` suggests what to expect."
        )
    whole = {each.path: [Span(0, len(each.text))] for each in corpus.sources}
    stale = [each.question.id for each in wants if not _can_be_found(each, whole, corpus)]
    if stale:
        raise EvaluationError(
            f"The evidence of {listed(stale)} does not stand in what is expected: nothing could"
            " find it. `contextpull golden check FILE --store STORE` names what comes closest."
        )
    return wants, [each.id for each in questions if not each.expected]


def context_of(handed: Sequence[Handed], corpus: SourceCorpus) -> list[str]:
    """The texts that are handed over, in their order."""
    return [corpus.by_path[each.path].text[each.start : each.end] for each in handed]


def _can_be_found(wants: Wants, whole: Mapping[str, Sequence[Span]], corpus: SourceCorpus) -> bool:
    return not wants.question.evidence or _has_all(wants, whole, corpus)


def _has_all(wants: Wants, spans: Mapping[str, Sequence[Span]], corpus: SourceCorpus) -> bool:
    paths = list(dict.fromkeys(label.path for label in wants.labels))
    passages = {
        path: [
            corpus.by_path[path].text[span.start : span.end]
            for span in spans.get(path, ())
            if any(_is_of(label, Handed(path, *span), corpus) for label in wants.labels)
        ]
        for path in paths
    }
    return all(
        any(hold_all(passages[path], quote) for path in paths) for quote in wants.question.evidence
    )


def _is_of(label: Label, handed: Handed, corpus: SourceCorpus) -> bool:
    if handed.path != label.path:
        return False
    if not label.page:
        return True
    pages = corpus.by_path[label.path].pages(Span(handed.start, handed.end))
    return label.page in (pages or ())


def _by_document(handed: Sequence[Handed], corpus: SourceCorpus) -> dict[str, list[Span]]:
    """The spans of each document in its order, those with nothing between them as one."""
    joined: dict[str, list[Span]] = {}
    for path, start, end in sorted(handed):
        spans = joined.setdefault(path, [])
        text = corpus.by_path[path].text
        if spans and not text[spans[-1].end : start].strip():
            spans[-1] = Span(spans[-1].start, max(end, spans[-1].end))
        else:
            spans.append(Span(start, end))
    return joined
