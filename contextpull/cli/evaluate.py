"""`contextpull eval`: measure retrieval over an eval set."""

import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextpull.types import Retriever

if TYPE_CHECKING:
    from contextpull.eval.runs import Row

ROWS = ("bm25",)
Searched = tuple[Retriever, Collection[str]]
"""A retriever and every id that it can return."""

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

Rows: {", ".join(ROWS)}.

Exit code: 0 when every question was answered, 1 when one failed (it is listed and counts as a
miss), 2 when nothing could be measured.
"""


@click.group(name="eval")
def eval_group() -> None:
    """Measure how well sections are found, question by question.

    Start with `contextpull eval run --help`.
    """


def _row_names(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if name not in ROWS:
            raise click.BadParameter(f"{name!r} is no row. Choose from: {', '.join(ROWS)}.")
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is named more than once.")
    return names


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
@click.option(
    "--rows",
    default="bm25",
    show_default=True,
    callback=_row_names,
    help="What to measure, separated by commas.",
)
@click.option(
    "--k",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many sections each answer may hold.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the bootstrap.",
)
@click.option(
    "--rounds",
    default=10_000,
    show_default=True,
    type=click.IntRange(100, 1_000_000),
    help="Rounds of the bootstrap; fewer than 1,000 give shaky intervals.",
)
@click.pass_context
def run_command(
    context: click.Context,
    questions_path: Path,
    sections_path: Path | None,
    store_path: Path | None,
    rows: tuple[str, ...],
    k: int,
    as_json: bool,
    seed: int,
    rounds: int,
) -> None:
    """Measure the rows and print them; the help text above is for users."""
    from contextpull.adapters.ragbisect import load_questions
    from contextpull.eval.runs import evaluate
    from contextpull.eval.statistics import require_numpy

    open_bm25 = _opener(sections_path, store_path)
    require_numpy()  # before an index is built in vain
    questions = load_questions(questions_path)
    results = []
    for name in rows:
        retriever, known_ids = open_bm25()
        with _progress(name) as on_progress:
            row = evaluate(
                retriever,
                questions,
                name=name,
                k=k,
                known_ids=known_ids,
                rounds=rounds,
                seed=seed,
                on_progress=on_progress,
            )
        results.append(row)
    _print(results, k, as_json=as_json)
    context.exit(1 if any(row.failures for row in results) else 0)


def _opener(sections: Path | None, store: Path | None) -> Callable[[], Searched]:
    """What builds the push row `bm25`, once the questions are known to be good."""
    if sections is not None and store is None:
        return partial(_bm25_over_sections, sections)
    if store is not None and sections is None:
        return partial(_bm25_over_store, store)
    raise click.UsageError("Give the sections with either --sections or --store.")


# The engine behind these takes a moment to load, which `--help` should not wait for.
def _bm25_over_sections(path: Path) -> Searched:
    from contextpull.adapters import push, ragbisect

    passages = ragbisect.load_passages(path)
    return push.bm25_over_passages(passages), [passage.id for passage in passages]


def _bm25_over_store(path: Path) -> Searched:
    from contextpull.adapters import push

    retriever = push.bm25_over_store(path)
    return retriever, retriever.ids


def _print(rows: Sequence["Row"], k: int, *, as_json: bool) -> None:
    from contextpull.eval.runs import report
    from contextpull.eval.table import render_table

    if as_json:
        click.echo(json.dumps(report(rows, k), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        click.echo(render_table(rows), nl=False)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr that the yielded function moves; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name)
        yield lambda asked, questions: bar.update(task, completed=asked, total=questions)
