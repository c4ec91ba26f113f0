"""Closed gold: sections with the text of a gold section are gold too.

A copy is an alternative to its original, not a second thing to find, so each gold text is one
gold item, under the id of one of its sections, and whoever finds any of them has found it: once,
at the first of their places. As long as no two gold sections of a question share their text, no
measure of a ranking can fall by this; where some do, they become one. Places that further copies
take up among the first k stay lost, as they are to a reader.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from contextpull.adapters.push import Searched
from contextpull.eval.measures import Copies, as_one
from contextpull.types import Question


class ClosedGold(NamedTuple):
    """Questions whose gold stands for all sections of its text."""

    questions: tuple[Question, ...]
    copies: dict[str, str]
    """By the id of each further section of a gold text the id that gold names."""
    affected: int
    """Questions with gold that has copies."""

    def with_copies(self) -> list[Question]:
        """The questions with every section that counts as their gold."""
        copies_of: dict[str, list[str]] = {}
        for copy, gold in self.copies.items():
            copies_of.setdefault(gold, []).append(copy)
        return [
            replace(each, gold=(*each.gold, *(c for g in each.gold for c in copies_of.get(g, ()))))
            for each in self.questions
        ]


def close_gold(questions: Sequence[Question], texts: Mapping[str, Hashable]) -> ClosedGold:
    """Close the gold over sections of the same text; `texts` has a text or its hash by id.

    Of the gold sections of one text the smallest id stands for all. Gold that `texts` lacks
    stands for itself.
    """
    stands_for: dict[Hashable, str] = {}
    for each in sorted({gold for question in questions for gold in question.gold}):
        if each in texts:
            stands_for.setdefault(texts[each], each)
    copies = {
        each: stands_for[text]
        for each, text in sorted(texts.items(), key=lambda item: item[0])
        if text in stands_for and stands_for[text] != each
    }
    has_copies = {*copies, *copies.values()}
    return ClosedGold(
        tuple(replace(each, gold=as_one(each.gold, copies)) for each in questions),
        copies,
        sum(not has_copies.isdisjoint(question.gold) for question in questions),
    )


def closed_grades(grades: Mapping[str, int], copies: Copies) -> dict[str, int]:
    """The grades of one question's sections; that of a text is the best that any copy has."""
    closed: dict[str, int] = {}
    for each, grade in grades.items():
        kept = copies.get(each, each)
        closed[kept] = max(grade, closed.get(kept, grade))
    return closed


def section_texts(searched: Searched) -> dict[str, int]:
    """By the id of each section a 64-bit hash of its text, white space around it aside."""
    addresses = searched.snapshot.database.addresses(list(searched.ids))
    return {each: addresses[number].fingerprint for number, each in searched.ids.items()}


def closing_note(closed: ClosedGold) -> str:
    """What closing the gold changed, in a sentence."""
    if not closed.copies:
        return "Closed gold: no gold section has a copy."
    count = "1 copy counts" if len(closed.copies) == 1 else f"{len(closed.copies):,} copies count"
    return (
        f"Closed gold: {count} as the gold of {closed.affected:,} of {len(closed.questions):,} "
        "questions."
    )
