"""What the retrievers for agent libraries share: how they search, what they tell, and threads."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, get_args

from contextpull.config import Mode
from contextpull.errors import InvalidInput
from contextpull.retrieval.models import Models, shared_models
from contextpull.retrieval.scope import ScopedStore
from contextpull.retrieval.search import MOST_HITS, Hit, search
from contextpull.retrieval.work import Work
from contextpull.store import Store

_Result = TypeVar("_Result")


class Found(NamedTuple):
    """One section that answers a query."""

    id: str
    text: str
    """Exactly what the document holds."""
    score: float
    """Higher is better; comparable only within one answer."""
    metadata: dict[str, Any]
    """`id`, `path`, `headings` (outermost first), `score`, `page` (None in formats without pages).

    Also, only where there is one: `copies`, the ids of sections with the same text;
    `repeated_header`, the header of the table that the section goes on with; `notes`, what the
    search could not do.
    """


@dataclass(frozen=True)
class Searching:
    """How a retriever searches; raises InvalidInput for what nothing can be searched by."""

    store: Store | ScopedStore
    k: int = 5
    """The most sections for a query, 1 to 50."""
    mode: Mode | None = None
    """As in `search`: without one, what suits the store."""
    paths: tuple[str, ...] = ()
    """Only these documents, folders or globs; one that means nothing is an error of each query."""
    models: Models | None = None
    """Those of the process, where none are named."""

    def __post_init__(self) -> None:
        if not isinstance(self.store, Store | ScopedStore):
            raise InvalidInput(
                f"store must be an open store, like open_store('.contextpull'), not {self.store!r}."
            )
        if type(self.k) is not int or not 1 <= self.k <= MOST_HITS:
            raise InvalidInput(f"k must be a whole number from 1 to {MOST_HITS}, not {self.k!r}.")
        if self.mode is not None and self.mode not in get_args(Mode):
            modes = ", ".join(get_args(Mode))
            raise InvalidInput(f"mode must be one of {modes}, or None, not {self.mode!r}.")
        paths = (self.paths,) if isinstance(self.paths, str) else self.paths
        if not isinstance(paths, list | tuple) or not all(isinstance(each, str) for each in paths):
            raise InvalidInput(f"paths must be a path or a list of paths, not {self.paths!r}.")
        object.__setattr__(self, "paths", tuple(paths))
        if self.models is not None and not isinstance(self.models, Models):
            raise InvalidInput(
                "models must be contextpull.retrieval.models.Models, or None for those of the"
                f" process, not {self.models!r}."
            )

    def found(self, query: str, work: Work | None = None) -> list[Found]:
        """The best `k` sections of the newest generation, each text once; equal scores by id.

        Raises PathNotFound when one of `paths` means no document.
        """
        if not isinstance(query, str):
            raise InvalidInput(f"A query is a text, not {type(query).__name__}.")
        result = search(
            self.store.snapshot(),
            query,
            limit=self.k,
            paths=self.paths,
            snippets="heading",
            mode=self.mode,
            models=self.models or shared_models(),
            work=work,
        )
        return [_found(hit, result.notes) for hit in result.hits]


async def in_thread(do: Callable[[Work], _Result]) -> _Result:
    """What `do` gives, from a thread; when the caller is cancelled its work is told to end."""
    work = Work()
    try:
        return await asyncio.to_thread(do, work)
    finally:
        work.stop()


def _found(hit: Hit, notes: tuple[str, ...]) -> Found:
    section = hit.section
    sometimes = {
        "copies": list(hit.copies),
        "repeated_header": section.repeated_header,
        "notes": list(notes),
    }
    metadata = {
        "id": section.id,
        "path": section.path,
        "headings": list(section.headings),
        "score": hit.score,
        "page": section.page or None,
        **{name: value for name, value in sometimes.items() if value},
    }
    return Found(section.id, section.text, hit.score, metadata)
