"""SQLite holds the truth; the lexical index and the flat text are derived and rebuildable."""

from contextpull.store.opening import Snapshot, Store, open_store

__all__ = ["Snapshot", "Store", "open_store"]
