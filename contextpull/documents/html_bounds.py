"""Refusing HTML whose parsing would cost far more than its size: a pass over its tags."""

import re

from contextpull.errors import DocumentError

MOST_TAGS = 2_000_000
MOST_DEPTH = 1_000
_MOST_ATTRIBUTES = 1_000
_MOST_REPEATED = 2_000_000
"""Elements that the parser would open again because formatting around a block is never closed."""

_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title|xmp|iframe|noembed|noframes)\b.*?(?:</\1\b|\Z)"
    r"|<(/?)([a-z][^\s/<>]*)",
    re.I | re.S,
)
_LONG_TAG = re.compile(r"<[A-Za-z][^<>]{4000,}")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_ATTRIBUTE = re.compile(r"[^\s/=\"'<>]+")
_FORMATTING = frozenset("b big code em font i s small strike strong tt u".split())  # noqa: SIM905 - words
_NEVER_DEEP = frozenset(
    "a nobr area base br col embed hr img input link meta param source track wbr "  # noqa: SIM905 - words
    "p li dt dd tr td th tbody thead tfoot colgroup caption option optgroup html head body".split()
)


def check_bounds(text: str) -> None:
    """Raise DocumentError when a tree of the page would be too large or too slow to build."""
    if text.count("<") > MOST_TAGS:
        raise DocumentError(f"more than {MOST_TAGS:,} tags; split the page")
    for tag in _LONG_TAG.finditer(text):
        if len(_ATTRIBUTE.findall(_QUOTED.sub(" x ", tag.group()))) > 2 * _MOST_ATTRIBUTES:
            raise DocumentError(f"a tag with more than {_MOST_ATTRIBUTES:,} attributes")
    _check_nesting(text)


def _check_nesting(text: str) -> None:
    """Count what is open as the tags go by; what closes by itself does not count."""
    depth = formatting = repeated = 0
    for match in _TAG.finditer(text):
        name = match.group(3)
        if name is None:
            continue
        name = name.lower()
        step = -1 if match.group(2) else 1
        if name in _FORMATTING:
            formatting = max(formatting + step, 0)
        elif name not in _NEVER_DEEP:
            depth = max(depth + step, 0)
        if step > 0 and formatting > 10:
            repeated += formatting
        if max(depth, formatting) > MOST_DEPTH or repeated > _MOST_REPEATED:
            raise DocumentError(
                f"more than {MOST_DEPTH:,} elements inside each other; no browser would show it"
            )
