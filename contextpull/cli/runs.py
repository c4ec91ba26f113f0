"""`contextpull eval show`, `replay`, `publish` and `compare`: runs that were kept."""

from pathlib import Path

import click

from contextpull.cli.options import json_option, print_json
from contextpull.cli.rows import by_shape_option, rounds_option, seed_option

_RUN = click.Path(path_type=Path)
_MOST_DIFFERENCES = 10


@click.command("show")
@click.argument("run", type=_RUN)
@click.argument("question")
def show_command(run: Path, question: str) -> None:
    """Show one question of a kept run: its gold, what each row returned, what agents did.

    \b
    Example:
      contextpull eval show runs/first q0017

    Exit code: 0, 2 for a run or a question that is not there.
    """
    from contextpull.eval.run_directory import load_run, open_ledger
    from contextpull.eval.showing import render_question

    click.echo(render_question(load_run(run), question, open_ledger(run)), nl=False)


@click.command("replay")
@click.argument("run", type=_RUN)
@by_shape_option
@json_option
@click.pass_context
def replay_command(context: click.Context, run: Path, by_shape: bool, as_json: bool) -> None:
    """Score a kept run anew and print it: nobody is asked, and no corpus is needed.

    The rankings of push rows and the transcripts of agents are taken from the run's folder, as
    they were made, whatever has become of prompts, tools and models since.

    \b
    Example:
      contextpull eval replay runs/first

    Exit code: 0, 1 where figures are not those that were kept, 2 for a run that is not whole.
    """
    from contextpull.eval.replaying import replay
    from contextpull.eval.run_directory import load_run, open_ledger

    found = replay(load_run(run), open_ledger(run), by_shape=by_shape)
    if as_json:
        print_json(found.report)
    else:
        click.echo(found.table, nl=False)
    for each in found.differences[:_MOST_DIFFERENCES]:
        click.echo(each, err=True)
    click.echo(_replayed(len(found.differences)), err=True)
    context.exit(1 if found.differences else 0)


def _replayed(differences: int) -> str:
    if not differences:
        return "All figures are those that were kept."
    return f"{differences} figures are not those that were kept, with another version perhaps."


@click.command("publish")
@click.argument("run", type=_RUN)
@click.argument("copy", type=_RUN)
def publish_command(run: Path, copy: Path) -> None:
    """Copy a kept run to show it to others: without the text that tools returned to agents.

    The copy replays as the run does. What models wrote stays, and may quote the documents.

    \b
    Example:
      contextpull eval publish runs/first published/first

    Exit code: 0, 2 where there is no run, or something is at COPY already.
    """
    from contextpull.eval.publishing import publish
    from contextpull.eval.run_directory import load_run, open_ledger

    publish(load_run(run), open_ledger(run), copy)


@click.command("compare")
@click.argument("first", type=_RUN)
@click.argument("second", type=_RUN)
@click.option(
    "--across-corpora",
    is_flag=True,
    help="Compare runs over different sections too; gold and ids must be the same.",
)
@json_option
@seed_option
@rounds_option
def compare_command(
    first: Path, second: Path, across_corpora: bool, as_json: bool, seed: int, rounds: int
) -> None:
    """Compare two kept runs over the same questions: what was changed, won and lost.

    Each row that both have is compared in recall@k, over all questions and by shape: the
    difference, its interval, the p-value of a permutation test over documents, the same corrected
    for the number of comparisons (Holm), and the smallest difference that so many could show.

    \b
    Example:
      contextpull eval compare runs/first runs/second

    Exit code: 0, 2 where the runs cannot be compared.
    """
    from contextpull.eval.comparing_runs import compare_runs, compared_report, render_compared
    from contextpull.eval.run_directory import load_run

    runs = compare_runs(
        load_run(first), load_run(second), rounds=rounds, seed=seed, across_corpora=across_corpora
    )
    if as_json:
        print_json(compared_report(runs))
    else:
        click.echo(render_compared(runs), nl=False)
