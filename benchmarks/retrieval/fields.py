"""What each field of the lexical index is worth: the row `bm25` without it."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from measuring import table

from contextpull.adapters.beir import Collection, load_collection, open_collection
from contextpull.eval.measures import ndcg_at
from contextpull.store import Snapshot
from contextpull.store.querying import Weights

DEPTH = 30
ALONE = dict.fromkeys(("stems", "headings", "context", "identifiers", "definitions"), 0.0)
SETTINGS = {
    "as it is": Weights(),
    **{f"without {name}": Weights()._replace(**{name: 0.0}) for name in ALONE},
    "words as written alone": Weights()._replace(**ALONE),
}


def report(collections: Sequence[Path], stores: Path) -> str:
    """nDCG@10 of each setting on each collection."""
    loaded = [load_collection(path) for path in collections]
    opened = [(each, open_collection(each, stores / each.name)) for each in loaded]
    cells = []
    for name, weights in SETTINGS.items():
        scores = [
            score(collection, searched.snapshot, searched.ids, weights)
            for collection, searched in opened
        ]
        cells.append((name, *(f"{each:.3f}" for each in scores), f"{fmean(scores):.4f}"))
    heads = ("fields", *(each.name for each in loaded), "mean")
    return f"## What each field is worth, nDCG@10 of bm25\n\n{table(heads, cells)}\n"


def score(
    collection: Collection, snapshot: Snapshot, ids: dict[int, str], weights: Weights
) -> float:
    """The mean nDCG@10 over the queries of a collection."""

    def ranking(query: str) -> list[str]:
        scored = snapshot.index.search(query, DEPTH, weights=weights)
        return [key for _, key in sorted((each.rank, ids[each.number]) for each in scored)]

    judgements = collection.judgements
    return fmean(
        ndcg_at(ranking(query.text), judgements[query.id], 10) for query in collection.queries
    )
