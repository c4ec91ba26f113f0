"""Pull exact, citable sections out of a folder of documents."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextpull.store import Store, open_store

__version__ = "0.1.0"
__all__ = ["Store", "__version__", "open_store"]


def __getattr__(name: str) -> Any:
    """Load the store only when it is asked for, so that `import contextpull` costs nothing."""
    if name in {"Store", "open_store"}:
        from contextpull import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
