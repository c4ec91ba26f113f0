"""`contextpull eval judge`: the answers of a kept run, judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.agents import asking_progress, interruptible
from contextpull.cli.options import (
    budget_options,
    chosen_of,
    concurrency_option,
    json_option,
    names_in,
    print_json,
    together,
)
from contextpull.cli.rows import rounds_option, seed_option

if TYPE_CHECKING:
    from contextpull.eval.judging.judges import Judge

_MEASURES = ("faithfulness", "correctness", "completeness", "helpfulness")
"""As `contextpull.eval.judging.items` has them, without loading it for `--help`."""
_HERE = click.Path(path_type=Path)

_HELP = """Judge the answers that agents gave in a kept run, each from 0 to 1.

\b
  faithfulness  the share of what an answer states that what the model was shown supports: the
                sections it read; where it read none, the hits it saw, told apart in the table
  correctness   whether it agrees with the question's reference answer
  completeness  the share of the reference answer that it gives
  helpfulness   how well it serves who asked, beside the reference answer

A judge is a model (--judge, a call for each answer and measure) or a command (--judge-command, a
process for each, with one JSON object on standard input: measure, id, row, question, answer,
evidence or reference, and the prompt that a model would get; it prints {"score": 0.5, "reason":
"..."}). What cannot be judged (nothing was shown, no reference answer) is counted as undefined,
never as 0 or 1. A score that is no number from 0 to 1, a refusal, a timeout and any other failure
are counted, listed and asked again the next time.

Verdicts are kept in RUN/judgements.jsonl as they land: the same command goes on where it stopped,
asks only for answers that changed, and with --offline asks nobody. Budgets count what is asked
anew.

A judge is a measuring instrument of unknown error until it was compared with people: --labels
takes JSON lines {"id": QUESTION, "row": "pull", "measure": "correctness", "label": 1} and tells
Cohen's kappa for labels of 0 and 1, else the mean absolute difference; --twice tells how often
the judge differs from itself.

\b
Examples:
  contextpull eval judge runs/first --judge anthropic:claude-sonnet-4-5 --sample 50 --max-usd 1
  contextpull eval judge runs/first --judge-command 'python my_judge.py' --measures faithfulness
  contextpull eval judge runs/first --judge http://127.0.0.1:8080/v1#qwen --labels labels.jsonl

Exit code: 0 when all that can be judged was, 1 when a verdict is missing (it is listed and counts
in no mean), 2 where judging could not begin.
"""


judge_options = together(
    click.option(
        "--judge", "spec", metavar="MODEL", help="The model that judges, as --model of run."
    ),
    click.option(
        "--judge-key",
        default="",
        envvar="CONTEXTPULL_JUDGE_KEY",
        help="The key for --judge; better given as CONTEXTPULL_JUDGE_KEY.",
    ),
    click.option(
        "--judge-command", metavar="COMMAND", help="A command that judges, in place of it."
    ),
    click.option(
        "--judge-seconds",
        default=120.0,
        show_default=True,
        type=click.FloatRange(min=0, min_open=True),
        help="The longest wait for one verdict; a command is killed then.",
    ),
    click.option(
        "--measures",
        default=",".join(_MEASURES),
        show_default=True,
        callback=chosen_of(_MEASURES, "measure of answers"),
        help="What to judge, separated by commas.",
    ),
    click.option("--twice", is_flag=True, help="Ask twice, and tell how often the judge differs."),
    click.option("--labels", "labels_path", type=_HERE, help="What people gave: JSON lines."),
    click.option(
        "--sample",
        type=click.IntRange(min=1),
        help="Only so many questions, drawn by the seed.",
    ),
    budget_options,
    concurrency_option("Verdicts that are asked for at once."),
    click.option("--offline", is_flag=True, help="Ask nobody; all verdicts must be kept already."),
)
"""Who judges what, how often, and what it may cost; `open_judge` opens who is named."""


@click.command(name="judge", help=_HELP)
@click.argument("run", type=_HERE)
@judge_options
@click.option("--rows", help="Only answers of these agents, separated by commas.")
@json_option
@seed_option
@rounds_option
@click.pass_context
def judge_command(context: click.Context, /, **options: Any) -> None:
    """Judge and print; the help text above is for users."""
    from contextpull.eval.judging import Settings, judge_run
    from contextpull.eval.judging.agreement import load_labels
    from contextpull.eval.judging.table import render_judging
    from contextpull.eval.metered import Budget
    from contextpull.eval.pricing import price_of

    judge = open_judge(options)
    labels = load_labels(options["labels_path"]) if options["labels_path"] else []
    same = {name: options[name] for name in Settings._fields if name != "rows"}
    with interruptible(options["run"]), asking_progress("judging") as on_progress:
        report = judge_run(
            options["run"],
            judge,
            Settings(rows=names_in(options["rows"]) if options["rows"] else (), **same),
            labels=labels,
            budget=Budget(options["max_tokens"], options["max_usd"]),
            price=price_of(options["spec"] or ""),
            on_progress=on_progress,
        )
    if options["as_json"]:
        print_json(report)
    else:
        click.echo(render_judging(report), nl=False)
    context.exit(1 if any(row["errors"] for row in report["rows"]) else 0)


def open_judge(options: dict[str, Any]) -> "Judge":
    """The judge that `judge_options` name. Raises UsageError unless it is one."""
    command, spec = options["judge_command"], options["spec"]
    if bool(command) == bool(spec):
        raise click.UsageError("Name one judge: --judge MODEL or --judge-command COMMAND.")
    if command:
        if options["max_usd"] is not None or options["max_tokens"] is not None:
            raise click.UsageError("Only --judge can be held to --max-usd or --max-tokens.")
        from contextpull.eval.judging.command import CommandJudge

        return CommandJudge(command, options["judge_seconds"])
    from contextpull.eval.judging import ChatJudge
    from contextpull.models.chat import open_chat

    chat = open_chat(spec, api_key=options["judge_key"], seconds=options["judge_seconds"])
    return ChatJudge(chat)
