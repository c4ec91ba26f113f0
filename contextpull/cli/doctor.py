"""`contextpull doctor`."""

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import click

from contextpull import __version__
from contextpull.cli.options import DEFAULT_STORE, json_option, served_store_option
from contextpull.config import cache_folder
from contextpull.errors import StoreError


@click.command("doctor")
@click.argument(
    "folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@served_store_option
@json_option
@click.pass_context
def doctor_command(
    context: click.Context, folder: Path | None, store: Path | None, as_json: bool
) -> None:
    """Show what is installed, what a host would see, what the store holds, and what is behind.

    The server is started as a host starts it, by the command that `mcp-config` prints, in an
    empty folder and with another PATH. With FOLDER it serves that folder, and reads it into its
    store as for a host; without, it serves the store as it is.

    Exit code: 0 when all is sound and up to date, 1 when it is not, 2 for an error.

    \b
    Examples:
      contextpull doctor
      contextpull doctor ./docs --json
    """
    from contextpull.server.hosting.installed import installed, startup_files
    from contextpull.server.hosting.launching import installed_program, launch_of
    from contextpull.server.hosting.places import Served, is_store, served
    from contextpull.server.hosting.probing import look
    from contextpull.server.hosting.report import facts_of, lines_of

    what = Served(None, store or DEFAULT_STORE)
    if folder:
        what = served(folder, store, DEFAULT_STORE, cache_folder(os.environ))
    server: dict[str, Any] | None = None
    if folder or is_store(what.store):
        launch = launch_of(installed_program(Path(sys.executable)), what)
        server = facts_of(look(launch, {**os.environ, "PATH": os.defpath}), startup_files())
    report = {
        "contextpull": __version__,
        "python": platform.python_version(),
        **installed(),
        "server": server,
        **_store_report(what.store),
    }
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        seen = lines_of(server) if server else []
        click.echo("\n".join([*_installed_lines(report), *seen, *_store_lines(report)]))
    is_sound = report["is_current"] and not (server and server["problems"])
    context.exit(0 if is_sound else 1)


def _store_report(store: Path) -> dict[str, Any]:
    from contextpull.store.checking import store_state

    try:
        state = store_state(store)
    except StoreError as error:
        return {"store": None, "problem": str(error), "is_current": False}
    facts = {**state._asdict(), "corpora": [corpus._asdict() for corpus in state.corpora]}
    return {"store": facts, "problem": "", "is_current": state.is_current}


def _installed_lines(report: dict[str, Any]) -> list[str]:
    packages = ", ".join(
        f"{name} {found or 'MISSING'}" for name, found in report["packages"].items()
    )
    return [
        f"contextpull  {report['contextpull']} on Python {report['python']}",
        f"packages     {packages}",
        *(
            f"extra        {extra}: {_missing(extra, names)}"
            for extra, names in report["extras"].items()
        ),
    ]


def _missing(extra: str, names: list[str]) -> str:
    if not names:
        return "installed"
    return f"without {', '.join(names)} (pip install 'contextpull[{extra}]')"


def _store_lines(report: dict[str, Any]) -> list[str]:
    store = report["store"]
    if store is None:
        return [f"store        {report['problem']}"]
    lines = [
        f"store        {store['path']}, generation {store['generation']},"
        f" {store['bytes_on_disk'] / 1e6:.1f} MB",
        *(
            f"corpus       {' '.join(filter(None, [corpus['name'], corpus['folder']]))}"
            for corpus in store["corpora"]
        ),
        f"holds        {store['documents']:,} documents, {store['sections']:,} sections,"
        f" {store['chars']:,} characters; {store['left_out']:,} files left out",
        f"cut with     {', '.join(f'{name} {value}' for name, value in store['settings'].items())}",
    ]
    if store["embedder"]:
        lines.append(f"vectors      {store['vectors']:,} of {store['embedder']}")
    lines += [f"problem      {problem}" for problem in store["problems"]]
    if store["new"] or store["changed"] or store["gone"]:
        lines.append(
            f"behind       {store['new']:,} new, {store['changed']:,} changed,"
            f" {store['gone']:,} gone: run contextpull ingest --store {store['path']}"
        )
    if report["is_current"]:
        lines.append("state        sound and up to date")
    return lines
