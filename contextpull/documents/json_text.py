"""JSON and JSON Lines, sliced from the source: keys that hold more become headings.

Comments and trailing commas, as in configuration files, do no harm.
"""

import re
from dataclasses import dataclass

from contextpull.documents.outline import DEEPEST_KEY, Outline
from contextpull.documents.slicing import Source, line_end, line_start, source_of
from contextpull.types import Block, ParsedDocument

_TOKEN = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\],:]|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.S
)
_BLANK = re.compile(rb"[ \t]*\r?\n?")
_WIDEST_INDENT = 200
_CLOSES = {b"}": b"{", b"]": b"["}


@dataclass(slots=True)
class _Open:
    """An object or array that is not complete."""

    mark: bytes
    is_keyed: bool
    """Whether it and all that it lies in are objects, so that its keys may be headings."""
    key: tuple[int, int] | None = None
    """The key whose value comes next, if it has no heading yet."""
    has_held_more: bool = False
    """Whether an object or array came among its values: what follows is no part of that."""


def read_json(data: bytes) -> ParsedDocument:
    """Read a JSON document; the path of headings is the path of keys.

    What is no valid JSON is read as far as brackets and strings tell, with a warning.
    """
    source = source_of(data)
    outline = Outline(source.text)
    is_whole = _scan(source.lines, outline)
    warnings = source.warnings if is_whole else (*source.warnings, "not valid JSON")
    return ParsedDocument(source.text, outline.blocks(), warnings=warnings)


def read_json_lines(data: bytes) -> ParsedDocument:
    """Read one record a line."""
    source = source_of(data)
    return ParsedDocument(source.text, _lines(source), warnings=source.warnings)


def _lines(source: Source) -> tuple[Block, ...]:
    outline = Outline(source.text)
    position = 0
    while position < len(source.lines):
        outline.record(position, 0)
        position = line_end(source.lines, position)
    return outline.blocks()


def _scan(text: bytes, outline: Outline) -> bool:
    """Tell the outline of keys and records; False when brackets do not match."""
    stack: list[_Open] = []
    string = (0, 0)
    for match in _TOKEN.finditer(text):
        mark = match.group()[:1]
        if mark == b'"':
            string = match.span()
        elif mark == b":" and stack:
            stack[-1].key = _keyed(text, outline, stack, string)
        elif mark == b"," and stack:
            stack[-1].key = None
            blank = _BLANK.match(text, match.end())
            outline.record(blank.end() if blank else match.end(), len(stack))
        elif mark in (b"{", b"["):
            stack.append(_opened(text, outline, stack, mark))
        elif mark in _CLOSES and (not stack or stack.pop().mark != _CLOSES[mark]):
            return False
    return not stack


def _opened(text: bytes, outline: Outline, stack: list[_Open], mark: bytes) -> _Open:
    parent = stack[-1] if stack else None
    if parent:
        if parent.key:
            _heading(text, outline, parent.key, len(stack))
        parent.key, parent.has_held_more = None, True
    return _Open(mark, mark == b"{" and (parent is None or parent.is_keyed))


def _keyed(
    text: bytes, outline: Outline, stack: list[_Open], string: tuple[int, int]
) -> tuple[int, int] | None:
    """The key, unless its value cannot be told from what came before without a heading."""
    if not stack[-1].is_keyed:
        return None
    if not stack[-1].has_held_more:
        return string
    _heading(text, outline, string, len(stack))
    return None


def _heading(text: bytes, outline: Outline, key: tuple[int, int], level: int) -> None:
    if level > DEEPEST_KEY:
        return
    start, end = key
    line = line_start(text, start, max(0, start - _WIDEST_INDENT))
    name = text[start:end].strip(b'"').decode()
    outline.key(start if text[line:start].strip() else line, end, level, name)
