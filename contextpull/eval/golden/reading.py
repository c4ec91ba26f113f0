"""A golden file as it stands, line by line, with every fault at its line and column.

Lines are UTF-8, their texts NFC, and only LF ends one. A byte order mark is passed over.
"""

import codecs
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from contextpull.adapters.lines import numbered_lines
from contextpull.errors import EvaluationError
from contextpull.eval.golden.schema import BLANK_QUESTION, FIELDS, GoldenRow

Place = tuple[str | int, ...]
"""Where in a record something stands: `("expected", 0)`; the empty one is the record itself."""

_SHOWN_CHARS = 60
BEDROCK_MARK = b'"conversationTurns"'
"""What the first line of a Bedrock dataset holds, readable or not."""
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029]")
_SPACE = tuple(" \t\r\n")
_MARKS = {  # that of UTF-32 begins as that of UTF-16 does
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_KINDS = {
    "string_type": "must be text",
    "list_type": "must be a list of texts",
    "bool_type": "must be true or false",
}


class Fault(NamedTuple):
    """Something that is wrong, at a line and a column, both from 1; columns count characters."""

    line: int
    column: int
    message: str

    def at(self, place: str) -> str:
        """The fault as one line, as compilers write it; `place` names the file."""
        return f"{place}:{self.line}:{self.column}: {self.message}"


class Row(NamedTuple):
    """A line without a fault of its own."""

    line: int
    content: GoldenRow
    text: str

    @property
    def id(self) -> str:
        """The id that it gives, or else that of its line."""
        return self.content.id or f"q{self.line}"

    def fault(self, place: Place, message: str) -> Fault:
        """What is wrong at a place of the row."""
        return Fault(self.line, _places(self.text).get(place, _START).column, message)


@dataclass(slots=True)
class GoldenFile:
    """What a file holds; rows with a fault of their own are among the faults alone."""

    rows: list[Row] = field(default_factory=list)
    unfilled: list[Row] = field(default_factory=list)
    """Template rows, whose question is still to be written."""
    faults: list[Fault] = field(default_factory=list)
    """By line and column."""


def read_rows(path: Path) -> GoldenFile:
    """The rows and faults of a file.

    Raises `EvaluationError` for a file that cannot be read, and for a Bedrock dataset, which names
    nothing that is expected.
    """
    return rows_of(_plain_lines(path))


def rows_of(lines: Iterable[tuple[int, bytes]]) -> GoldenFile:
    """The rows and faults of lines with their numbers; ids and questions must differ."""
    read = GoldenFile()
    returns: list[Fault] = []
    for number, line in lines:
        for row in _rows_of_line(number, line, read.faults, returns):
            (read.rows if row.content.question.strip() else read.unfilled).append(row)
    if returns:
        alike = f", one of {len(returns)} lines that do" if len(returns) > 1 else ""
        read.faults.append(
            returns[0]._replace(message=f"ends in CR LF{alike}; end lines in LF alone")
        )
    read.faults += _repeated_ids([*read.rows, *read.unfilled])
    read.faults += _repeated_questions(read.rows)
    read.faults.sort()
    return read


def same_question(text: str) -> str:
    """A question without what makes no other one of it: case, normal form, white space."""
    composed = unicodedata.normalize("NFC", text.casefold())
    return " ".join(unicodedata.normalize("NFC", composed.casefold()).split())


def on_one_line(text: str, most: int) -> str:
    """A text without its line ends, cut behind so many characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}…"


def _plain_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for number, line in numbered_lines(path):
        if number == 1 and BEDROCK_MARK in line:
            raise EvaluationError(
                f"{path} is a Bedrock dataset, which does not say which documents are right. "
                f"Label it first: contextpull golden label {path} --out golden.jsonl"
            )
        encoding = next((name for mark, name in _MARKS.items() if line.startswith(mark)), None)
        if number == 1 and encoding:
            raise EvaluationError(f"{path}:1:1: The file is {encoding}. Save it as UTF-8.")
        yield number, line


def _rows_of_line(
    number: int, line: bytes, faults: list[Fault], returns: list[Fault]
) -> Iterator[Row]:
    """The row of one line, or none, with its faults noted."""
    try:
        text = line.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        faults.append(
            Fault(number, column, f"byte 0x{line[error.start]:02x} is not UTF-8; save as UTF-8")
        )
        return
    if text.endswith("\r"):
        text = text[:-1]
        returns.append(Fault(number, len(text) + 1, ""))
    other = _OTHER_BREAKS.search(text)
    if other:
        faults.append(Fault(number, other.start() + 1, _break_message(other[0])))
        return
    try:
        yield Row(number, GoldenRow.model_validate(_record(text)), text)
    except ValidationError as error:
        faults.extend(_faults_of(number, text, error))
    except _Unusable as error:
        faults.append(Fault(number, error.column, str(error)))


def _break_message(char: str) -> str:
    if char == "\r":
        return "holds a CR; end lines in LF alone"
    return (
        f"holds a bare U+{ord(char):04X}, which many programs take for the end of a line; "
        f"write \\u{ord(char):04x}"
    )


class _Unusable(Exception):
    """A line that holds no record that could be looked at."""

    def __init__(self, column: int, message: str) -> None:
        self.column = column
        super().__init__(message)


def _record(text: str) -> dict[str, Any]:
    """The object of a line."""
    repeated = False

    def counted(found: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        record = dict(found)
        repeated = repeated or len(record) < len(found)
        return record

    try:
        # No field takes a number, so that its digits, however many, need not be read.
        record = json.loads(text, object_pairs_hook=counted, parse_int=lambda _: 0)
    except json.JSONDecodeError as error:
        raise _Unusable(error.colno, f"not JSON: {error.msg}") from None
    except RecursionError:
        raise _Unusable(1, "nested too deeply") from None
    if not isinstance(record, dict):
        raise _Unusable(_behind_space(text, 0) + 1, f"not a JSON object but {_cut(text.strip())}")
    if repeated:
        _raise_repeated_field(text)
    return record


def _raise_repeated_field(text: str) -> None:
    seen: set[str] = set()
    for name, name_at, _, _ in _members(text):
        if name in seen:
            raise _Unusable(name_at + 1, f"the field {_shown(name)} stands there twice")
        seen.add(name)


def _faults_of(number: int, text: str, error: ValidationError) -> Iterator[Fault]:
    places = _places(text)
    details = error.errors(include_url=False, include_context=False)
    missing = [str(each["loc"][0]) for each in details if each["type"] == "missing"]
    for each in details:
        place = ("question",) if each["type"] == BLANK_QUESTION else each["loc"]
        found = places.get(place, _START)
        message = _message(each["type"], each["msg"], place, found.value, missing)
        yield Fault(number, found.column, message)


def _message(kind: str, message: str, place: Place, value: str, missing: list[str]) -> str:
    name = _shown(str(place[0])) + "".join(f"[{at}]" for at in place[1:])
    if kind == "missing":
        return f"the field {name} is missing"
    if kind == "extra_forbidden":
        return f"there is no field {name}{_meant(str(place[0]), missing)}"
    if kind in _KINDS:
        hint = f"; write [{value}]" if kind == "list_type" and value.startswith('"') else ""
        return f"{name} {_KINDS[kind]}: {value}{hint}"
    return f"{name} {message.removeprefix('Value error, ')}: {value}"


def _meant(name: str, missing: list[str]) -> str:
    """Which field an unknown one stands for, as the end of a sentence; a missing one first."""
    for names in (missing, FIELDS):
        close = get_close_matches(name.casefold(), names, 1)
        if close:
            return f"; did you mean {_shown(close[0])}?"
    return f". Fields are {', '.join(FIELDS)}"


def _repeated_ids(rows: list[Row]) -> Iterator[Fault]:
    first: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.line):
        earlier = first.setdefault(row.id, row)
        if earlier is not row:
            given = (
                "" if row.content.id and earlier.content.id else " (a row without id has q<line>)"
            )
            message = f"the id {_shown(row.id)} already stands in line {earlier.line}{given}"
            yield row.fault(("id",), message)


def _repeated_questions(rows: list[Row]) -> Iterator[Fault]:
    first: dict[str, Row] = {}
    for row in rows:
        earlier = first.setdefault(same_question(row.content.question), row)
        if earlier is not row:
            message = f"the question of line {earlier.line} again; make one row of both"
            yield row.fault(("question",), message)


class _Found(NamedTuple):
    """Where something stands in a line, and the start of how it is written there."""

    column: int
    value: str


_START = _Found(1, "")


def _places(text: str) -> dict[Place, _Found]:
    """Where each field begins, and each item of a list, in the text of a JSON object."""
    places: dict[Place, _Found] = {}
    for name, name_at, start, end in _members(text):
        places[name,] = _Found(name_at + 1, _cut(text[start:end]))
        if text[start] == "[":
            for index, (item_at, item_end) in enumerate(_items(text, start)):
                places[name, index] = _Found(item_at + 1, _cut(text[item_at:item_end]))
    return places


def _members(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Each field of a JSON object: its name, where that begins, where its value begins and ends."""
    at = _behind_space(text, _behind_space(text, 0) + 1)
    while text[at] != "}":
        name_at = at
        name, at = _value(text, at)
        start = _behind_space(text, _behind_space(text, at) + 1)  # behind the colon
        _, end = _value(text, start)
        yield name, name_at, start, end
        at = _behind_comma(text, end)


def _items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where each item of the JSON list at `start` begins and ends."""
    at = _behind_space(text, start + 1)
    while text[at] != "]":
        _, end = _value(text, at)
        yield at, end
        at = _behind_comma(text, end)


_DECODER = json.JSONDecoder(parse_int=lambda _: 0)


def _value(text: str, at: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(text, at)


def _behind_comma(text: str, at: int) -> int:
    at = _behind_space(text, at)
    return _behind_space(text, at + 1) if text[at] == "," else at


def _behind_space(text: str, at: int) -> int:
    while text[at : at + 1] in _SPACE:
        at += 1
    return at


def _shown(text: str) -> str:
    return _cut(json.dumps(text, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
