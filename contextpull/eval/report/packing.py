"""What a page holds of questions and transcripts: an index that is read at once, and chunks.

The index is JSON. Everything that is only looked at when a question is opened lies in chunks,
each a gzip file in base64 of a JSON list of items. An item is what came of one question, a text
that a tool returned, or the text of a section. Items are named by their number; equal texts are
one item. The index says which item each chunk begins with.
"""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from contextpull.eval.report.judgements import Verdict
from contextpull.eval.report.model import Attempt, QuestionView, Result, RunView
from contextpull.eval.seen import texts_read
from contextpull.eval.transcripts import ToolCall, Transcript, Turn

_CHUNK_CHARS = 400_000
"""Of JSON, at most one item more: unpacked in milliseconds."""
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Packed:
    """The data of a page."""

    index: dict[str, Any]
    chunks: tuple[str, ...]
    """In base64."""


def pack(run: RunView, before: RunView | None = None) -> Packed:
    """The questions of a run; `before` is a run to compare with, over the same questions."""
    items = _Items()
    sections: dict[str, int] = {}
    earlier = {each.id: each for each in before.questions} if before else {}
    places = []
    for question in run.questions:
        record = _record(run, question, items, sections)
        if question.id in earlier:
            record["before"] = _results(before.rows if before else (), earlier[question.id])
        places.append(items.add(record))
    index = {
        "measure": run.measure,
        "hasText": run.provenance.has_text,
        "rows": [
            {"name": row.name, "kind": row.seen or "push", "best": row.is_best_push}
            for row in run.rows
        ],
        "shapes": list(run.shapes),
        "questions": [
            _line(run, question, place)
            for question, place in zip(run.questions, places, strict=True)
        ],
        "sections": items.add(sections),
    }
    chunks, starts = items.packed()
    return Packed({**index, "starts": starts}, chunks)


def as_json(value: object) -> str:
    """JSON that may stand in a script element: no `<`, and nothing but ASCII."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


class _Items:
    """Numbered values; a text that was there before keeps its number."""

    def __init__(self) -> None:
        self._items: list[str] = []
        self._numbers: dict[str, int] = {}

    def add(self, value: object) -> int:
        """The value's number."""
        self._items.append(json.dumps(value, separators=(",", ":"), allow_nan=False))
        return len(self._items) - 1

    def text(self, text: str) -> int:
        """The text's number."""
        if text not in self._numbers:
            self._numbers[text] = self.add(text)
        return self._numbers[text]

    def packed(self) -> tuple[tuple[str, ...], list[int]]:
        """The chunks in base64, and the number of the first item of each."""
        chunks, starts = [], []
        for start, items in self._cut():
            data = gzip.compress(f"[{','.join(items)}]".encode(), mtime=0)
            chunks.append(base64.b64encode(data).decode())
            starts.append(start)
        return tuple(chunks), starts

    def _cut(self) -> Iterator[tuple[int, list[str]]]:
        start, size = 0, 0
        for number, item in enumerate(self._items):
            size += len(item)
            if size > _CHUNK_CHARS:
                yield start, self._items[start : number + 1]
                start, size = number + 1, 0
        if start < len(self._items):
            yield start, self._items[start:]


def _line(run: RunView, question: QuestionView, place: int) -> list[Any]:
    """A line of the table: id, text, number of the shape or -1, recall by row, item.

    Recall is null where the row failed.
    """
    shape = run.shapes.index(question.shape) if question.shape in run.shapes else -1
    recalls = [
        None if each.error else _rounded(each.scores[run.measure]) for each in question.results
    ]
    return [question.id, question.text, shape, recalls, place]


def _record(
    run: RunView, question: QuestionView, items: _Items, sections: dict[str, int]
) -> dict[str, Any]:
    return {
        "gold": list(question.gold),
        "copies": list(question.copies),
        "answer": question.answer,
        "source": question.source,
        "results": _results(run.rows, question),
        "attempts": [_attempt(run, each, items, sections) for each in question.attempts],
    }


def _results(rows: Iterable[Any], question: QuestionView) -> list[dict[str, Any]]:
    return [
        {"row": row.name, **_result(result)}
        for row, result in zip(rows, question.results, strict=True)
    ]


def _result(result: Result) -> dict[str, Any]:
    return {
        "ranking": list(result.ranking),
        "scores": {name: _rounded(each) for name, each in result.scores.items()},
        "answer": result.answer,
        "error": result.error,
        "seconds": _rounded(result.seconds),
    }


def _attempt(
    run: RunView, attempt: Attempt, items: _Items, sections: dict[str, int]
) -> dict[str, Any]:
    made = attempt.transcript
    return {
        "agent": attempt.agent,
        "repeat": attempt.repeat,
        "made": None if made is None else _transcript(made, items, sections),
        "verdicts": [_verdict(each) for each in run.verdicts.get(attempt.key, ())],
    }


def _verdict(verdict: Verdict) -> list[Any]:
    return [verdict.judge, verdict.measure, verdict.score, verdict.reason]


def _transcript(made: Transcript, items: _Items, sections: dict[str, int]) -> dict[str, Any]:
    return {
        "outcome": made.outcome,
        "answer": made.answer,
        "cited": list(made.cited),
        "tokens": [made.tokens.input, made.tokens.cached, made.tokens.output],
        "seconds": _rounded(made.seconds),
        "waited": _rounded(made.waited),
        "errors": list(made.errors),
        "turns": [_turn(each, items, sections) for each in made.turns],
    }


def _turn(turn: Turn, items: _Items, sections: dict[str, int]) -> dict[str, Any]:
    return {
        "text": turn.text,
        "tokens": [turn.tokens.input, turn.tokens.cached, turn.tokens.output],
        "stop": turn.stop_reason,
        "seconds": _rounded(turn.seconds),
        "calls": [_call(each, items, sections) for each in turn.calls],
    }


def _call(call: ToolCall, items: _Items, sections: dict[str, int]) -> dict[str, Any]:
    written = json.dumps(call.arguments, ensure_ascii=False, allow_nan=True)
    result = items.text(call.result) if call.result else None
    if call.read and not call.is_error:
        # Beside the result that they are slices of, they compress to nearly nothing.
        for section_id, text in texts_read(call.result, call.arguments).items():
            if section_id in call.read and section_id not in sections:
                sections[section_id] = items.text(text)
    return {
        "name": call.name,
        "arguments": written,
        "result": result,
        "failed": call.is_error,
        "read": len(call.read),
        "seconds": _rounded(call.seconds),
    }


def _rounded(value: float) -> float:
    return round(value, _DECIMALS)
