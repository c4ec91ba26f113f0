"""Every error that ContextPull raises on purpose.

    ContextPullError
    ├── InvalidInput          an argument, a pattern or a setting that cannot be used
    ├── DocumentError         one file that cannot be read; an ingest reports it and goes on
    ├── SectionNotFound       an id that the store does not hold
    ├── PathNotFound          a path or glob that matches no document of the store
    ├── StoreError            a store that is missing, damaged, or written by a newer version
    │   ├── StoreNotFound
    │   ├── StoreDamaged      the database cannot be read
    │   ├── StoreConflict     another corpus lives in that store
    │   ├── CorpusEmptied     a folder is empty of which the store has documents
    │   └── StoreBusy         another process is writing
    ├── MissingExtra          an optional dependency that is not installed
    ├── ModelUnavailable      a model that is not installed, is damaged, or cannot be reached
    │   └── ChatFailed        (models.chat) a model that chats gave no reply
    ├── TokensUnusable        (server.tokens) a tokens file that cannot be read or means nothing
    ├── KeysUnusable          (server.oauth) keys of an identity provider that are none
    └── EvaluationError       a question or section file that cannot be scored
        └── JudgeFailed       (eval.judging) a judge gave no verdict

Each message says what failed and what to try.
Only the edges (the command line, the server, the tool dispatcher) turn one into text.
"""

from collections.abc import Sequence


class ContextPullError(Exception):
    """Something went wrong that a person or a model can act on."""


class InvalidInput(ContextPullError):
    """An argument, a pattern or a setting that cannot be used."""


class DocumentError(ContextPullError):
    """One file that cannot be read; the message is the reason, without the path."""


class SectionNotFound(ContextPullError):
    """No section has this id; `nearest` holds ids that come close."""

    def __init__(self, section_id: str, nearest: Sequence[str] = ()) -> None:
        self.section_id = section_id
        self.nearest = tuple(nearest)
        hint = f"Closest ids: {', '.join(nearest)}." if nearest else "Call search to find an id."
        super().__init__(f"No section has the id {section_id!r}. {hint}")


class PathNotFound(ContextPullError):
    """No document matches this path or glob; `nearest` holds paths that come close."""

    def __init__(self, pattern: str, nearest: Sequence[str] = ()) -> None:
        self.pattern = pattern
        self.nearest = tuple(nearest)
        hint = (
            f"Closest paths: {', '.join(nearest)}." if nearest else "Call index to see the paths."
        )
        super().__init__(f"No document matches the path {pattern!r}. {hint}")


class StoreError(ContextPullError):
    """A store that cannot be used."""


class StoreNotFound(StoreError):
    """There is no store at that place."""


class StoreDamaged(StoreError):
    """The database in the folder `store` cannot be read; the next ingest builds it again."""

    def __init__(self, store: str, reason: object) -> None:
        super().__init__(
            f"The store at {store!r} is damaged ({reason}). Nothing of the corpus is lost:"
            " contextpull ingest --verify builds the store again."
        )


class StoreConflict(StoreError):
    """The store holds another corpus."""


class CorpusEmptied(StoreError):
    """A folder is empty of which the store has documents; nothing was changed."""


class StoreBusy(StoreError):
    """Another process is writing to the store."""


class MissingExtra(ContextPullError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra {extra!r}: pip install 'contextpull[{extra}]'")


class ModelUnavailable(ContextPullError):
    """A model that is not installed, is damaged, or whose endpoint cannot be reached."""


class EvaluationError(ContextPullError):
    """A question or section file that cannot be scored."""
