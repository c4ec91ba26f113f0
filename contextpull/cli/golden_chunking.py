"""`contextpull golden chunking`: techniques compared at an equal budget of characters."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.agents import interruptible
from contextpull.cli.golden_builds import (
    BuildsTold,
    build_options,
    builds_progress,
    corpus_of,
    headings_of,
    numbers_option,
    opened_embedder,
)
from contextpull.cli.golden_measuring import (
    check_output,
    golden_record,
    only_setting,
    questions_of,
)
from contextpull.cli.options import (
    budget_options,
    chosen_of,
    concurrency_option,
    models_of,
    print_json,
)
from contextpull.config import cache_folder

if TYPE_CHECKING:
    from contextpull.eval.golden.chunking.answering import Answering
    from contextpull.eval.golden.chunking.asking import Asking
    from contextpull.eval.golden.chunking.building import Means
    from contextpull.eval.golden.chunking.corpus import SourceCorpus
    from contextpull.eval.golden.chunking.running import ChunkingReport
    from contextpull.eval.golden.questions import GoldenQuestion
    from contextpull.eval.metered import Budget

_HERE = click.Path(path_type=Path)
_TECHNIQUES = (
    *("structure-aware", "parent-child", "recursive", "sentence", "semantic", "fixed"),
    *("llm", "late"),
)
"""As `contextpull.eval.golden.chunking.plan` has them, without loading it for `--help`."""
_HELP = """Compare techniques of chunking, each handed the same characters to read.

\b
  structure-aware  our sections: cut at headings, then at blocks
  parent-child     small pieces find, the section that they sit in is handed over
  recursive        at paragraphs, else sentences, lines, words
  sentence         whole sentences
  semantic         between the neighbouring sentences least alike (needs --embedder)
  fixed            so many characters, to the word
  llm              where a model says that another topic begins (needs --writer)
  late             recursive; vectors of tokens read in the whole document (needs an --embedder
                   that pools by mean, and a --setting with vectors)

Each is built at every size, with headings searched and without; late at the middle size only.
With --overlap 0,20 each is built once more, a fifth of the size carried over from the text before
a piece; our sections never overlap, but parent-child's small pieces do, within their section.
With --writer and --notes each is built once more, with a note of the model in front of every
piece in the index: one call a piece. What is not built is listed with its reason.

For each question the best hits are handed over, best first, until --budget characters are spent;
the last one is cut to fit. A piece costs all its characters, those that it shares with another
too. Found means that the words of the question's evidence are among them, whole, two pieces that
touch or overlap counting as one; without evidence, a page or document that is expected. With
--answerer an answer is written from these characters alone, judged for correctness against the
reference, and answered right decides (0.7 or more). No score off 0 to 1, no prose and no failure
of the judge ever counts as right.

The best build of each technique is chosen on one half of the questions (--seed draws it), and
told of on the other. Pairs of techniques are compared by McNemar's exact test, corrected for all
pairs (Holm); a technique whose distance to the best could be luck (--alpha) is a tie.

With --out, answers, verdicts and finished builds are kept as they land: a run that is killed goes
on with the same command. DIR/report.json is what was printed, for other programs. Vectors are kept
for all runs.

\b
Examples:
  contextpull golden chunking golden.jsonl ./docs --out runs/chunking
  contextpull golden chunking golden.jsonl ./docs --techniques structure-aware,recursive \\
    --sizes 1000 --embedder bge-small-en-v1.5 --setting dense
  contextpull golden chunking golden.jsonl ./docs --out runs/chunking --writer openai:gpt-5-mini \\
    --answerer openai:gpt-5-mini --max-usd 5

Exit code: 0, 1 when an answer or a verdict is missing (it is listed and not right), 2 for an
error.
"""


def _model_option(name: str, variable: str, text: str) -> Callable[..., Any]:
    spec = click.option(f"--{name}", f"{name}_spec", metavar="MODEL", help=text)
    key = click.option(
        f"--{name}-key",
        default="",
        envvar=variable,
        help=f"The key for --{name}; better given as {variable}.",
    )
    return lambda command: spec(key(command))


@click.command(name="chunking", help=_HELP)
@build_options("in,out")
@click.option(
    "--techniques",
    default=",".join(_TECHNIQUES),
    callback=chosen_of(_TECHNIQUES, "technique"),
    help="What to compare, separated by commas.  [all that can be built]",
)
@numbers_option("--sizes", "500,1000,2000", "The most characters of a piece.")
@numbers_option("--children", "50", "The size of parent-child's small pieces, in percent.")
@click.option(
    "--budget",
    default=6_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Characters that are handed over for a question.",
)
@click.option(
    "--setting", help="How to search, as in golden report.  [hybrid with --embedder, else lexical]"
)
@_model_option("writer", "CONTEXTPULL_MODEL_KEY", "Who cuts by topic and writes notes.")
@click.option("--notes", is_flag=True, help="Build each technique once more, with notes.")
@_model_option("answerer", "CONTEXTPULL_ANSWERER_KEY", "Who answers from what is handed over.")
@_model_option("judge", "CONTEXTPULL_JUDGE_KEY", "Who judges.  [the model of --answerer]")
@click.option(
    "--alpha",
    default=0.05,
    show_default=True,
    help="The level of significance: a difference with a corrected p as high could be luck.",
)
@click.option("--out", type=_HERE, help="A folder that keeps report, answers and builds.")
@budget_options
@click.option(
    "--reply-tokens",
    default=2_048,
    show_default=True,
    type=click.IntRange(min=1),
    help="The most tokens of one answer.",
)
@concurrency_option("Answers that are asked for at once.")
@click.pass_context
def chunking_command(context: click.Context, /, **options: Any) -> None:
    """Measure and print; the help text above is for users."""
    from contextpull.eval.golden.chunking.reporting import (
        check_out,
        chunking_record,
        render_chunking,
        render_chunking_markdown,
        save_record,
    )

    check_output(options)
    questions = questions_of(options["golden"], options)
    if options["out"]:
        check_out(options["out"])
    with interruptible(options["out"]), builds_progress() as told:
        report, corpus = _compare(questions, options, told)
    record = chunking_record(report, corpus, golden_record(options["golden"], options))
    if options["out"]:
        save_record(record, options["out"])
    if options["as_json"]:
        print_json(record)
    else:
        render = render_chunking_markdown if options["markdown"] else render_chunking
        click.echo(render(report), nl=False)
    context.exit(1 if report.errors or any(each.errors for each in report.builds) else 0)


def _compare(
    questions: "list[GoldenQuestion]", options: dict[str, Any], told: BuildsTold
) -> "tuple[ChunkingReport, SourceCorpus]":
    from contextpull.eval.golden.chunking.building import KeptBuilds
    from contextpull.eval.golden.chunking.running import Plan, compare_chunking
    from contextpull.eval.metered import Budget

    plan = Plan(
        options["techniques"],
        options["sizes"],
        headings_of(options),
        notes=options["notes"],
        seed=options["seed"],
        overlaps=options["overlap"],
        children=options["children"],
        alpha=options["alpha"],
    )
    out = options["out"]
    with ExitStack() as stack:
        kept_in = out or Path(stack.enter_context(TemporaryDirectory(prefix="contextpull-")))
        budget = Budget(options["max_tokens"], options["max_usd"])
        answering = _answering(options, kept_in, budget, told)
        means = _means(options, kept_in, budget, told)
        corpus = corpus_of(options)
        report = compare_chunking(
            corpus,
            questions,
            plan,
            means,
            answering=answering,
            kept=KeptBuilds(out / "builds.jsonl" if out else None),
            on_progress=told.step,
        )
    return report, corpus


def _means(options: dict[str, Any], kept_in: Path, budget: "Budget", told: BuildsTold) -> "Means":
    from contextpull.eval.golden.chunking.building import Means

    embedder = opened_embedder(options)
    setting = only_setting(options["setting"] or ("hybrid" if embedder else "lexical"))
    if setting.mode != "lexical" and embedder is None:
        raise click.UsageError(f"The setting {setting.name!r} needs vectors: name an --embedder.")
    if options["notes"] and not options["writer_spec"]:
        raise click.UsageError("--notes needs a model that writes them: name a --writer.")
    system = "You prepare documents for a search system. You answer with one JSON object only."
    return Means(
        setting=setting,
        budget=options["budget"],
        models=models_of(options, keep_all_vectors=True),
        embedder=embedder,
        cache=cache_folder(os.environ) / "vectors",
        asking=_asking("writer", system, options, kept_in, budget, told)
        if options["writer_spec"]
        else None,
    )


def _asking(
    who: str,
    system: str,
    options: dict[str, Any],
    kept_in: Path,
    budget: "Budget",
    told: BuildsTold,
) -> "Asking":
    """A model that is asked, its answers kept; nothing is sent yet."""
    from contextpull.eval.generation.chat_writer import ChatWriter
    from contextpull.eval.generation.writing import AskedWriter
    from contextpull.eval.golden.chunking.asking import Asking
    from contextpull.eval.metered import Meter, check_price
    from contextpull.eval.pricing import price_of
    from contextpull.models.chat import open_chat

    spec = options[f"{who}_spec"]
    price = price_of(spec)
    check_price(budget, price, spec)
    chat = open_chat(spec, api_key=options[f"{who}_key"], max_tokens=options["reply_tokens"])
    meter = Meter(budget, price, told.asked, total=1)
    writer = ChatWriter(chat, system, meter)
    kept = kept_in / f"{who}.answers.jsonl"
    return Asking(AskedWriter(writer, writer.name, kept), meter, options["concurrency"])


def _answering(
    options: dict[str, Any], kept_in: Path, budget: "Budget", told: BuildsTold
) -> "Answering | None":
    from contextpull.eval.golden.chunking.answering import ANSWER_SYSTEM, Answering
    from contextpull.eval.judging.asking import KeptVerdicts
    from contextpull.eval.judging.judges import ChatJudge
    from contextpull.eval.metered import check_price
    from contextpull.eval.pricing import price_of
    from contextpull.models.chat import open_chat

    if not options["answerer_spec"]:
        if options["judge_spec"]:
            raise click.UsageError("--judge needs answers to judge: name an --answerer.")
        return None
    who = "judge" if options["judge_spec"] else "answerer"
    spec = options[f"{who}_spec"]
    price = price_of(spec)
    check_price(budget, price, spec)
    chat = open_chat(spec, api_key=options[f"{who}_key"], max_tokens=options["reply_tokens"])
    asking = _asking("answerer", ANSWER_SYSTEM, options, kept_in, budget, told)
    verdicts = KeptVerdicts(kept_in / "judgements.jsonl")
    return Answering(asking, ChatJudge(chat), verdicts, budget, price)
