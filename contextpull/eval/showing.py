"""One question of a run as plain text: what every row returned, what agents did step by step."""

import json
from collections.abc import Iterator
from typing import Any

from contextpull.errors import EvaluationError
from contextpull.eval.ledger import Ledger
from contextpull.eval.run_directory import SavedRun
from contextpull.eval.table import printable
from contextpull.eval.transcripts import ToolCall, Transcript

_RESULT_LINES = 12
_NEAREST = 5


def render_question(run: SavedRun, question_id: str, ledger: Ledger) -> str:
    """A question, its gold, the rankings of all rows, and what agents did about it.

    Raises EvaluationError for a question that the run did not ask.
    """
    question = run.questions.get(question_id)
    if question is None:
        known = ", ".join(list(run.questions)[:_NEAREST])
        raise EvaluationError(f"The run asked no question {question_id!r}. It asked {known}, ….")
    lines = [f"{question_id} ({question.shape or 'no shape'}): {question.text}"]
    lines += [f"gold     {each}" for each in question.gold]
    if question.answer:
        lines.append(f"answer   {question.answer}")
    gold = {*question.gold, *run.copies_of(question)}
    for row, outcomes in run.outcomes.items():
        lines += ["", *_ranking(row, outcomes[question_id], gold)]
    for agent in run.report["agents"]:
        for each in run.runs_of(agent, ledger, [question]):
            name = f"{agent}, repeat {each.repeat + 1}" if each.repeat else agent
            lines += ["", *_transcript(name, each.transcript)]
    return "\n".join(_printed(line) for line in lines) + "\n"


def _ranking(row: str, outcome: dict[str, Any], gold: set[str]) -> Iterator[str]:
    scores = ", ".join(f"{name} {value:.2f}" for name, value in outcome["scores"].items())
    yield f"{row}: {outcome['error'] or scores}"
    for place, each in enumerate(outcome["ranking"], start=1):
        yield f"  {place}. {each}{'   <- gold' if each in gold else ''}"


def _transcript(row: str, transcript: Transcript | None) -> Iterator[str]:
    if transcript is None:
        yield f"{row}: not asked"
        return
    tokens = transcript.tokens
    yield (
        f"{row}: {transcript.outcome}, {len(transcript.turns)} turns, {tokens.input:,} tokens sent"
        f" ({tokens.cached:,} cached), {tokens.output:,} written, {transcript.seconds:.1f} s"
    )
    for number, turn in enumerate(transcript.turns, start=1):
        yield f"  turn {number}: {turn.text}" if turn.text else f"  turn {number}"
        for call in turn.calls:
            yield from _call(call)
    yield from (f"  error: {each}" for each in transcript.errors)
    if transcript.answer:
        yield f"  answer: {transcript.answer}"


def _call(call: ToolCall) -> Iterator[str]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    yield f"    {'failed: ' if call.is_error else ''}{call.name}({arguments})"
    lines = call.result.split("\n")
    yield from (f"      {line}" for line in lines[:_RESULT_LINES])
    if len(lines) > _RESULT_LINES:
        yield f"      … {len(lines) - _RESULT_LINES} more lines"


def _printed(text: str) -> str:
    """Text of models and documents may hold line ends, which stay, and what steers a terminal."""
    return "\n".join(printable(line) for line in text.split("\n"))
