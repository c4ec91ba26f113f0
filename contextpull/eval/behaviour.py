"""What agents did over many questions: how much they read, and what they answered without it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from contextpull.eval.tool_calls import same_call
from contextpull.eval.transcripts import ToolCall, Transcript, total_of
from contextpull.tools import TOOLS

_TOOLS = {tool.name: tool for tool in TOOLS}


def behaviour(transcripts: Iterable[Transcript]) -> dict[str, Any]:
    """Counts over transcripts, and means a question, as JSON-ready values ragbisect can read.

    `errors` are runs without an answer, `by_tool` the calls by name, `tool_errors` failed ones.
    `answered_from_snippets` are answers of runs that read nothing and were shown something;
    `cited_unread` are answers that name a section that was not read; `shown_not_read_per_query`
    is how much further the ids that were surfaced go than those that were read.
    """
    runs = list(transcripts)
    answers = [run for run in runs if run.is_ok]
    unread = [run for run in answers if not run.ids_read]
    calls = [call for run in runs for call in run.calls]
    tokens = total_of(run.tokens for run in runs)
    read = sum(len(run.ids_read) for run in runs)
    surfaced = sum(len(run.ids_surfaced) for run in runs)
    return {
        "queries": len(runs),
        "outcomes": _counted(run.outcome for run in runs),
        "errors": len(runs) - len(answers),
        "answered": len(answers),
        "answered_without_reading": len(unread),
        "answered_from_snippets": sum(bool(run.ids_surfaced) for run in unread),
        "cited_unread": sum(bool(set(run.cited) - set(run.ids_read)) for run in answers),
        "reads_per_query": _mean(read, runs),
        "shown_not_read_per_query": _mean(surfaced - read, runs),
        "turns": sum(len(run.turns) for run in runs),
        "api_calls": sum(run.api_calls for run in runs),
        "tokens_in": tokens.input,
        "tokens_out": tokens.output,
        "tokens_cached": tokens.cached,
        "tokens_cache_written": tokens.cache_written,
        "seconds": sum(run.seconds for run in runs),
        "waited": sum(run.waited for run in runs),
        "tool_calls": len(calls),
        "by_tool": _counted(call.name for call in calls),
        **_faults(runs, calls),
    }


def _faults(runs: Sequence[Transcript], calls: Sequence[ToolCall]) -> dict[str, int]:
    """How many calls went wrong, and why."""
    return {
        "tool_errors": sum(call.is_error for call in calls),
        "failed_reads": sum(call.is_error and call.name == "read" for call in calls),
        "unknown_tools": sum(call.name not in _TOOLS for call in calls),
        "wrong_arguments": sum(map(_has_wrong_arguments, calls)),
        "repeated_calls": sum(map(_repeats, runs)),
    }


def _has_wrong_arguments(call: ToolCall) -> bool:
    tool = _TOOLS.get(call.name)
    if tool is None:
        return False
    try:
        tool.arguments.model_validate(call.arguments)
    except ValidationError:
        return True
    return False


def _repeats(run: Transcript) -> int:
    """The calls that the run had made before."""
    return len(run.calls) - len({same_call(call.name, call.arguments) for call in run.calls})


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _mean(total: int, runs: Sequence[Transcript]) -> float:
    return total / len(runs) if runs else 0.0
