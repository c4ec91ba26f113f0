"""What the server did, in the text format of Prometheus (0.0.4)."""

from collections import Counter
from collections.abc import Mapping

from contextpull.tools import TOOLS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds: a search by words takes one to ten milliseconds, a reranked one some seconds."""
_TOOLS = frozenset(tool.name for tool in TOOLS)

Labels = tuple[tuple[str, str], ...]


def tool_label(name: str) -> str:
    """The name of one of our tools, or `other`: callers must not be able to make up series."""
    return name if name in _TOOLS else "other"


class Metrics:
    """Counters, gauges and one histogram; used on the event loop alone."""

    def __init__(self) -> None:
        self._counters: Counter[tuple[str, Labels]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def request(self, status: int) -> None:
        """Count an answer by its status."""
        self._counters["contextpull_requests_total", (("status", str(status)),)] += 1

    def rejected(self, reason: str) -> None:
        """Count a request that was refused."""
        self._counters["contextpull_rejected_total", (("reason", reason),)] += 1

    def call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a tool call; `outcome` is ok, error, failed or timeout."""
        tool = tool_label(tool)
        labels = (("tool", tool), ("outcome", outcome))
        self._counters["contextpull_tool_calls_total", labels] += 1
        counts = self._buckets.setdefault(tool, [0] * (len(_BOUNDS) + 1))
        counts[next((n for n, most in enumerate(_BOUNDS) if seconds <= most), len(_BOUNDS))] += 1
        self._seconds[tool] = self._seconds.get(tool, 0.0) + seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Everything counted so far, and the gauges as they are now, by name."""
        lines: list[str] = []
        for name, about in _COUNTERS.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} counter"]
            for (counter, labels), count in sorted(self._counters.items()):
                if counter == name:
                    lines.append(f"{name}{_written(labels)} {count}")
        lines += self._histogram()
        for name, about in _GAUGES.items():
            if name in gauges:
                lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge"]
                lines.append(f"{name} {gauges[name]:g}")
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        name = "contextpull_tool_seconds"
        lines = [f"# HELP {name} Seconds that tool calls took.", f"# TYPE {name} histogram"]
        for tool, counts in sorted(self._buckets.items()):
            below = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), counts, strict=True):
                below += count
                lines.append(f'{name}_bucket{{tool="{tool}",le="{bound}"}} {below}')
            lines.append(f'{name}_sum{{tool="{tool}"}} {self._seconds[tool]:.6f}')
            lines.append(f'{name}_count{{tool="{tool}"}} {below}')
        return lines


_COUNTERS = {
    "contextpull_requests_total": "HTTP requests that were answered, by status.",
    "contextpull_rejected_total": "HTTP requests that were refused, by reason.",
    "contextpull_tool_calls_total": "Tool calls, by tool and outcome.",
}
_GAUGES = {
    "contextpull_requests_in_flight": "Requests under way.",
    "contextpull_streams_open": "Open streams of notices.",
    "contextpull_generation": "The generation of the store that answers.",
    "contextpull_tokens_file_current": "0 while the tokens file cannot be used, else 1.",
}


def _written(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"
