"""The options of `contextpull serve --http`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import together
from contextpull.errors import InvalidInput

if TYPE_CHECKING:
    from contextpull.server.http import HttpSettings
    from contextpull.server.oauth import OAuthSettings

http_options = together(
    click.option("--http", is_flag=True, help="Serve many clients over streamable HTTP."),
    click.option("--host", help="The address to listen at.  [127.0.0.1]"),
    click.option("--port", type=click.IntRange(0, 65535), help="0 for any that is free.  [8765]"),
    click.option(
        "--tokens",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="CONTEXTPULL_TOKENS",
        help="The file of who may call, and see what: `contextpull tokens` makes it.",
    ),
    click.option("--no-auth", is_flag=True, help="Let everybody in who can reach the address."),
    click.option("--allow-host", multiple=True, metavar="NAME", help="A name clients call it by."),
    click.option(
        "--allow-origin", multiple=True, metavar="ORIGIN", help="Web pages that may call it."
    ),
    click.option("--oauth-issuer", metavar="URL", help="An identity provider to trust."),
    click.option("--oauth-audience", metavar="TEXT", help="For whom its tokens must be meant."),
    click.option("--oauth-jwks", metavar="FILE|URL", help="The provider's keys."),
    click.option("--oauth-claim", metavar="NAME", help="The claim that holds globs, if any does."),
    click.option(
        "--resource",
        metavar="URL",
        help="The address that clients use, where it is another than the one it listens at.",
    ),
    click.option(
        "--rate-limit", type=click.IntRange(0), help="Requests of a token a minute.  [1200]"
    ),
    click.option(
        "--call-timeout", type=click.FloatRange(0.1), help="Seconds that a call may take.  [60]"
    ),
    click.option(
        "--drain", type=click.FloatRange(0), help="Seconds that calls may take to end.  [20]"
    ),
    click.option("--log-queries", is_flag=True, help="Write the arguments of calls into the log."),
)
"""The command gets them as keywords."""


def check_unused(options: Mapping[str, Any]) -> None:
    """Raise InvalidInput when an option of HTTP is given to a server over stdio."""
    given = [name for name, value in options.items() if value and name not in {"http", "tokens"}]
    if given:
        raise InvalidInput(f"--{given[0].replace('_', '-')} needs --http.")


def http_settings(options: Mapping[str, Any]) -> "HttpSettings":
    """Where and how to serve."""
    from contextpull.server.http import HttpSettings
    from contextpull.server.limits import Limits

    limits = {
        "per_minute": options["rate_limit"],
        "call_seconds": options["call_timeout"],
        "drain_seconds": options["drain"],
    }
    where = {"host": options["host"], "port": options["port"], "resource": options["resource"]}
    return HttpSettings(
        **{name: value for name, value in where.items() if value is not None},
        allow_hosts=options["allow_host"],
        allow_origins=options["allow_origin"],
        log_queries=options["log_queries"],
        limits=Limits(**{name: value for name, value in limits.items() if value is not None}),
    )


def oauth_settings(options: Mapping[str, Any]) -> "OAuthSettings | None":
    """The identity provider; None without one. Raises InvalidInput when it is named in part."""
    names = ("oauth_issuer", "oauth_audience", "oauth_jwks")
    missing = [name for name in names if not options[name]]
    if len(missing) == len(names) and not options["oauth_claim"]:
        return None
    if missing:
        raise InvalidInput(
            f"--{missing[0].replace('_', '-')} is missing: tokens of an identity provider need its"
            " issuer, the audience that they are meant for, and its keys."
        )
    from contextpull.server.oauth import OAuthSettings

    issuer, audience, jwks = (options[name] for name in names)
    return OAuthSettings(issuer, audience, jwks, claim=options["oauth_claim"] or "")
