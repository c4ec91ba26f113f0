"""`contextpull corpora`: the folders that a store is read from."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextpull.cli.ingest import kept_vectors, vector_lines
from contextpull.cli.options import api_key_option, json_option, store_option

if TYPE_CHECKING:
    from contextpull.store.corpora import CorpusFacts


@click.group("corpora", invoke_without_command=True)
@store_option
@json_option
@click.pass_context
def corpora_group(context: click.Context, store: Path, as_json: bool) -> None:
    """Show the corpora of a store: name, folder, what can be found of it, whether it is there.

    `contextpull ingest FOLDER --as NAME` adds one.

    \b
    Examples:
      contextpull ingest ./handbook --as hr
      contextpull ingest ./specs --as specs
      contextpull corpora
      contextpull corpora remove specs

    Exit code: 0, 1 when there is none, or the folder of one is gone, 2 for an error.
    """
    context.obj = store
    if context.invoked_subcommand:
        return
    from contextpull.store.corpora import corpora_facts
    from contextpull.store.database import FILE, Database

    corpora = corpora_facts(Database(store / FILE))
    if as_json:
        values = [corpus._asdict() for corpus in corpora]
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
    elif corpora:
        width = max(len(corpus.name) for corpus in corpora)
        click.echo("\n".join(_line(corpus, width) for corpus in corpora))
    else:
        click.echo("The store holds none. Add one: contextpull ingest FOLDER --as NAME")
    context.exit(0 if corpora and all(corpus.is_there for corpus in corpora) else 1)


def _line(corpus: "CorpusFacts", width: int) -> str:
    counted = f"{corpus.documents:,} documents, {corpus.sections:,} sections"
    name = f"{corpus.name:{width}}  " if width else ""
    return f"{name}{corpus.folder}  {counted}{'' if corpus.is_there else '  (folder is gone)'}"


@corpora_group.command("remove")
@click.argument("name")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="The store's folder.  [that of `contextpull corpora`]",
)
@api_key_option
@json_option
@click.pass_context
def remove_command(
    context: click.Context, name: str, store: Path | None, api_key: str, as_json: bool
) -> None:
    """Take a corpus out of the store, and leave its folder alone. Nothing is asked.

    NAME is meant exactly. Servers answer from the rest with their next call.

    \b
    Example:
      contextpull corpora remove specs

    Exit code: 0, 1 when the vectors that the store keeps could not be brought up to date, 2 for an
    error, such as a name that no corpus has.
    """
    from contextpull.store.removing import remove_corpus

    where: Path = store or context.obj
    gone = remove_corpus(where, name)
    vectors = kept_vectors(where, None, api_key)
    if as_json:
        values = {"removed": gone._asdict(), "vectors": vectors or None}
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
    else:
        counted = f"{gone.documents:,} documents, {gone.sections:,} sections"
        click.echo("\n".join([f"{name} is out of {where}: {counted}.", *vector_lines(vectors)]))
    context.exit(1 if vectors.get("problem") else 0)
