"""Aggregation: which sections mention a name, or the names of one family; computed, not guessed."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from contextpull.eval.generation.checks import Kept
from contextpull.eval.generation.corpus import Corpus, searchable
from contextpull.eval.generation.names import NameIndex
from contextpull.eval.generation.plan import Made, Plan, SetAside, new_question
from contextpull.eval.generation.sampling import choose, spread

SHAPE = "aggregation"
FEWEST_MEMBERS = 3
MOST_MEMBERS = 20
"""An answer that lists more names than this can hardly be checked."""
_JOINTS = re.compile(r"(?<=\w)(?:[-_.]|::|->)(?=\w)")
_DIGITS = re.compile(r"\d+\Z")
_ROOT = re.compile(r"\W*[^\W_]+")
_NONE = "no name, and no family of names, stands in 2 to {most} sections"
_MENTION = (
    "Which sections mention `{name}`?",
    "Where does `{name}` come up? List every section.",
    "List all sections in which `{name}` is mentioned.",
    "In how many sections is `{name}` mentioned, and in which?",
)
_FAMILY = (
    "How many different names {family} are there, and which sections mention them?",
    "Which names {family} exist, and where is each of them mentioned?",
    "List all names {family}, with every section that mentions one.",
    "Find all names {family}: what are they, and which sections do they appear in?",
)
_PLACE = " Look in {document} only."


class _Subject(NamedTuple):
    """What a question is about: one name, or all names of a family."""

    kind: str
    pattern: str
    """Of a family, its prefix with an `n` for each digit that is left open; else the name."""
    members: tuple[str, ...]
    """Lower-case names."""
    holders: tuple[int, ...]
    """The sections that mention one of them, by number."""
    document: str = ""
    """The document that the question is limited to, if it is."""

    @property
    def about(self) -> str:
        """How it is called in a report."""
        return f"{self.pattern} in {self.document}" if self.document else self.pattern


def aggregation(corpus: Corpus, names: NameIndex, plan: Plan, kept: Kept) -> Made:
    """Questions that ask for every mention of a name, or of a family's names."""
    subjects = list(_subjects(corpus, names, plan.most_gold))
    made = Made(SHAPE, by="rule", candidates=len(subjects))
    golds: set[frozenset[int]] = set()
    for subject in _in_order(corpus, subjects, plan.seed):
        if len(made.questions) == plan.per_shape:
            break
        gold = frozenset(subject.holders)
        if gold in golds:
            continue  # the same sections under another name: no new question, and no fault
        reason = _fault(corpus, names, subject)
        text = _text(names, subject, plan.seed)
        if not reason:
            question = new_question(
                SHAPE,
                text,
                corpus.at(gold),
                answer=_answer(corpus, names, subject),
                identifier=names.spelling(subject.pattern) if subject.kind == "mention" else "",
            )
            reason = kept.add(question)
        if reason:
            made.set_aside.append(SetAside(SHAPE, subject.about, reason, text))
        else:
            golds.add(gold)
            made.questions.append(question)
    if not made.questions:
        made.skipped = _NONE.format(most=plan.most_gold)
    return made


def _subjects(corpus: Corpus, names: NameIndex, most: int) -> Iterator[_Subject]:
    """Everything with neither one holder only nor more than `most`, nor half of all sections."""
    few = min(most, len(corpus.sections) // 2)
    for key in names.keys:
        subject = _Subject("mention", key, (key,), names.holders(key))
        yield from _bounded(corpus, names, subject, few)
    for pattern, members in _families(names.keys).items():
        if FEWEST_MEMBERS <= len(members) <= MOST_MEMBERS:
            holders = sorted({number for key in members for number in names.holders(key)})
            subject = _Subject("family", pattern, tuple(members), tuple(holders))
            yield from _bounded(corpus, names, subject, few)


def _bounded(corpus: Corpus, names: NameIndex, subject: _Subject, most: int) -> Iterator[_Subject]:
    """The subject, or its part in each document, where that has a fitting number of holders."""
    if len(subject.holders) <= most:
        if len(subject.holders) > 1 and not _in_metadata(corpus, subject.holders):
            yield subject
        return
    by_document: dict[str, list[int]] = {}
    for number in subject.holders:
        by_document.setdefault(corpus.sections[number].document, []).append(number)
    for document, holders in by_document.items():
        if _in_metadata(corpus, holders):
            continue
        if 1 < len(holders) <= min(most, corpus.sizes[document] // 2):
            here = {
                key for key in subject.members if not set(holders).isdisjoint(names.holders(key))
            }
            if len(subject.members) == 1 or len(here) >= FEWEST_MEMBERS:
                yield subject._replace(
                    kind="within",
                    members=tuple(sorted(here)),
                    holders=tuple(holders),
                    document=document,
                )


def _in_metadata(corpus: Corpus, holders: Sequence[int]) -> bool:
    """Whether one of the sections is front matter, which nobody would call a section."""
    return any(corpus.sections[number].is_metadata for number in holders)


def _families(keys: Sequence[str]) -> dict[str, list[str]]:
    """Names by what they begin with, up to a joint, or up to their last one or more digits."""
    found: dict[str, list[str]] = {}
    for key in keys:
        for joint in _JOINTS.finditer(key):
            prefix = key[: joint.end()]
            if sum(map(str.isalnum, prefix)) > 1 and not prefix[0].isdigit():
                found.setdefault(prefix, []).append(key)
        digits = _DIGITS.search(key)
        if digits and any(map(str.isalpha, key[: digits.start()])):
            for open_ones in range(1, len(digits[0]) + 1):
                masked = key[: len(key) - open_ones] + "\0" * open_ones
                found.setdefault(masked, []).append(key)
    return found


def _in_order(corpus: Corpus, subjects: Sequence[_Subject], seed: int) -> Iterator[_Subject]:
    """All subjects: the kinds in turn, each spread over families of names and over documents."""
    kinds = []
    for kind in ("family", "mention", "within"):
        # A longer pattern first: of two with the same members it says more.
        some = [subject for subject in subjects if subject.kind == kind]
        some.sort(key=lambda subject: (-len(subject.pattern), subject.pattern))
        kinds.append(
            spread(
                some,
                seed,
                name=lambda subject: " ".join(each.id for each in corpus.at(subject.holders)),
                groups=(
                    lambda subject: corpus.sections[subject.holders[0]].document,
                    lambda subject: _root(subject.pattern),
                ),
            )
        )
    for subject in chain.from_iterable(zip_longest(*kinds)):
        if subject is not None:
            yield subject


def _root(pattern: str) -> str:
    found = _ROOT.match(pattern)
    return found[0] if found else pattern


def _fault(corpus: Corpus, names: NameIndex, subject: _Subject) -> str:
    if corpus.repeated.intersection(subject.holders):
        return "one of its sections stands in the corpus more than once"
    if len(subject.members) == 1:
        doubtful = names.doubtful(subject.pattern)
    else:
        doubtful = _is_doubtful(corpus, names, subject)
    return "some sections hold it inside a path, a link or another word" if doubtful else ""


def _is_doubtful(corpus: Corpus, names: NameIndex, subject: _Subject) -> bool:
    """Whether some section holds what a member begins with, but no member."""
    prefix, _, open_digits = subject.pattern.partition("\0")
    tail = r"\d" * (len(open_digits) + 1) + r"(?!\w)" if "\0" in subject.pattern else ""
    begins = re.compile(rf"(?<!\w){re.escape(prefix)}{tail}")
    certain = {number for key in subject.members for number in names.holders(key)}
    held = corpus.holding(prefix, len(certain) + 200)
    if len(held) > len(certain) + 200:
        return True
    return any(
        begins.search(searchable(corpus.sections[number].text)) is not None
        for number in held
        if number not in certain and subject.document in {"", corpus.sections[number].document}
    )


def _text(names: NameIndex, subject: _Subject, seed: int) -> str:
    if len(subject.members) == 1:
        template = choose(_MENTION, seed, SHAPE, subject.about)
        text = template.format(name=names.spelling(subject.pattern))
    else:
        template = choose(_FAMILY, seed, SHAPE, subject.about)
        text = template.format(family=_family(names, subject))
    return text + (_PLACE.format(document=subject.document) if subject.document else "")


def _family(names: NameIndex, subject: _Subject) -> str:
    """`that begin with …` or `of the form …`, in the case that the corpus uses."""
    sample = names.spelling(subject.members[0])
    fixed, _, _ = subject.pattern.partition("\0")
    shown = sample[: len(fixed)]
    if "\0" in subject.pattern:
        open_digits = "N" * (len(subject.pattern) - len(fixed))
        return f"of the form `{shown}{open_digits}` (each N is a digit)"
    return f"that begin with `{shown}`"


def _answer(corpus: Corpus, names: NameIndex, subject: _Subject) -> str:
    sections = "; ".join(section.id for section in corpus.at(subject.holders))
    if len(subject.members) == 1:
        return f"{len(subject.holders)} sections: {sections}"
    listed = ", ".join(sorted(map(names.spelling, subject.members)))
    return f"{len(subject.members)} names: {listed}. Sections: {sections}"
