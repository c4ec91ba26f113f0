"""`contextpull ingest`."""

import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextpull.cli.options import cut_options, json_option, store_option
from contextpull.config import CutSettings

if TYPE_CHECKING:
    from contextpull.store.ingest import IngestReport, Progress
    from contextpull.store.records import Skipped

_FEW = 5


@click.command("ingest")
@click.argument("folder", type=click.Path(path_type=Path))
@store_option
@cut_options
@click.option("--verify", is_flag=True, help="Hash every file instead of trusting size and time.")
@click.option("-v", "--verbose", is_flag=True, help="Name every file that was left out.")
@json_option
@click.pass_context
def ingest_command(
    context: click.Context,
    /,
    folder: Path,
    store: Path,
    verify: bool,
    verbose: bool,
    as_json: bool,
    **cutting: int | None,
) -> None:
    """Read a folder of documents into the store; later runs read only what changed.

    Files that git, .ignore or .contextpullignore exclude are passed over, hidden ones too.
    Every other file that cannot be read is listed with its reason.

    \b
    Examples:
      contextpull ingest ./docs
      contextpull ingest ./docs --store /var/lib/docs-store --max-chars 1500

    Exit code: 0, 1 when no document was found, 2 for an error.
    """
    from contextpull.store.ingest import ingest, stored_settings

    given = {name: value for name, value in cutting.items() if value is not None}
    settings = stored_settings(store) or CutSettings()
    with _progress_bar() as progress:
        report = ingest(
            folder,
            store,
            dataclasses.replace(settings, **given),
            verify=verify,
            progress=progress,
        )
    if as_json:
        click.echo(json.dumps(_as_json(report), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_summary(report, folder, store, verbose)))
    context.exit(0 if report.documents else 1)


@contextmanager
def _progress_bar() -> Iterator["Progress | None"]:
    """A bar on stderr, when somebody watches; it appears with the first file that is read."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield show


def _summary(report: "IngestReport", folder: Path, store: Path, verbose: bool) -> Iterator[str]:
    yield (
        f"{report.documents:,} documents, {report.sections:,} sections, {report.chars:,} characters"
        f" in {store} (generation {report.generation})"
    )
    yield (
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed,"
        f" {report.unchanged:,} unchanged in {report.seconds:.1f} s"
    )
    yield from (f"Note: {note}." for note in report.notes)
    if report.skipped:
        yield from _listed("Left out", report.skipped, verbose)
    if report.warnings:
        yield from _listed("Look at", report.warnings, verbose)
    if not report.documents:
        yield f"Nothing in {folder} can be read. Put Markdown or text files there."


def _listed(title: str, files: Sequence["Skipped"], verbose: bool) -> Iterator[str]:
    if verbose or len(files) <= _FEW:
        yield f"{title}:"
        yield from (f"  {file.path}: {file.reason}" for file in files)
        return
    yield f"{title}, {len(files):,} files (-v names them):"
    width = len(f"{len(files):,}")
    for reason, count in Counter(file.reason for file in files).most_common():
        yield f"  {count:{width},}  {reason}"


def _as_json(report: "IngestReport") -> dict[str, object]:
    values = dataclasses.asdict(report)
    for name in ("skipped", "warnings"):
        values[name] = [file._asdict() for file in getattr(report, name)]
    return values
