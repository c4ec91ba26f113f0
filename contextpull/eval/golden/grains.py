"""What a golden question wants found, by grain: a document, a section, a page, the evidence.

A result is what takes one place of a ranking: a document by its best section, a section, or the
span of pages that a section covers. A target is one thing that the question expects; the first
result that meets it has found it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from contextpull.errors import EvaluationError, InvalidInput
from contextpull.eval.golden.places import Place, Places, pages_of
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.quotes import holds
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection

Grain = Literal["doc", "section", "page", "evidence"]
Target = Callable[[StoredSection], bool]
"""Whether a section is, or holds, one thing that a question expects."""

_LABELS = {"doc": "documents", "section": "sections", "page": "pages", "evidence": "evidence"}
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question that can be scored, and what it wants found."""

    question: GoldenQuestion
    targets: tuple[Target, ...]
    """At least one."""
    document: str
    """The path of the first document that it expects: questions of one are drawn together."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a golden file, sorted by whether a grain can score them."""

    wanted: tuple[Wanted, ...]
    unlabelled: tuple[str, ...]
    """The ids of questions that expect nothing."""
    too_coarse: tuple[str, ...]
    """The ids of questions whose labels name something larger than the grain."""
    notes: tuple[str, ...]
    """What a reader of figures should know, in sentences."""


class _Label(NamedTuple):
    """One entry of `expected`, as the store holds it."""

    place: Place
    """Without its slug: two names of one section are one label."""
    section: int | None
    """The number of the section whose id the entry is."""


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def page_name(section: StoredSection) -> str:
    """The pages that a section covers, as one name; the section's id where they are not known."""
    covered = pages_of(section)
    if not covered:
        return section.id
    first, last = covered[0], covered[-1]
    return f"{section.path}#page={first}" + (f"-{last}" if last != first else "")


def asked_of(snapshot: Snapshot, questions: Sequence[GoldenQuestion], by: Grain) -> Asked:
    """What the questions want found in a store, at one grain.

    Raises `EvaluationError` where a question expects what the store does not hold (nothing could
    find it), where two questions have one id, and where no question can be scored; `InvalidInput`
    where `expected` or `evidence` is a text in place of a list of texts.
    """
    check_questions(questions)
    labelled = [each for each in questions if each.expected]
    if not labelled:
        raise EvaluationError(
            f"None of the {len(questions)} questions is labelled: `expected` names nothing. "
            "`contextpull golden label` suggests what to expect."
        )
    labels = _labels(Places(snapshot), labelled)
    if by == "page":
        _check_pages(labels)
    targets = {each.id: _targets(each, labels[each.id], by) for each in labelled}
    wanted = tuple(
        Wanted(each, targets[each.id], labels[each.id][0].place.path)
        for each in labelled
        if targets[each.id]
    )
    if not wanted:
        finer = [_LABELS[grain] for grain in _grains_of(labels.values())]
        raise EvaluationError(
            f"None of the {len(labelled)} labelled questions names {_LABELS[by]}. "
            f"Their labels name {' and '.join(finer)}: choose another grain with --by."
        )
    return Asked(
        wanted,
        unlabelled=tuple(each.id for each in questions if not each.expected),
        too_coarse=tuple(each.id for each in labelled if not targets[each.id]),
        notes=tuple(_notes(wanted, labels, by)),
    )


def check_questions(questions: Sequence[GoldenQuestion]) -> None:
    """Raise `EvaluationError` for two questions of one id, `InvalidInput` for a text as a list."""
    seen: set[str] = set()
    for each in questions:
        for name, value in (("expected", each.expected), ("evidence", each.evidence)):
            if isinstance(value, str):
                raise InvalidInput(
                    f"Question {each.id!r}: `{name}` is the text {value!r}; give a list of texts."
                )
        if each.id in seen:
            raise EvaluationError(
                f"Two questions have the id {each.id!r}. Give each one of its own."
            )
        seen.add(each.id)


def _labels(places: Places, questions: Sequence[GoldenQuestion]) -> dict[str, tuple[_Label, ...]]:
    """What each question expects, by its id."""
    labels: dict[str, tuple[_Label, ...]] = {}
    absent = []
    for question in questions:
        found = {entry: _label(places, places(entry)) for entry in question.expected}
        absent += [
            f"{entry!r} (question {question.id})" for entry, label in found.items() if not label
        ]
        labels[question.id] = tuple(dict.fromkeys(each for each in found.values() if each))
    if absent:
        raise EvaluationError(
            f"The store does not hold {listed(absent)}: nothing could find it. "
            "`contextpull golden check FILE --store STORE` names what comes closest."
        )
    return labels


def _label(places: Places, place: Place) -> _Label | None:
    if place.kind == "nowhere":
        return None
    return _Label(place._replace(slug=""), places.number(place))


def _check_pages(labels: dict[str, tuple[_Label, ...]]) -> None:
    """Raise `EvaluationError` where a page is named of a document whose pages are not known."""
    absent = [
        f"page {place.page} of {place.path!r} (question {question})"
        for question, found in labels.items()
        for place, _ in found
        if place.names_unknown_page
    ]
    if absent:
        raise EvaluationError(
            f"The store knows no {listed(absent)}: nothing could find it. "
            "Correct the page, or score a document without pages with --by doc."
        )


def _targets(question: GoldenQuestion, labels: Sequence[_Label], by: Grain) -> tuple[Target, ...]:
    """What a question wants found; empty where a label names something larger than the grain."""
    if by == "evidence":
        if question.evidence:
            return tuple(
                partial(_is_quoted, quote=quote, labels=tuple(labels))
                for quote in dict.fromkeys(question.evidence)
            )
        return tuple(map(_finest, labels))
    if by == "doc":
        paths = dict.fromkeys(each.place.path for each in labels)
        return tuple(partial(_is_of, path=path) for path in paths)
    if by == "section":
        return _all_or_none([_is_numbered(each) for each in labels])
    return _all_or_none([_is_paged(each) for each in labels])


def _all_or_none(targets: Sequence[Target | None]) -> tuple[Target, ...]:
    found = tuple(each for each in targets if each)
    return found if len(found) == len(targets) else ()


def _finest(label: _Label) -> Target:
    """What a label names, as exactly as the store knows it."""
    paged = _is_paged(label) if label.place.kind == "page" else None
    return paged or _is_numbered(label) or partial(_is_of, path=label.place.path)


def _is_numbered(label: _Label) -> Target | None:
    return None if label.section is None else partial(_has_number, number=label.section)


def _is_paged(label: _Label) -> Target | None:
    path, page = label.place.path, label.place.page
    return partial(_covers, path=path, page=page) if page else None


def _has_number(section: StoredSection, number: int) -> bool:
    return section.number == number


def _is_of(section: StoredSection, path: str) -> bool:
    return section.path == path


def _covers(section: StoredSection, path: str, page: int) -> bool:
    return section.path == path and page in (pages_of(section) or ())


def _is_quoted(section: StoredSection, quote: str, labels: Sequence[_Label]) -> bool:
    """Whether a section of what is expected holds a quote; a page counts where it is known."""
    return any(_may_quote(section, each) for each in labels) and holds(section.text, quote)


def _may_quote(section: StoredSection, label: _Label) -> bool:
    place = label.place
    if section.path != place.path:
        return False
    covered = pages_of(section) if place.page else None
    return covered is None or place.page in covered


def _grains_of(labels: Iterable[Sequence[_Label]]) -> list[Grain]:
    """The grains that labels name, finest last."""
    every = [each for found in labels for each in found]
    named: dict[Grain, bool] = {
        "doc": any(each.section is None and not each.place.page for each in every),
        "page": any(each.place.page for each in every),
        "section": any(each.section is not None for each in every),
    }
    return [grain for grain, is_named in named.items() if is_named]


def _notes(
    wanted: Sequence[Wanted], labels: dict[str, tuple[_Label, ...]], by: Grain
) -> Iterable[str]:
    drafts = sum(each.question.draft for each in wanted)
    if drafts:
        yield f"{drafts} of {len(wanted)} questions are drafts that nobody has checked."
    bare = sum(not each.question.evidence for each in wanted)
    if by == "evidence" and bare:
        yield (
            f"{bare} of {len(wanted)} questions have no evidence: what they expect was counted "
            "instead, a section, a page or a document."
        )
    unpaged = sum(
        any(label.place.names_unknown_page for label in labels[each.question.id]) for each in wanted
    )
    if unpaged and by != "page":
        yield (
            f"{unpaged} of {len(wanted)} questions name pages of documents whose pages the store "
            "does not know: the whole document counts."
        )
