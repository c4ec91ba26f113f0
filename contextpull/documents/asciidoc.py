"""AsciiDoc, sliced from the source.

Titles with `=` and `#` and those with a line under them, ids from `[[id]]`, `[#id]` and `[id=…]`;
delimited blocks, tables, lists. Attributes stand as they are written, conditions are not judged,
and what `include::` names is never read.
"""

import re

from contextpull.documents.asciidoc_inline import title_and_anchor
from contextpull.documents.composing import LONGEST_TITLE
from contextpull.documents.lines import LONGEST_LINE, Lines, LineScanner, read_lines
from contextpull.documents.slicing import MOST_BLOCKS
from contextpull.types import Block, BlockKind, ParsedDocument

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?\Z")
_UNDERLINE = re.compile(r"([=\-~^+])\1+\Z")
_UNDERLINES = "=-~^+"
_WORD = re.compile(r"\w")
_DELIMITER = re.compile(r"(?:([-.=*_+/])\1{3,}|--|```[^\s`]*(?:,[^\s`]+)?|[|,:!]===+)\Z")
_VERBATIM = frozenset("-.+/`")
_COMPOUND_TABLE = frozenset("|,:!")
_ATTRIBUTE_LIST = re.compile(r"\[(?:\[[^\[\]]*\]|[^\[\]\s][^\n]*|)\]\Z")
_BLOCK_ANCHOR = re.compile(r"\[\[([^\s,\[\]]+)(?:,[^\]]*)?\]\]\Z")
_ID = re.compile(r"\[[^\[\],\"']*?#([^\s.,%\[\]\"'#]+)[^\n]*\]\Z")
_NAMED_ID = re.compile(r"(?:\[|,)\s*id\s*=\s*[\"']?([^\s\"',\]]+)")
_STYLE = re.compile(r"\[\s*([\w-]+)")
_ATTRIBUTE_ENTRY = re.compile(r":!?[\w][^:\n]*!?:(?:[ \t]|\Z)")
_DIRECTIVE = re.compile(r"(?:ifdef|ifndef|ifeval|endif|include)::\S*\[.*\]\Z")
_BLOCK_TITLE = re.compile(r"\.(?:\.?[^ \t.\n])")
_ITEM = re.compile(
    r"[ \t]*(?:-|\*{1,5}|\.{1,5}|\u2022|\d+\.|[a-zA-Z]\.|[IVXivx]+\)|<\d+>|<\.>)[ \t]+\S"
)
_TERM = re.compile(r"[ \t]*(?!//)\S.*?(?::{2,4}|;;)(?:[ \t]|\Z)")
_LISTING_STYLES = frozenset({"source", "listing", "literal", "stem", "latexmath", "asciimath"})


def read_asciidoc(data: bytes) -> ParsedDocument:
    """Read an AsciiDoc file; its blocks are slices of the text, markup included."""
    return read_lines(data, lambda lines: _Scanner(lines).scan())


class _Scanner(LineScanner):
    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self._ends = _last_places(self._texts)
        self._style = ""
        self._has_titles = self._has_document_title = self._has_parts = False
        self._open: list[str] = []
        """The delimiters of the blocks around the line; no title stands in them."""

    def scan(self) -> list[Block]:
        while self._at < len(self._texts) and len(self._blocks) <= MOST_BLOCKS:
            line = self._texts[self._at]
            if not line:
                self._at += 1
            elif self._is_metadata(line):
                self._metadata(line)
            else:
                self._block(line)
                self._anchor, self._style = None, ""
        return self._blocks

    def _is_metadata(self, line: str) -> bool:
        """What stands before a block and says something of it, or is no part of the text."""
        if line.startswith("//") and not line.startswith("///"):
            return True
        return bool(
            _ATTRIBUTE_LIST.match(line[:LONGEST_LINE])
            or _ATTRIBUTE_ENTRY.match(line[:LONGEST_LINE])
            or _DIRECTIVE.match(line[:LONGEST_LINE])
        )

    def _metadata(self, line: str) -> None:
        line = line[:LONGEST_LINE]
        if line.startswith("["):
            found = _BLOCK_ANCHOR.match(line) or _ID.match(line) or _NAMED_ID.search(line)
            self._anchor = found.group(1) if found else self._anchor
            style = None if line.startswith("[[") else _STYLE.match(line)
            self._style = style.group(1) if style else self._style
        self._take(1, "prose")

    def _block(self, line: str) -> None:
        if self._open and line == self._open[-1]:
            self._open.pop()
            self._take(1, "prose")
        elif _DELIMITER.match(line) and self._is_closed(line):
            self._delimited(line)
        elif not self._open and (title := self._title(line)):
            count, level, text = title
            shown, own = title_and_anchor(text[:LONGEST_LINE])
            shown = " ".join(shown.split())[:LONGEST_TITLE]
            anchor = own or self._anchor
            level = self._level_of(level)
            self._take(count, "heading", level=level, title=shown, anchor=anchor)
        else:
            self._text(line)

    def _title(self, line: str) -> tuple[int, int, str] | None:
        """Number of lines, level from 1 and source of the title that begins at the line."""
        if self._style in {"discrete", "float"}:
            return None
        match = _TITLE.match(line)
        if match:
            return 1, len(match.group(1)), match.group(2)
        below = self._texts[self._at + 1] if self._at + 1 < len(self._texts) else ""
        is_under = below and _UNDERLINE.match(below) and abs(len(below) - len(line)) <= 1
        if is_under and _WORD.search(line) and not line.startswith("."):
            return 2, _UNDERLINES.index(below[0]) + 1, line
        return None

    def _level_of(self, level: int) -> int:
        """The level below the document's title, under which the parts of a book stand too."""
        if level == 1 and self._has_document_title:
            self._has_parts = True
        self._has_document_title = self._has_document_title or (level == 1 and not self._has_titles)
        self._has_titles = True
        return min(level + self._has_parts, 6)

    def _is_closed(self, delimiter: str) -> bool:
        """Whether the block that the line begins ends somewhere."""
        closing = "```" if delimiter.startswith("```") else delimiter
        return self._ends.get(closing, 0) > self._at

    def _delimited(self, line: str) -> None:
        """A block between two equal lines: taken whole when it is verbatim or a table."""
        mark = line[0]
        is_verbatim = mark in _VERBATIM and line != "--"
        if not (is_verbatim or mark in _COMPOUND_TABLE or self._style in _LISTING_STYLES):
            self._open.append(line)
            self._take(1, "prose")
            return
        closing = "```" if mark == "`" else line
        end = self._at + 1
        while self._texts[end] != closing:
            end += 1
        count = end + 1 - self._at
        if mark in _COMPOUND_TABLE:
            self._table(count)
        else:
            self._take(count, "prose" if mark in "/+" else "code")

    def _table(self, count: int) -> None:
        """A table that may be split before each line that begins with a cell.

        Its first row is its header where it stands alone before a blank line, or an option says so.
        """
        texts, start = self._texts, self._at
        mark = texts[start][0]
        cell = re.compile(rf"[\w.+*<>^]*{re.escape(mark)}" if mark in "|!" else r"\S")
        rows = [at for at in range(start + 1, start + count - 1) if cell.match(texts[at][:80])]
        header = ""
        if len(rows) > 1 and rows[0] == start + 1 and not texts[start + 2]:
            header = "\n".join(texts[start : start + 2])
        breaks = tuple(self._lines.starts[at] for at in rows[1:])
        self._take(count, "table", breaks=breaks, header=header)

    def _text(self, line: str) -> None:
        """A paragraph, an item of a list, a block title, or a literal paragraph."""
        short = line[:LONGEST_LINE]
        end = self._at + 1
        if _BLOCK_TITLE.match(short):
            style, anchor = self._style, self._anchor
            self._take(1, "prose")
            self._block_after_title(style, anchor)
            return
        is_item = bool(_ITEM.match(short) or _TERM.match(short))
        kind: BlockKind = "list" if is_item else "prose"
        if not is_item and (self._lines.indents[self._at] > 0 or self._style in _LISTING_STYLES):
            kind = "code"
        while end < len(self._texts) and self._goes_on(end, kind):
            end += 1
        self._take(end - self._at, kind)

    def _goes_on(self, at: int, kind: BlockKind) -> bool:
        """Whether the line belongs to the paragraph or item above it."""
        line = self._texts[at]
        if not line or (self._open and line == self._open[-1]):
            return False
        if kind == "list" and (line == "+" or _ITEM.match(line[:LONGEST_LINE])):
            return line == "+"
        if line.startswith("[") and _ATTRIBUTE_LIST.match(line[:LONGEST_LINE]):
            return False
        return not (_DELIMITER.match(line) and self._ends.get(line, 0) > at)

    def _block_after_title(self, style: str, anchor: str | None) -> None:
        """The title of a block comes between its attributes and the block."""
        if self._at < len(self._texts) and self._texts[self._at]:
            line = self._texts[self._at]
            self._style, self._anchor = style, anchor
            if self._is_metadata(line):
                return
            if not _BLOCK_TITLE.match(line):
                self._block(line)


def _last_places(texts: list[str]) -> dict[str, int]:
    """Where each delimiter stands for the last time."""
    return {line: at for at, line in enumerate(texts) if line and _DELIMITER.match(line)}
