"""Which builds are compared: a technique, a size, with headings or without, with notes or not."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, get_args

from contextpull.errors import InvalidInput

Technique = Literal[
    "structure-aware",
    "parent-child",
    "recursive",
    "sentence",
    "semantic",
    "fixed",
    "llm",
    "late",
]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)
SIZES = (500, 1_000, 2_000)
SMALLEST, LARGEST = 200, 100_000
ABOUT: dict[Technique, str] = {
    "structure-aware": "our sections: cut at headings, then at blocks",
    "parent-child": "pieces of half the size find, the section that they sit in is handed over",
    "recursive": "at paragraphs, else sentences, lines, words",
    "sentence": "whole sentences",
    "semantic": "between the neighbouring sentences that are least alike, by vectors",
    "fixed": "so many characters, to the word",
    "llm": "where a model says that another topic begins",
    "late": "recursive; vectors of tokens that were read in the whole document",
}


class Build(NamedTuple):
    """One index over the corpus."""

    technique: Technique
    size: int
    """The most characters of what is handed over for one hit, but for code that stays whole."""
    headings: bool
    """Whether headings, title and description are searched with each piece."""
    notes: bool = False
    """Whether each piece is indexed below a note of a model that places it in its document."""

    @property
    def name(self) -> str:
        """`recursive 1000`, `recursive 1000 no headings`, `recursive 1000 notes`."""
        more = ["notes"] * self.notes + ["no headings"] * (not self.headings)
        return " ".join([self.technique, str(self.size), *more])


class LeftOut(NamedTuple):
    """What was not built, and why."""

    name: str
    reason: str


def plan_builds(
    techniques: Sequence[Technique],
    sizes: Sequence[int],
    headings: Sequence[bool],
    *,
    notes: bool,
    unavailable: Collection[LeftOut] = (),
) -> list[Build]:
    """Every technique at every size, with and without headings, but for what is not available.

    `late`, and each technique with notes, at the middle size only: both are dear, and say
    something about vectors rather than about sizes. Raises `InvalidInput` for sizes out of range,
    and where nothing is left to build.
    """
    check_sizes(sizes)
    missing = {each.name for each in unavailable}
    usable = [each for each in dict.fromkeys(techniques) if each not in missing]
    if not usable:
        reasons = " ".join(each.reason for each in unavailable if each.name in techniques)
        raise InvalidInput(f"There is nothing to build. {reasons}")
    middle = sorted(sizes)[len(sizes) // 2]
    builds = [
        Build(technique, size, with_headings)
        for technique in usable
        for size in ([middle] if technique == "late" else sorted(set(sizes)))
        for with_headings in dict.fromkeys(headings)
    ]
    if notes:
        builds += [
            Build(each, middle, headings[0], notes=True) for each in usable if each != "late"
        ]
    return builds


def check_sizes(sizes: Sequence[int]) -> None:
    """Raise `InvalidInput` unless sizes are whole numbers within bounds, and there is one."""
    if not sizes:
        raise InvalidInput("Name a size at least, such as 1000.")
    for each in sizes:
        if isinstance(each, bool) or not isinstance(each, int) or not SMALLEST <= each <= LARGEST:
            raise InvalidInput(
                f"A size must be a whole number of characters from {SMALLEST} to {LARGEST:,},"
                f" not {each!r}."
            )


def check_budget(budget: int, sizes: Sequence[int]) -> None:
    """Raise `InvalidInput` for a budget that does not hold one piece of the largest size."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < max(sizes):
        raise InvalidInput(
            f"The budget must be a whole number of characters, at least the largest size"
            f" ({max(sizes):,}), not {budget!r}: else one piece is already cut."
        )
