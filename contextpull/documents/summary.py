"""The beginning of a document's running text, for a document that does not describe itself."""

import re
from collections.abc import Iterator

from contextpull.types import ParsedDocument

LONGEST_SUMMARY = 160
_HEAD = 64 * 1024
"""What stands further down is no beginning."""
_LONGEST_PARAGRAPH = 1_000
_FEW_WORDS, _FEW_CHARS = 3, 40
"""A date, a name or a box to tick has no more than both; it serves where there is nothing else."""

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\Z")
"""A line of one sign: over or under a title, around a block, between two parts."""
_TABLE_RULE = re.compile(r"(?=...)[-=+|: ]*[-=][-=+|: ]*\Z")
_COMMENT = b"////"
_OPENING = re.compile(r"\.\.(?: |\Z)|!!! |\?\?\?\+? |===[!+]? \"|:{3,}")
"""A directive, target or comment of reStructuredText, an admonition or container of Markdown: what
is indented under it is an aside."""
_MARKUP_LINE = re.compile(
    r":!?\w[^:`]*:(?:\s|\Z)"  # a field, or an attribute of AsciiDoc
    r"|\[[^\]]*\]+\Z|//(?!/)|[\w-]+::\S*\[.*\]\Z|\+\Z|--\Z"  # AsciiDoc
    r"|%|\\[A-Za-z]+\*?(?:[\[{][^\]}]*[\]}])*\s*(?:%.*)?\Z"  # LaTeX
)
_NO_TEXT = re.compile(
    r"[#<>|!@]|```|~~~|={2,}|(?:[-+:]|[*.]{1,5})(?:\s|\Z)"  # a heading, tag, quote, image, item …
    r"|--8<--|\{(?![\w-]+\}.)|\[\^|\[[^\]]*\]#"  # what templates put in, a note, small print
)
_BLOCK_TITLE = re.compile(r"\.[^\s.].*[^.:;!?]\Z")
_ATTRIBUTE = re.compile(r":!?\w[\w-]*!?:(?:\s|\Z)")
_NAMED_VALUE = re.compile(r"[A-Za-z][\w-]*(?: [A-Z][\w-]*)?(?::| =)(?: |\Z)")
_HEADER_OF_MAIL = re.compile(r"(?:From|To|Cc|Date|Reply-To): ")
_EMPTY_TERM = re.compile(r"\S.*(?:::|;;)\Z")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_SHOWN = [
    (re.compile(r"!\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?"), ""),
    (re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"(?:\{[\w-]+\}|\b(?:xref|link|https?):)[^\s\[\]]*\[([^\[\]]+?)\^?\]"), r"\1"),
    (re.compile(r":[\w.:+-]{0,40}\w:`[~!]?([^`<]*[^`<\s])(?:\s*<[^`<>]*>)?`"), r"\1"),
    (re.compile(r"`([^`<]*[^`<\s])(?:\s*<[^`<>]*>)?`__?(?!\w)"), r"\1"),
    (re.compile(r"\s?\[[#*\w]*\]_(?!\w)"), ""),
    (re.compile(r"\{/\*.*?\*/\}"), ""),
]
"""Images and links of Markdown, links of AsciiDoc, roles, references and footnotes of
reStructuredText, comments of MDX; and what a reader sees of each."""


def summary_of(document: ParsedDocument) -> str:
    """The first paragraph of running text, links by their text; at most LONGEST_SUMMARY characters.

    Titles, tables, code, items of lists, directives, images and badges are passed over; empty for
    a document that holds nothing else in its first 64 kB.
    """
    short = ""
    for lines in _paragraphs(document):
        text = _running_text(lines)
        if text.count(" ") >= _FEW_WORDS or len(text) >= _FEW_CHARS:
            return text if len(text) <= LONGEST_SUMMARY else f"{text[: LONGEST_SUMMARY - 1]}…"
        short = short or text
    return short


def _paragraphs(document: ParsedDocument) -> Iterator[list[str]]:
    """The lines of each paragraph, without those that stand under a directive or the like."""
    aside: int | None = None
    """How far the line stands in that opened what may be an aside."""
    for block in document.blocks:
        if block.start >= _HEAD:
            return
        if block.kind == "heading":
            aside = None
        if block.kind not in {"prose", "list"}:
            continue
        for lines in _parts(document.text[block.start : min(block.end, block.start + _HEAD)]):
            indent = len(lines[0]) - len(lines[0].lstrip())
            if aside is None or indent <= aside:
                is_opening = _OPENING.match(lines[0].lstrip())
                aside = indent if is_opening else None
                if not is_opening:
                    yield [line.strip() for line in lines]


def _parts(text: bytes) -> Iterator[list[str]]:
    """What blank lines part, as lines."""
    lines: list[str] = []
    if text.startswith(_COMMENT):
        return
    for line in [*text.decode(errors="replace").splitlines(), ""]:
        if line.strip():
            lines.append(line)
        elif lines:
            yield lines
            lines = []


def _running_text(lines: list[str]) -> str:
    """What a paragraph says; nothing where it is a title, markup or a list."""
    at = 0
    while at < len(lines):
        if _RULE.match(lines[at]) or _MARKUP_LINE.match(lines[at]):
            at += 1
        elif at + 1 < len(lines) and _RULE.match(lines[at + 1]):
            at += 2
        else:
            break
    lines = lines[at:]
    if not lines or _is_no_text(lines[0], lines[1:]):
        return ""
    text = " ".join(" ".join(lines)[:_LONGEST_PARAGRAPH].split())
    for pattern, shown in _SHOWN:
        text = pattern.sub(shown, text)
    text = " ".join(text.split())
    return text if _LETTERS.search(text) else ""


def _is_no_text(first: str, others: list[str]) -> bool:
    """Whether a paragraph is a list, a table, or the names and values of something."""
    if _NO_TEXT.match(first) or _TABLE_RULE.match(first):
        return True
    if not others:
        return bool(_BLOCK_TITLE.match(first) or _HEADER_OF_MAIL.match(first))
    return bool(
        _TABLE_RULE.match(others[0])
        or _EMPTY_TERM.match(first)
        or any(map(_ATTRIBUTE.match, others))
        or all(map(_NAMED_VALUE.match, [first, *others]))
    )
