"""Answers to golden questions, as somebody's system gave them: one JSON object a line.

    {"id": "q1", "answer": "Four minutes.", "sources": ["kettles.md#red"]}

`question` may stand in place of `id`. Sources are names in a store, or texts.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from contextpull.adapters.lines import Fields, first_repeated, load_items, shown
from contextpull.errors import InvalidInput
from contextpull.eval.golden.questions import GoldenQuestion, raise_faults
from contextpull.eval.golden.reading import same_question

TextOf = Callable[[str], str]
"""The text of a source; a `ValueError` whose text is the fault, else."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What a system answered."""

    id: str
    """Of the golden question."""
    answer: str
    sources: tuple[str, ...] = ()
    """What it was written from: sections `path#slug`, documents, pages, or texts."""


def load_answers(
    path: str | os.PathLike[str],
    questions: Sequence[GoldenQuestion],
    text_of: TextOf | None = None,
) -> list[GivenAnswer]:
    """The answers of a file, in its order; with `text_of`, sources must have a text.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count): a
    question that is not among these, or that has an answer already, an answer that is blank, a
    field that does not exist, a source that leads nowhere.
    """
    named = {same_question(each.question): each.id for each in questions}
    ids = {each.id: same_question(each.question) for each in questions}
    build = partial(_answer, named=named, ids=ids, text_of=text_of)
    return load_items(Path(path), "answers", _Fields, build)


def check_answers(
    questions: Sequence[GoldenQuestion], answers: Sequence[GivenAnswer], text_of: TextOf | None
) -> None:
    """Raise `EvaluationError` that lists what `load_answers` would refuse, and ids used twice.

    `InvalidInput` where sources are a text in place of a list of texts.
    """
    ids = [each.id for each in questions]
    faults = [
        f"question {each.id!r} is blank: a template row waits for it"
        for each in questions
        if not each.question.strip()
    ]
    for noun, found in (("questions", ids), ("answers", [each.id for each in answers])):
        repeated = first_repeated(found)
        if repeated is not None:
            faults.append(f"two {noun} have the id {repeated!r}")
    for each in answers:
        if isinstance(each.sources, str):
            raise InvalidInput(
                f"Answer {each.id!r}: `sources` is the text {each.sources!r}; give a list of texts."
            )
        place = f"answer {each.id!r}: "
        if each.id not in ids:
            faults.append(f"{place}{_unknown(each.id, ids)}")
        if not isinstance(each.answer, str) or not each.answer.strip():
            faults.append(f"{place}it must be text that is not blank")
        faults += [f"{place}{fault}" for fault in _source_faults(each.sources, text_of)]
    raise_faults("the answers", faults)


class _Fields(Fields):
    known = ("id", "question", "answer", "sources")

    def guess_unknown(self) -> set[str]:
        """Note fields that do not exist; the names of those that were probably meant."""
        meant = set()
        for name in self.record:
            if name not in self.known:
                close = get_close_matches(name.casefold(), self.known, n=1)
                meant.update(close)
                hint = f"; did you mean {close[0]!r}?" if close else f". Fields: {_FIELDS}"
                self.faults.append(f"there is no field {shown(name)}{hint}")
        return meant

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, which may be absent."""
        value = self.record.get(name, [])
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        hint = f"; write [{shown(value)}]" if isinstance(value, str) else ""
        self.faults.append(f"{name!r} must be a list of texts, not {shown(value)}{hint}")
        return ()


_FIELDS = ", ".join(_Fields.known)


def _answer(
    fields: _Fields, named: dict[str, str], ids: dict[str, str], text_of: TextOf | None
) -> GivenAnswer:
    meant = fields.guess_unknown()
    answer = "" if "answer" in meant else fields.filled("answer")
    sources = fields.texts("sources")
    fields.faults += _source_faults(sources, text_of)
    is_named = not meant.isdisjoint({"id", "question"})
    return GivenAnswer("" if is_named else _id(fields, named, ids), answer, sources)


def _id(fields: _Fields, named: dict[str, str], ids: dict[str, str]) -> str:
    """The id of the question that is answered; empty where there is none, which is a fault."""
    given, asked = fields.text("id"), same_question(fields.text("question"))
    if given:
        if given not in ids:
            fields.faults.append(_unknown(given, list(ids)))
            return ""
        if asked and asked != ids[given]:
            fields.faults.append(f"the question {given!r} is another one than 'question' says")
        return given
    if asked in named:
        return named[asked]
    if asked:
        fields.faults.append("the golden file does not ask that 'question'")
    elif all(isinstance(fields.record.get(name, ""), str) for name in ("id", "question")):
        fields.faults.append("it names no question: give its 'id', or its text as 'question'")
    return ""


def _unknown(given: str, ids: Sequence[str]) -> str:
    close = get_close_matches(given, ids, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"the golden file has no question with the id {given!r}{hint}"


def _source_faults(sources: Iterable[str], text_of: TextOf | None) -> list[str]:
    if text_of is None:
        return []
    faults = []
    for index, source in enumerate(sources):
        try:
            text_of(source)
        except ValueError as error:
            faults.append(f"sources[{index}] {error}")
    return faults
