"""`contextpull eval beir`: measure retrieval over judged collections."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

import click

from contextpull.cli.options import print_json
from contextpull.cli.progress import progress_bar
from contextpull.cli.rows import (
    ROWS_HELP,
    RowModels,
    close_gold_option,
    open_rows,
    rounds_option,
    row_model_options,
    rows_option,
    seed_option,
)

if TYPE_CHECKING:
    from contextpull.adapters.beir import Collection
    from contextpull.eval.judged import JudgedRun
    from contextpull.eval.runs import Row

_BEIR_HELP = f"""Ask the queries of judged collections and print how well their documents rank.

A PATH is a folder in the layout of BEIR: corpus.jsonl, queries.jsonl and qrels/test.tsv. Each
document is one section. Every query is asked to depth 100; the table shows nDCG@10 with its 95%
interval, R@100, RR@10 and AP@100, as trec_eval computes them, and the median time of a query.

With more than one row, each is compared with the baseline, query by query: the difference in
nDCG@10, its interval, the p-value of a permutation test, the same corrected for the number of
comparisons (Holm), and the smallest difference that so many queries could have shown.

\b
Examples:
  contextpull eval beir scifact
  contextpull eval beir collections/* --store stores --json
  contextpull eval beir scifact --split train --queries 100 --per-query queries.jsonl

{ROWS_HELP}

Exit code: 0 when every query was answered, 1 when one failed (it is listed and counts as a miss),
2 when nothing could be measured.
"""


@click.command(name="beir", help=_BEIR_HELP)
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@rows_option()
@row_model_options
@click.option("--baseline", help="The row to compare the others with.  [the first]")
@click.option("--split", default="test", show_default=True, help="Which of the qrels to use.")
@click.option(
    "--queries", type=click.IntRange(min=1), help="Ask only the first so many of each collection."
)
@close_gold_option
@click.option(
    "--store",
    "stores",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the stores here, one folder a collection, and use them again next time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@click.option(
    "--per-query",
    type=click.File("w", encoding="utf-8"),
    help="Write each query's figures and its first ten ids to this file: JSON lines.",
)
@click.option(
    "--run-files",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the rankings into this folder, as trec_eval reads them: COLLECTION.ROW.run.",
)
@seed_option
@rounds_option
@click.pass_context
def beir_command(
    context: click.Context,
    paths: tuple[Path, ...],
    rows: tuple[str, ...],
    embedder: str,
    reranker: str,
    api_key: str,
    baseline: str | None,
    split: str,
    queries: int | None,
    close_gold: bool,
    stores: Path | None,
    as_json: bool,
    per_query: IO[str] | None,
    run_files: Path | None,
    seed: int,
    rounds: int,
) -> None:
    """Measure the rows and print them; the help text above is for users."""
    from contextpull.adapters.beir import load_collection
    from contextpull.eval.judged import Block, closed, judged_run
    from contextpull.eval.statistics import require_numpy

    if baseline is not None and baseline not in rows:
        raise click.BadParameter(f"{baseline!r} is not among the --rows.", param_hint="--baseline")
    require_numpy()  # before a store is built in vain
    collections = [load_collection(path, split) for path in paths]
    _check_names(collections)
    blocks = []
    for whole in collections:
        collection = whole.first(queries) if queries else whole
        collection = closed(collection) if close_gold else collection
        measured = []
        models = RowModels(embedder, reranker, api_key)
        for row in _measured(collection, rows, models, stores, rounds, seed):
            measured.append(row)
            _write(collection, row, per_query, run_files)
        blocks.append(Block(collection, tuple(measured)))
    run = judged_run(blocks, baseline or rows[0], rounds=rounds, seed=seed)
    _print(run, as_json=as_json)
    context.exit(1 if run.failed else 0)


def _check_names(collections: Sequence["Collection"]) -> None:
    """Stores, files and tables know a collection by its name alone."""
    for name, times in Counter(each.name for each in collections).items():
        if times > 1:
            raise click.UsageError(f"{times} collections are named {name!r}. Rename their folders.")


def _measured(
    collection: "Collection",
    names: Sequence[str],
    models: RowModels,
    stores: Path | None,
    rounds: int,
    seed: int,
) -> Iterator["Row"]:
    """The rows over one collection, one after the other."""
    from contextpull.adapters.beir import open_collection
    from contextpull.eval.judged import measure

    with _folder(collection, stores) as folder:
        searched = open_collection(collection, folder)
        for name, retriever in open_rows(names, searched, models):
            with progress_bar(f"{collection.name}: {name}", "share") as on_progress:
                row = measure(
                    collection,
                    retriever,
                    name=name,
                    rounds=rounds,
                    seed=seed,
                    on_progress=on_progress,
                )
            yield row


@contextmanager
def _folder(collection: "Collection", stores: Path | None) -> Iterator[Path]:
    """Where the store of a collection lies: for good, or for as long as it is searched."""
    if stores is not None:
        yield stores / collection.name
        return
    with TemporaryDirectory(prefix="contextpull-") as temporary:
        yield Path(temporary)


def _write(
    collection: "Collection", row: "Row", per_query: IO[str] | None, run_files: Path | None
) -> None:
    """Put down what a row found as soon as it is there."""
    from contextpull.eval.judged import query_records, run_lines

    if per_query is not None:
        for record in query_records(collection, row):
            per_query.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        per_query.flush()
    if run_files is not None:
        path = run_files / f"{collection.name}.{row.name.replace('/', '_')}.run"
        try:
            run_files.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(run_lines(row)), encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(path), error.strerror) from error


def _print(run: "JudgedRun", *, as_json: bool) -> None:
    from contextpull.eval.judged import judged_report
    from contextpull.eval.judged_table import render_judged

    if as_json:
        print_json(judged_report(run))
    else:
        click.echo(render_judged(run), nl=False)
