"""The JSON-lines files that ragbisect and ContextPull exchange: questions and passages.

    questions  {"id", "q", "shape", "gold_chunk_ids", "answer", "source", "identifier"}
    passages   {"id", "text", "source"}

One JSON object a line, UTF-8. Of a question, `answer`, `source` and `identifier` may be absent.
Blank lines and a byte order mark are passed over; anything else that is wrong is a fault,
and a file with faults is refused whole: a question that is silently left out changes every score.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO

from contextpull.adapters.files import replacing
from contextpull.adapters.lines import (
    Faults,
    Fields,
    Item,
    Record,
    first_repeated,
    item_of,
    load_items,
    shown,
)
from contextpull.errors import EvaluationError
from contextpull.types import Passage, Question

_QUESTION_FIELDS = ("id", "q", "shape", "gold_chunk_ids", "answer", "source", "identifier")


def load_questions(path: str | os.PathLike[str]) -> list[Question]:
    """The questions of a file, in its order; unknown fields end up in `Question.extra`.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count).
    """
    return load_items(Path(path), "questions", _Fields, _question)


def load_passages(path: str | os.PathLike[str]) -> list[Passage]:
    """The passages of a file, in its order; unknown fields are left out.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count).
    """
    return load_items(Path(path), "passages", _Fields, _passage)


def save_questions(path: str | os.PathLike[str], questions: Iterable[Question]) -> None:
    """Write questions so that `load_questions` returns equal ones; the file appears whole or not.

    Raises `EvaluationError` for questions that would not load again, and for an unwritable path.
    """
    faults = Faults(f"the questions for {path}", place="question ")
    lines = list(_lines(map(_question_record, questions), _question, faults))
    faults.raise_if_any()
    with replacing(Path(path)) as stream:
        stream.writelines(lines)


def save_passages(
    path_or_stream: str | os.PathLike[str] | TextIO, passages: Iterable[Passage]
) -> None:
    """Write passages so that `load_passages` returns equal ones, without holding them all.

    A file appears whole or not at all; a stream gets the lines up to the first fault.
    Raises `EvaluationError` that lists the passages that would not load again.
    """
    if isinstance(path_or_stream, (str, os.PathLike)):
        with replacing(Path(path_or_stream)) as stream:
            save_passages(stream, passages)
        return
    faults = Faults("the passages", place="passage ")
    for line in _lines(map(_passage_record, passages), _passage, faults):
        path_or_stream.write(line)
    faults.raise_if_any()


def _question_record(question: Question) -> Record:
    clash = sorted(set(question.extra) & set(_QUESTION_FIELDS))
    if clash:
        raise EvaluationError(
            f"Question {shown(question.id)} has the extra field {clash[0]!r}, "
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


class _Fields(Fields):
    known = _QUESTION_FIELDS

    def label(self, name: str) -> str:
        """A filled text without white space around it, which would make two groups of one."""
        value = self.filled(name)
        if value.strip() and value != value.strip():
            self.faults.append(f"{name!r} has white space around it: {shown(value)}")
        return value

    def section_ids(self, name: str) -> tuple[str, ...]:
        """A list of at least one section id, none twice."""
        if name not in self.record:
            self.faults.append(f"{name!r} is missing{self.misspelling(name)}")
            return ()
        value = self.record[name]
        if not isinstance(value, list):
            self.faults.append(f"{name!r} must be a list of section ids, not {shown(value)}")
            return ()
        if not value:
            self.faults.append(f"{name!r} is empty; a question needs at least one section id")
        ids = [item for item in value if isinstance(item, str)]
        for item in value:
            if isinstance(item, str):
                self.check_filled(name, item)
            else:
                self.faults.append(f"{name!r} must hold section ids, not {shown(item)}")
        repeated = first_repeated(ids)
        if repeated is not None:
            self.faults.append(f"{name!r} names {shown(repeated)} more than once")
        return tuple(ids)


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


def _lines(
    records: Iterable[Record], build: Callable[[_Fields], Item], faults: Faults
) -> Iterator[str]:
    """Each record as a line, checked by what will read it; stops writing at the first fault."""
    for number, record in enumerate(records, start=1):
        try:
            line = json.dumps(record, ensure_ascii=False, allow_nan=False)
            item_of(line.encode(), _Fields, build, number, faults)
        except (TypeError, ValueError, RecursionError) as error:
            faults.add(number, f"cannot be written as JSON: {error}")
        if not faults.count:
            yield line + "\n"
