"""`contextpull ingest`."""

import dataclasses
import functools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextpull.cli.options import (
    api_key_option,
    cut_options,
    embedder_option,
    json_option,
    store_option,
    watch_options,
)
from contextpull.cli.progress import progress_bar, reading_bar
from contextpull.config import CutSettings, ReadLimits, cache_folder
from contextpull.errors import ContextPullError

if TYPE_CHECKING:
    from contextpull.store.ingest import IngestReport
    from contextpull.store.records import Skipped
    from contextpull.store.report import FileReport

_FEW = 5
_WIDEST_PATH = 60
_LIMITS = ReadLimits()


@click.command("ingest")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--as",
    "name",
    default="",
    metavar="NAME",
    help="Make it one corpus of several in the store; the name begins its paths: NAME/a.md.",
)
@store_option
@cut_options
@click.option(
    "--verify",
    is_flag=True,
    help="Hash every file instead of trusting size and time, and try again what cannot be read.",
)
@click.option(
    "--allow-empty",
    is_flag=True,
    help="Take out what the store has of a folder that is empty now.",
)
@click.option("--strict", is_flag=True, help="Exit 1 when a file cannot be read or has a warning.")
@click.option(
    "--read-seconds",
    type=float,
    default=_LIMITS.seconds,
    show_default=True,
    help="Time for one file, and as much again for each 4 MB of it.",
)
@click.option(
    "--read-memory",
    type=int,
    default=_LIMITS.megabytes,
    show_default=True,
    help="Memory for one file, in MB.",
)
@embedder_option
@click.option("--no-vectors", is_flag=True, help="Drop the vectors that the store keeps.")
@api_key_option
@watch_options
@click.option("-v", "--verbose", is_flag=True, help="Tell of each file what became of it.")
@json_option
@click.pass_context
def ingest_command(
    context: click.Context,
    /,
    folder: Path | None,
    name: str,
    store: Path,
    verify: bool,
    allow_empty: bool,
    strict: bool,
    read_seconds: float,
    read_memory: int,
    embedder: str | None,
    no_vectors: bool,
    api_key: str,
    watch: bool,
    watch_poll: float | None,
    verbose: bool,
    as_json: bool,
    **cutting: Any,
) -> None:
    """Read a folder of documents into the store; later runs read only what changed.

    Files that git, .ignore or .contextpullignore exclude are passed over, hidden ones too.
    Every other file that cannot be read is listed with its reason.

    With --as a store takes several folders, each a corpus with a name; an ingest reads one of them.
    Without FOLDER it is the one that the store remembers, by the name or the only one, or else all.
    How documents are cut is the store's: other sizes cut every corpus anew.
    A folder that is empty all of a sudden, like the place of a drive that is not mounted, is not
    believed: the store keeps what it has of it, until you say --allow-empty.

    For --strict, faults are: a file that has a reader and is not in the store, be it empty, damaged
    or too much for the limits; a broken link; a folder that cannot be looked into; every warning. A
    file that no reader takes is none. What can be read is in the store all the same.

    With --embedder every section also gets a vector, for search by meaning. The store remembers
    the model: later runs embed what is new. About 10 sections a second and core with a small
    model; what is interrupted goes on from there.

    With --watch it then follows the folder, vectors included, and prints a line for each new
    generation, with --json an object a line, until Ctrl-C ends it (exit code 130).

    \b
    Examples:
      contextpull ingest ./docs
      contextpull ingest ./docs --store /var/lib/docs-store --max-chars 1500
      contextpull ingest ./docs --read-as '*.txt=rst'
      contextpull ingest ./handbook --as hr
      contextpull ingest
      contextpull ingest ./docs --embedder bge-small-en-v1.5

    Exit code: 0, 1 when no document was found, the folder of one of several corpora is gone or
    emptied, the vectors that the store keeps could not be brought up to date, or --strict found a
    fault, 2 for an error.
    """
    from contextpull.models.specs import parse_spec
    from contextpull.store.embedding import forget_vectors
    from contextpull.store.ingest import ingest, settings_of

    if embedder and no_vectors:
        raise click.UsageError("Give either --embedder or --no-vectors.")
    watch = watch or watch_poll is not None
    if watch and strict:
        raise click.UsageError("--strict is for an ingest that ends: leave out --watch, or it.")
    if embedder:
        parse_spec(embedder, "embedder")  # a slip of the pen is said before the folder is read
    given = {name: value for name, value in cutting.items() if value is not None}
    settings = dataclasses.replace(settings_of(store), **given)
    limits = ReadLimits(seconds=read_seconds, megabytes=read_memory)
    with reading_bar() as progress:
        report = ingest(
            folder,
            store,
            settings,
            name=name,
            verify=verify,
            allow_empty=allow_empty,
            progress=progress,
            limits=limits,
        )
    if no_vectors:
        forget_vectors(store)
    may_hold_some = report.documents or name or report.missing
    vectors = kept_vectors(store, embedder, api_key) if may_hold_some and not no_vectors else {}
    if as_json:
        values = {**_as_json(report), "vectors": vectors or None}
        click.echo(json.dumps(values, ensure_ascii=False, indent=None if watch else 2))
    else:
        files = _table(report.files) if verbose else _grouped(report, strict)
        missing = [f"Look at: {sentence}" for sentence in report.missing]
        lines = [*_summary(report, store, name), *files, *missing, *vector_lines(vectors)]
        click.echo("\n".join(lines))
        if not report.documents:
            where = folder or name or "the folders"
            click.echo(f"Nothing in {where} can be read. Put Markdown or text files there.")
    if watch:
        model = None if no_vectors else (embedder, api_key)
        told = functools.partial(_tell_of_change, store, model, verbose, as_json)
        following = functools.partial(_follow, folder, store, settings, name=name, limits=limits)
        following(poll=watch_poll, known=report.generation, on_report=told)
    fails = strict and bool(report.faults)
    if fails:
        click.echo(f"contextpull: --strict: {_faults(report)}", err=True)
    fails |= bool(report.missing or vectors.get("problem"))
    context.exit(0 if report.documents and not fails else 1)


def _follow(
    folder: Path | None,
    store: Path,
    settings: CutSettings,
    *,
    name: str,
    limits: ReadLimits,
    poll: float | None,
    known: int,
    on_report: Callable[["IngestReport"], None],
) -> None:
    """Follow the folders until an interrupt."""
    from contextpull.store.watching import watch

    def tell(what: str) -> None:
        click.echo(f"contextpull: {what}", err=True)

    tell(f"following {folder or name or 'every folder of the store'}; Ctrl-C ends it.")
    watch(
        folder,
        store,
        settings,
        name=name,
        stop=threading.Event(),
        on_report=on_report,
        tell=tell,
        poll=poll,
        known=known,
        limits=limits,
    )


def _tell_of_change(
    store: Path,
    model: tuple[str | None, str] | None,
    verbose: bool,
    as_json: bool,
    report: "IngestReport",
) -> None:
    """Print a generation, and make its vectors by `model`, a name and a key, where it has any."""
    from contextpull.store.watching import changes_of

    now = time.strftime("%H:%M:%S")
    if not as_json:
        files = _table(report.files) if verbose else ()
        click.echo("\n".join([f"{now}  {changes_of(report)}", *files]))
    try:
        vectors = kept_vectors(store, *model) if model else {}
    except ContextPullError as error:  # the next generation may fare better
        vectors = {"problem": str(error)}
    if as_json:
        values = {"time": now, **_as_json(report), "vectors": vectors or None}
        click.echo(json.dumps(values, ensure_ascii=False))
    else:
        for line in vector_lines(vectors):
            click.echo(line)


def kept_vectors(store: Path, embedder: str | None, api_key: str) -> dict[str, Any]:
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


def vector_lines(vectors: dict[str, Any]) -> Iterator[str]:
    """What became of the vectors, in a line, or none where there is nothing to tell."""
    if problem := vectors.get("problem"):
        yield f"Look at: the vectors are not up to date. {problem}"
    elif vectors:
        yield (
            f"{vectors['sections']:,} vectors of {vectors['model']},"
            f" {vectors['made']:,} made in {vectors['seconds']:.1f} s"
        )


def _summary(report: "IngestReport", store: Path, name: str) -> Iterator[str]:
    where = f"of {name} in {store}" if name else f"in {store}"
    yield (
        f"{report.documents:,} documents, {report.sections:,} sections, {report.chars:,} characters"
        f" {where} (generation {report.generation})"
    )
    yield (
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed,"
        f" {report.unchanged:,} unchanged in {report.seconds:.1f} s"
    )
    yield from (f"Note: {note}." for note in report.notes)


def _grouped(report: "IngestReport", strict: bool) -> Iterator[str]:
    """What is not in the store and what deserves a look: file by file where those are few."""
    if report.skipped:
        yield from _listed("Left out", report.skipped, strict)
    if report.warnings:
        yield from _listed("Look at", report.warnings, strict)


def _table(files: Sequence["FileReport"]) -> Iterator[str]:
    """A line a file, its warnings under it."""
    width = min(max((len(each.path) for each in files), default=0), _WIDEST_PATH)
    for each in files:
        yield f"{each.outcome:10}  {each.path:{width}}  {_came_out(each)}".rstrip()
        yield from (f"{'':10}  {'':{width}}  warning: {warning}" for warning in each.warnings)


def _came_out(file: "FileReport") -> str:
    if not file.sections:
        return file.reason
    counted = [_counted(file.sections, "section"), _counted(file.pages, "page")]
    return ", ".join(counted[: 2 if file.pages else 1])


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _faults(report: "IngestReport") -> str:
    names = [each.path for each in report.faults]
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    few = ", ".join(names[:_FEW])
    return f"{_counted(len(names), 'file')} not read, or with a warning: {few}{more}."


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
    for name in ("files", "skipped", "warnings"):
        values[name] = [file._asdict() for file in getattr(report, name)]
    return values
