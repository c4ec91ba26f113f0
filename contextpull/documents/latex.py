"""LaTeX, sliced from the source: sectioning commands are headings.

No macro is expanded and no other file is read; comments and verbatim text hold no headings.
"""

import re
import unicodedata
from collections.abc import Iterator

from contextpull.documents.composing import LONGEST_TITLE
from contextpull.documents.slicing import filled, line_end, source_of
from contextpull.types import Block, ParsedDocument

_COMMANDS = (
    *(b"part", b"chapter", b"section", b"subsection", b"subsubsection", b"paragraph"),
    *(b"subparagraph", b"frametitle"),
)
_TOKEN = re.compile(
    rb"\\(?P<command>" + b"|".join(_COMMANDS) + rb")\*?(?![A-Za-z@])"
    rb"|\\begin\s*\{(?P<verbatim>verbatim\*?|Verbatim|lstlisting|minted|comment|filecontents\*?)\}"
    rb"|\\begin\s*\{(?P<table>tabular[*xy]?|longtable|tabu|supertabular)\}"
    rb"|(?P<body>\\begin\s*\{document\})"
    rb"|\\verb\*?(?P<bar>[^\sA-Za-z*])[^\n]*?(?P=bar)"
    rb"|\\[^A-Za-z]|%[^\n]*+"
)
_TITLE = re.compile(rb"^[^%\n]*\\title\s*(?:\[[^\]\n]{0,300}\])?\s*(?=\{)", re.M)
_OPTION = re.compile(rb"\s*\[[^\]]{0,1000}\]")
_LABEL = re.compile(rb"\s*\\label\s*\{([^{}\s]{1,200})\}")
_ROW_END = re.compile(rb"\\\\(?:\[[^\]\n]{0,40}\])?[^\\\n]*(?:\\\w*(?:rule|line)\b[^\n]*)?\r?\n")
_BRACES = re.compile(rb"\\.|[{}]", re.S)
_LONGEST_ARGUMENT = 4_000
_EITHER = re.compile(r"\\texorpdfstring\s*\{[^{}]*\}\s*\{([^{}]*)\}")
_NOT_SHOWN = re.compile(r"\\(?:label|footnote|thanks|index)\s*(?:\[[^\]]*\])?\{[^{}]*\}")
_ACCENT = re.compile(
    r"\\(?:([`'^\"~=.])\s*\{?|([uvHcdbr])(?:\s*\{|\s+))\\?([A-Za-z])(?![A-Za-z]{0,40}\{)\}?"
)
_COMBINING = {
    **{"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308"},
    **{"=": "\u0304", ".": "\u0307", "u": "\u0306", "v": "\u030c", "H": "\u030b"},
    **{"c": "\u0327", "d": "\u0323", "b": "\u0331", "r": "\u030a"},
}
_SYMBOL = re.compile(r"\\(LaTeX|TeX|ss|o|ae|oe|O|AE|OE)(?![A-Za-z])\s*")
_SYMBOLS = {"ss": "ß", "o": "ø", "ae": "æ", "oe": "œ", "O": "Ø", "AE": "Æ", "OE": "Œ"}
_MACRO = re.compile(r"\\[A-Za-z@]+\*?\s*(?:\[[^\]]*\])?|\\(?=[^A-Za-z])|[{}$]")


def read_latex(data: bytes) -> ParsedDocument:
    r"""Read a LaTeX file; a `\label` right behind a heading is its anchor.

    Of the sectioning commands, the highest that the file uses is level 1.
    """
    source = source_of(data)
    found = list(_blocks(source.lines))
    used = sorted({block.level for block in found if block.kind == "heading"})
    blocks = (
        block._replace(level=min(used.index(block.level) + 1, 6)) if block.level else block
        for block in found
    )
    title = _TITLE.search(source.lines)
    name = source.lines[title.end() : _end_of_argument(source.lines, title.end())] if title else b""
    return ParsedDocument(
        source.text, filled(source.text, blocks), title=_plain(name), warnings=source.warnings
    )


def _blocks(text: bytes) -> Iterator[Block]:
    """Headings with the rank of their command for a level, verbatim text and tables."""
    position = 0
    is_first = True
    unended: set[bytes] = set()
    while match := _TOKEN.search(text, position):
        start, position = match.start(), match.end()
        environment = match["verbatim"] or match["table"]
        if match["command"]:
            heading = _heading(text, match)
            if heading:
                yield heading
                is_first = False
                position = heading.end
        elif match["body"] and is_first:
            yield Block("code", 0, position)
            is_first = False
        elif environment and environment not in unended:
            end = text.find(b"\\end{%s}" % environment, position)
            if end < 0:
                unended.add(environment)
                continue
            position = end + len(environment) + 6
            is_table = match["table"] is not None
            is_first = False
            yield _table(text, start, position) if is_table else Block("code", start, position)


def _heading(text: bytes, match: re.Match[bytes]) -> Block | None:
    option = _OPTION.match(text, match.end())
    start = option.end() if option else match.end()
    while text[start : start + 1].isspace():
        start += 1
    end = _end_of_argument(text, start)
    title = _plain(text[start:end])
    if not title:
        return None
    label = _LABEL.match(text, end)
    anchor = label[1].decode() if label else None
    level = _COMMANDS.index(match["command"]) + 1
    return Block("heading", match.start(), label.end() if label else end, level, title, anchor)


def _end_of_argument(text: bytes, start: int) -> int:
    """Behind the brace that closes the one at the offset; the offset itself when there is none."""
    depth = 0
    for brace in _BRACES.finditer(text, start, start + _LONGEST_ARGUMENT):
        if brace.start() == start and brace.group() != b"{":
            break
        depth += {b"{": 1, b"}": -1}.get(brace.group(), 0)
        if depth == 0:
            return brace.end() if text[start : start + 1] == b"{" else start
    return start


def _table(text: bytes, start: int, end: int) -> Block:
    r"""A table, split behind the lines that end in `\\`; the first row is its header."""
    body = tuple(row.end() for row in _ROW_END.finditer(text, start, end) if row.end() < end)
    header = text[line_end(text, start) : body[0]].decode().strip() if body else ""
    return Block("table", start, end, breaks=body, header=header)


def _plain(argument: bytes) -> str:
    """A title as it is shown, as far as that can be told without the macros."""
    title = argument.decode()
    title = _NOT_SHOWN.sub("", _EITHER.sub(r"\1", title))
    title = _ACCENT.sub(
        lambda accent: accent[3] + _COMBINING[accent[1] or accent[2]], title.replace("\\\\", " ")
    )
    title = _SYMBOL.sub(lambda symbol: _SYMBOLS.get(symbol[1], symbol[1]), title)
    title = _MACRO.sub("", title.replace("~", " "))
    return unicodedata.normalize("NFC", " ".join(title.split()))[:LONGEST_TITLE]
