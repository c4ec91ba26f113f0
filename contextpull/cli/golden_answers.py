"""`contextpull golden answers`: what a system answered to golden questions, judged."""

import os
from math import inf
from pathlib import Path
from typing import Any

import click

from contextpull.cli.agents import asking_progress, interruptible
from contextpull.cli.gates import check_gates, gates_option
from contextpull.cli.golden_measuring import questions_options
from contextpull.cli.judging import judge_options, open_judge
from contextpull.cli.options import json_option, print_json
from contextpull.cli.rows import rounds_option, seed_option

_HERE = click.Path(path_type=Path)

_HELP = """Judge what a system answered to the questions of a golden FILE, each answer from 0 to 1.

\b
  correctness   whether it agrees with the question's reference
  completeness  the share of the reference that it gives
  faithfulness  the share of what it states that its sources support
  helpfulness   how well it serves who asked, beside the reference; without one, by the question

--answers takes JSON lines {"id": "q1", "answer": "...", "sources": [...]}; "question" with its text
may stand for "id". A source is a text, or the name of a section, document or page, which is read
from --store. Every question counts in the headline, whether it was answered or not; the means are
over what was judged. Without a reference there is no correctness and no completeness, without
sources no faithfulness: that is counted as undefined, never as 0 or 1.

A judge is a model (--judge, a call for each answer and measure) or a command (--judge-command), as
in eval judge. How many verdicts will be asked for is said on stderr before the first. A score that
is no number from 0 to 1, prose, a refusal and a timeout are errors: counted, listed, in no mean,
never right, and asked again the next time. Verdicts are kept as they land: the same command goes on
where it stopped, and with --offline it asks nobody.

A judge is a measuring instrument of unknown error until it was compared with people: --labels takes
JSON lines {"id": QUESTION, "row": "answers", "measure": "correctness", "label": 1}. --min holds a
build to the means and to two shares of all questions: answered, and right (correctness of 0.7 or
more).

\b
Examples:
  contextpull golden answers golden.jsonl --answers answers.jsonl --store .contextpull \\
    --judge anthropic:claude-sonnet-4-5 --max-usd 1
  contextpull golden answers golden.jsonl --answers answers.jsonl \\
    --judge-command 'python my_judge.py' --measures correctness --min right=0.8

Exit code: 0 when all that can be judged was and every --min is reached, 1 when not, 2 where judging
could not begin.
"""


@click.command(name="answers", help=_HELP)
@click.argument("file", type=_HERE)
@click.option("--answers", "answers_path", required=True, type=_HERE, help="What was answered.")
@questions_options
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CONTEXTPULL_STORE",
    help="The store from which sources are read.  [sources are texts]",
)
@judge_options
@click.option("--keep", type=_HERE, help="Where verdicts are kept.  [ANSWERS.verdicts.jsonl]")
@gates_option
@json_option
@seed_option
@rounds_option
@click.pass_context
def answers_command(context: click.Context, /, **options: Any) -> None:
    """Judge and print; the help text above is for users."""
    from contextpull.eval.golden.answers import ROW, gate_names, gated_figures
    from contextpull.eval.golden.answers_table import render_answers

    possible = gate_names(options["measures"])
    check_gates(options["gates"], {ROW: dict.fromkeys(possible, inf)})  # a wrong name costs nothing
    report = _report(options)
    if options["as_json"]:
        print_json(report)
    else:
        click.echo(render_answers(report), nl=False)
    passed = check_gates(options["gates"], gated_figures(report))
    failed = any(row["errors"] for row in report["rows"])
    context.exit(1 if failed or not passed else 0)


def _report(options: dict[str, Any]) -> dict[str, Any]:
    from contextpull.eval.golden.answer_files import load_answers
    from contextpull.eval.golden.answer_sources import SourceTexts
    from contextpull.eval.golden.answers import answer_report
    from contextpull.eval.golden.questions import chosen_questions, load_golden
    from contextpull.eval.judging import Settings
    from contextpull.eval.judging.agreement import load_labels
    from contextpull.eval.metered import Budget
    from contextpull.eval.pricing import price_of
    from contextpull.store import open_store

    judge, keep = open_judge(options), _keep(options)
    snapshot = open_store(options["store"]).snapshot() if options["store"] else None
    text_of = SourceTexts(snapshot) if "faithfulness" in options["measures"] else None
    golden = load_golden(options["file"])
    answers = load_answers(options["answers_path"], golden, text_of)
    labels = load_labels(options["labels_path"]) if options["labels_path"] else []
    questions = chosen_questions(golden, options["only"], options["skip"])
    left_out = {each.id for each in golden} - {each.id for each in questions}
    settings = Settings(**{name: options[name] for name in Settings._fields if name != "rows"})

    def plan(missing: int, kept: int) -> None:
        click.echo(f"{judge.name}: {missing} verdicts to ask for, {kept} kept in {keep}.", err=True)

    with interruptible(keep), asking_progress("judging") as on_progress:
        return answer_report(
            questions,
            [each for each in answers if each.id not in left_out],
            judge,
            settings,
            snapshot=snapshot,
            keep=keep,
            labels=[each for each in labels if each.question_id not in left_out],
            budget=Budget(options["max_tokens"], options["max_usd"]),
            price=price_of(options["spec"] or ""),
            on_plan=plan,
            on_progress=on_progress,
        )


def _keep(options: dict[str, Any]) -> Path:
    """The file of verdicts; one that could not be kept is said before anybody is asked."""
    from contextpull.errors import EvaluationError

    answers: Path = options["answers_path"]
    keep: Path = options["keep"] or answers.with_suffix(".verdicts.jsonl")
    if keep.resolve() in {answers.resolve(), options["file"].resolve()}:
        raise click.UsageError("--keep must be a file of its own: verdicts are added to it.")
    target = keep if keep.exists() else keep.parent
    if not options["offline"] and not os.access(target, os.W_OK):
        raise EvaluationError(
            f"Verdicts cannot be kept in {keep}. Name a file that can be written with --keep."
        )
    return keep
