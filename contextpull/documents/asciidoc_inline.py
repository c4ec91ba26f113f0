"""AsciiDoc inside a title: the text that a reader sees, and the anchors in it."""

import re

_PASS = re.compile(r"pass:[a-z,]*\[(.*?)\]|\+\+\+(.+?)\+\+\+")
_LITERAL_MONO = re.compile(r"(?<![\w`])`\+(\S.*?)\+`(?!\w)|(?<![\w+])\+(\S|\S.*?\S)\+(?![\w+])")
_ANCHOR = re.compile(r"\[\[([A-Za-z_:][\w:.-]*)(?:, *[^\[\]]*)?\]\]|anchor:([\w:.-]+)\[[^\]]*\]")
_CROSS_REFERENCE = re.compile(r"<<([^<>,]+)(?:, *([^<>]+))?>>")
_KEPT = re.compile("\0(\\d+)\0")
_MACRO = re.compile(
    r"(?<![\w:])(?:xref|link|mailto|kbd|btn|menu|image|icon|footnote|stem|latexmath|asciimath|indexterm2?)"
    r":([^\s:\[\]]*)\[((?:[^\]\\]|\\.)*)\]"
)
_URL = re.compile(r"(?:link:)?((?:https?|ftp|irc)://[^\s\[\]<>]+)\[((?:[^\]\\]|\\.)*)\]")
_INDEX_TERM = re.compile(r"\(\(\((.*?)\)\)\)|\(\(([^()].*?)\)\)")
_ROLE = r"(?:\[[^\[\]\n]*\])?"
_UNCONSTRAINED = re.compile(rf"{_ROLE}(\*\*|__|``|##)(\S.*?|\S)\1")
_CONSTRAINED = re.compile(r"(?<![\w:;}\\])(?:\[[^\[\]\n]*\])?([*_`#])(\S|\S.*?\S)\1(?!\w)")
_RAISED = re.compile(r"(?<!\\)([\^~])(\S+?)\1")
_ESCAPE = re.compile(r"\\(?=[*_`#^~+{\[<&\\]|\w+:)")
_QUOTES = re.compile(r"(?<!\w)\"`(.+?)`\"(?!\w)|(?<!\w)'`(.+?)`'(?!\w)")


def title_and_anchor(source: str) -> tuple[str, str | None]:
    """The text of a title, attribute references as they stand, and the id that it sets."""
    found = list(_ANCHOR.finditer(source))
    anchor = (found[-1].group(1) or found[-1].group(2)) if found else None
    return visible_text(_ANCHOR.sub("", source)).strip(), anchor


def visible_text(source: str) -> str:
    """A line without markup: links and cross references by the text that they show."""
    if not any(mark in source for mark in "*_`#^~+[<\\({"):
        return source
    kept: list[str] = []

    def restored(text: str) -> str:
        return _KEPT.sub(lambda match: kept[int(match.group(1))], text)

    def keep(text: str) -> str:
        kept.append(restored(text))
        return f"\0{len(kept) - 1}\0"

    text = source.replace("\0", "")
    text = _PASS.sub(lambda match: keep(match.group(1) or match.group(2) or ""), text)
    text = re.sub(r"\\?\{[\w-]+\}", lambda match: keep(match.group().lstrip("\\")), text)
    text = _LITERAL_MONO.sub(lambda match: keep(match.group(1) or match.group(2)), text)
    text = _URL.sub(lambda match: _link_text(match.group(2)) or match.group(1), text)
    text = _MACRO.sub(_macro_text, text)
    text = _CROSS_REFERENCE.sub(lambda match: match.group(2) or f"[{match.group(1)}]", text)
    text = _INDEX_TERM.sub(lambda match: match.group(2) or "", text)
    text = _QUOTES.sub(lambda m: f'"{m.group(1)}"' if m.group(1) else f"'{m.group(2)}'", text)
    for pattern in (_UNCONSTRAINED, _CONSTRAINED, _CONSTRAINED, _RAISED):
        text = pattern.sub(lambda match: match.group(2), text)
    text = _ESCAPE.sub("", text)
    return restored(text)


def _macro_text(match: re.Match[str]) -> str:
    name = match.group().partition(":")[0]
    target, text = match.group(1), _link_text(match.group(2))
    if name in {"footnote", "indexterm"}:
        return ""
    if name in {"image", "icon"}:
        return text or target.rpartition("/")[2].partition(".")[0]
    return text or target


def _link_text(attributes: str) -> str:
    """The text of a link, before any named attribute."""
    text = attributes.replace("\\]", "]")
    if text.startswith('"') and (end := text.find('"', 1)) > 0:
        return text[1:end]
    before, _, named = text.partition(",")
    return before.rstrip("^") if re.match(r"\s*[\w-]+=", named) else text.rstrip("^")
