"""The numbers that Word shows before list items and headings; ECMA-376 part 1, section 17.9."""

import re
from dataclasses import dataclass
from typing import Any

from contextpull.documents.ooxml import attribute, child, children, number

BULLET = "-"
_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"))
_SMALL_ROMAN = ((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_LARGEST_ROMAN = 10_000


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str = "decimal"
    text: str = ""
    start: int = 1


class Numbering:
    """Counts the paragraphs of a document, in order."""

    def __init__(self, root: Any) -> None:
        """`root` is the numbering part; None when the document has none."""
        lists = {attribute(each, "abstractNumId"): each for each in children(root, "abstractNum")}
        self._levels: dict[str, dict[int, _Level]] = {}
        self._list_of: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, list[int | None]] = {}
        for each in children(root, "num"):
            key = attribute(each, "numId")
            name = attribute(child(each, "abstractNumId"), "val")
            self._list_of[key] = name
            self._levels[key] = _levels_of(lists.get(name))
            for override in children(each, "lvlOverride"):
                level = number(override, "ilvl", 0)
                if (start := child(override, "startOverride")) is not None:
                    restarts = self._restarts.setdefault(key, {})
                    restarts[level] = number(start, "val", 1)
                if (own := child(override, "lvl")) is not None:
                    self._levels[key][level] = _level(own)

    def label(self, key: str, level: int) -> str:
        """What stands before the next paragraph of list `key` on this level, from 0.

        `-` for a bullet; empty for a list that the document does not define.
        """
        levels = self._levels.get(key)
        if levels is None or not 0 <= level < _LEVELS:
            return ""
        own = levels.get(level, _Level(text=f"%{level + 1}."))
        counts = self._counts.setdefault(self._list_of[key], [None] * _LEVELS)
        restart = self._restarts.get(key, {}).pop(level, None)  # at the first paragraph only
        before = counts[level]
        if restart is not None:
            counts[level] = restart
        else:
            counts[level] = own.start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.kind == "bullet":
            return BULLET
        if own.kind == "none":
            return ""

        def shown(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            other = levels.get(at, _Level())
            count = counts[at]
            return _written(other.start if count is None else count, other.kind)

        return _PLACE.sub(shown, own.text).strip()


def _levels_of(definition: Any) -> dict[int, _Level]:
    return {number(each, "ilvl", 0): _level(each) for each in children(definition, "lvl")}


def _level(element: Any) -> _Level:
    return _Level(
        attribute(child(element, "numFmt"), "val", "decimal"),
        attribute(child(element, "lvlText"), "val"),
        number(child(element, "start"), "val", 1),
    )


def _written(count: int, kind: str) -> str:
    """A number in the way that the level asks for; decimal where that way is not known here."""
    if kind in {"lowerLetter", "upperLetter"} and count > 0:
        letter = chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, 20)
        return letter.upper() if kind == "upperLetter" else letter
    if kind in {"lowerRoman", "upperRoman"} and 0 < count < _LARGEST_ROMAN:
        roman = ""
        for value, sign in (*_ROMAN, *_SMALL_ROMAN):
            roman += sign * (count // value)
            count %= value
        return roman.upper() if kind == "upperRoman" else roman
    return f"{count:02}" if kind == "decimalZero" else str(count)
