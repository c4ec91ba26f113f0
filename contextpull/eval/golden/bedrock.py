"""Prompt datasets of Bedrock's RAG evaluation jobs: a conversation a line, a prompt a turn.

    {"conversationTurns": [{"prompt": {"content": [{"text": "..."}]},
                            "referenceResponses": [{"content": [{"text": "..."}]}]}]}

`referenceResponses` may be absent, and so may `referenceContexts`, of the same form, which holds
passages that a search should return. A turn's id is `q<line>`, with `.<turn>` behind it in a
conversation of several.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.adapters.lines import Faults, Record, numbered_lines, record_of, shown
from contextpull.errors import EvaluationError
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.reading import BEDROCK_MARK

_TURNS = "conversationTurns"
_REFERENCES = "referenceResponses"
_CONTEXTS = "referenceContexts"
_TURN_FIELDS = {"prompt", _REFERENCES, _CONTEXTS}


class Dataset(NamedTuple):
    """The turns of a dataset as questions, which expect nothing."""

    questions: list[GoldenQuestion]
    passed_over: dict[str, tuple[str, ...]]
    """What of the dataset has no place in a question: the ids of the turns that had it, by name."""


def is_bedrock(path: Path) -> bool:
    """Whether the first line of a file is a conversation of such a dataset, or would be one."""
    for _, line in numbered_lines(path):
        try:
            return _TURNS in record_of(line)
        except ValueError:
            return BEDROCK_MARK in line
    return False


def load_bedrock(path: Path) -> Dataset:
    """The turns of a file, in its order.

    Raises `EvaluationError` that lists every fault with its line (the first 20, and the count).
    """
    faults = Faults(str(path), place=f"{path}:")
    questions: list[GoldenQuestion] = []
    passed_over: dict[str, tuple[str, ...]] = {}
    for number, line in numbered_lines(path):
        try:
            turns = _turns(record_of(line))
        except ValueError as error:
            faults.add(number, str(error))
            continue
        for place, turn in enumerate(turns, start=1):
            turn_id = f"q{number}" if len(turns) == 1 else f"q{number}.{place}"
            try:
                question, lost = _question(turn_id, turn)
            except ValueError as error:
                faults.add(number, f"turn {place}: {error}")
                continue
            questions.append(question)
            for name in lost:
                passed_over[name] = (*passed_over.get(name, ()), turn_id)
    faults.raise_if_any()
    if not questions:
        raise EvaluationError(
            f"{path} holds no questions. Give a file with one JSON object a line."
        )
    return Dataset(questions, passed_over)


def bedrock_record(question: GoldenQuestion) -> Record:
    """A question as a conversation of one turn; evidence as the contexts that a search should
    return."""
    turn: Record = {"prompt": _content(question.question)}
    if question.reference:
        turn[_REFERENCES] = [_content(question.reference)]
    if question.evidence:
        turn[_CONTEXTS] = [_content(quote) for quote in question.evidence]
    return {_TURNS: [turn]}


def _content(text: str) -> Record:
    return {"content": [{"text": text}]}


def _turns(record: Record) -> Sequence[object]:
    turns = record.get(_TURNS)
    if not isinstance(turns, list) or not turns:
        raise ValueError(f"{_TURNS!r} must be a list of turns, not {shown(turns)}")
    return turns


def _question(turn_id: str, turn: object) -> tuple[GoldenQuestion, Iterator[str]]:
    """The question of a turn, and the names of what it has beside that."""
    if not isinstance(turn, dict):
        raise ValueError(f"a turn must be a JSON object, not {shown(turn)}")  # noqa: TRY004
    prompt = _text(turn.get("prompt"), "prompt")
    if not prompt.strip():
        raise ValueError("the prompt is blank")
    references = [_text(each, _REFERENCES) for each in _list(turn, _REFERENCES)]
    contexts = [_text(each, _CONTEXTS) for each in _list(turn, _CONTEXTS)]
    question = GoldenQuestion(
        id=turn_id,
        question=prompt,
        expected=(),
        reference=references[0] if references else "",
        evidence=tuple(dict.fromkeys(each for each in contexts if each.strip())),
    )
    lost = [name for name in turn if name not in _TURN_FIELDS]
    if len(references) > 1:
        lost.append("further reference responses")
    return question, iter(lost)


def _list(turn: dict[str, Any], name: str) -> Sequence[object]:
    value = turn.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"{name!r} must be a list, not {shown(value)}")  # noqa: TRY004
    return value


def _text(value: object, name: str) -> str:
    """The texts of a message, joined by line ends."""
    content = value.get("content") if isinstance(value, dict) else None
    texts = (
        [each.get("text") if isinstance(each, dict) else None for each in content]
        if isinstance(content, list)
        else []
    )
    whole = [text for text in texts if isinstance(text, str)]
    if not whole or len(whole) < len(texts):
        raise ValueError(f'{name!r} must look like {{"content": [{{"text": "..."}}]}}')
    return "\n".join(whole)
