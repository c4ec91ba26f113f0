"""Conceptual and exact questions that a writer makes from one section each."""

import re
from collections.abc import Sequence
from functools import partial

from contextpull.eval.generation.checks import Kept, holds_name
from contextpull.eval.generation.corpus import Corpus, SourceSection
from contextpull.eval.generation.names import FEW, NameIndex, names_in
from contextpull.eval.generation.plan import Made, Plan
from contextpull.eval.generation.sampling import choose, spread
from contextpull.eval.generation.words import words
from contextpull.eval.generation.writing import AskedWriter, Draft
from contextpull.eval.generation.written import Candidate, Progress, write_questions

FEWEST_WORDS = 40
"""Words of prose that a section must have to be asked about: code and table rows do not count."""
_MOST_NAMES = 8
FENCED_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)", re.M | re.S)
_TABLE_ROW = re.compile(r"^[ \t]*\|.*$", re.M)
_ANGLES = (
    "Ask how something works or is done.",
    "Ask why something is as it is, or what follows from it.",
    "Describe a situation or a problem that somebody is in, and ask what to do.",
    "Ask under which condition something happens, or what its limits are.",
)
_CONCEPTUAL = (
    "The question is conceptual: somebody asks it in their own words, without knowing the names"
    " that the passage uses for things. {angle}"
)
_EXACT = (
    "The question is an exact look-up: it holds one of these names exactly as written here, and"
    " asks for a fact about it that the passage states. Put that name into identifier."
    " Names: {names}"
)


def conceptual(
    corpus: Corpus,
    names: NameIndex,
    crowded: frozenset[int],
    writer: AskedWriter,
    plan: Plan,
    kept: Kept,
    on_progress: Progress | None = None,
) -> Made:
    """Questions about what a section says, in other words than its own."""
    candidates = [
        Candidate(
            (section,),
            _CONCEPTUAL.format(angle=choose(_ANGLES, plan.seed, "angle", section.id)),
            partial(_conceptual_fault, names, section),
        )
        for section in _askable(corpus, crowded, plan, "conceptual")
    ]
    made = Made("conceptual", by="writer", candidates=len(candidates))
    return write_questions(made, candidates, writer, plan, kept, on_progress)


def exact_by_writer(
    corpus: Corpus,
    names: NameIndex,
    crowded: frozenset[int],
    writer: AskedWriter,
    plan: Plan,
    kept: Kept,
    on_progress: Progress | None = None,
) -> Made:
    """Questions about a rare name in a section."""
    candidates = []
    for section in _askable(corpus, crowded, plan, "exact"):
        rare = _rare_names(names, section)[:_MOST_NAMES]
        if rare:
            task = _EXACT.format(names=", ".join(rare))
            check = partial(_exact_fault, frozenset(rare))
            candidates.append(Candidate((section,), task, check, has_identifier=True))
    made = Made("exact_lookup", by="writer", candidates=len(candidates))
    return write_questions(made, candidates, writer, plan, kept, on_progress)


def prose_words(text: str) -> int:
    """How many words the text has outside code and tables."""
    return len(words(_TABLE_ROW.sub("", FENCED_CODE.sub("", text))))


def _askable(
    corpus: Corpus, crowded: frozenset[int], plan: Plan, purpose: str
) -> list[SourceSection]:
    """Sections that say enough, and say it nowhere else; spread over documents."""
    sections = [
        section
        for number, section in enumerate(corpus.sections)
        if number not in crowded
        and number not in corpus.repeated
        and not section.is_metadata
        and prose_words(section.text) >= FEWEST_WORDS
    ]
    return spread(
        sections,
        plan.seed,
        name=lambda section: f"{purpose} {section.id}",
        groups=(lambda section: section.document, lambda section: section.headings),
    )


def _rare_names(names: NameIndex, section: SourceSection) -> list[str]:
    """The names in a section that few mention, the rarest first."""
    found = {name for name in names_in(section.text) if names.is_name(name)}
    rare = [name for name in found if 0 < len(names.holders(name)) <= FEW]
    return sorted(rare, key=lambda name: (len(names.holders(name)), name))


def _conceptual_fault(names: NameIndex, section: SourceSection, draft: Draft) -> str:
    for name in _rare_names(names, section):
        if holds_name(draft.question, name):
            return f"it holds the name {name!r}, by which the section is found without its meaning"
    return ""


def _exact_fault(rare: Sequence[str] | frozenset[str], draft: Draft) -> str:
    if draft.identifier not in rare:
        return f"{draft.identifier!r} is none of the names that were given"
    if not holds_name(draft.question, draft.identifier):
        return f"it does not hold the name {draft.identifier!r}"
    return ""
