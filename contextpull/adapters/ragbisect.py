"""The JSON-lines files that ragbisect and ContextPull exchange: questions and passages.

    questions  {"id", "q", "shape", "gold_chunk_ids", "answer", "source", "identifier"}
    passages   {"id", "text", "source"}

One JSON object a line, UTF-8. Of a question, `answer`, `source` and `identifier` may be absent.
Blank lines and a byte order mark are passed over; anything else that is wrong is a fault,
and a file with faults is refused whole: a question that is silently left out changes every score.
"""

import codecs
import json
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, TypeVar

from contextpull.errors import EvaluationError
from contextpull.types import Passage, Question

FAULTS_SHOWN = 20
_QUESTION_FIELDS = ("id", "q", "shape", "gold_chunk_ids", "answer", "source", "identifier")
_VALUE_CHARS = 60

Record = dict[str, object]
Item = TypeVar("Item", Question, Passage)


def load_questions(path: str | os.PathLike[str]) -> list[Question]:
    """The questions of a file, in its order; unknown fields end up in `Question.extra`.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count).
    """
    return _load(Path(path), "questions", _question)


def load_passages(path: str | os.PathLike[str]) -> list[Passage]:
    """The passages of a file, in its order; unknown fields are left out.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count).
    """
    return _load(Path(path), "passages", _passage)


def save_questions(path: str | os.PathLike[str], questions: Iterable[Question]) -> None:
    """Write questions so that `load_questions` returns equal ones; the file appears whole or not.

    Raises `EvaluationError` for questions that would not load again, and for an unwritable path.
    """
    faults = _Faults(f"the questions for {path}", place="question ")
    lines = list(_lines(map(_question_record, questions), _question, faults))
    faults.raise_if_any()
    with _replacing(Path(path)) as stream:
        stream.writelines(lines)


def save_passages(
    path_or_stream: str | os.PathLike[str] | TextIO, passages: Iterable[Passage]
) -> None:
    """Write passages so that `load_passages` returns equal ones, without holding them all.

    A file appears whole or not at all; a stream gets the lines up to the first fault.
    Raises `EvaluationError` that lists the passages that would not load again.
    """
    if isinstance(path_or_stream, (str, os.PathLike)):
        with _replacing(Path(path_or_stream)) as stream:
            save_passages(stream, passages)
        return
    faults = _Faults("the passages", place="passage ")
    for line in _lines(map(_passage_record, passages), _passage, faults):
        path_or_stream.write(line)
    faults.raise_if_any()


def _question_record(question: Question) -> Record:
    clash = sorted(set(question.extra) & set(_QUESTION_FIELDS))
    if clash:
        raise EvaluationError(
            f"Question {_shown(question.id)} has the extra field {clash[0]!r}, "
            "which the format itself defines. Rename it."
        )
    return {
        "id": question.id,
        "q": question.text,
        "shape": question.shape,
        "gold_chunk_ids": list(question.gold),
        "answer": question.answer,
        "source": question.source,
        "identifier": question.identifier,
        **question.extra,
    }


def _passage_record(passage: Passage) -> Record:
    return {"id": passage.id, "text": passage.text, "source": passage.source}


@dataclass(slots=True)
class _Faults:
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
            self.add(number, f"the id {_shown(identity)} already stands in {self.place}{earlier}")

    def add(self, number: int, what: str) -> None:
        self.count += 1
        if len(self.first) < FAULTS_SHOWN:
            self.first.append(f"{self.place}{number}: {what}")

    def raise_if_any(self) -> None:
        if not self.count:
            return
        noun = "fault" if self.count == 1 else "faults"
        shown = f" (the first {FAULTS_SHOWN} follow)" if self.count > FAULTS_SHOWN else ""
        head = f"Cannot use {self.subject}: {self.count} {noun}{shown}. Correct and try again."
        raise EvaluationError("\n  ".join([head, *self.first]))


class _Fields:
    """Reads the fields of one record and notes what is wrong with each."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.faults: list[str] = []

    def filled(self, name: str) -> str:
        """A text that is there and not blank; a section id may begin with a space, as files do."""
        value = self.text(name, required=True)
        if isinstance(self.record.get(name), str):
            self._check_filled(name, value)
        return value

    def label(self, name: str) -> str:
        """Such a text without white space around it, which would make two groups of one."""
        value = self.filled(name)
        if value.strip() and value != value.strip():
            self.faults.append(f"{name!r} has white space around it: {_shown(value)}")
        return value

    def text(self, name: str, *, required: bool = False) -> str:
        if name not in self.record:
            if required:
                self.faults.append(f"{name!r} is missing{self._misspelling(name)}")
            return ""
        value = self.record[name]
        if isinstance(value, str):
            return value
        hint = "" if required else '; leave it out or write ""'
        self.faults.append(f"{name!r} must be text, not {_shown(value)}{hint}")
        return ""

    def section_ids(self, name: str) -> tuple[str, ...]:
        """A list of at least one section id, none twice."""
        if name not in self.record:
            self.faults.append(f"{name!r} is missing{self._misspelling(name)}")
            return ()
        value = self.record[name]
        if not isinstance(value, list):
            self.faults.append(f"{name!r} must be a list of section ids, not {_shown(value)}")
            return ()
        if not value:
            self.faults.append(f"{name!r} is empty; a question needs at least one section id")
        ids = [item for item in value if isinstance(item, str)]
        for item in value:
            if isinstance(item, str):
                self._check_filled(name, item)
            else:
                self.faults.append(f"{name!r} must hold section ids, not {_shown(item)}")
        repeated = _first_repeated(ids)
        if repeated is not None:
            self.faults.append(f"{name!r} names {_shown(repeated)} more than once")
        return tuple(ids)

    def _check_filled(self, name: str, value: str) -> None:
        if not value.strip():
            self.faults.append(f"{name!r} must not be blank")

    def _misspelling(self, name: str) -> str:
        # Imported here because only a faulty file needs it.
        from difflib import get_close_matches

        unknown = [key for key in self.record if key not in _QUESTION_FIELDS]
        close = get_close_matches(name, unknown, n=1)
        return f"; is {_shown(close[0])} meant?" if close else ""


def _question(fields: _Fields) -> Question:
    return Question(
        id=fields.label("id"),
        text=fields.filled("q"),
        shape=fields.label("shape"),
        gold=fields.section_ids("gold_chunk_ids"),
        answer=fields.text("answer"),
        source=fields.text("source"),
        identifier=fields.text("identifier"),
        extra={key: value for key, value in fields.record.items() if key not in _QUESTION_FIELDS},
    )


def _passage(fields: _Fields) -> Passage:
    return Passage(
        id=fields.filled("id"),
        text=fields.text("text", required=True),
        source=fields.text("source", required=True),
    )


def _load(path: Path, noun: str, build: Callable[[_Fields], Item]) -> list[Item]:
    faults = _Faults(str(path), place=f"{path}:")
    items = []
    for number, line in _numbered_lines(path):
        item = _item(line, build, number, faults)
        if item is not None:
            items.append(item)
    faults.raise_if_any()
    if not items:
        raise EvaluationError(f"{path} holds no {noun}. Give a file with one JSON object a line.")
    return items


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
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


def _item(
    line: bytes, build: Callable[[_Fields], Item], number: int, faults: _Faults
) -> Item | None:
    """What one line holds, or nothing when it is unusable, with its faults noted."""
    try:
        record = _record(line)
    except ValueError as error:
        faults.add(number, str(error))
        return None
    fields = _Fields(record)
    item = build(fields)
    for fault in fields.faults:
        faults.add(number, fault)
    if item.id:
        faults.add_if_repeated(number, item.id)
    return item


def _record(line: bytes) -> Record:
    """The JSON object of one line; a `ValueError` whose text is the fault, else."""
    try:
        value = json.loads(
            line.decode(),
            object_pairs_hook=_object,
            parse_float=_finite,
            parse_constant=_finite,
        )
        if b"\\u" in line:  # only an escape can bring in half of a surrogate pair
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start + 1} of the line") from None
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but {_shown(value)}")  # noqa: TRY004 - a fault of the line
    return value


def _object(pairs: list[tuple[str, object]]) -> Record:
    record = dict(pairs)
    repeated = _first_repeated(name for name, _ in pairs)
    if repeated is not None:
        raise ValueError(f"the field {_shown(repeated)} stands there twice")
    return record


def _first_repeated(items: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{_shown(text)} is no JSON number")
    return number


def _lines(
    records: Iterable[Record], build: Callable[[_Fields], Item], faults: _Faults
) -> Iterator[str]:
    """Each record as a line, checked by what will read it; stops writing at the first fault."""
    for number, record in enumerate(records, start=1):
        try:
            line = json.dumps(record, ensure_ascii=False, allow_nan=False)
            _item(line.encode(), build, number, faults)
        except (TypeError, ValueError, RecursionError) as error:
            faults.add(number, f"cannot be written as JSON: {error}")
        if not faults.count:
            yield line + "\n"


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A stream whose text becomes the file when the block ends well; else nothing changes."""
    target = Path(os.path.realpath(path))  # a link keeps pointing where it did
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except OSError as error:
        raise EvaluationError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        with suppress(OSError):  # after a replacement it is gone, in a wrong folder it never was
            temporary.unlink()


def _shown(value: object) -> str:
    """A value as JSON writes it, cut to what a message can hold."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"
