"""Asking a model to write: prompts whose passages stay data, answers that are kept and counted."""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contextpull.errors import ModelUnavailable
from contextpull.eval.generation.corpus import SourceSection
from contextpull.eval.kept_lines import KeptLines
from contextpull.eval.untrusted import inert, mark_for
from contextpull.models.chat import ChatFailed

Writer = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Takes a prompt and the JSON schema of the answer, and returns the answer.

It raises `ModelUnavailable` when the model cannot be reached, and anything else for an answer
that is no JSON object. It may be called from several threads at once.
"""

AnyAnswer = TypeVar("AnyAnswer", bound=BaseModel)

MOST_FAILURES = 3
"""So many calls in a row that the model does not answer end the run."""
_SAME_FOR_ALL = frozenset({"key", "not_found", "unreachable"})
"""Failures that every other call would meet, too."""
_MOST_CHARS = 6_000
"""A longer passage is cut; what is quoted must still stand in the whole section."""
_ERROR_CHARS = 200


class Draft(BaseModel):
    """What a writer answers; every field is there, empty where it has nothing to say."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    suitable: bool = Field(description="Whether a good question can be asked; false to decline.")
    reason: str = Field(description="Why it is not suitable; else empty.")
    question: str = Field(description="The question, in the language of the passage.")
    answer: str = Field(description="The answer in one or two sentences.")
    quotes: list[str] = Field(
        description="For each passage, in order, one sentence copied from it that supports the"
        " answer, word for word."
    )
    identifier: str = Field(description="The name that the question is about; else empty.")


class CallFailed(Exception):
    """One call gave no answer; the text says why."""


class Count(NamedTuple):
    """What the writer has been asked so far."""

    calls: int
    """Calls made, failed ones included."""
    cached: int
    """Answers that an earlier run had kept."""
    failed: int
    """Calls without a usable answer: unreachable, or no JSON object."""


class KeptAnswers:
    """What models have answered, by key; any number of threads and writers may share it."""

    def __init__(self, path: Path | None = None) -> None:
        """Keep answers in a file, or in memory only.

        Raises `EvaluationError` when the file cannot be read.
        """
        self.path = path
        self._file = KeptLines(path, "the writer's answers")
        self._answers = _answers_of(self._file)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> dict[str, Any] | None:
        """The answer under a key, or None."""
        return self._answers.get(key)

    def add(self, key: str, answer: dict[str, Any], line: str) -> None:
        """Keep an answer, with the line that stands for it in a file.

        Raises `EvaluationError` where that cannot be written.
        """
        with self._lock:
            self._answers[key] = answer
            self._file.add(line)


class AskedWriter:
    """A writer whose answers are kept as they come, and whose calls are counted.

    Safe to call from several threads.
    """

    def __init__(self, writer: Writer, name: str, kept: Path | KeptAnswers | None = None) -> None:
        """`name` tells models and their settings apart: an answer is used again only under it.

        Writers that keep their answers in one file share its `KeptAnswers`.
        Raises `EvaluationError` when the file of kept answers cannot be used.
        """
        self.name = name
        self._writer = writer
        self._kept = kept if isinstance(kept, KeptAnswers) else KeptAnswers(kept)
        self._lock = threading.Lock()
        self._calls = self._cached = self._failed = self._in_a_row = 0
        self._given_up: ModelUnavailable | None = None

    @property
    def count(self) -> Count:
        """The calls so far."""
        return Count(self._calls, self._cached, self._failed)

    @overload
    def ask(self, prompt: str) -> Draft: ...

    @overload
    def ask(self, prompt: str, answer: type[AnyAnswer]) -> AnyAnswer: ...

    def ask(self, prompt: str, answer: type[BaseModel] = Draft) -> BaseModel:
        """The writer's answer; the same prompt is never sent twice once it has been answered.

        Raises `CallFailed` when none came, `ValueError` whose text is the fault for one that does
        not fit the schema, and `ModelUnavailable` when the writer has failed too often in a row,
        or in a way that every other call would meet, too.
        """
        schema, told = _schema_of(answer)
        key = sha256("\0".join((self.name, told, prompt)).encode()).hexdigest()
        known = self._kept.get(key)
        with self._lock:
            self._cached += known is not None
        fields = known if known is not None else self._call(key, prompt, schema)
        try:
            return answer.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the answer"
            raise ValueError(f"does not fit the schema: {where}: {first['msg']}") from None

    def _call(self, key: str, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._given_up is not None:
                raise self._given_up
            self._calls += 1
        try:
            answer = self._writer(prompt, schema)
            if not isinstance(answer, dict):
                raise TypeError(f"no JSON object but {type(answer).__name__}")  # noqa: TRY301
            line = json.dumps({"key": key, "answer": answer}, ensure_ascii=False)
            line.encode()
        except Exception as error:  # whatever a writer raises, the other questions go on
            self._note_failure(error)
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:_ERROR_CHARS]
            raise CallFailed(f"the writer failed: {reason}") from error
        with self._lock:
            self._in_a_row = 0
        self._kept.add(key, answer, line)
        return answer

    def _note_failure(self, error: Exception) -> None:
        """Count a failure; raise when more calls would be in vain."""
        with self._lock:
            self._failed += 1
            if not isinstance(error, ModelUnavailable):
                return
            self._in_a_row += 1
            is_hopeless = isinstance(error, ChatFailed) and error.reason in _SAME_FOR_ALL
            if self._in_a_row < MOST_FAILURES and not is_hopeless:
                return
            times = "" if is_hopeless else f" {self._in_a_row} times in a row"
            self._given_up = ModelUnavailable(
                f"The model {self.name!r} failed{times}: {error}{self._going_on()}"
            )
            raise self._given_up from error

    def _going_on(self) -> str:
        if self._kept.path is None:
            return ""
        count = len(self._kept)
        return (
            f" What was answered is kept in {self._kept.path} ({count}"
            f" {'answer' if count == 1 else 'answers'}); the same command goes on from there."
        )


@cache
def _schema_of(answer: type[BaseModel]) -> tuple[dict[str, Any], str]:
    """The schema of an answer, and as the text that its key is made of."""
    schema = answer.model_json_schema()
    return schema, json.dumps(schema, sort_keys=True)


def _answers_of(kept: KeptLines) -> dict[str, dict[str, Any]]:
    """The answers that were kept, by key."""
    answers: dict[str, dict[str, Any]] = {}
    for _, record in kept.records():
        with suppress(TypeError, KeyError, ValueError):  # whatever else may stand in the file
            answers[str(record["key"])] = dict(record["answer"])
    return answers


def as_data(sections: Sequence[SourceSection]) -> str:
    """The sections as a part of a prompt that can only be read as data.

    Each stands between two marks that its text cannot hold, with every sign that a chat template
    could take for its own broken up.
    """
    texts = [inert(section.text)[:_MOST_CHARS] for section in sections]
    paths = [inert(" > ".join((section.document, *section.headings))) for section in sections]
    mark = mark_for(*texts, *paths)
    return "\n\n".join(
        f"PASSAGE {number}, from {json.dumps(path, ensure_ascii=False)},"
        f" between two lines of the mark {mark}:\n{mark}\n{text}\n{mark}"
        for number, (text, path) in enumerate(zip(texts, paths, strict=True), start=1)
    )
