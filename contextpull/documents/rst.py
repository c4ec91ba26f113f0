"""reStructuredText, sliced from the source by the rules of its specification.

Titles with and without overline, their levels by the order in which the adornments appear; ids
from the targets before them; literal blocks and code directives, doctests, tables, lists.
No directive is carried out: what `include`, `raw` or `csv-table` name is never read.
"""

import re
import unicodedata

from contextpull.documents.composing import LONGEST_TITLE
from contextpull.documents.lines import LONGEST_LINE, Lines, LineScanner, read_lines
from contextpull.documents.rst_inline import target_name, visible_text
from contextpull.documents.slicing import MOST_BLOCKS
from contextpull.types import Block, BlockKind, ParsedDocument

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1* *\Z")
_ENUMERATOR = re.compile(
    r"(?:\((?:[0-9]+|[A-Za-z]|[IVXLCDMivxlcdm]+|#)\)"
    r"|(?:[0-9]+|[A-Za-z]|[IVXLCDMivxlcdm]+|#)[.)])(?: +|\Z)"
)
_BULLET = re.compile(r"[-+*\u2022\u2023\u2043](?: +|\Z)")
_FIELD = re.compile(r":(?![: ])(?:[^:\\]|\\.|:(?!(?:[ `]|\Z)))*(?<! ):(?: +|\Z)")
_LINE_BLOCK = re.compile(r"\|(?: +|\Z)")
_DOCTEST = re.compile(r">>>(?: |\Z)")
_GRID_TOP = re.compile(r"\+-[-+]+-\+ *\Z")
_SIMPLE_TOP = re.compile(r"=+(?: +=+)+ *\Z")
_SIMPLE_RULE = re.compile(r"=+(?: +=+)* *\Z")
_GRID_RULE = re.compile(r"\+[-=+]+\+ *\Z")
_EXPLICIT = re.compile(r"(?:\.\.|__)(?: +|\Z)")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([\w.:+-]+?) ?::(?:[ \t]|\Z)")
_CODE_DIRECTIVES = frozenset(
    "code code-block sourcecode highlight literalinclude parsed-literal productionlist math "  # noqa: SIM905 - words
    "graphviz digraph graph mermaid uml doctest testcode testoutput testsetup testcleanup raw "
    "prompt console ipython".split()
)
_TABLE_DIRECTIVES = frozenset({"csv-table", "list-table"})
_SHORT = 4
"""An adornment of fewer characters than this must be as long as the title."""


def read_rst(data: bytes) -> ParsedDocument:
    """Read a reStructuredText file; its blocks are slices of the text, markup included."""
    return read_lines(data, lambda lines: _Scanner(lines).scan())


class _Scanner(LineScanner):
    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self._styles: list[str] = []
        self._level = 0
        self._borderless = (0, 0)
        """No simple table ends before this line that begins this far in or further."""

    def scan(self) -> list[Block]:
        texts, indents = self._texts, self._lines.indents
        while self._at < len(texts) and len(self._blocks) <= MOST_BLOCKS:
            if indents[self._at] < 0:
                self._at += 1
            elif indents[self._at] > 0 or not self._title():
                self._body()
        return self._blocks

    # Titles

    def _title(self) -> bool:
        """Whether a title begins at the line; it is taken with its adornments."""
        line = self._texts[self._at]
        if _ADORNMENT.match(line):
            found = self._overlined(line)
        elif self._begins_text(self._at):
            found = self._underlined(line)
        else:
            found = None
        if found is None:
            return False
        style, title, count = found
        level = self._styles.index(style) + 1 if style in self._styles else len(self._styles) + 1
        if level > self._level + 1:
            return False  # docutils: "Inconsistent title style", no section
        if level > len(self._styles):
            self._styles.append(style)
        self._level = level
        shown = " ".join(visible_text(title[:LONGEST_LINE]).split())[:LONGEST_TITLE]
        self._take(count, "heading", level=min(level, 6), title=shown, anchor=self._anchor)
        self._anchor = None
        return True

    def _overlined(self, line: str) -> tuple[str, str, int] | None:
        """Style, title and number of lines of a title between two equal adornments."""
        if self._at + 2 >= len(self._texts) or self._texts[self._at + 2] != line:
            return None
        title = self._texts[self._at + 1]
        if not title or _ADORNMENT.match(title):
            return None
        if len(line) < _SHORT and _width(title) > len(line):
            return None
        return line[0] * 2, title.strip(), 3

    def _underlined(self, line: str) -> tuple[str, str, int] | None:
        if self._at + 1 >= len(self._texts):
            return None
        underline = self._texts[self._at + 1]
        if not _ADORNMENT.match(underline) or (
            len(underline) < _SHORT and _width(line) > len(underline)
        ):
            return None
        return underline[0], line, 2

    def _begins_text(self, at: int) -> bool:
        """Whether the line is none of the constructs that go before text."""
        line = self._texts[at][:LONGEST_LINE]
        if _ENUMERATOR.match(line):
            return not self._is_enumerated(at)
        return not any(
            pattern.match(line)
            for pattern in (
                _BULLET,
                _FIELD,
                _DOCTEST,
                _LINE_BLOCK,
                _GRID_TOP,
                _SIMPLE_TOP,
                _EXPLICIT,
            )
        )

    def _is_enumerated(self, at: int) -> bool:
        """An enumerator begins a list unless text follows at once that is not indented."""
        indents = self._lines.indents
        if at + 1 >= len(indents) or indents[at + 1] < 0 or indents[at + 1] > indents[at]:
            return True
        following = self._texts[at + 1].lstrip()
        return indents[at + 1] == indents[at] and bool(_ENUMERATOR.match(following))

    # Everything else

    def _body(self) -> None:
        """Take one block at the line, which is not blank."""
        line = self._texts[self._at].lstrip()[:LONGEST_LINE]
        target = target_name(line)
        if target:
            self._anchor = target
        directive = _DIRECTIVE.match(line)
        name = directive.group(1).rpartition(":")[2] if directive else ""
        if directive and (name in _CODE_DIRECTIVES or name in _TABLE_DIRECTIVES):
            self._whole_directive("code" if name in _CODE_DIRECTIVES else "table")
        elif _GRID_TOP.match(line):
            self._grid_table()
        elif _SIMPLE_TOP.match(line) and (count := self._simple_table_lines()):
            self._table(count, _SIMPLE_RULE)
        elif _DOCTEST.match(line):
            self._take(self._chunk(), "code")
        elif _EXPLICIT.match(line):
            self._take(self._explicit(), "prose")
        else:
            self._text(line)
        if not (target or _EXPLICIT.match(line)):
            self._anchor = None

    def _text(self, line: str) -> None:
        """A paragraph, a term with its definition, or an item of a list, and code behind it."""
        is_item = bool(_BULLET.match(line)) or (
            bool(_ENUMERATOR.match(line)) and self._is_enumerated(self._at)
        )
        indent = self._lines.indents[self._at]
        count = self._item() if is_item else self._paragraph()
        last = self._texts[self._at + count - 1]
        self._take(count, "list" if is_item else "prose")
        if last.endswith("::"):
            self._literal(indent)

    def _chunk(self) -> int:
        """The number of lines up to the next blank one."""
        end = self._at
        while end < len(self._texts) and self._lines.indents[end] >= 0:
            end += 1
        return end - self._at

    def _explicit(self) -> int:
        """A line of explicit markup and what stands under it, further in."""
        end, indent = self._at + 1, self._lines.indents[self._at]
        while end < len(self._texts) and self._lines.indents[end] > indent:
            end += 1
        return end - self._at

    def _item(self) -> int:
        """An item up to the next blank line, the next item, or text that is not indented."""
        return self._explicit()

    def _paragraph(self) -> int:
        """Lines of one indentation; a first line that others stand under is a term with them."""
        indents = self._lines.indents
        end, indent = self._at + 1, indents[self._at]
        if end < len(indents) and indents[end] > indent:
            return self._explicit()
        while end < len(indents) and indents[end] == indent:
            end += 1
        return end - self._at

    def _literal(self, indent: int) -> None:
        """The code behind `::`: what is indented more, or quoted by one mark on every line."""
        at, indents = self._at, self._lines.indents
        while at < len(indents) and indents[at] < 0:
            at += 1
        if at == len(indents):
            return
        first = self._texts[at].lstrip()[0]
        if indents[at] > indent:
            self._at = at
            self._take(self._deeper(indent), "code")
        elif indents[at] == indent and at > self._at and _ADORNMENT.match(first):
            end = at
            while (
                end < len(indents)
                and indents[end] == indent
                and self._texts[end].lstrip()[0] == first
            ):
                end += 1
            if end == len(indents) or indents[end] < 0:
                self._at = at
                self._take(end - at, "code")

    def _deeper(self, indent: int) -> int:
        """The number of lines that are blank or indented more, blank ones at the end left out."""
        end = at = self._at
        while at < len(self._texts) and (
            self._lines.indents[at] < 0 or self._lines.indents[at] > indent
        ):
            at += 1
            if self._lines.indents[at - 1] >= 0:
                end = at
        return end - self._at

    def _whole_directive(self, kind: BlockKind) -> None:
        start, indent = self._at, self._lines.indents[self._at]
        self._at += 1
        count = 1 + self._deeper(indent)
        self._at = start
        breaks: tuple[int, ...] = ()
        if kind == "table":
            breaks = self._rows_of_directive(start + 1, start + count)
        self._take(count, kind, breaks=breaks)

    def _rows_of_directive(self, start: int, end: int) -> tuple[int, ...]:
        """Where rows of a `list-table` or `csv-table` begin: lines as far out as the first one."""
        texts, indents = self._texts, self._lines.indents
        rows = [
            at
            for at in range(start, end)
            if indents[at] >= 0 and not _FIELD.match(texts[at].lstrip())
        ]
        outermost = min((indents[at] for at in rows), default=0)
        is_list = any(texts[at].lstrip().startswith("* -") for at in rows)
        starts = [at for at in rows if indents[at] == outermost]
        if is_list:
            starts = [at for at in starts if texts[at].lstrip().startswith("*")]
        return tuple(self._lines.starts[at] for at in starts[1:])

    def _grid_table(self) -> None:
        self._table(self._chunk(), _GRID_RULE)

    def _simple_table_lines(self) -> int:
        """Up to the border before a blank line; 0 when there is none."""
        indent, indents = self._lines.indents[self._at], self._lines.indents
        before, inside = self._borderless
        if self._at < before and indent >= inside:
            return 0
        at = self._at
        for at in range(self._at + 1, len(self._texts)):
            if 0 <= indents[at] < indent:
                break
            if self._texts[at].lstrip().startswith("==") and _SIMPLE_RULE.match(
                self._texts[at].lstrip()
            ):
                following = indents[at + 1] if at + 1 < len(indents) else -1
                if following < 0:
                    return at + 1 - self._at
        self._borderless = (at + 1, indent)
        return 0

    def _table(self, count: int, rule: re.Pattern[str]) -> None:
        """A table that may be split before each row, with its header if it has one."""
        texts, start = self._texts, self._at
        end = start + count
        rules = [at for at in range(start, end) if rule.match(texts[at].lstrip())]
        is_grid = rule is _GRID_RULE
        if is_grid:
            heads = [at for at in rules if "=" in texts[at]]
            body = heads[0] + 1 if heads else start + 1
            rows = [at + 1 for at in rules if body <= at + 1 < end and at + 1 > start + 1]
        else:
            heads = rules[1:2] if len(rules) > 2 else []
            body = heads[0] + 1 if heads else start + 1
            indent = self._lines.indents[start]
            rows = [at for at in range(body, end - 1) if self._lines.indents[at] == indent]
        header = ""
        if heads and rows:
            header = "\n".join(line.strip() for line in texts[start : heads[0] + 1])
        breaks = tuple(self._lines.starts[at] for at in rows)
        self._take(count, "table", breaks=breaks, header=header)


def _width(text: str) -> int:
    """Columns that a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(bool(unicodedata.combining(char)) for char in text)
