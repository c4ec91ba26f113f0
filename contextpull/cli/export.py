"""`contextpull export-chunks`."""

import json
import sys
from pathlib import Path

import click

from contextpull.cli.options import store_option


@click.command("export-chunks")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.  [standard output]",
)
@store_option
@click.option("--json", "as_json", is_flag=True, help="With -o: print what was written as JSON.")
def export_command(output: Path | None, store: Path, as_json: bool) -> None:
    """Write every section as a JSON line {"id", "text", "source"}, for ragbisect and others.

    \b
    Example:
      contextpull export-chunks -o sections.jsonl
    """
    from contextpull.adapters.export import passages
    from contextpull.adapters.ragbisect import save_passages
    from contextpull.store import open_store

    snapshot = open_store(store).snapshot()
    save_passages(output or sys.stdout, passages(snapshot))
    _, sections, _ = snapshot.database.counts()
    if output and as_json:
        click.echo(json.dumps({"sections": sections, "output": str(output)}))
    elif output:
        click.echo(f"{sections:,} sections written to {output}", err=True)
