"""Golden questions over SciFact: what searches find, what they take, where to stop answering.

    python benchmarks/golden/run.py --data DATA [--rerank N] > benchmarks/golden/results.md

DATA holds `judged/scifact` in the layout of BEIR and `eval/uv-questions.jsonl`, whose questions
SciFact does not answer. The pack bge-small-en-v1.5 must be installed (contextpull models install
--all). The cross-encoder is asked the first N questions, if any.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import machine

from contextpull.adapters.beir import Collection, load_collection, open_collection
from contextpull.adapters.push import Searched, with_vectors
from contextpull.config import cache_folder
from contextpull.eval.golden.declining import Value, answer_cutoff
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.report_table import render_cutoff, render_report
from contextpull.eval.golden.reporting import golden_report
from contextpull.eval.golden.settings import parse_settings
from contextpull.models.embedding import Embedder, open_embedder
from contextpull.retrieval.models import Models
from contextpull.retrieval.work import Work
from contextpull.store.dense import Manifest

EMBEDDER = "bge-small-en-v1.5"
OUTSIDE = 100
MEASURES: tuple[Value, ...] = ("similarity", "score")


def main() -> None:
    arguments = parse()
    print(f"# Golden questions over SciFact\n\n{machine()}\n", flush=True)
    collection = load_collection(arguments.data / "judged" / "scifact")
    with TemporaryDirectory(prefix="contextpull-bench-") as folder:
        searched = embedded(collection, Path(folder))
        questions = golden(collection, searched)
        for part in parts(searched, questions, outside(arguments.data), arguments.rerank):
            print(part, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rerank", type=int, default=0)
    return parser.parse_args()


def embedded(collection: Collection, folder: Path) -> Searched:
    """The collection in a store, with vectors that are taken from the cache where they are."""
    cache = cache_folder(os.environ) / "vectors"
    embedder = open_embedder(EMBEDDER)
    return with_vectors(open_collection(collection, folder), embedder, cache=cache)


def golden(collection: Collection, searched: Searched) -> list[GoldenQuestion]:
    """The judged queries as golden questions, which expect documents by path."""
    numbers = {identity: number for number, identity in searched.ids.items()}
    addresses = searched.snapshot.database.addresses(list(searched.ids))
    return [
        GoldenQuestion(
            id=query.id,
            question=query.text,
            expected=tuple(addresses[numbers[each]].path for each in query.gold),
        )
        for query in collection.queries
    ]


def outside(data: Path) -> list[str]:
    """Questions about a program, which no abstract answers."""
    lines = (data / "eval" / "uv-questions.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line)["q"] for line in lines[:OUTSIDE]]


class WithoutPrefix(Models):
    """Embeds queries as it embeds passages: bge's prefix for queries is left out."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self._embedder = embedder

    def query_vector(self, _made_of: Manifest, query: str, _work: Work | None = None) -> Any:
        """The vector of a query."""
        return self._embedder.embed_passages([query])[0]


def parts(
    searched: Searched, questions: list[GoldenQuestion], others: list[str], rerank: int
) -> Iterator[str]:
    """The parts of the report, as they are measured."""
    snapshot = searched.snapshot
    report = golden_report(snapshot, questions, parse_settings("lexical,dense,hybrid,hybrid:ranks"))
    yield block("Settings", render_report(report))
    if rerank:
        first = questions[:rerank]
        report = golden_report(snapshot, first, parse_settings("dense,hybrid,rerank"))
        yield block(f"With the cross-encoder, {len(first)} questions", render_report(report))
    for measure in MEASURES:
        found = answer_cutoff(snapshot, questions, measure=measure)
        yield block(f"Cut-off by {measure}", render_cutoff(found))
        found = answer_cutoff(snapshot, questions, measure=measure, unanswerable=others)
        title = f"Cut-off by {measure}, with {len(others)} questions from outside"
        yield block(title, render_cutoff(found))
    plain = WithoutPrefix(open_embedder(EMBEDDER))
    found = answer_cutoff(snapshot, questions, models=plain)
    yield block("Cut-off by similarity, queries without bge's prefix", render_cutoff(found))


def block(title: str, text: str) -> str:
    """A titled block of plain text."""
    return f"## {title}\n\n```\n{text}```\n"


if __name__ == "__main__":
    main()
