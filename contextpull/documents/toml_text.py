"""TOML, sliced from the source: each table is a section under its full name."""

import re

from contextpull.documents.outline import Outline, with_comments_above
from contextpull.documents.slicing import line_start, source_of
from contextpull.types import ParsedDocument

_TOKEN = re.compile(
    rb'#[^\n]*+|"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\\?\Z|")|\'\'\'.*?(?:\'\'\'|\Z)'
    rb"|\"(?:[^\"\\\n]|\\[^\n])*+\"?|'[^'\n]*+'?|[\[\]]",
    re.S,
)
_TABLE = re.compile(rb"\[\[?[ \t]*+([^\n]{1,1000}?)[ \t]*\]\]?[ \t]*(?=#|\r?\n|\Z)")


def read_toml(data: bytes) -> ParsedDocument:
    """Read a TOML file; `[tool.uv]` is a heading `tool.uv`, with the comments right above it."""
    source = source_of(data)
    text = source.lines
    outline = Outline(source.text)
    position = depth = body = 0
    while token := _TOKEN.search(text, position):
        position = token.end()
        mark = token.group()
        if mark == b"[" and not depth and (table := _TABLE.match(text, token.start())):
            line = line_start(text, token.start(), body)
            if not text[line : token.start()].strip():
                above = with_comments_above(text, line, body)
                outline.key(above, table.end(), 1, table.group(1).decode())
                position = body = table.end()
                continue
        if mark == b"[":
            depth += 1
        elif mark == b"]":
            depth = max(0, depth - 1)
    return ParsedDocument(source.text, outline.blocks(), warnings=source.warnings)
