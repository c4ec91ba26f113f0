"""The part of a section id behind `#`."""

import re
import unicodedata

TOP = "top"
"""The slug of the text before the first heading."""

_DROPPED = re.compile(r"[^a-z0-9_\- ]")
_USABLE_ANCHOR = re.compile(r"[^\s#~]{1,200}")


def github_slug(title: str) -> str:
    """The anchor that GitHub gives a heading, before repeats are numbered; may be empty.

    Lower case; letters, marks, digits, `_` and `-` stay, spaces become `-`, the rest goes:
    `½` and `²` too, which are numbers but no digits.
    """
    lowered = title.strip().lower()
    if lowered.isascii():
        return _DROPPED.sub("", lowered).replace(" ", "-")
    kept = (char for char in lowered if _stays(char))
    return "".join(kept).replace(" ", "-")


def _stays(char: str) -> bool:
    category = unicodedata.category(char)
    return char in "- " or category[0] in "LM" or category in {"Nd", "Nl", "Pc"}


class Slugger:
    """Gives the headings of one document their slugs, in document order.

    A repeat becomes `-1`, `-2` … as on GitHub; an anchor that the document gives goes before.
    """

    def __init__(self) -> None:
        self._repeats: dict[str, int] = {}

    def slug(self, title: str, anchor: str | None = None) -> str:
        """The slug of the next heading; never one that was given before."""
        if anchor and anchor.isprintable() and _USABLE_ANCHOR.fullmatch(anchor):
            return self._unused(anchor)
        return self._unused(github_slug(title) or "section")

    def _unused(self, wanted: str) -> str:
        slug = wanted
        while slug in self._repeats:
            self._repeats[wanted] += 1
            slug = f"{wanted}-{self._repeats[wanted]}"
        self._repeats[slug] = 0
        return slug


def part_slug(slug: str, part: int) -> str:
    """The slug of the n-th part (from 1) of a section that was split."""
    return slug if part == 1 else f"{slug}~{part}"
