"""Which builds are compared: a technique, a size, an overlap, with headings and notes or not."""

from collections.abc import Collection, Sequence
from itertools import product
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
HALF = 50
"""What a child holds, in percent of the size, unless another share is named."""
ABOUT: dict[Technique, str] = {
    "structure-aware": "our sections: cut at headings, then at blocks",
    "parent-child": "small pieces find, the section that they sit in is handed over",
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
    """The most characters of what is handed over for one hit, but for code that stays whole, and
    without what is carried over."""
    headings: bool
    """Whether headings, title and description are searched with each piece."""
    notes: bool = False
    """Whether each piece is indexed below a note of a model that places it in its document."""
    overlap: int = 0
    """What a piece carries over from the text before it, in percent of its size."""
    children: int = HALF
    """What a piece that is searched holds, in percent of the size; `parent-child` only."""

    @property
    def name(self) -> str:
        """`recursive 1000`, `recursive 1000 overlap 20% no headings`, `recursive 1000 notes`."""
        more = [f"children {self.children}%"] * (self.children != HALF)
        more += [f"overlap {self.overlap}%"] * bool(self.overlap)
        more += ["notes"] * self.notes + ["no headings"] * (not self.headings)
        return " ".join([self.technique, str(self.size), *more])

    @property
    def searched_size(self) -> int:
        """The most characters of what is searched, without what is carried over."""
        share = self.children if self.technique == "parent-child" else 100
        return self.size * share // 100

    @property
    def carried(self) -> int:
        """The most characters that a piece carries over."""
        return self.searched_size * self.overlap // 100


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
    overlaps: Sequence[int] = (0,),
    children: Sequence[int] = (HALF,),
    unavailable: Collection[LeftOut] = (),
) -> list[Build]:
    """Every technique at every size, with and without headings, but for what is not available.

    `overlaps` and `children` are in percent, as in `Build`; our sections, which `structure-aware`
    hands over, never overlap. `late`, and each technique with notes, at the middle size only: both
    are dear, and say something about vectors rather than about sizes; notes in the first way that
    is named. Raises `InvalidInput` for numbers out of range, and where nothing is left to build.
    """
    check_sizes(sizes)
    check_overlaps(overlaps)
    _check(children, "What a child holds", "percent of the size", 10, 90)
    missing = {each.name for each in unavailable}
    usable = [each for each in dict.fromkeys(techniques) if each not in missing]
    if not usable:
        reasons = " ".join(each.reason for each in unavailable if each.name in techniques)
        raise InvalidInput(f"There is nothing to build. {reasons}")
    middle = sorted(sizes)[len(sizes) // 2]
    builds = [
        Build(technique, size, with_headings, overlap=overlap, children=share)
        for technique in usable
        for size in ([middle] if technique == "late" else sorted(set(sizes)))
        for overlap, share in _ways(technique, overlaps, children)
        for with_headings in dict.fromkeys(headings)
    ]
    if notes:
        first = {each.technique: each for each in reversed(builds) if each.size == middle}
        builds += [first[each]._replace(notes=True) for each in usable if each != "late"]
    return builds


def _ways(
    technique: Technique, overlaps: Sequence[int], children: Sequence[int]
) -> list[tuple[int, int]]:
    """The overlaps and shares of children that make other pieces of a technique, each once."""
    own_overlaps = (0,) if technique == "structure-aware" else overlaps
    own_children = children if technique == "parent-child" else (HALF,)
    return list(dict.fromkeys(product(own_overlaps, own_children)))


def check_sizes(sizes: Sequence[int]) -> None:
    """Raise `InvalidInput` unless sizes are whole numbers within bounds, and there is one."""
    _check(sizes, "A size", "characters", SMALLEST, LARGEST)


def check_overlaps(overlaps: Sequence[int]) -> None:
    """Raise `InvalidInput` unless overlaps are whole numbers of percent, and there is one."""
    _check(overlaps, "An overlap", "percent of the size", 0, 100)


def _check(values: Sequence[int], name: str, unit: str, least: int, most: int) -> None:
    for each in values or (None,):
        if isinstance(each, bool) or not isinstance(each, int) or not least <= each <= most:
            raise InvalidInput(
                f"{name} must be a whole number of {unit} from {least} to {most:,}, not {each!r}."
            )


def check_budget(budget: int, sizes: Sequence[int], overlaps: Sequence[int] = (0,)) -> None:
    """Raise `InvalidInput` for a budget that does not hold the longest piece."""
    longest = max(sizes) * (100 + max(overlaps)) // 100
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < longest:
        raise InvalidInput(
            f"The budget must be a whole number of characters, at least those of the longest piece"
            f" ({longest:,}), not {budget!r}: else one piece is already cut."
        )
