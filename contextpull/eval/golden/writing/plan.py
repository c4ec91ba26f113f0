"""How many questions of which kinds are wanted, and the bounds that they keep."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from contextpull.errors import InvalidInput
from contextpull.eval.generation.sampling import draw


class Kind(NamedTuple):
    """One way to ask."""

    share: float
    """Of a set, unless told otherwise."""
    fewest: int
    """Words of a question."""
    most: int
    task: str
    """What it is, in the words of a prompt."""


TWO_PLACES = "two_places"
KINDS: dict[str, Kind] = {
    "search": Kind(
        0.2, 2, 10, "a search as somebody types it into a search box: key words, no sentence."
    ),
    "fact": Kind(0.3, 4, 40, "a question for one fact: a value, a name, a date, a limit."),
    "why": Kind(0.2, 4, 40, "a question how something is done or works, or why it is as it is."),
    TWO_PLACES: Kind(
        0.15,
        4,
        40,
        "a question that only both passages together answer: it needs something of each.",
    ),
    "long": Kind(
        0.15,
        20,
        60,
        "a long question: one or two sentences on the situation that the asker is in, then what"
        " they want to know.",
    ),
}
"""From short to long; the kinds of a set are shared out in this order."""
MIX = {name: kind.share for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """What is to be drafted. Raises InvalidInput for values that cannot be used."""

    count: int = 50
    mix: Mapping[str, float] = field(default_factory=lambda: MIX)
    """By kind: its part of the whole, in any unit."""
    seed: int = 0
    tries: int = 3
    """How often one question may be written."""
    evolve: int = 1
    """How often a question that was found good is made harder: 0 or 1."""
    threshold: float = 0.7
    """The least mean of what the critic gives."""
    similarity: float = 0.5
    """How alike two places must be that one question is asked about."""
    workers: int = 4
    """Questions that are worked on at once; changes nothing but the time it takes."""
    examples: tuple[str, ...] = ()
    """Questions that people really ask: the style to write in."""
    scenario: str = ""
    """Who asks."""
    task: str = ""
    """What for."""

    def __post_init__(self) -> None:
        if min(self.count, self.tries, self.workers) < 1:
            raise InvalidInput("The questions wanted, tries and workers must be 1 or more.")
        if self.evolve not in {0, 1}:
            raise InvalidInput(f"A question is made harder once or not at all, not {self.evolve}.")
        for name in ("threshold", "similarity"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InvalidInput(f"The {name} must be a number from 0 to 1, not {value}.")
        check_mix(self.mix)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind, so that they add up to `count`."""
        return shared_out(self.count, self.mix)

    @property
    def kinds(self) -> list[str]:
        """The kind of each question: as `counts` says, in an order that the seed draws."""
        every = [(kind, at) for kind, count in self.counts.items() for at in range(count)]
        every.sort(key=lambda each: draw(self.seed, "kind", each[0], str(each[1])))
        return [kind for kind, _ in every]


def check_mix(mix: Mapping[str, float]) -> None:
    """Raise InvalidInput for a mix that says nothing."""
    for kind, share in mix.items():
        if kind not in KINDS:
            raise InvalidInput(f"{kind!r} is no kind of question. Choose from: {', '.join(KINDS)}.")
        if isinstance(share, bool) or not isinstance(share, (int, float)):
            raise InvalidInput(f"The share of {kind!r} must be a number, not {share!r}.")
        if not 0 <= share < math.inf:
            raise InvalidInput(f"The share of {kind!r} must be 0 or more, not {share}.")
    if not any(mix.values()):
        raise InvalidInput(
            f"The mix asks for nothing. Give a share above 0 to: {', '.join(KINDS)}."
        )


def shared_out(
    count: int, shares: Mapping[str, float], most: Mapping[str, int] | None = None
) -> dict[str, int]:
    """`count` things in proportion to the shares, none above its `most`: the largest remainders.

    Hamilton's method; equal remainders go by the order of the shares. They add up to `count`, or
    to all that `most` allows.
    """
    room = dict.fromkeys(shares, count) if most is None else most
    given = dict.fromkeys(shares, 0)
    open_to = [name for name, share in shares.items() if share > 0 and room[name]]
    while open_to and (left := count - sum(given.values())):
        more = _by_largest_remainder(left, {name: shares[name] for name in open_to})
        for name in open_to:
            given[name] = min(room[name], given[name] + more[name])
        open_to = [name for name in open_to if given[name] < room[name]]
    return given


def _by_largest_remainder(count: int, shares: Mapping[str, float]) -> dict[str, int]:
    largest = max(shares.values())  # first, for shares whose sum is no number any more
    whole = math.fsum(share / largest for share in shares.values())
    parts = {name: count * (share / largest) / whole for name, share in shares.items()}
    given = {name: math.floor(part) for name, part in parts.items()}
    left = count - sum(given.values())
    for name in sorted(parts, key=lambda name: given[name] - parts[name])[:left]:
        given[name] += 1
    return given
