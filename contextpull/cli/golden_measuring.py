"""`contextpull golden report` and `cutoff`: what golden questions find, and where to stop."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import (
    api_key_option,
    embedder_option,
    json_option,
    models_of,
    print_json,
    reranker_option,
    store_option,
    together,
)
from contextpull.cli.progress import progress_bar
from contextpull.cli.rows import rounds_option, seed_option

if TYPE_CHECKING:
    from contextpull.eval.golden.questions import GoldenQuestion
    from contextpull.eval.golden.settings import Setting

_HERE = click.Path(path_type=Path)
_FAILED = 1

_REPORT_HELP = """Score how well searches find what the questions of a golden FILE expect.

Every question is asked of every setting, and what comes back is scored at one grain:

\b
  doc       any section of an expected document; documents are ranked by their best section, as
            deep as it takes, so that a long document hides no other
  section   the expected section itself
  page      a section that covers the expected page
  evidence  a section that holds a quote of the question's evidence, wholly or up to its border;
            without evidence, what is expected counts

recall@k is the share of what a question expects among the first k; hit_rate@k counts a question
where any of it is there, so it is never lower. Settings are lexical, dense, hybrid and rerank; the
last two take what words weigh, and ranks for reciprocal rank fusion: hybrid:0.7, hybrid:ranks,
rerank:ranks:2. All but lexical need a store with vectors (contextpull ingest --embedder).

With several settings three are picked, by rules that are printed, and the frontier is named, those
that no other beats in both what is found and time. Every pair is compared, question by question:
the p-value of a permutation test, corrected for the number of pairs (Holm), says whether the order
could be luck. A setting's time is that of one search alone.

Questions without labels are counted and left out. What the store does not hold is an error, since
nothing could find it.

\b
Examples:
  contextpull golden report golden.jsonl
  contextpull golden report golden.jsonl --settings lexical,dense,hybrid,rerank --by evidence
  contextpull golden report golden.jsonl --k 1,20 --json --only 'fact-*' --skip fact-7

Exit code: 0 when every question was answered, 1 when a search failed (it is listed and counts as
a miss), 2 when nothing could be measured.
"""
_CUTOFF_HELP = """Find the value of the top result below which it is better to decline.

A search always has a top result. For each labelled question of the golden FILE it is an answer or
a near miss, something else that came first; for each question of --unanswerable, which the
documents do not answer, it is a near miss. From both follow

\b
  separation  how often an answer has a higher value than a near miss; 0.5 is a coin
  cut-off     where answers kept + near misses declined is highest (Youden's J), with its interval
              and with what it costs on questions that it was not chosen by (cross-validation)
  a table     what other cut-offs cost, to choose a stricter or a looser one from

Values: similarity is the cosine of the top result by vectors, relevance the cross-encoder's verdict
on the one that it puts first, score the score of the top result of --setting. A cut-off belongs to
one value, one model and one corpus. It is an honest number only with questions from outside.

None is named with fewer than 5 answers and 5 near misses, or where the interval of the separation
reaches 0.5: the data do not support one then.

\b
Examples:
  contextpull golden cutoff golden.jsonl --unanswerable outside.txt
  contextpull golden cutoff golden.jsonl --measure score --setting hybrid --json

Exit code: 0 with a cut-off, 1 where the data support none, 2 when nothing could be measured.
"""


def whole_numbers(
    _context: click.Context, _parameter: click.Parameter, value: str
) -> tuple[int, ...]:
    """The whole numbers in the value of an option, separated by commas."""
    try:
        return tuple(int(each) for each in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no list of whole numbers. Write them with commas: 1,3,10."
        ) from None


_by_option = click.option(
    "--by",
    type=click.Choice(["doc", "section", "page", "evidence"]),
    default="doc",
    show_default=True,
    help="What counts as found.",
)

questions_options = together(
    click.option(
        "--only",
        multiple=True,
        metavar="ID",
        help="Only the question of this id, or those whose ids match this glob; may be given"
        " several times.",
    ),
    click.option("--skip", multiple=True, metavar="ID", help="Not this one, or these; as --only."),
)
"""Which questions of the file are asked."""


@click.command(name="report", help=_REPORT_HELP)
@click.argument("file", type=_HERE)
@questions_options
@store_option
@click.option(
    "--settings",
    default="lexical",
    show_default=True,
    help="The ways to search that are compared, separated by commas.",
)
@_by_option
@click.option(
    "--k",
    "cutoffs",
    default="1,3,5,10",
    show_default=True,
    callback=whole_numbers,
    help="Cut-offs.",
)
@embedder_option
@reranker_option
@api_key_option
@json_option
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@seed_option
@rounds_option
@click.pass_context
def report_command(context: click.Context, /, **options: Any) -> None:
    """Measure and print; the help text above is for users."""
    from contextpull.eval.golden.report_table import render_report, render_report_markdown
    from contextpull.eval.golden.reporting import checked_cutoffs, golden_report, report_record
    from contextpull.eval.golden.settings import parse_settings
    from contextpull.store import open_store

    check_output(options)
    cutoffs = checked_cutoffs(options["cutoffs"])
    settings = parse_settings(options["settings"])
    questions = questions_of(options["file"], options)
    with progress_bar("asking", "count") as on_progress:
        report = golden_report(
            open_store(options["store"]).snapshot(),
            questions,
            settings,
            by=options["by"],
            k=cutoffs,
            models=models_of(options, keep_all_vectors=True),
            rounds=options["rounds"],
            seed=options["seed"],
            on_progress=on_progress,
        )
    if options["as_json"]:
        print_json({"golden": golden_record(options["file"], options), **report_record(report)})
    else:
        render = render_report_markdown if options["markdown"] else render_report
        click.echo(render(report), nl=False)
    context.exit(_FAILED if any(each.row.failures for each in report.rows) else 0)


@click.command(name="cutoff", help=_CUTOFF_HELP)
@click.argument("file", type=_HERE)
@questions_options
@store_option
@click.option(
    "--unanswerable",
    type=_HERE,
    help="Questions that the documents do not answer, one a line.",
)
@click.option(
    "--measure",
    type=click.Choice(["similarity", "relevance", "score"]),
    default="similarity",
    show_default=True,
    help="Which value of the top result to cut at.",
)
@click.option("--setting", help="The search whose score is meant, with --measure score.  [lexical]")
@_by_option
@embedder_option
@reranker_option
@api_key_option
@json_option
@seed_option
@rounds_option
@click.pass_context
def cutoff_command(context: click.Context, /, **options: Any) -> None:
    """Measure and print; the help text above is for users."""
    from contextpull.eval.golden.declining import answer_cutoff, cutoff_record, load_unanswerable
    from contextpull.eval.golden.report_table import render_cutoff
    from contextpull.store import open_store

    setting = only_setting(options["setting"]) if options["setting"] is not None else None
    outside = load_unanswerable(options["unanswerable"]) if options["unanswerable"] else []
    questions = questions_of(options["file"], options)
    with progress_bar("asking", "count") as on_progress:
        declining = answer_cutoff(
            open_store(options["store"]).snapshot(),
            questions,
            unanswerable=outside,
            by=options["by"],
            measure=options["measure"],
            setting=setting,
            models=models_of(options),
            rounds=options["rounds"],
            seed=options["seed"],
            on_progress=on_progress,
        )
    if options["as_json"]:
        print_json({"golden": golden_record(options["file"], options), **cutoff_record(declining)})
    else:
        click.echo(render_cutoff(declining), nl=False)
    context.exit(0 if declining.found.chosen else 1)


def questions_of(path: Path, options: dict[str, Any]) -> "list[GoldenQuestion]":
    """The questions of a golden file that are asked."""
    from contextpull.eval.golden.questions import chosen_questions, load_golden

    return chosen_questions(load_golden(path), options["only"], options["skip"])


def golden_record(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Which questions figures are of: the file, and what was chosen of it."""
    from contextpull.eval.golden.questions import file_record

    chosen = {name: list(options[name]) for name in ("only", "skip") if options[name]}
    return {**file_record(path), **chosen}


def check_output(options: dict[str, Any]) -> None:
    """Refuse two forms of output at once."""
    if options["as_json"] and options["markdown"]:
        raise click.UsageError("Choose one of --json and --markdown.")


def only_setting(text: str) -> "Setting":
    """The setting of --setting, which takes one."""
    from contextpull.eval.golden.settings import parse_settings

    first, *others = parse_settings(text)
    if others:
        raise click.BadParameter("Name one setting only.", param_hint="--setting")
    return first
