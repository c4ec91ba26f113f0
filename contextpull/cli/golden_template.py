"""`contextpull golden template`: rows of a golden file that wait for a person's questions."""

from pathlib import Path
from typing import Any

import click

from contextpull.cli.golden_writing import corpus_within
from contextpull.cli.options import json_option, paths_option, print_json
from contextpull.cli.sections import check_sections, open_sections, sections_options

_HELP = """Write rows for people to put questions into, spread over all documents, without a model.

Each row expects one section and quotes its beginning in "hint"; "question", "reference" and
"evidence" are empty, and "draft" is true. Read the section, write what somebody would ask who does
not know it, and whose answer stands in it; put the answer into "reference" and the words that give
it into "evidence"; then take the mark "draft" away. Nothing is scored by a row without a question,
and golden check notes how many still wait for one.

Sections are chosen as for golden write: contents pages, tables of bare numbers and scraps are
passed over, every document gets a share, and --seed makes another choice.

\b
Examples:
  contextpull golden template --store .contextpull -n 20 -o golden.jsonl
  contextpull golden template --store .contextpull -n 10 -p guide/ -o guide.jsonl

Exit code: 0 when rows were written, 1 when no section can be asked about (nothing is written
then), 2 for an error. OUT is never written over.
"""


@click.command(name="template", help=_HELP)
@sections_options
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The golden file to write; it must not exist.",
)
@click.option(
    "-n",
    "--questions",
    "count",
    default=20,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="How many rows; fewer where there are no more sections to ask about.",
)
@paths_option
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the choice."
)
@json_option
@click.pass_context
def template_command(context: click.Context, /, **options: Any) -> None:
    """Choose, write and print; the help text above is for users."""
    from contextpull.adapters.files import check_absent
    from contextpull.eval.golden.questions import save_golden
    from contextpull.eval.golden.template import template_of

    check_sections(options["sections_path"], options["store_path"])
    out, count = options["out"], options["count"]
    check_absent(out)
    with open_sections(options["sections_path"], options["store_path"]) as searched:
        corpus = corpus_within(searched, options["paths"])
        rows, choice = template_of(corpus, count, options["seed"])
    if rows:
        save_golden(out, rows, blanks=True)
    documents = len({section.document for section in choice.chosen})
    if options["as_json"]:
        record = {
            "out": str(out) if rows else None,
            "wanted": count,
            "rows": len(rows),
            "documents": documents,
            "passed_over": dict(choice.passed_over),
        }
        print_json(record)
    else:
        for reason, sections in choice.passed_over.items():
            click.echo(f"Passed over: {sections} sections ({reason}).")
        click.echo(
            f"{out}: {len(rows)} of {count} rows, about {documents} documents, wait for questions."
            if rows
            else "There is no section to ask about, so nothing was written."
        )
    context.exit(0 if rows else 1)
