"""YAML, sliced from the source: keys that hold more become headings. Nothing is constructed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contextpull.documents.outline import DEEPEST_KEY, Outline, with_comments_above
from contextpull.documents.slicing import line_end, line_start, source_of
from contextpull.types import ParsedDocument

_MOST_PARSED = 10_000_000
"""The parser takes a second for each MB or two; a longer file is split at its outermost lines."""


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is not complete."""

    is_keyed: bool
    """Whether it and all that it lies in are mappings in block style."""
    is_mapping: bool
    key: Any = None
    """The event of the key whose value comes next."""
    has_held_more: bool = False


def read_yaml(data: bytes) -> ParsedDocument:
    """Read one or more YAML documents; the path of headings is the path of keys.

    What is no valid YAML (a template, say) is split at its outermost lines from the fault on, with
    a warning. Aliases and tags are text like any other.
    """
    import yaml

    source = source_of(data)
    outline = Outline(source.text)
    warnings = source.warnings
    if len(source.text) > _MOST_PARSED:
        warnings += (f"more than {_MOST_PARSED // 1_000_000} MB of YAML: split without its keys",)
        _outermost_lines(source.lines, outline)
    else:
        try:
            _scan(source.lines, outline)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            warnings += (f"not valid YAML: {reason}",)
            _outermost_lines(source.lines, outline)
    return ParsedDocument(source.text, outline.blocks(), warnings=warnings)


def _outermost_lines(text: bytes, outline: Outline) -> None:
    position = 0
    while position < len(text):
        if not text[position : position + 1].isspace():
            outline.record(position, 0)
        position = line_end(text, position)


def _scan(text: bytes, outline: Outline) -> None:
    stack: list[_Open] = []
    for kind, event, offset in _events(text):
        parent = stack[-1] if stack else None
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            stack.pop()
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if parent:
                _value(text, outline, stack, offset, holds_more=not event.flow_style)
            is_mapping = kind == "MappingStartEvent"
            is_keyed = is_mapping and not event.flow_style and (not parent or parent.is_keyed)
            stack.append(_Open(is_keyed, is_mapping))
        elif parent and parent.is_mapping and parent.key is None:
            parent.key = (offset, event)
        elif parent:
            _value(text, outline, stack, offset, holds_more=False)


def _value(
    text: bytes, outline: Outline, stack: list[_Open], offset: int, *, holds_more: bool
) -> None:
    """A value begins: its key may become a heading, an item of a sequence is a record."""
    parent = stack[-1]
    if parent.is_mapping and parent.key is None:  # a mapping or sequence for a key
        parent.key = (offset, None)
        return
    if not parent.is_mapping:
        outline.record(line_start(text, offset), len(stack))
        return
    start, event = parent.key
    parent.key = None
    outline.record(line_start(text, start), len(stack))
    if event is not None and parent.is_keyed and (holds_more or parent.has_held_more):
        line = line_start(text, start)
        end = start + len(event.value.encode())
        if len(stack) <= DEEPEST_KEY and not text[line:start].strip():
            above = with_comments_above(text, line, 0)
            outline.key(above, min(end, len(text)), len(stack), event.value)
    parent.has_held_more |= holds_more


def _events(text: bytes) -> Iterator[tuple[str, Any, int]]:
    """The parser's events that are nodes, with their byte offsets."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    characters = text.decode()
    is_ascii = len(characters) == len(text)
    at_character = at_byte = 0
    for event in yaml.parse(characters, Loader=loader):
        kind = type(event).__name__
        if kind.startswith(("Stream", "Document")):
            continue
        index = event.start_mark.index if event.start_mark else at_character
        if is_ascii:
            yield kind, event, index
            continue
        if index > at_character:
            at_byte += len(characters[at_character:index].encode())
            at_character = index
        yield kind, event, at_byte
