"""`contextpull eval show` and `eval compare`: a run that was kept, and two of them."""

import json
from pathlib import Path
from typing import Any

import click

from contextpull.cli.options import json_option
from contextpull.cli.rows import rounds_option, seed_option

_RUN = click.Path(path_type=Path)
_MOST_IDS = 10


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

    saved = load_run(run)
    kept = open_ledger(run).of_question(question)
    click.echo(render_question(saved, question, kept), nl=False)


@click.command("compare")
@click.argument("first", type=_RUN)
@click.argument("second", type=_RUN)
@json_option
@seed_option
@rounds_option
def compare_command(first: Path, second: Path, as_json: bool, seed: int, rounds: int) -> None:
    """Compare two kept runs over the same questions: what was changed, won and lost.

    The p-value is that of a permutation test over questions, for each row that both have.

    \b
    Example:
      contextpull eval compare runs/first runs/second

    Exit code: 0, 2 where the runs cannot be compared.
    """
    from contextpull.eval.comparing_runs import compared_runs
    from contextpull.eval.run_directory import load_run

    report = compared_runs(load_run(first), load_run(second), rounds=rounds, seed=seed)
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(report)))


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"{name}: {old} -> {new}" for name, (old, new) in report["changed"].items()]
    lines = [*lines, ""] if lines else ["Nothing was changed but what models answered.", ""]
    for row in report["rows"]:
        low, high = row["difference"]["low"], row["difference"]["high"]
        interval = "" if low is None else f" [{low:+.3f}, {high:+.3f}]"
        lines += [
            f"{row['row']}: {row['measure']} {row['first']:.3f} -> {row['second']:.3f},"
            f" {row['difference']['mean']:+.3f}{interval}, p {row['p']:.3f}",
            f"  won  {_some(row['won'])}",
            f"  lost {_some(row['lost'])}",
        ]
    return lines


def _some(ids: list[str]) -> str:
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return f"{len(ids)}{': ' if ids else ''}{', '.join(ids[:_MOST_IDS])}{more}"
