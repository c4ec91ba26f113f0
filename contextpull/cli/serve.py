"""`contextpull serve`."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.http_options import (
    check_unused,
    http_options,
    http_settings,
    oauth_settings,
)
from contextpull.cli.options import (
    DEFAULT_STORE,
    api_key_option,
    embedder_option,
    mode_option,
    reranker_option,
    snippets_option,
)
from contextpull.config import Mode, Snippets, cache_folder

if TYPE_CHECKING:
    from contextpull.server.corpus import Corpus


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
@mode_option
@embedder_option
@reranker_option
@api_key_option
@click.option(
    "--structured",
    is_flag=True,
    help="Add structured content for programs; hosts then show models that instead of the text.",
)
@http_options
def serve_command(
    path: Path,
    store: Path | None,
    no_ingest: bool,
    snippets: Snippets,
    mode: Mode | None,
    embedder: str | None,
    reranker: str,
    api_key: str,
    structured: bool,
    **http: Any,
) -> None:
    """Serve a folder of documents, or a store, to one MCP client over stdio, or to many over HTTP.

    The folder is read into a store first, or brought up to date behind the scenes while the
    client already asks. Standard output carries the protocol and nothing else.

    With --http it listens on this machine alone, unless --host says otherwise; then somebody must
    say who may come in: --tokens, an identity provider, or --no-auth.

    A model is loaded by the first search that needs it, in a server that never does by none.

    \b
    Examples:
      claude mcp add contextpull -- contextpull serve ./docs
      contextpull serve .contextpull
      contextpull serve ./docs --embedder bge-small-en-v1.5
      contextpull serve ./docs --http --tokens tokens.jsonl
      contextpull serve ./docs --http --host 0.0.0.0 --allow-host docs.example --tokens team.jsonl
    """
    from contextpull.retrieval.models import Models
    from contextpull.server.corpus import Corpus, Vectors
    from contextpull.store.database import FILE

    if not http["http"]:
        check_unused(http)
    models = Models(embedder=embedder, reranker=reranker, api_key=api_key)
    if (path / FILE).is_file():
        corpus = Corpus(path, None)
    else:
        where = store or _store_for(path)
        click.echo(f"contextpull: serving {path} from the store {where}", err=True)
        vectors = Vectors(embedder, api_key, cache_folder(os.environ) / "vectors")
        corpus = Corpus(where, None if no_ingest else path, vectors=vectors)
    options: dict[str, Any] = {
        "snippets": snippets,
        "mode": mode,
        "models": models,
        "structured": structured,
    }
    if http["http"]:
        _serve_http(corpus, options, http)
    else:
        from contextpull.server.stdio import serve_stdio

        serve_stdio(corpus, **options)


def _serve_http(corpus: "Corpus", options: dict[str, Any], http: dict[str, Any]) -> None:
    from contextpull.server.app import build_server
    from contextpull.server.http import caller_of, serve_http

    serve_http(
        corpus,
        lambda: build_server(corpus, caller_of=caller_of, **options),
        http_settings(http),
        tokens=http["tokens"],
        oauth=oauth_settings(http),
        without_auth=http["no_auth"],
    )


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
    return cache_folder(os.environ) / f"{resolved.name or 'root'}-{name}"
