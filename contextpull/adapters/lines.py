"""Files of one record a line, read strictly: every fault with its line, none passed over.

Blank lines and a byte order mark are no faults. Lines end in LF or CRLF.
"""

import codecs
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from contextpull.errors import EvaluationError

FAULTS_SHOWN = 20
_VALUE_CHARS = 60

Record = dict[str, object]


class Identified(Protocol):
    """A record that has an id of its own within its file."""

    @property
    def id(self) -> str: ...  # noqa: D102


Item = TypeVar("Item", bound=Identified)


@dataclass(slots=True)
class Faults:
    """Everything that is wrong with one file; keeps the first few, counts the rest."""

    subject: str
    place: str
    """What stands before the number of a fault's line: `questions.jsonl:`."""
    first: list[str] = field(default_factory=list)
    count: int = 0
    _number_of: dict[str, int] = field(default_factory=dict)

    def add_if_repeated(self, number: int, identity: str) -> None:
        """A fault when another line had this id."""
        earlier = self._number_of.setdefault(identity, number)
        if earlier != number:
            self.add(number, f"the id {shown(identity)} already stands in {self.place}{earlier}")

    def add(self, number: int, what: str) -> None:
        """Note what is wrong with a line."""
        self.count += 1
        if len(self.first) < FAULTS_SHOWN:
            self.first.append(f"{self.place}{number}: {what}")

    def raise_if_any(self) -> None:
        """Raise `EvaluationError` that lists the faults noted so far."""
        if not self.count:
            return
        noun = "fault" if self.count == 1 else "faults"
        cut = f" (the first {FAULTS_SHOWN} follow)" if self.count > FAULTS_SHOWN else ""
        head = f"Cannot use {self.subject}: {self.count} {noun}{cut}. Correct and try again."
        raise EvaluationError("\n  ".join([head, *self.first]))


class Fields:
    """Reads the fields of one record and notes what is wrong with each."""

    known: ClassVar[tuple[str, ...]] = ()
    """The names that the format defines: none of them is taken for another one misspelt."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.faults: list[str] = []

    def filled(self, name: str) -> str:
        """A text that is there and not blank; a section id may begin with a space, as files do."""
        value = self.text(name, required=True)
        if isinstance(self.record.get(name), str):
            self.check_filled(name, value)
        return value

    def text(self, name: str, *, required: bool = False) -> str:
        """A text; where it may be absent and is, the empty one."""
        if name not in self.record:
            if required:
                self.faults.append(f"{name!r} is missing{self.misspelling(name)}")
            return ""
        value = self.record[name]
        if isinstance(value, str):
            return value
        hint = "" if required else '; leave it out or write ""'
        self.faults.append(f"{name!r} must be text, not {shown(value)}{hint}")
        return ""

    def check_filled(self, name: str, value: str) -> None:
        """A fault when the value is blank."""
        if not value.strip():
            self.faults.append(f"{name!r} must not be blank")

    def misspelling(self, name: str) -> str:
        """A guess which unknown field was meant, as the end of a sentence; may be empty."""
        # Imported here because only a faulty file needs it.
        from difflib import get_close_matches

        unknown = [key for key in self.record if key not in self.known]
        close = get_close_matches(name, unknown, n=1)
        return f"; is {shown(close[0])} meant?" if close else ""


AnyFields = TypeVar("AnyFields", bound=Fields)


def load_items(
    path: Path, noun: str, fields: type[AnyFields], build: Callable[[AnyFields], Item]
) -> list[Item]:
    """What `build` makes of each line of a JSON-lines file, in order; ids must differ.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count).
    """
    faults = Faults(str(path), place=f"{path}:")
    items = []
    for number, line in numbered_lines(path):
        item = item_of(line, fields, build, number, faults)
        if item is not None:
            items.append(item)
    faults.raise_if_any()
    if not items:
        raise EvaluationError(f"{path} holds no {noun}. Give a file with one JSON object a line.")
    return items


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1; bytes, so that only LF ends one."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if text.strip():
                    yield number, text
    except FileNotFoundError:
        raise EvaluationError(f"There is no file {path}. Check the path.") from None
    except OSError as error:
        raise EvaluationError(f"Cannot read {path}: {error.strerror}.") from error


def item_of(
    line: bytes,
    fields_type: type[AnyFields],
    build: Callable[[AnyFields], Item],
    number: int,
    faults: Faults,
) -> Item | None:
    """What one line holds, or nothing when it is unusable, with its faults noted."""
    try:
        record = record_of(line)
    except ValueError as error:
        faults.add(number, str(error))
        return None
    fields = fields_type(record)
    item = build(fields)
    for fault in fields.faults:
        faults.add(number, fault)
    if item.id:
        faults.add_if_repeated(number, item.id)
    return item


def decoded(line: bytes) -> str:
    """A line as text; a `ValueError` whose text is the fault, else."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start + 1} of the line") from None


def record_of(line: bytes) -> Record:
    """The JSON object of one line; a `ValueError` whose text is the fault, else."""
    try:
        value = json.loads(
            decoded(line),
            object_pairs_hook=_object,
            parse_float=_finite,
            parse_constant=_finite,
        )
        if b"\\u" in line:  # only an escape can bring in half of a surrogate pair
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but {shown(value)}")  # noqa: TRY004 - a fault of the line
    return value


def first_repeated(items: Iterable[str]) -> str | None:
    """The first item that came before; None where all differ."""
    seen: set[str] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None


def shown(value: object) -> str:
    """A value as JSON writes it, cut to what a message can hold."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except RecursionError:  # what is deep enough is read, and can still not be written
        return "something nested too deeply"
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"


def _object(pairs: list[tuple[str, object]]) -> Record:
    record = dict(pairs)
    repeated = first_repeated(name for name, _ in pairs)
    if repeated is not None:
        raise ValueError(f"the field {shown(repeated)} stands there twice")
    return record


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{shown(text)} is no JSON number")
    return number
