"""Measuring retrieval: questions in, measures with intervals out.

`measures` scores one ranking, `statistics` puts an interval around a mean, `comparing` tests two
rows against each other, `runs` asks a retriever every question, and `table` shows the rows.
`judged` and `judged_table` do so over collections that others judged.
`loop` is an agent over a model's API, `claude_code` is Claude Code, and `stream` reads what that
printed; `transcripts` is the record of what any agent did.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextpull.eval.claude_code import ClaudeCodeRetriever
    from contextpull.eval.loop import ApiLoopRetriever

__all__ = ["ApiLoopRetriever", "ClaudeCodeRetriever"]

_HOMES = {
    "ApiLoopRetriever": "contextpull.eval.loop",
    "ClaudeCodeRetriever": "contextpull.eval.claude_code",
}


def __getattr__(name: str) -> Any:
    """Load an agent only when it is asked for: most measuring needs none."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
