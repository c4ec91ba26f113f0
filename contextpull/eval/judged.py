"""Rows over judged collections: measured, averaged over collections, compared in pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from contextpull import __version__
from contextpull.adapters.beir import Collection
from contextpull.eval.closing import close_gold, closed_grades, closing_note
from contextpull.eval.comparing import (
    Comparison,
    holm,
    paired_permutation,
    paired_permutation_of_means,
)
from contextpull.eval.measures import JUDGED, JUDGED_DEPTH
from contextpull.eval.runs import Row, evaluate, row_record
from contextpull.eval.statistics import LEVEL, Interval, bootstrap_mean_of_means
from contextpull.types import Retriever

COMPARED = JUDGED[0].name
"""The measure that comparisons are about."""
_IDS_KEPT = 10


@dataclass(frozen=True, slots=True)
class Block:
    """One collection and the rows that were measured over it."""

    collection: Collection
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """One row beside the baseline."""

    collection: str | None
    """None: over all collections, each of which weighs the same."""
    row: str
    comparison: Comparison
    p_holm: float
    """The p-value, corrected for the number of comparisons of its kind: those within single
    collections are one family, those over all collections another."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """Everything that one run measured; every block has the same rows in the same order."""

    blocks: tuple[Block, ...]
    means: dict[str, dict[str, Interval]]
    """Over the collections, by row and measure; empty for a single collection."""
    comparisons: tuple[Compared, ...]
    baseline: str
    rounds: int
    seed: int

    @property
    def failed(self) -> bool:
        """Whether a query failed in any row."""
        return any(row.failures for block in self.blocks for row in block.rows)


def measure(
    collection: Collection,
    retriever: Retriever,
    *,
    name: str,
    rounds: int,
    seed: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> Row:
    """One row over one collection: every query to depth 100, scored with its graded judgements."""
    return evaluate(
        collection.ask(retriever),
        collection.queries,
        name=name,
        k=JUDGED_DEPTH,
        known_ids=[document.id for document in collection.documents],
        measures=JUDGED,
        grades=collection.judgements,
        copies=collection.copies,
        rounds=rounds,
        seed=seed,
        on_progress=on_progress,
    )


def closed(collection: Collection) -> Collection:
    """The collection with its judgements closed over documents of the same title and text."""
    texts = {each.id: (each.title.strip(), each.text.strip()) for each in collection.documents}
    gold = close_gold(collection.queries, texts)
    judgements = {
        query: closed_grades(grades, gold.copies) for query, grades in collection.judgements.items()
    }
    return replace(
        collection,
        queries=gold.questions,
        judgements=judgements,
        notes=(*collection.notes, closing_note(gold)),
        copies=gold.copies,
    )


def judged_run(blocks: Sequence[Block], baseline: str, *, rounds: int, seed: int) -> JudgedRun:
    """The blocks with the means over them, and with each other row beside the row `baseline`."""
    several = len(blocks) > 1
    names = [row.name for row in blocks[0].rows]
    by_name = [{row.name: row for row in block.rows} for block in blocks]
    means = {
        name: {
            each.name: bootstrap_mean_of_means(
                [_values(rows[name], each.name) for rows in by_name], rounds=rounds, seed=seed
            )
            for each in JUDGED
        }
        for name in (names if several else ())
    }
    within, over_all = [], []
    for name in names:
        if name == baseline:
            continue
        pairs = [(_values(rows[name]), _values(rows[baseline])) for rows in by_name]
        for block, pair in zip(blocks, pairs, strict=True):
            comparison = paired_permutation(*pair, rounds=rounds, seed=seed)
            within.append((block.collection.name, name, comparison))
        if several:
            comparison = paired_permutation_of_means(pairs, rounds=rounds, seed=seed)
            over_all.append((None, name, comparison))
    comparisons = [*_corrected(within), *_corrected(over_all)]
    return JudgedRun(tuple(blocks), means, tuple(comparisons), baseline, rounds, seed)


def judged_report(run: JudgedRun) -> dict[str, object]:
    """A run as JSON-ready values; undefined figures are `None`."""
    return {
        "contextpull": __version__,
        "depth": JUDGED_DEPTH,
        "interval": {"level": LEVEL, "rounds": run.rounds, "seed": run.seed},
        "collections": [_block_record(block) for block in run.blocks],
        "means": [
            {"row": name, "measures": {each: value.as_dict() for each, value in measures.items()}}
            for name, measures in run.means.items()
        ],
        "baseline": run.baseline,
        "compared": COMPARED,
        "comparisons": [
            {
                "collection": each.collection,
                "row": each.row,
                **each.comparison.as_dict(),
                "p_holm": each.p_holm,
            }
            for each in run.comparisons
        ],
    }


def query_records(collection: Collection, row: Row) -> Iterator[dict[str, object]]:
    """Each query of a row as JSON-ready values: its figures and the first ten ids."""
    for outcome in row.outcomes:
        yield {
            "collection": collection.name,
            "row": row.name,
            "query": outcome.question.id,
            **outcome.scores,
            "top": list(outcome.ranking[:_IDS_KEPT]),
            "seconds": outcome.seconds,
            "error": outcome.error,
        }


def run_lines(row: Row) -> Iterator[str]:
    """The rankings of a row as a run file of trec_eval, one line a document.

    The scores are made up: they fall by 1 from place to place, so that nothing can tie.
    """
    tag = "_".join(row.name.split())
    for outcome in row.outcomes:
        for place, each in enumerate(outcome.ranking, start=1):
            score = JUDGED_DEPTH + 1 - place
            yield f"{outcome.question.id} Q0 {each} {place} {score} {tag}\n"


def _values(row: Row, measure_name: str = COMPARED) -> list[float]:
    return [outcome.scores[measure_name] for outcome in row.outcomes]


def _corrected(found: Sequence[tuple[str | None, str, Comparison]]) -> Iterator[Compared]:
    corrected = holm([comparison.p for _, _, comparison in found])
    for (collection, row, comparison), p_holm in zip(found, corrected, strict=True):
        yield Compared(collection, row, comparison, p_holm)


def _block_record(block: Block) -> dict[str, object]:
    collection = block.collection
    return {
        "collection": collection.name,
        "split": collection.split,
        "documents": len(collection.documents),
        "queries": len(collection.queries),
        "fingerprint": collection.fingerprint,
        "notes": list(collection.notes),
        "rows": [
            {**row_record(row), "median_ms": 1_000 * row.median_seconds} for row in block.rows
        ],
    }
