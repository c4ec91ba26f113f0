"""`contextpull tools`, `claude-md` and `mcp-config`: what other programs need to attach."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextpull.cli.options import DEFAULT_STORE, json_option, served_store_option
from contextpull.config import cache_folder
from contextpull.server.hosting.hosts import HOSTS, where_to_put

if TYPE_CHECKING:
    from contextpull.server.hosting.launching import Launch


@click.command("tools")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "anthropic", "openai", "openai-chat", "mcp"]),
    default="text",
    show_default=True,
    help="As text to read, or as JSON in the shape that an API takes.",
)
@json_option
def tools_command(shape: str, as_json: bool) -> None:
    """Print the four tools with their arguments.

    \b
    Examples:
      contextpull tools
      contextpull tools --format anthropic > tools.json
    """
    from contextpull.tools import TOOLS, to_anthropic, to_mcp, to_openai

    if shape == "text" and not as_json:
        for tool in TOOLS:
            click.echo(f"{tool.name}: {tool.description}")
            for name, facts in tool.schema["properties"].items():
                needed = " (required)" if name in tool.schema.get("required", ()) else ""
                click.echo(f"  {name:<12}{facts.get('description', '')}{needed}".rstrip())
        return
    shapes: dict[str, Callable[[], object]] = {
        "anthropic": to_anthropic,
        "openai": to_openai,
        "openai-chat": partial(to_openai, chat=True),
    }
    click.echo(json.dumps(shapes.get(shape, to_mcp)(), ensure_ascii=False, indent=2))


@click.command("claude-md")
@json_option
def claude_md_command(as_json: bool) -> None:
    """Print a paragraph for CLAUDE.md that tells Claude Code when to use the tools.

    \b
    Example:
      contextpull claude-md >> CLAUDE.md
    """
    from contextpull.tools import DISCIPLINE

    text = (
        "## Documents (contextpull)\n\n"
        "Use the contextpull tools for questions that the attached documents answer.\n"
        f"{DISCIPLINE}"
    )
    click.echo(json.dumps({"markdown": text}, ensure_ascii=False) if as_json else text)


@click.command("mcp-config")
@click.argument(
    "folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--client", type=click.Choice(list(HOSTS)), required=True, help="The host.")
@click.option(
    "--as",
    "shape",
    type=click.Choice(["file", "command", "link"]),
    default="file",
    show_default=True,
    help="The text of the host's file, its own command that adds a server, or a link that does.",
)
@click.option("--name", default="contextpull", show_default=True, help="The server's name there.")
@served_store_option
@click.option("--uvx", is_flag=True, help="Let uv install and start it, not this installation.")
@click.option("--http", "url", metavar="URL", help="A server that already listens, no folder.")
@click.option(
    "--token-env",
    default="",
    metavar="NAME",
    help="The environment variable that holds the token for --http; the token is never printed.",
)
@json_option
def mcp_config_command(
    folder: Path | None,
    client: str,
    shape: str,
    name: str,
    store: Path | None,
    uvx: bool,
    url: str | None,
    token_env: str,
    as_json: bool,
) -> None:
    """Print what a host wants to be told to attach a folder, or a server over HTTP.

    Without FOLDER it is the one that `contextpull serve` would read here. All paths are absolute;
    where the text belongs is said on standard error.

    \b
    Examples:
      contextpull mcp-config --client claude-code ./docs > .mcp.json
      contextpull mcp-config --client codex ./docs >> ~/.codex/config.toml
      contextpull mcp-config --client gemini ./docs --as command | sh
      contextpull mcp-config --client cursor --http https://docs.example/mcp --token-env DOCS_TOKEN
    """
    from contextpull.server.hosting.entries import Remote, entry_of, facts_of, text_of

    if token_env and not url:
        raise click.UsageError("--token-env is for --http: a server over stdio asks for no token.")
    if url and (folder or uvx):
        raise click.UsageError("--http names a server that already listens: no FOLDER, no --uvx.")
    server = Remote(url, token_env) if url else _launch(folder, store, uvx=uvx)
    entry = entry_of(client, name, server)
    if as_json:
        click.echo(json.dumps(facts_of(entry), ensure_ascii=False, indent=2))
    else:
        click.echo(text_of(entry, shape))
        click.echo(where_to_put(client, shape, token_env), err=True)


def _launch(folder: Path | None, store: Path | None, *, uvx: bool) -> "Launch":
    from contextpull.server.hosting.launching import installed_program, launch_of, uvx_program
    from contextpull.server.hosting.places import served

    program = uvx_program(shutil.which("uvx")) if uvx else installed_program(Path(sys.executable))
    return launch_of(program, served(folder, store, DEFAULT_STORE, cache_folder(os.environ)))
