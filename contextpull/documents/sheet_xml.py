"""What the XML of a sheet tells before it is read whole: where its cells lie, how much they hold.

A file of a few kilobytes can name a cell in the last row and in the last column, or one long text
in each of a million cells; whoever reads it whole has to know that before.
"""

import re
from dataclasses import dataclass, field
from html import unescape

import re2

from contextpull.errors import DocumentError

# Each attempt ends at the next `<`, so that no sheet takes more than one pass.
_OPENED = re.compile(rb"<(?:[^\s<>/:]*:)?(?:c|row)(?=[\s/>])")
_CELL = re.compile(
    rb"<(?:[^\s<>/:]*:)?(c|row)((?:\s+[^\s<>=]+\s*=\s*(?:\"[^\"<&]*\"|'[^'<&]*'))*)\s*(/?)>"
)
_PLACE = re.compile(rb"\sr\s*=\s*[\"']([A-Z]{0,4})(\d{1,8})[\"']")
_SHARED = re.compile(rb"\st\s*=\s*[\"']s[\"']")
_TEXT = re.compile(rb"\st\s*=\s*[\"']str[\"']")
_INDEX = re.compile(rb"\s*<(?:\w{1,20}:)?v[^<>]*>\s*(\d{1,9})")
_FORMULA = re2.compile(
    rb"^\s*<(?:[A-Za-z0-9]+:)?f(?:\s[^>]*)?>([^<]+)</(?:[A-Za-z0-9]+:)?f>\s*"
    rb"(<(?:[A-Za-z0-9]+:)?v\s*/>|<(?:[A-Za-z0-9]+:)?v></(?:[A-Za-z0-9]+:)?v>)?\s*"
    rb"</(?:[A-Za-z0-9]+:)?c>"
)
_ITEM = re2.compile(rb"<(?:[A-Za-z0-9]+:)?si\b")
_LONGEST_FORMULA = 8_192
_NEAR = _LONGEST_FORMULA + 200


@dataclass(slots=True)
class SheetFacts:
    """Rows and columns from 0, of cells that hold something."""

    top: int = 0
    left: int = 0
    bottom: int = -1
    right: int = -1
    text: int = 0
    """Bytes of the shared text in its cells, at most."""
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    """Those that were saved without a value."""

    @property
    def area(self) -> int:
        """Places in the rectangle around all cells."""
        return (self.bottom - self.top + 1) * (self.right - self.left + 1)

    def add(self, row: int, column: int) -> None:
        """Take a cell in."""
        if self.bottom < 0:
            self.top, self.left, self.bottom, self.right = row, column, row, column
        self.top, self.bottom = min(self.top, row), max(self.bottom, row)
        self.left, self.right = min(self.left, column), max(self.right, column)


def shared_text(xml: bytes) -> list[int]:
    """How many bytes each shared text takes, at most."""
    starts = [match.start() for match in _ITEM.finditer(xml)]
    return [end - start for start, end in zip(starts, [*starts[1:], len(xml)], strict=True)]


def facts_of(xml: bytes, shared: list[int]) -> SheetFacts:
    """Go over the cells of a sheet; `shared` is what `shared_text` says of the workbook.

    Raises DocumentError when a cell is written so that its place could be read in two ways.
    """
    facts = SheetFacts()
    row = column = -1
    seen = 0
    longest = max(shared, default=0)
    for match in _CELL.finditer(xml):
        seen += 1
        name, attributes, closing = match.groups()
        place = _PLACE.search(attributes)
        if name == b"row":
            row, column = int(place[2]) - 1 if place else row + 1, -1
            continue
        if place and place[1]:
            row, column = int(place[2]) - 1, _column(place[1])
        else:
            column += 1
        if closing:
            continue
        facts.add(max(row, 0), column)
        inside = xml[match.end() : match.end() + 40]
        if shared and _SHARED.search(attributes):
            index = _INDEX.match(inside)
            at = int(index.group(1)) if index else len(shared)
            facts.text += shared[at] if at < len(shared) else longest
        elif b"f" in inside[:20]:
            _add_formula(facts, (max(row, 0), column), xml, match.end(), attributes)
    if seen != sum(1 for _ in _OPENED.finditer(xml)):
        raise DocumentError("damaged: cells in it are not valid XML")
    return facts


def _add_formula(
    facts: SheetFacts, place: tuple[int, int], xml: bytes, start: int, attributes: bytes
) -> None:
    match = _FORMULA.match(xml[start : start + _NEAR])
    if match and not (match.group(2) and _TEXT.search(attributes)):
        formula = unescape(match.group(1).decode("utf-8", "replace"))
        facts.formulas[place] = f"={formula.lstrip('=')[:_LONGEST_FORMULA]}"


def _column(letters: bytes) -> int:
    column = 0
    for letter in letters:
        column = column * 26 + letter - ord("A") + 1
    return column - 1
