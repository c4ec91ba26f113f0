"""`contextpull tokens`: who may call a server over HTTP."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from contextpull.cli.options import json_option

_file_option = click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("tokens.jsonl"),
    show_default=True,
    envvar="CONTEXTPULL_TOKENS",
    help="The tokens file.",
)


@click.group("tokens")
def tokens_group() -> None:
    """Make, list and revoke the tokens of `contextpull serve --http --tokens FILE`.

    The file keeps a hash of each token, never the token. A server that runs reads the file again
    when it changes.

    \b
    Examples:
      contextpull tokens add alice --scope 'hr/**' --expires 90d
      contextpull tokens add build --scope '**' --scope '!hr/**'
      contextpull tokens list
      contextpull tokens revoke alice
    """


@tokens_group.command("add")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    metavar="GLOB",
    help="What the token lets see: a document, a folder or a glob; ** is everything, and ! in"
    " front takes out. May be given several times; the last that matches decides.",
)
@click.option(
    "--expires",
    default="90d",
    show_default=True,
    help="How long it holds: 12h, 90d, 26w, a date like 2027-01-31, or never.",
)
@_file_option
def add_command(name: str, scopes: tuple[str, ...], expires: str, file: Path) -> None:
    """Make a token, and print it: this once, on standard output.

    \b
    Example:
      contextpull tokens add alice --scope 'hr/**' --expires 90d

    Exit code: 0, 2 for an error.
    """
    from contextpull.server.tokens import add_token, expiry

    until = expiry(expires, datetime.now(UTC))
    token = add_token(file, name, scopes, until)
    when = f"until {until:%Y-%m-%d %H:%M} UTC" if until else "for ever"
    click.echo(f"{name} may see {' '.join(scopes)} {when}; {file} keeps a hash alone.", err=True)
    click.echo(token)


@tokens_group.command("list")
@json_option
@_file_option
def list_command(as_json: bool, file: Path) -> None:
    """Show the tokens by name: what they let see, and until when.

    \b
    Example:
      contextpull tokens list --file team.jsonl

    Exit code: 0, 2 for an error.
    """
    from contextpull.server.tokens import permission_warning, read_tokens

    tokens = read_tokens(file)
    if warning := permission_warning(file):
        click.echo(f"contextpull: {warning}", err=True)
    rows = [
        {
            "name": each.name,
            "scope": list(each.scope),
            "expires": each.expires.isoformat() if each.expires else None,
            "has_expired": each.has_expired,
        }
        for each in tokens.tokens
    ]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for each in tokens.tokens:
        until = f"{each.expires:%Y-%m-%d %H:%M}" if each.expires else "never"
        state = "  (has expired)" if each.has_expired else ""
        click.echo(f"{each.name}  {' '.join(each.scope)}  expires {until}{state}")
    for name, globs in tokens.oauth_scopes:
        click.echo(f"oauth scope {name}  {' '.join(globs)}")


@tokens_group.command("revoke")
@click.argument("name")
@_file_option
def revoke_command(name: str, file: Path) -> None:
    """Take a token back: a running server refuses it from its next request on.

    \b
    Example:
      contextpull tokens revoke alice

    Exit code: 0, 2 for an error.
    """
    from contextpull.server.tokens import revoke_token

    revoke_token(file, name)
    click.echo(f"{name} is revoked.", err=True)
