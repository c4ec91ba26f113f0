"""`contextpull golden check`, `label` and `convert`: golden files before anything is measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import (
    api_key_option,
    embedder_option,
    json_option,
    mode_option,
    models_of,
    print_json,
    reranker_option,
    store_option,
)
from contextpull.cli.progress import progress_bar

if TYPE_CHECKING:
    from contextpull.eval.golden.converting import Conversion
    from contextpull.eval.golden.labelling import Labelling

_HERE = click.Path(path_type=Path)
_FORMATS = ("golden", "ragbisect", "beir", "bedrock")
"""As `contextpull.eval.golden.converting` has them, without loading it for `--help`."""
_IDS_SHOWN = 5

_CHECK_HELP = """Find everything that is wrong with a golden FILE, at once, by line and column.

By itself a file is held to its schema (--schema prints it), to UTF-8 in the normal form NFC with
lines that end in LF, to ids that differ, and to questions that differ in more than case and white
space. With --store the file is also compared with the documents: sections, documents and pages that
the store does not hold (with what comes closest), and evidence that does not stand in what is
expected (with the closest text there, and where else it stands).

Notes are no faults: drafts, template rows without a question, rows without labels or evidence,
pages of documents whose pages the store does not know.

\b
Examples:
  contextpull golden check golden.jsonl
  contextpull golden check golden.jsonl --store .contextpull --json

Exit code: 0 without a fault, 1 with one, 2 for a file or a store that cannot be used.
"""
_LABEL_HELP = """Suggest what the questions of FILE expect, and write a new file of drafts to --out.

FILE is a golden file, or the prompt dataset of a Bedrock RAG evaluation job (conversationTurns),
whose reference answers say what is right but not where it stands. For each question without labels
the store is searched with the reference answer, or with the question where there is none. What
comes first is put into "expected"; the row is marked "draft", and its hint quotes the passage.

Nothing here is a label yet: compare each row with its passage, correct "expected", and take the
mark "draft" away. Rows that have labels stay as they are, and no file is ever written over.

\b
Examples:
  contextpull golden label bedrock.jsonl --out golden.jsonl
  contextpull golden label questions.jsonl --top 3 --by doc --out drafts.jsonl

Exit code: 0 with suggestions, 1 when there is none (nothing is written then), 2 for an error.
"""
_CONVERT_HELP = """Convert questions between golden files and the formats of others.

\b
  golden     JSON lines with question and expected, as golden check reads them
  ragbisect  JSON lines with id, q, shape and gold_chunk_ids, as eval run reads them
  beir       a folder with queries.jsonl and qrels/SPLIT.tsv; documents are not converted
  bedrock    the prompt dataset of a Bedrock RAG evaluation job; evidence is referenceContexts

What the other format cannot hold is listed, with the questions that had it. Where nothing is
listed, converting back gives the same questions.

\b
Examples:
  contextpull golden convert questions.jsonl golden.jsonl
  contextpull golden convert golden.jsonl judged --to beir
  contextpull golden convert golden.jsonl bedrock.jsonl --to bedrock --json

Exit code: 0 when OUT was written, 2 for an error; OUT is never written over.
"""


def _print_schema(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        from contextpull.eval.golden.schema import SCHEMA_FILE

        click.echo(SCHEMA_FILE.read_text(encoding="utf-8"), nl=False)
        context.exit(0)


@click.command(name="check", help=_CHECK_HELP)
@click.argument("file", type=_HERE)
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CONTEXTPULL_STORE",
    help="Compare the file with what this store holds.  [no store]",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of a line, for editors and pipelines.",
)
@json_option
@click.pass_context
def check_command(context: click.Context, file: Path, store: Path | None, as_json: bool) -> None:
    """Check and print; the help text above is for users."""
    from contextpull.eval.golden.checking import check_golden
    from contextpull.store import open_store

    check = check_golden(file, open_store(store).snapshot() if store else None)
    if as_json:
        print_json(check.as_dict())
    else:
        for fault in check.faults:
            click.echo(fault.at(str(file)))
        for note in check.notes:
            click.echo(f"note: {note}")
        counts = f"rows: {check.rows}, ready to be scored: {check.ready}, faults: "
        click.echo(f"{file}: {counts}{len(check.faults)}")
    context.exit(0 if check.ok else 1)


@click.command(name="label", help=_LABEL_HELP)
@click.argument("file", type=_HERE)
@click.option("--out", required=True, type=_HERE, help="The file to write; it must not exist.")
@store_option
@click.option(
    "--by",
    type=click.Choice(["section", "doc"]),
    default="section",
    show_default=True,
    help="Whether to suggest sections or documents.",
)
@click.option(
    "--top",
    default=1,
    show_default=True,
    type=click.IntRange(1, 20),
    help="How many to suggest for each question.",
)
@mode_option
@embedder_option
@reranker_option
@api_key_option
@json_option
@click.pass_context
def label_command(context: click.Context, /, **options: Any) -> None:
    """Suggest, write and print; the help text above is for users."""
    from contextpull.adapters.files import check_absent
    from contextpull.eval.golden.labelling import load_unlabelled, suggest_labels
    from contextpull.eval.golden.questions import save_golden
    from contextpull.store import open_store

    out: Path = options["out"]
    check_absent(out)
    questions = load_unlabelled(options["file"])
    with progress_bar("searching", "count") as on_progress:
        labelling = suggest_labels(
            open_store(options["store"]).snapshot(),
            questions,
            by=options["by"],
            top=options["top"],
            mode=options["mode"],
            models=models_of(options),
            on_progress=on_progress,
        )
    found = any(each.proposals for each in labelling.suggestions)
    if found:
        save_golden(out, labelling.questions)
    if options["as_json"]:
        print_json(_labelling_record(labelling, out if found else None))
    else:
        _print_labelling(labelling, out if found else None)
    context.exit(0 if found else 1)


def _labelling_record(labelling: "Labelling", out: Path | None) -> dict[str, Any]:
    return {
        "out": str(out) if out else None,
        "questions": len(labelling.questions),
        "labelled": labelling.labelled,
        "suggestions": [
            {
                "id": each.question.id,
                "question": each.question.question,
                "searched_with": each.searched_with,
                "proposals": [proposal._asdict() for proposal in each.proposals],
            }
            for each in labelling.suggestions
        ],
        "notes": list(labelling.notes),
    }


def _print_labelling(labelling: "Labelling", out: Path | None) -> None:
    for each in labelling.suggestions:
        click.echo(f"{each.question.id}: {each.question.question}")
        for proposal in each.proposals:
            click.echo(f"  {proposal.expected} (by the {each.searched_with})")
            click.echo(f"    {proposal.passage}")
        if not each.proposals:
            click.echo(f"  nothing was found by the {each.searched_with}")
    for note in labelling.notes:
        click.echo(f"note: {note}", err=True)
    drafts = sum(bool(each.proposals) for each in labelling.suggestions)
    kept = f"{labelling.labelled} had labels and are as they were"
    if out:
        click.echo(
            f"{out}: {len(labelling.questions)} rows, {drafts} of them new drafts; {kept}. "
            'Compare each draft with its passage, then take its "draft" away.'
        )
    else:
        click.echo(f"There is nothing to suggest ({kept}), so nothing was written.")


@click.command(name="convert", help=_CONVERT_HELP)
@click.argument("source", metavar="IN", type=_HERE)
@click.argument("target", metavar="OUT", type=_HERE)
@click.option(
    "--from", "from_", type=click.Choice(_FORMATS), help="What IN is.  [told by what it holds]"
)
@click.option(
    "--to", type=click.Choice(_FORMATS), default="golden", show_default=True, help="What to write."
)
@click.option(
    "--split", default="test", show_default=True, help="The judgements of a BEIR folder: SPLIT.tsv."
)
@json_option
def convert_command(
    source: Path, target: Path, from_: Any, to: Any, split: str, as_json: bool
) -> None:
    """Convert and print; the help text above is for users."""
    from contextpull.eval.golden.converting import convert

    conversion = convert(source, target, to, from_, split)
    if as_json:
        print_json(
            {
                "from": conversion.source_format,
                "to": to,
                "out": str(target),
                "written": conversion.written,
                "losses": [loss._asdict() for loss in conversion.losses],
            }
        )
    else:
        _print_conversion(conversion, target, to)


def _print_conversion(conversion: "Conversion", target: Path, to: str) -> None:
    count, source_format = conversion.written, conversion.source_format
    click.echo(f"{target}: {count} questions, from {source_format} to {to}.")
    for loss in conversion.losses:
        shown = ", ".join(loss.ids[:_IDS_SHOWN]) + (", …" if len(loss.ids) > _IDS_SHOWN else "")
        click.echo(f"lost: {loss.what} ({len(loss.ids)}: {shown})")
    if not conversion.losses:
        click.echo("Nothing was lost.")
