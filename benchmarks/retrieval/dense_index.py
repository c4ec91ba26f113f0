"""The dense index: what the approximate search finds of the true neighbours, and how fast it is."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
from measuring import quantiles, table

from contextpull.adapters.beir import Collection, load_collection
from contextpull.config import cache_folder
from contextpull.models.embedding import open_embedder
from contextpull.store import dense
from contextpull.store.dense import DenseIndex, DenseWriter, new_manifest
from contextpull.store.vectors import VectorCache

EMBEDDER = "bge-small-en-v1.5"
SIZES = (10_000, 115_000, 1_000_000)
QUERIES_EACH = 50


def report(collections: Sequence[Path]) -> str:
    """Real vectors for the recall; their mixtures, as many as are asked for, for the time."""
    vectors, queries = real(collections)
    cells = [latency(mixed(vectors, size), queries) for size in SIZES]
    heads = ("vectors", "way", "build CPU s", "open ms", "p50 ms", "p99 ms", "MB")
    return (
        "## Dense index, the vector of the query given\n\n"
        f"{recall(vectors, queries)}\n\n{table(heads, cells)}\n\n"
        "The vectors of the table are mixtures of two real ones each, with noise; CPU times.\n"
    )


def real(collections: Sequence[Path]) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of all documents of all collections, and of some queries of each."""
    embedder = open_embedder(EMBEDDER)
    cache = VectorCache(cache_folder(os.environ) / "vectors", embedder)
    loaded = [load_collection(path) for path in collections]
    texts = [text for each in loaded for text in texts_of(each)]
    asked = [query.text for each in loaded for query in islice(each.queries, QUERIES_EACH)]
    return cache.vectors(texts), np.stack([embedder.embed_query(text) for text in asked])


def texts_of(collection: Collection) -> list[str]:
    return [
        f"{each.title}\n\n{each.text}" if each.title else each.text for each in collection.documents
    ]


def recall(vectors: np.ndarray, queries: np.ndarray) -> str:
    """What share of the true best 10 and 100 the lists hold that a query looks into."""
    with TemporaryDirectory(prefix="contextpull-bench-") as folder, few_are_many(len(vectors)):
        index = built(vectors, Path(folder))
        found = {10: [], 100: []}
        for query in queries:
            for depth, shares in found.items():
                true = {near.number for near in index.search(query, depth, exact=True)}
                near = {near.number for near in index.search(query, depth)}
                shares.append(len(true & near) / depth)
    return (
        f"Recall of the approximate search over {len(vectors):,} real vectors, {len(queries)}"
        f" queries: {fmean(found[10]):.4f} of the best 10, {fmean(found[100]):.4f} of the best 100."
    )


def latency(vectors: np.ndarray, queries: np.ndarray) -> tuple[str, ...]:
    with TemporaryDirectory(prefix="contextpull-bench-") as folder:
        start = time.process_time()
        built(vectors, Path(folder))
        build = time.process_time() - start
        start = time.process_time()
        index = DenseIndex(Path(folder))
        opened = (time.process_time() - start) * 1000
        times = quantiles(lambda query: index.search(query, 100), list(queries), time.process_time)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        return (
            f"{len(vectors):,}",
            "lists" if index.manifest.trained_on else "all",
            f"{build:.1f}",
            f"{opened:.1f}",
            f"{times.p50:.2f}",
            f"{times.p99:.2f}",
            f"{size / 1e6:.0f}",
        )


def built(vectors: np.ndarray, folder: Path) -> DenseIndex:
    writer = DenseWriter(folder, range(len(vectors)), new_manifest(EMBEDDER, "bench", "one", 1))
    writer.train(vectors[list(writer.sample)])
    writer.add(writer.missing, vectors)
    writer.commit()
    return DenseIndex(folder)


def mixed(vectors: np.ndarray, size: int) -> np.ndarray:
    """So many vectors of length 1 between pairs of real ones."""
    draw = np.random.default_rng(0)
    one, other = (vectors[draw.integers(0, len(vectors), size)] for _ in range(2))
    part = draw.random((size, 1), dtype=np.float32) * 0.5
    blend = (1 - part) * one + part * other
    blend += draw.normal(0, 0.02, blend.shape).astype(np.float32)
    return blend / np.linalg.norm(blend, axis=1, keepdims=True)


@contextmanager
def few_are_many(count: int) -> Iterator[None]:
    """Sort vectors into lists although there are few."""
    usual, dense.FLAT_UP_TO = dense.FLAT_UP_TO, count - 1
    try:
        yield
    finally:
        dense.FLAT_UP_TO = usual
