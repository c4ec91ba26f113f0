"""The access log: one JSON object a request on standard error, without tokens and documents."""

import json
import logging
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contextpull.server.telling import write_line

_LONGEST = 2_000


@dataclass(slots=True)
class Entry:
    """What is known of one request; filled in while it is served."""

    client: str
    http: str
    path: str
    caller: str = ""
    method: str = ""
    """The method of the protocol: `tools/call`."""
    tool: str = ""
    arguments: Any = None
    """Only where queries are to be logged."""
    outcome: str = ""
    """Of a tool call: ok, error, failed, timeout."""
    rejected: str = ""
    status: int = 0
    sent: int = 0
    started: float = field(default_factory=time.perf_counter)

    def line(self) -> str:
        """The entry as JSON; a field that is empty is left out."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {
            "time": now,
            "caller": self.caller,
            "client": self.client,
            "http": self.http,
            "path": self.path,
            "method": self.method,
            "tool": self.tool,
            "arguments": self.arguments,
            "outcome": self.outcome,
            "rejected": self.rejected,
            "status": self.status,
            "ms": round((time.perf_counter() - self.started) * 1e3, 1),
            "bytes": self.sent,
        }
        kept = {name: value for name, value in fields.items() if value not in ("", None)}
        return json.dumps(kept, default=str)


def write(entry: Entry) -> None:
    """Write an entry's line; a log that cannot be written never costs an answer."""
    try:
        write_line(entry.line())
    except (OSError, ValueError):
        return


def log_libraries() -> None:
    """Let the libraries' warnings appear as JSON lines, too.

    Of an exception only the type and the place are written: its message may quote a request.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        now = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {
            "time": now.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip()[:_LONGEST],
        }
        if record.exc_info and record.exc_info[1]:
            fields["error"] = type(record.exc_info[1]).__name__
            fields["at"] = _place(record.exc_info[1])
        return json.dumps(fields)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
