"""`contextpull serve`."""

import os
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
    served_store_option,
    snippets_option,
    watch_options,
)
from contextpull.config import Mode, Snippets, cache_folder

if TYPE_CHECKING:
    from contextpull.server.corpus import Corpus


@click.command("serve")
@click.argument(
    "path", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@served_store_option
@click.option("--no-ingest", is_flag=True, help="Serve the store as it is; do not read the folder.")
@watch_options
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
    path: Path | None,
    store: Path | None,
    no_ingest: bool,
    watch: bool,
    watch_poll: float | None,
    snippets: Snippets,
    mode: Mode | None,
    embedder: str | None,
    reranker: str,
    api_key: str,
    structured: bool,
    **http: Any,
) -> None:
    """Serve a folder of documents, or a store, to one MCP client over stdio, or to many over HTTP.

    Without PATH it is the folder that the store here was read from, or every folder of a store with
    several corpora, else this folder itself. It is read into a store first, or brought up to date
    behind the scenes while the client already asks.
    With --watch the server goes on following it: what is written there is found a moment later,
    and clients that subscribed are told. Standard output carries the protocol and nothing else.

    With --http it listens on this machine alone, unless --host says otherwise; then somebody must
    say who may come in: --tokens, an identity provider, or --no-auth.

    A model is loaded by the first search that needs it, in a server that never does by none.

    \b
    Examples:
      claude mcp add contextpull -- contextpull serve ./docs
      contextpull serve
      contextpull serve ./docs --watch
      contextpull serve ./docs --embedder bge-small-en-v1.5
      contextpull serve ./docs --http --tokens tokens.jsonl
      contextpull serve ./docs --http --host 0.0.0.0 --allow-host docs.example --tokens team.jsonl
    """
    from contextpull.retrieval.models import Models
    from contextpull.server.corpus import Corpus, Vectors, Watching
    from contextpull.server.hosting.places import served

    if not http["http"]:
        check_unused(http)
    models = Models(embedder=embedder, reranker=reranker, api_key=api_key)
    cache = cache_folder(os.environ)
    folder, where, names = served(path, store, DEFAULT_STORE, cache)
    watching = Watching(watch_poll) if watch or watch_poll else None
    is_as_it_is = no_ingest or not (folder or names)
    if watching and is_as_it_is:
        raise click.UsageError(
            "--watch follows a folder of documents: name that folder, without --no-ingest."
        )
    if folder or names:
        what = folder or ", ".join(names)
        click.echo(f"contextpull: serving {what} from the store {where}", err=True)
    if is_as_it_is:
        corpus = Corpus(where, None)
    else:
        vectors = Vectors(embedder, api_key, cache / "vectors")
        corpus = Corpus(where, folder, vectors=vectors, watching=watching, every=bool(names))
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
