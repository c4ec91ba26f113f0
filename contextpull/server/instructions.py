"""What a host is told when it connects, also while there is nothing to list yet."""

from contextpull import tools
from contextpull.store import Snapshot
from contextpull.tools import DISCIPLINE
from contextpull.tools import MOST_INSTRUCTION_CHARS as MOST_CHARS


def instructions(snapshot: Snapshot | None, most_chars: int = MOST_CHARS) -> str:
    """The server's instructions, never longer than `most_chars`.

    `snapshot` is None while the folder is read for the first time.
    """
    if snapshot is None:
        return f"{DISCIPLINE}\n\nThe folder is still being read: call index in a moment."
    return tools.instructions(snapshot, most_chars)
