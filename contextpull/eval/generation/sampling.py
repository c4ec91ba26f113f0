"""Choosing by seed: the same choice every time, and little moved by edits elsewhere.

Nothing is drawn from a running generator. What is chosen from is ordered by a hash of the seed
and of its own name, so that a document more or less leaves the order of the others as it was.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

Item = TypeVar("Item")


def draw(seed: int, *names: str) -> int:
    """A number below 2**64 that depends on the seed and the names alone."""
    key = "\0".join((str(seed), *names))
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


def choose(options: Sequence[Item], seed: int, *names: str) -> Item:
    """One of the options; which, depends on the seed and the names alone."""
    return options[draw(seed, *names) % len(options)]


def spread(
    items: Iterable[Item],
    seed: int,
    *,
    name: Callable[[Item], str],
    groups: Sequence[Callable[[Item], Hashable]],
) -> list[Item]:
    """All items, ordered so that any first part is spread over the groups, however large they are.

    `groups` go from the outermost inwards (document, then section): one item of each document
    comes before the second of any, and within a document one of each section.
    `name` tells items apart; equal names keep the order in which they came.
    """
    ordered = sorted(items, key=lambda item: draw(seed, name(item)))
    for group in reversed(groups):
        ordered = _by_rank(ordered, group)
    return ordered


def _by_rank(items: Sequence[Item], group: Callable[[Item], Hashable]) -> list[Item]:
    """The items by how many of their group stand before them, else in the order given."""
    seen: dict[Hashable, int] = {}
    ranked: list[tuple[int, int]] = []
    for at, item in enumerate(items):
        key = group(item)
        rank = seen.get(key, 0)
        seen[key] = rank + 1
        ranked.append((rank, at))
    return [items[at] for _, at in sorted(ranked)]
