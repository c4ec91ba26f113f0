"""reStructuredText inside a line: the text that a reader sees, and the names of targets."""

import re
import unicodedata

_ROLE = re.compile(r":(?:[A-Za-z0-9]+[-_.:+])*[A-Za-z0-9]+:`((?:[^`\\]|\\.)+)`")
_TRAILING_ROLE = re.compile(r"`((?:[^`\\]|\\.)+)`:(?:[A-Za-z0-9]+[-_.:+])*[A-Za-z0-9]+:")
_LITERAL = re.compile(r"``(?=\S)(.*?\S)``")
_REFERENCE = re.compile(r"`((?:[^`\\]|\\.)+)`(?:__?)?")
_EMBEDDED = re.compile(r"\A(.*?)\s*<[^<>]*>\Z", re.S)
_STRONG = re.compile(r"(?<![\w*])(\*\*?)(?=[^\s*])(.*?[^\s\\])\1(?!\w)")
_SUBSTITUTION = re.compile(r"(?<!\w)\|(?=\S)([^|]*\S)\|_{0,2}(?!\w)")
_NAME_REFERENCE = re.compile(r"(?<![\w`])((?:[A-Za-z0-9]+[-_.:+])*[A-Za-z0-9]+)__?(?![\w`])")
_INLINE_TARGET = re.compile(r"(?<!\w)_`((?:[^`\\]|\\.)+)`")
_ESCAPE = re.compile(r"\\(.)|\\\Z")
_TARGET = re.compile(
    r"\.\. _(?![ _]|\Z)(?:`((?:[^`\\]|\\.)+)`|((?:[^:\\]|\\.|:(?!(?:\s|\Z)))+)):(.*)\Z"
)
_NO_ID = re.compile(r"[^a-z0-9]+")


def visible_text(source: str) -> str:
    """A title without markup: roles and references by the text that they show."""
    if not any(mark in source for mark in "`*|_\\"):
        return source
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"\0{len(kept) - 1}\0"

    text = source.replace("\0", "")
    text = _LITERAL.sub(lambda match: keep(match.group(1)), text)
    text = _ROLE.sub(lambda match: keep(_shown(match.group(1), is_role=True)), text)
    text = _TRAILING_ROLE.sub(lambda match: keep(_shown(match.group(1), is_role=True)), text)
    text = _INLINE_TARGET.sub(lambda match: keep(_unescaped(match.group(1))), text)
    text = _REFERENCE.sub(lambda match: keep(_shown(match.group(1), is_role=False)), text)
    text = _ESCAPE.sub(lambda match: keep((match.group(1) or "").strip()), text)
    text = _STRONG.sub(lambda match: match.group(2), text)
    text = _SUBSTITUTION.sub(lambda match: match.group(1), text)
    text = _NAME_REFERENCE.sub(lambda match: match.group(1), text)
    return re.sub("\0(\\d+)\0", lambda match: kept[int(match.group(1))], text)


def target_name(line: str) -> str | None:
    """The id of the internal target that a line sets (`.. _name:`), as it is in HTML."""
    match = _TARGET.match(line)
    if match is None or match.group(3).strip():
        return None
    return html_id(_unescaped(match.group(1) or match.group(2)))


def html_id(name: str) -> str | None:
    """An id made as docutils makes it: ASCII letters, digits and single hyphens."""
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    return _NO_ID.sub("-", plain).strip("-").lstrip("0123456789-") or None


def _shown(content: str, *, is_role: bool) -> str:
    """What a role or reference shows: its own text, or the last name of `~a.b.Name`."""
    embedded = _EMBEDDED.match(content)
    if embedded and embedded.group(1):
        return _unescaped(embedded.group(1))
    if is_role and content.startswith("~"):
        return _unescaped(content[1:].rpartition(".")[2])
    return _unescaped(content.removeprefix("!") if is_role else content)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: (match.group(1) or "").strip(), text)
