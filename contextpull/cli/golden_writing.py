"""`contextpull golden write`: questions drafted by models, for people to check."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.agents import asking_progress, interruptible
from contextpull.cli.options import (
    budget_options,
    concurrency_option,
    json_option,
    paths_option,
    print_json,
    writer_key_option,
)
from contextpull.cli.sections import check_sections, open_sections, sections_options

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched
    from contextpull.eval.generation.corpus import Corpus
    from contextpull.eval.generation.saving import Files
    from contextpull.eval.generation.writing import AskedWriter
    from contextpull.eval.golden.writing.drafting import Drafted
    from contextpull.eval.golden.writing.plan import WritingPlan
    from contextpull.eval.metered import Meter

_MIX = "search=.2,fact=.3,why=.2,two_places=.15,long=.15"
"""As `contextpull.eval.golden.writing.plan` has it, without loading it for `--help`."""
_HERE = click.Path(path_type=Path)

_HELP = """Draft golden questions with a model that writes and one that criticises.

\b
  search      key words, as typed into a search box
  fact        a value, a name, a date, a limit
  why         how something works, or why it is so
  two_places  what only two sections together answer
  long        the asker's situation first, then what they want to know

Sections are chosen without a model: contents pages, tables of bare numbers and scraps are passed
over, and every document gets a share. The writer gives a question, its answer and the words of
the section that hold it. Those words must stand in the section letter by letter, and in no other;
the question must not copy the section, point at "the passage", or repeat another one. Then the
critic says from 0 to 1 whether it stands alone, is clear and is answered. What fails is sent back
with the reason, up to --tries; what passes is made harder once, unless --no-evolve.

Every row is "draft": true, with the ids of its sections, the quotes, and a hint that shows them:
read it, correct it, and delete the mark. Beside OUT.jsonl lies OUT.set-aside.json, which lists
what was set aside and why, and OUT.answers.jsonl, which keeps every answer of the models as it
comes: the same command goes on where it stopped, and costs nothing the second time.

\b
Examples:
  contextpull golden write --store .contextpull --out drafts.jsonl --writer openai:gpt-5-mini
  contextpull golden write --store .contextpull --out drafts.jsonl -n 20 --mix fact=1,why=1 \\
    --writer http://127.0.0.1:8080/v1#my-model --examples asked.txt

Exit code: 0 when there are drafts, 1 when there is none (no golden file is written then), 2 for an
error. OUT is never written over.
"""


def _mix(_context: click.Context, _parameter: click.Parameter, value: str) -> dict[str, float]:
    mix: dict[str, float] = {}
    for part in value.split(","):
        kind, sign, share = (each.strip() for each in part.partition("="))
        try:
            number = float(share)
        except ValueError:
            number = None
        if not sign or number is None:
            raise click.BadParameter(f"{part!r} is no share of a kind. Write it as fact=0.3.")
        if kind in mix:
            raise click.BadParameter(f"{kind!r} stands there twice.")
        mix[kind] = number
    return mix


@click.command(name="write", help=_HELP)
@sections_options
@click.option("--out", required=True, type=_HERE, help="The golden file to write.")
@click.option(
    "-n",
    "--questions",
    "count",
    default=50,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="How many questions; fewer where there are no more sections to ask about.",
)
@click.option(
    "--writer",
    "writer_spec",
    required=True,
    metavar="MODEL",
    help="Who writes: anthropic:NAME, openai:NAME, openai-chat:NAME, or URL#NAME.",
)
@writer_key_option
@click.option(
    "--critic", "critic_spec", metavar="MODEL", help="Who criticises.  [the model of --writer]"
)
@click.option(
    "--critic-key",
    default="",
    envvar="CONTEXTPULL_CRITIC_KEY",
    help="The key for --critic; better given as CONTEXTPULL_CRITIC_KEY.",
)
@click.option(
    "--mix", default=_MIX, show_default=True, callback=_mix, help="Shares of the kinds; any unit."
)
@paths_option
@click.option("--examples", type=_HERE, help="Questions that people really ask, one a line.")
@click.option("--scenario", default="", help="Who asks, in a sentence.")
@click.option("--task", default="", help="What they ask for, in a sentence.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the choice."
)
@click.option(
    "--tries",
    default=3,
    show_default=True,
    type=click.IntRange(1, 10),
    help="How often one question may be written.",
)
@click.option("--evolve/--no-evolve", default=True, help="Make each question harder once.  [yes]")
@click.option(
    "--threshold",
    default=0.7,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The least mean of what the critic gives.",
)
@click.option(
    "--similarity",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="How alike two sections must be for one question about both.",
)
@click.option(
    "--reply-tokens",
    default=8_192,
    show_default=True,
    type=click.IntRange(min=1),
    help="The most tokens of one answer; a few hundred for a small model, which may not end.",
)
@click.option("--answers", type=_HERE, help="Where answers are kept.  [OUT.answers.jsonl]")
@budget_options
@concurrency_option("Questions that are worked on at once.", most=12)
@json_option
@click.pass_context
def write_command(context: click.Context, /, **options: Any) -> None:
    """Draft and write; the help text above is for users."""
    from contextpull.eval.golden.writing.saving import check_target, files_of, save

    check_sections(options["sections_path"], options["store_path"])
    plan = _plan(options)
    files = files_of(options["out"], options["answers"])
    check_target(files)
    meter = _meter(options)
    writer, critic = _open(options, files, meter)
    with (
        open_sections(options["sections_path"], options["store_path"]) as searched,
        interruptible(files.answers),
    ):
        corpus = corpus_within(searched, options["paths"])
        drafted = _draft(corpus, searched, plan, (writer, critic), meter)
    save(drafted, files, writer=writer.name, critic=critic.name)
    _print(drafted, files, meter, (writer, critic), as_json=options["as_json"])
    context.exit(0 if drafted.questions else 1)


def _plan(options: dict[str, Any]) -> "WritingPlan":
    from contextpull.eval.golden.writing.plan import WritingPlan

    same = ("count", "mix", "seed", "tries", "threshold", "similarity", "scenario", "task")
    return WritingPlan(
        **{name: options[name] for name in same},
        evolve=int(options["evolve"]),
        workers=options["concurrency"],
        examples=_examples(options["examples"]) if options["examples"] else (),
    )


def _examples(path: Path) -> tuple[str, ...]:
    from contextpull.adapters.lines import decoded, numbered_lines
    from contextpull.errors import EvaluationError

    examples = []
    for number, line in numbered_lines(path):
        try:
            examples.append(decoded(line).strip())
        except ValueError as error:
            raise EvaluationError(f"Cannot use {path}, line {number}: {error}.") from None
    return tuple(examples)


def _meter(options: dict[str, Any]) -> "Meter":
    from contextpull.eval.metered import Budget, Meter, check_price
    from contextpull.eval.pricing import price_of

    budget = Budget(options["max_tokens"], options["max_usd"])
    specs = {options["writer_spec"], options["critic_spec"] or options["writer_spec"]}
    price = price_of(options["writer_spec"])
    if len(specs) > 1:
        # One meter counts both, and cannot tell whose tokens they are.
        price = lambda _tokens: None  # noqa: E731
    check_price(budget, price, "these models")
    return Meter(budget, price, total=options["count"])


def _open(
    options: dict[str, Any], files: "Files", meter: "Meter"
) -> tuple["AskedWriter", "AskedWriter"]:
    """The writer and the critic; nothing is sent yet."""
    from contextpull.eval.generation.chat_writer import SYSTEM, ChatWriter
    from contextpull.eval.generation.writing import AskedWriter, KeptAnswers
    from contextpull.eval.golden.writing.prompts import CRITIC_SYSTEM
    from contextpull.models.chat import Chat, open_chat

    kept = KeptAnswers(files.answers)

    def asked(chat: Chat, system: str) -> AskedWriter:
        writer = ChatWriter(chat, system, meter)
        return AskedWriter(writer, writer.name, kept)

    most = options["reply_tokens"]
    chat = open_chat(options["writer_spec"], api_key=options["writer_key"], max_tokens=most)
    other, key = options["critic_spec"], options["critic_key"]
    judging = open_chat(other, api_key=key, max_tokens=most) if other else chat
    return asked(chat, SYSTEM), asked(judging, CRITIC_SYSTEM)


def corpus_within(searched: "Searched", paths: tuple[str, ...]) -> "Corpus":
    """The sections of what is searched, or of the documents that the paths mean."""
    from contextpull.errors import PathNotFound
    from contextpull.eval.generation.corpus import Corpus, corpus_of
    from contextpull.retrieval.paths import matching_documents

    corpus = corpus_of(searched)
    if not paths:
        return corpus
    wanted = {document.path for document in matching_documents(searched.snapshot, paths)}
    if not wanted:
        raise PathNotFound(paths[0])
    return Corpus([section for section in corpus.sections if section.document in wanted])


def _draft(
    corpus: "Corpus",
    searched: "Searched",
    plan: "WritingPlan",
    models: tuple["AskedWriter", "AskedWriter"],
    meter: "Meter",
) -> "Drafted":
    from contextpull.eval.golden.writing.drafting import draft_questions

    with asking_progress("drafts") as on_progress:
        return draft_questions(
            corpus, searched, plan, *models, meter=meter, on_progress=on_progress
        )


def _print(
    drafted: "Drafted",
    files: "Files",
    meter: "Meter",
    models: tuple["AskedWriter", "AskedWriter"],
    *,
    as_json: bool,
) -> None:
    from contextpull.eval.golden.writing.saving import drafted_record

    record = drafted_record(drafted)
    calls = [model.count for model in models]
    asked = {
        "calls": sum(count.calls for count in calls),
        "failed": sum(count.failed for count in calls),
        "kept_from_before": sum(count.cached for count in calls),
        "tokens": meter.spent.tokens.model_dump(),
        "dollars": meter.spent.dollars,
    }
    if as_json:
        places = {
            "out": str(files.questions) if drafted.questions else None,
            "set_aside_in": str(files.sidecar),
            "answers_in": str(files.answers),
        }
        print_json({**places, **record, "asked": asked})
        return
    for line in _lines(drafted, record, asked):
        click.echo(line)
    where = f"{len(drafted.questions)} drafts are in {files.questions}" if drafted.questions else ""
    click.echo(
        f"{where or 'There is no draft, so no golden file was written'};"
        f" what was set aside, and why, is in {files.sidecar}."
    )


def _lines(drafted: "Drafted", record: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """What became of it, for people."""
    lines = [
        f"{kind:<11}{each['drafts']:>5} of {each['wanted']}"
        for kind, each in record["kinds"].items()
    ]
    lines.append(
        f"{record['drafts']} of {record['wanted']} questions, {record['evolved']} of them made"
        f" harder; {len(record['set_aside'])} tries set aside."
    )
    lines += record["why_fewer"]
    lines += [
        f"Passed over: {count} sections ({reason})."
        for reason, count in record["corpus"]["passed_over"].items()
    ]
    if drafted.about_two_places and drafted.about_two_places not in lines:
        lines.append(drafted.about_two_places)
    tokens = asked["tokens"]["input"] + asked["tokens"]["output"]
    cost = f", ${asked['dollars']:.4f}" if asked["dollars"] else ""
    lines.append(
        f"The models were called {asked['calls']} times, {asked['failed']} of them in vain"
        f" ({tokens:,} tokens{cost}); {asked['kept_from_before']} answers were kept from before."
    )
    return lines
