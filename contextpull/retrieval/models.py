"""The models that searches use; each is loaded when a search first needs it."""

import threading
import time
from collections.abc import Callable
from functools import cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

from contextpull.errors import ModelUnavailable
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.models.reranking import Reranker, open_reranker
from contextpull.models.specs import check_named
from contextpull.retrieval.work import Work
from contextpull.store.dense import Manifest
from contextpull.store.querying import LONGEST_QUERY

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_Used = TypeVar("_Used")

RERANKER = "ms-marco-MiniLM-L-12-v2"
_KEPT_VECTORS = 64
_WAIT_AFTER_FAILURE = 30.0
"""Seconds before a model that failed is tried again: searches do not wait for it each time."""


class _Kept(NamedTuple):
    vector: "NDArray[float32]"
    seconds: float
    """What making it took."""


class Models:
    """An embedder and a reranker for all searches of a process; any number of threads."""

    def __init__(
        self,
        *,
        embedder: str | None = None,
        reranker: str = RERANKER,
        api_key: str = "",
        packs: Path | None = None,
        keep_all_vectors: bool = False,
    ) -> None:
        """Name the models; a store names its own embedder.

        `embedder` must name that too where it is an endpoint, or it is not asked. `api_key` is for
        endpoints; `packs` is where model packs lie. The vectors of the newest queries are
        kept; `keep_all_vectors` keeps all, for rows that are asked the same questions.
        """
        self._embedder_name = embedder
        self._reranker_name = reranker
        self._api_key = api_key
        self._packs = packs
        self._lock = threading.Lock()
        self._embedders: dict[str, Embedder] = {}
        self._rerankers: dict[str, Reranker] = {}
        self._most_kept = inf if keep_all_vectors else _KEPT_VECTORS
        self._vectors: dict[tuple[str, str], _Kept] = {}
        self._failures: dict[str, tuple[float, ModelUnavailable]] = {}

    def __deepcopy__(self, memo: object) -> "Models":
        """Shared, whoever is copied: any number of searches may use them."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: they hold what is loaded, and a key."""
        raise TypeError(
            "Models cannot be pickled. Make the retriever or the tools where they are used, or"
            " leave out models= for those of each process."
        )

    def query_vector(
        self, made_of: Manifest, query: str, work: Work | None = None
    ) -> "NDArray[float32]":
        """The vector of a query, by the model that made the vectors of an index.

        Raises ModelUnavailable when that model cannot be used now or is another one by now,
        MissingExtra and InvalidInput as `open_embedder` does.
        """
        query = _asked(query)
        key = (made_of.fingerprint, query)
        kept = self._vectors.get(key)
        if kept is None:
            kept = self._trying(
                made_of.fingerprint, lambda: self._embed(made_of, query, work or Work())
            )
            with self._lock:
                while len(self._vectors) >= self._most_kept:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[key] = kept
        return kept.vector

    def spared_seconds(self, made_of: Manifest, query: str) -> float:
        """What making a query's vector took, where it is kept; 0 where it would be made now."""
        kept = self._vectors.get((made_of.fingerprint, _asked(query)))
        return kept.seconds if kept else 0.0

    def rerank_scores(self, query: str, texts: list[str], work: Work | None = None) -> list[float]:
        """How well each text answers the query, by the cross-encoder; higher is better.

        Raises ModelUnavailable, MissingExtra and InvalidInput as `open_reranker` does.
        """
        name = self._reranker_name
        return self._trying(
            name, lambda: self._reranker(name, work or Work()).scores(_asked(query), texts)
        )

    def _embed(self, made_of: Manifest, query: str, work: Work) -> _Kept:
        check_named(made_of.model, self._embedder_name)
        with self._lock:
            embedder = self._embedders.get(made_of.model)
            # What is open may be what the name stood for before it was installed anew.
            if embedder is None or embedder.fingerprint != made_of.fingerprint:
                work.tell(f"Loading the model {made_of.model!r}.")
                embedder = open_embedder(made_of.model, api_key=self._api_key, models=self._packs)
                self._embedders[made_of.model] = embedder
        if embedder.fingerprint != made_of.fingerprint:
            raise ModelUnavailable(
                f"The model {made_of.model!r} is not the one that made the vectors of this store."
                " Ingest again with --embedder."
            )
        started = time.perf_counter()
        return _Kept(embedder.embed_query(query), time.perf_counter() - started)

    def _reranker(self, name: str, work: Work) -> Reranker:
        with self._lock:
            if name not in self._rerankers:
                work.tell(f"Loading the model {name!r}.")
                self._rerankers[name] = open_reranker(name, models=self._packs)
            return self._rerankers[name]

    def _trying(self, name: str, use: Callable[[], _Used]) -> _Used:
        failed_at, failure = self._failures.get(name, (0.0, None))
        if failure is not None and time.monotonic() < failed_at + _WAIT_AFTER_FAILURE:
            raise ModelUnavailable(str(failure)) from failure
        try:
            used = use()
        except ModelUnavailable as error:
            self._failures[name] = (time.monotonic(), error)
            raise
        self._failures.pop(name, None)
        return used


@cache
def shared_models() -> Models:
    """The models of whoever brings none: one of each for the whole process."""
    return Models()


def _asked(query: str) -> str:
    """What models see of a query: as much as words are searched for, and no halves of letters."""
    return query[:LONGEST_QUERY].encode("utf-8", "replace").decode()
