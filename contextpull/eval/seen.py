"""Which sections a tool's result showed, told from its text as the model saw it.

What a document says must not count as what the tool says: a section may quote a whole result of
`read`. So a result counts only where it is built as `retrieval.rendering` builds it. The head of
a section tells how many lines its text has; what lies in them is never looked at, and behind them
only the ends that a section may have are accepted. Results of `serve --structured` are read too.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from contextpull.eval.measures import distinct
from contextpull.retrieval.paths import normal_path

_HEAD = re.compile(r"\[(.+?#[^\s#]+)\] ")
_PLACE = re.compile(r" \(lines (\d{1,9})-(\d{1,9})(?:, p\. [\d-]+)?(?:, context)?\)")
_REPEATED = "[the table goes on; its header, repeated:]"
_HEADER_LINES = (2, *(count for count in range(1, 13) if count != 2))
"""A pipe table's header has two; others may have any number."""
_BESIDE = re.compile(r"\[(?:previous: .+|next: .+)\]")
_CHANGED = re.compile(r"\[CHANGED since you last saw it: .*\]\n")
_CUT = re.compile(
    r"\n\[cut: characters ([\d,]+) to ([\d,]+) of [\d,]+;"
    r" go on with the same ids and offset=\d+\]\Z"
)
_NOTHING_LEFT = "Nothing left: the text ends at character "
_HIT = re.compile(r"(\d+)\. (.+?#[^\s#]+)(?: \| .*)?")
_COPIES = "   same text: "
_MORE_COPIES = re.compile(r" and \d+ more\Z")
_FOUND = re.compile(r"(?:At least )?[\d,]+ lines? in [\d,]+ documents?\.")
_LINE = re.compile(r"\d+[:-] ")
_TITLE = re.compile(r"(.+?#[^\s#]+)(?: \| .*)?")
_REPLACED = re.compile(
    r"<persisted-output>\s|Error: result \([\d,]+ characters.{0,80}exceeds maximum allowed tokens"
)
_WRAPPING = " \t\n`'\"<>[]()"


class Seen(NamedTuple):
    """Ids of sections, in order, each once."""

    read: tuple[str, ...] = ()
    """Those whose text was returned verbatim, context included, also where a page ended in it."""
    surfaced: tuple[str, ...] = ()
    """Those that a search or a grep pointed to, sections with the same text included."""


def seen(tool: str, text: str, arguments: object = None) -> Seen:
    """What a successful call of `tool` showed; nothing where the text is not one of ours.

    `arguments` are those of the call, where they are known: what was read must belong to a document
    that was asked for. A text that a host put in place of one too large shows nothing.
    """
    if is_replaced(text):
        return Seen()
    given = arguments if isinstance(arguments, Mapping) else {}
    data = _json_object(text)
    if tool == "read":
        asked = _asked(given)
        found = _read_of_data(data) if data else _read_of_text(text, given, asked)
        return Seen(read=distinct(each for each in found if not asked or _belongs(each, asked)))
    if tool == "search":
        return Seen(surfaced=distinct(_ids(_entries(data, "hits")) if data else _hits(text)))
    if tool == "grep":
        return Seen(surfaced=distinct(_ids(_entries(data, "matches")) if data else _titles(text)))
    return Seen()


def texts_read(text: str, arguments: object = None) -> dict[str, str]:
    """The texts of the sections in a successful result of `read`, by id.

    Only those of a first page, in full: nothing of a section that the page was cut in.
    """
    given = arguments if isinstance(arguments, Mapping) else {}
    if data := _json_object(text):
        found = [(each.get("id"), each.get("text")) for each in _entries(data, "sections")]
        return {name: body for name, body in found if name and isinstance(body, str)}
    if is_replaced(text) or given.get("offset"):
        return {}
    return dict(_page(text, _asked(given)).texts())


def is_replaced(text: str) -> bool:
    """Whether a host kept the result from the model, and said where it saved it instead."""
    return bool(_REPLACED.match(text.lstrip()))


def _asked(arguments: Mapping[Any, Any]) -> tuple[str, ...]:
    """The ids or paths that a call of read asked for, as they were written."""
    value = arguments.get("ids", arguments.get("id"))
    values = value if isinstance(value, (list, tuple)) else [value]
    return tuple(each for each in values if isinstance(each, str) and each.strip())


def _belongs(section_id: str, asked: tuple[str, ...]) -> bool:
    """Whether a section is of a document that was asked for, wholly or in part."""
    document = _folded(section_id.rpartition("#")[0])
    wanted = {form for each in asked for form in (each, each.strip(_WRAPPING))}
    return any(document in (_folded(each), _folded(each.rpartition("#")[0])) for each in wanted)


def _folded(path: str) -> str:
    return normal_path(path).lower()


def _json_object(text: str) -> dict[str, Any]:
    """The result as data where it is nothing but that; else nothing."""
    if not text.startswith("{"):
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _entries(data: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of the list under a key; none where there is no list."""
    entries = data.get(key)
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _ids(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The ids of entries, and of their copies."""
    found: list[Any] = []
    for entry in entries:
        copies = entry.get("copies")
        found += [entry.get("id"), *(copies if isinstance(copies, list) else ())]
    return [each for each in found if isinstance(each, str) and "#" in each]


def _read_of_data(data: Mapping[str, Any]) -> list[str]:
    return _ids(each for each in _entries(data, "sections") if each.get("text"))


def _hits(text: str) -> list[str]:
    """Hits are numbered without a gap; their other lines are indented."""
    found: list[str] = []
    expected: int | None = None
    for line in text.split("\n"):
        hit = _HIT.fullmatch(line)
        if hit and expected in (None, int(hit[1])):
            expected = int(hit[1]) + 1
            found.append(hit[2])
        elif expected and line.startswith(_COPIES):
            copies = _MORE_COPIES.sub("", line.removeprefix(_COPIES)).split(", ")
            found += [each for each in copies if "#" in each]
    return found


def _titles(text: str) -> list[str]:
    """Sections stand alone on a line, above the numbered lines of theirs."""
    first, *lines = text.split("\n")
    if not _FOUND.fullmatch(first):
        return []
    return [
        title[1]
        for line, below in pairwise(lines)
        if not _LINE.match(line) and _LINE.match(below) and (title := _TITLE.fullmatch(line))
    ]


def _read_of_text(
    text: str, arguments: Mapping[Any, Any], asked: tuple[str, ...]
) -> tuple[str, ...]:
    page = _page(text, asked)
    if not arguments.get("offset"):
        return page.sections_from_first_line() or _named(text, asked)
    if text.startswith(_NOTHING_LEFT):
        return ()
    is_one = len(asked) == 1 and "#" in asked[0] and not arguments.get("context")
    return (*(asked if is_one else ()), *page.sections_from_any_head())


def _page(text: str, asked: tuple[str, ...]) -> "_Page":
    text = _CHANGED.sub("", text, count=1) if _CHANGED.match(text) else text
    cut = _CUT.search(text)
    is_cut = cut is not None and _number(cut[2]) - _number(cut[1]) == cut.start()
    return _Page(text[: cut.start()] if cut and is_cut else text, asked, is_cut)


def _named(text: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The ids that were asked for and that begin a line in brackets, in another tool's `read`."""
    lines = text.split("\n")
    return tuple(each for each in asked if any(line.startswith(f"[{each}]") for line in lines))


def _number(written: str) -> int:
    return int(written.replace(",", ""))


class _Head(NamedTuple):
    """The line before a section's text."""

    section_id: str
    lines: int
    """How many its text has, blank ones around it aside."""


class _Page:
    """The lines of a result of read, and at which of them a section can begin and end.

    Worked out from the last line to the first: a section ends where only what may stand behind
    one is left, up to the next section or to the end.
    """

    def __init__(self, text: str, asked: tuple[str, ...], is_cut: bool) -> None:
        self._lines = text.split("\n")
        self._asked = asked
        self._is_cut = is_cut
        self._text_from = [len(self._lines)] * (len(self._lines) + 1)
        """By line: the first from there on that is not blank."""
        self._heads: dict[int, _Head] = {}
        self._next: dict[int, int] = {}
        """By the line that a section ends before: the next head's line, or that of the end."""
        self._ends: list[int] = []
        """The same lines, negated, so that they ascend."""
        self._end_of: dict[int, int] = {}
        """By the line of a head: the line that its section ends before."""
        self._work_out()

    def sections_from_first_line(self) -> tuple[str, ...]:
        """The sections of a first page; none when it is not one."""
        return self._from(0) if 0 in self._end_of else ()

    def texts(self) -> list[tuple[str, str]]:
        """The sections of a first page with their texts; without the one that it was cut in."""
        spans = self._spans(0) if 0 in self._end_of else []
        whole = spans[:-1] if self._is_cut else spans
        return [
            (self._heads[line].section_id, "\n".join(self._lines[line + 1 : end]).strip("\n"))
            for line, end in whole
        ]

    def sections_from_any_head(self) -> tuple[str, ...]:
        """The sections that begin on a later page, which itself begins inside of one."""
        for line in sorted(self._end_of):
            if line == 0 or not self._lines[line - 1]:
                return self._from(line)
        return ()

    def _from(self, line: int) -> tuple[str, ...]:
        return tuple(self._heads[head].section_id for head, _ in self._spans(line))

    def _spans(self, line: int) -> list[tuple[int, int]]:
        """The lines of the heads from this one on, and the lines that their sections end before."""
        found = []
        while line < len(self._lines):
            end = self._end_of[line]
            if any(self._lines[line + 1 : end]):  # else the page ends behind the head
                found.append((line, end))
            line = self._next[end]
        return found

    def _work_out(self) -> None:
        last = len(self._lines)
        for line in range(last, -1, -1):
            if line < last:
                is_blank = not self._lines[line].strip()
                self._text_from[line] = self._text_from[line + 1] if is_blank else line
            following = self._following(line)
            if following is not None:
                self._next[line] = following
                self._ends.append(-line)
            if line < last and (head := self._head(line)):
                end = self._end(line, head)
                if end is not None:
                    self._heads[line], self._end_of[line] = head, end

    def _head(self, line: int) -> _Head | None:
        text = self._lines[line]
        name = _HEAD.match(text)
        place = _PLACE.fullmatch(text, text.rfind(" (lines ")) if name else None
        if not name or not place or (self._asked and not _belongs(name[1], self._asked)):
            return None
        lines = int(place[2]) - int(place[1]) + 1
        return _Head(name[1], lines) if lines > 0 else None

    def _following(self, line: int) -> int | None:
        """Where it goes on when a section ends before `line`; None when it cannot end there."""
        last = len(self._lines)
        behind = self._text_from[line]
        if behind < last and _BESIDE.fullmatch(self._lines[behind]):
            line, behind = behind + 1, self._text_from[behind + 1]
        if behind == last:
            return last
        if behind in self._end_of and behind > line and not self._lines[behind - 1]:
            return behind
        cut_short = self._is_cut and behind >= last - 2 and self._lines[behind].startswith("[")
        return last if cut_short else None

    def _end(self, line: int, head: _Head) -> int | None:
        """The line that the section ends before; None when nothing fits.

        Blank lines before its text are counted in the head but not shown, so it may end earlier.
        """
        last = len(self._lines)
        earlier = []
        for start in self._starts(line + 1):
            end = start + head.lines
            if start < last and 0 < self._lines[start].rstrip().count("\r") < head.lines:
                end = start + 1  # its lines end at CR
            if end in self._next or (end > last and self._is_cut):
                return min(end, last)
            at = bisect_left(self._ends, -min(end, last))
            if at < len(self._ends) and -self._ends[at] > start:
                earlier.append(-self._ends[at])
        return earlier[0] if earlier else None

    def _starts(self, line: int) -> tuple[int, ...]:
        """The lines that the text may begin on: behind a table's repeated header, if it has one."""
        if line < len(self._lines) and self._lines[line] == _REPEATED:
            return tuple(line + 1 + header for header in _HEADER_LINES)
        return (line,)
