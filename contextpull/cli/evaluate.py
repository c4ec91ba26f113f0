"""`contextpull eval`: measure retrieval over an eval set."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from contextpull.cli.judged import beir_command
from contextpull.cli.rows import (
    ROWS_HELP,
    RowModels,
    open_rows,
    progress,
    rounds_option,
    row_model_options,
    rows_option,
    seed_option,
)

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched
    from contextpull.eval.runs import Row

_RUN_HELP = f"""Ask every question and print how often the right sections come back.

Each row of the table is one way to search. It shows recall@k (the share of the gold that is among
the first k sections), mrr@k (how early the first gold stands) and ndcg@k|hit (how well gold is
placed where it is found at all), over all questions and for each shape of question. The brackets
hold a 95% interval: how far the figure could move with other questions of the same kind.

Give the sections with either --sections or --store. The gold of every question must be among
them; where it is not, nothing is scored.

\b
Examples:
  contextpull eval run --questions questions.jsonl --store .contextpull
  contextpull eval run --questions questions.jsonl --sections sections.jsonl --k 10 --json

{ROWS_HELP}

Exit code: 0 when every question was answered, 1 when one failed (it is listed and counts as a
miss), 2 when nothing could be measured.
"""


@click.group(name="eval")
def eval_group() -> None:
    """Measure how well sections are found, question by question.

    Start with `contextpull eval run --help`, for your own questions, or with
    `contextpull eval beir --help`, for collections that others judged.
    """


eval_group.add_command(beir_command)


@eval_group.command(name="run", help=_RUN_HELP)
@click.option(
    "--questions",
    "questions_path",
    required=True,
    type=click.Path(path_type=Path),
    help="The eval set: JSON lines with id, q, shape, gold_chunk_ids (ragbisect's format).",
)
@click.option(
    "--sections",
    "sections_path",
    type=click.Path(path_type=Path),
    help="The sections to search: JSON lines with id, text, source, as `export-chunks` writes.",
)
@click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path),
    help="The store whose sections to search, instead of --sections.",
)
@rows_option
@row_model_options
@click.option(
    "--k",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many sections each answer may hold.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@seed_option
@rounds_option
@click.pass_context
def run_command(
    context: click.Context,
    questions_path: Path,
    sections_path: Path | None,
    store_path: Path | None,
    rows: tuple[str, ...],
    embedder: str,
    reranker: str,
    api_key: str,
    k: int,
    as_json: bool,
    seed: int,
    rounds: int,
) -> None:
    """Measure the rows and print them; the help text above is for users."""
    from contextpull.adapters.ragbisect import load_questions
    from contextpull.eval.runs import evaluate
    from contextpull.eval.statistics import require_numpy

    if (sections_path is None) == (store_path is None):
        raise click.UsageError("Give the sections with either --sections or --store.")
    require_numpy()  # before an index is built in vain
    questions = load_questions(questions_path)
    models = RowModels(embedder, reranker, api_key)
    results = []
    with _searched(sections_path, store_path) as searched:
        for name, retriever in open_rows(rows, searched, models, embed=store_path is None):
            with progress(name) as on_progress:
                row = evaluate(
                    retriever,
                    questions,
                    name=name,
                    k=k,
                    known_ids=set(searched.ids.values()),
                    rounds=rounds,
                    seed=seed,
                    on_progress=on_progress,
                )
            results.append(row)
    _print(results, k, as_json=as_json)
    context.exit(1 if any(row.failures for row in results) else 0)


@contextmanager
def _searched(sections: Path | None, store: Path | None) -> Iterator["Searched"]:
    """What all rows search, for as long as they do."""
    from contextpull.adapters import push, ragbisect

    if store is not None:
        yield push.over_store(store)
    elif sections is not None:
        passages = ragbisect.load_passages(sections)
        with TemporaryDirectory(prefix="contextpull-") as folder:
            yield push.over_passages(passages, Path(folder))


def _print(rows: Sequence["Row"], k: int, *, as_json: bool) -> None:
    from contextpull.eval.runs import report
    from contextpull.eval.table import render_table

    if as_json:
        click.echo(json.dumps(report(rows, k), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        click.echo(render_table(rows), nl=False)
