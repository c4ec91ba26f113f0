"""`contextpull serve`."""

import os
from hashlib import blake2b
from pathlib import Path

import click

from contextpull.cli.options import DEFAULT_STORE, snippets_option
from contextpull.config import Snippets


@click.command("serve")
@click.argument("path", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CONTEXTPULL_STORE",
    help="The store's folder.  [.contextpull here, or one in your cache]",
)
@click.option("--no-ingest", is_flag=True, help="Serve the store as it is; do not read the folder.")
@snippets_option
@click.option(
    "--structured",
    is_flag=True,
    help="Add structured content for programs; hosts then show models that instead of the text.",
)
def serve_command(
    path: Path, store: Path | None, no_ingest: bool, snippets: Snippets, structured: bool
) -> None:
    """Serve a folder of documents, or a store, to one MCP client over stdio.

    The folder is read into a store first, or brought up to date behind the scenes while the
    client already asks. Standard output carries the protocol and nothing else.

    \b
    Examples:
      claude mcp add contextpull -- contextpull serve ./docs
      contextpull serve .contextpull
    """
    from contextpull.server.corpus import Corpus
    from contextpull.server.stdio import serve_stdio
    from contextpull.store.database import FILE

    if (path / FILE).is_file():
        corpus = Corpus(path, None)
    else:
        where = store or _store_for(path)
        click.echo(f"contextpull: serving {path} from the store {where}", err=True)
        corpus = Corpus(where, None if no_ingest else path)
    serve_stdio(corpus, snippets=snippets, structured=structured)


def _store_for(root: Path) -> Path:
    """`.contextpull` here, unless it holds another corpus or cannot be made: then in the cache.

    Hosts start servers in folders of their own choice, several in the same.
    """
    from contextpull.errors import StoreDamaged, StoreError, StoreNotFound
    from contextpull.store.database import FILE, Database

    resolved = root.resolve()
    try:
        if Path(Database(DEFAULT_STORE / FILE).root) == resolved:
            return DEFAULT_STORE
    except (StoreNotFound, StoreDamaged):
        place = DEFAULT_STORE if DEFAULT_STORE.exists() else DEFAULT_STORE.parent
        if os.access(place, os.W_OK):
            return DEFAULT_STORE
    except StoreError:
        pass  # a newer program's store is left to it
    name = blake2b(os.fsencode(resolved), digest_size=6).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "contextpull" / f"{resolved.name or 'root'}-{name}"
