"""`contextpull search`, `grep`, `read` and `index`: the four tools from a terminal."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from contextpull.cli.options import (
    api_key_option,
    embedder_option,
    json_option,
    mode_option,
    paths_option,
    reranker_option,
    snippets_option,
    store_option,
)
from contextpull.config import Mode, Snippets

_CONTROL = re.compile(r"(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PICTURES = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "\u2421"}


@click.command("search", context_settings={"ignore_unknown_options": True})
@click.argument("query")
@paths_option
@click.option("-n", "--limit", default=10, show_default=True, help="Hits to show, up to 50.")
@click.option("--offset", default=0, help="Hits to pass over.")
@mode_option
@snippets_option
@embedder_option
@reranker_option
@api_key_option
@store_option
@json_option
@click.pass_context
def search_command(
    context: click.Context,
    query: str,
    paths: tuple[str, ...],
    limit: int,
    offset: int,
    mode: Mode | None,
    snippets: Snippets,
    embedder: str | None,
    reranker: str,
    api_key: str,
    store: Path,
    as_json: bool,
) -> None:
    """Find the sections that match words or names best.

    Any text is a query. Sections that hold what stands in double quotes come first.

    \b
    Examples:
      contextpull search "how do I clear the cache"
      contextpull search 'UV_CACHE_DIR' -p concepts/
      contextpull search '"revoked certificate" renewal' --json
      contextpull search "make it forget what it downloaded" --mode rerank

    Exit code: 0, 1 when nothing was found, 2 for an error.
    """
    from contextpull.retrieval.models import Models

    arguments = {"query": query, "paths": list(paths), "limit": limit, "offset": offset}
    if mode:
        arguments["mode"] = mode
    models = Models(embedder=embedder, reranker=reranker, api_key=api_key)
    _run(context, store, "search", arguments, as_json, "hits", snippets=snippets, models=models)


@click.command("grep", context_settings={"ignore_unknown_options": True})
@click.argument("pattern")
@paths_option
@click.option("-e", "--regex", is_flag=True, help="The pattern is an RE2 regular expression.")
@click.option(
    "-i/-s",
    "--ignore-case/--case-sensitive",
    default=None,
    help="Default: ignore case unless the pattern has a capital letter.",
)
@click.option("-C", "--context", "around", default=0, help="Lines around each match, up to 10.")
@click.option("-n", "--limit", default=20, show_default=True, help="Lines to show, up to 100.")
@click.option("--offset", default=0, help="Matching lines to pass over.")
@store_option
@json_option
@click.pass_context
def grep_command(
    context: click.Context,
    pattern: str,
    paths: tuple[str, ...],
    regex: bool,
    ignore_case: bool | None,
    around: int,
    limit: int,
    offset: int,
    store: Path,
    as_json: bool,
) -> None:
    """Find every line with an exact text, in document order.

    \b
    Examples:
      contextpull grep --no-cache
      contextpull grep -e 'HG-[0-9]{4}' -C 1
      contextpull grep Timeout -p 'reference/*.md'

    Exit code: 0, 1 when nothing was found, 2 for an error.
    """
    arguments = {
        "pattern": pattern,
        "regex": regex,
        "ignore_case": ignore_case,
        "paths": list(paths),
        "context": around,
        "limit": limit,
        "offset": offset,
    }
    _run(context, store, "grep", arguments, as_json, "matches")


@click.command("read")
@click.argument("ids", nargs=-1, required=True)
@click.option("-C", "--context", "around", default=0, help="Sections around each, up to 5.")
@click.option("--offset", default=0, help="Character to go on from, as a cut result says.")
@store_option
@json_option
@click.pass_context
def read_command(
    context: click.Context,
    ids: tuple[str, ...],
    around: int,
    offset: int,
    store: Path,
    as_json: bool,
) -> None:
    """Print sections verbatim, by id; the path of a document stands for all its sections.

    \b
    Examples:
      contextpull read guide/cache.md#clear
      contextpull read policies/2024.md#returns policies/2025.md#returns

    Exit code: 0, 2 for an id that does not exist or another error.
    """
    arguments = {"ids": list(ids), "context": around, "offset": offset}
    _run(context, store, "read", arguments, as_json, "sections")


@click.command("index")
@click.argument("path", default="")
@click.option("--offset", default=0, help="Entries to pass over.")
@store_option
@json_option
@click.pass_context
def index_command(
    context: click.Context, path: str, offset: int, store: Path, as_json: bool
) -> None:
    """Show the table of contents: of everything, of a folder, or of one document.

    \b
    Examples:
      contextpull index
      contextpull index guide/
      contextpull index guide/cache.md

    Exit code: 0, 1 when the store is empty, 2 for an error.
    """
    _run(context, store, "index", {"path": path, "offset": offset}, as_json, "lines")


def _run(
    context: click.Context,
    store: Path,
    tool: str,
    arguments: dict[str, Any],
    as_json: bool,
    found: str,
    **session: Any,
) -> None:
    """Call a tool and print its result; `found` names the part of the data that must hold some.

    `session` is what a ToolSession takes beside its store.
    """
    from contextpull.store import open_store
    from contextpull.tools import ToolSession

    opened = open_store(store)
    for note in opened.snapshot().notes:
        click.echo(f"contextpull: {note}", err=True)
    result = ToolSession(opened, **session).call(tool, arguments)
    if result.is_error:
        click.echo(f"contextpull: {result.text}", err=True)
        context.exit(2)
    _print(json.dumps(result.data, ensure_ascii=False, indent=2) if as_json else result.text)
    context.exit(0 if result.data[found] else 1)


def _print(text: str) -> None:
    """Print as it is, but to a terminal, which obeys control characters, pictures of those."""
    if sys.stdout.isatty():
        text = _CONTROL.sub(
            lambda found: _PICTURES.get(found[0], "\N{REPLACEMENT CHARACTER}"), text
        )
    click.echo(text, color=True)  # else the library leaves out what sets colours
