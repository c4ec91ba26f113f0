"""`contextpull ingest`."""

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import (
    api_key_option,
    cut_options,
    embedder_option,
    json_option,
    store_option,
)
from contextpull.cli.progress import progress_bar
from contextpull.config import CutSettings, cache_folder
from contextpull.errors import ContextPullError

if TYPE_CHECKING:
    from contextpull.store.ingest import IngestReport
    from contextpull.store.records import Skipped

_FEW = 5


@click.command("ingest")
@click.argument("folder", type=click.Path(path_type=Path))
@store_option
@cut_options
@click.option("--verify", is_flag=True, help="Hash every file instead of trusting size and time.")
@embedder_option
@click.option("--no-vectors", is_flag=True, help="Drop the vectors that the store keeps.")
@api_key_option
@click.option("-v", "--verbose", is_flag=True, help="Name every file that was left out.")
@json_option
@click.pass_context
def ingest_command(
    context: click.Context,
    /,
    folder: Path,
    store: Path,
    verify: bool,
    embedder: str | None,
    no_vectors: bool,
    api_key: str,
    verbose: bool,
    as_json: bool,
    **cutting: int | None,
) -> None:
    """Read a folder of documents into the store; later runs read only what changed.

    Files that git, .ignore or .contextpullignore exclude are passed over, hidden ones too.
    Every other file that cannot be read is listed with its reason.

    With --embedder every section also gets a vector, for search by meaning. The store remembers
    the model: later runs embed what is new. About 10 sections a second and core with a small
    model; what is interrupted goes on from there.

    \b
    Examples:
      contextpull ingest ./docs
      contextpull ingest ./docs --store /var/lib/docs-store --max-chars 1500
      contextpull ingest ./docs --embedder bge-small-en-v1.5

    Exit code: 0, 1 when no document was found or the vectors that the store keeps could not be
    brought up to date, 2 for an error.
    """
    from contextpull.models.specs import parse_spec
    from contextpull.store.embedding import forget_vectors
    from contextpull.store.ingest import ingest, stored_settings

    if embedder and no_vectors:
        raise click.UsageError("Give either --embedder or --no-vectors.")
    if embedder:
        parse_spec(embedder, "embedder")  # a slip of the pen is said before the folder is read
    given = {name: value for name, value in cutting.items() if value is not None}
    settings = stored_settings(store) or CutSettings()
    with progress_bar("reading", "bytes") as progress:
        report = ingest(
            folder,
            store,
            dataclasses.replace(settings, **given),
            verify=verify,
            progress=progress,
        )
    if no_vectors:
        forget_vectors(store)
    vectors = _vectors(store, embedder, api_key) if report.documents and not no_vectors else {}
    if as_json:
        values = {**_as_json(report), "vectors": vectors or None}
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
    else:
        lines = [*_summary(report, folder, store, verbose), *_vector_lines(vectors)]
        click.echo("\n".join(lines))
    context.exit(0 if report.documents and not vectors.get("problem") else 1)


def _vectors(store: Path, embedder: str | None, api_key: str) -> dict[str, Any]:
    """What became of the vectors; empty where the store keeps none, or all are there.

    A model that is asked for must work. One that was asked for long ago costs no ingest.
    """
    from contextpull.store.embedding import keep_vectors

    try:
        with progress_bar("embedding", "count") as progress:
            report = keep_vectors(
                store,
                model=embedder,
                api_key=api_key,
                cache=cache_folder(os.environ) / "vectors",
                progress=progress,
            )
    except ContextPullError as error:
        if embedder is not None:
            raise
        return {"problem": str(error)}
    return report._asdict() if report else {}


def _vector_lines(vectors: dict[str, Any]) -> Iterator[str]:
    if problem := vectors.get("problem"):
        yield f"Look at: the vectors are not up to date. {problem}"
    elif vectors:
        yield (
            f"{vectors['sections']:,} vectors of {vectors['model']},"
            f" {vectors['made']:,} made in {vectors['seconds']:.1f} s"
        )


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
