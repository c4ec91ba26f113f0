"""`contextpull`: the command line."""

import os
import sys
from typing import Any

import click

from contextpull import __version__
from contextpull.cli.attach import claude_md_command, mcp_config_command, tools_command
from contextpull.cli.corpora import corpora_group
from contextpull.cli.doctor import doctor_command
from contextpull.cli.evaluate import eval_group
from contextpull.cli.export import export_command
from contextpull.cli.golden import golden_group
from contextpull.cli.ingest import ingest_command
from contextpull.cli.models import models_group
from contextpull.cli.query import grep_command, index_command, read_command, search_command
from contextpull.cli.serve import serve_command
from contextpull.cli.tokens import tokens_group
from contextpull.errors import ContextPullError

_INTERRUPTED = 130


class _Commands(click.Group):
    """Turns what goes wrong into one sentence on stderr and an exit code, here and only here."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ContextPullError as error:
            click.echo(f"contextpull: {error}", err=True)
            ctx.exit(2)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """In the order in which one needs them."""
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Pull exact, citable sections out of a folder of documents.

    \b
    Attach a folder to Claude Code:
      claude mcp add contextpull -- contextpull serve ./docs
    Look into it yourself:
      contextpull ingest ./docs
      contextpull search "clear the cache"
      contextpull read guide/cache.md#clear

    A store lies in .contextpull/ unless --store or CONTEXTPULL_STORE names another place.
    Exit codes: 0, 1 when nothing was found or a check failed, 2 for an error.
    """


for _command in (
    ingest_command,
    corpora_group,
    serve_command,
    tokens_group,
    index_command,
    search_command,
    grep_command,
    read_command,
    export_command,
    tools_command,
    claude_md_command,
    mcp_config_command,
    doctor_command,
    models_group,
    eval_group,
    golden_group,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; an interrupt and a closed pipe end it without a word."""
    try:
        code = cli(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # Whoever read has seen enough; nothing may be written when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
