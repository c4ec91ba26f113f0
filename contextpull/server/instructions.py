"""What a model is told before its first call: the discipline, then as much index as fits."""

from contextpull.retrieval.listing import list_contents
from contextpull.retrieval.rendering import index_text
from contextpull.store import Snapshot
from contextpull.tools import DISCIPLINE

MOST_CHARS = 4_096
"""Hosts cut instructions here (older ones at 2,048): the discipline stands first."""

_ROOM_FOR_HINT = 60


def instructions(snapshot: Snapshot | None, most_chars: int = MOST_CHARS) -> str:
    """The server's instructions, never longer than `most_chars`.

    `snapshot` is None while the folder is read for the first time.
    """
    if snapshot is None:
        return f"{DISCIPLINE}\n\nThe folder is still being read: call index in a moment."
    room = most_chars - len(DISCIPLINE) - _ROOM_FOR_HINT
    listing = list_contents(snapshot, budget=max(room, 0))
    text = index_text(listing)
    if len(text) > room:
        text = listing.heading
    if listing.next_offset is not None:
        text = f"{listing.heading}\n" + "\n".join(listing.lines)
        text = text[:room] + "\n… more: call index."
    return f"{DISCIPLINE}\n\n{text}"[:most_chars]
