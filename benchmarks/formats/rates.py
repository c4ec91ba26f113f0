"""What reading costs: each corpus ingested by the command, each format by its reader alone.

    python benchmarks/formats/rates.py --data DATA --work WORK [--only NAME ...]

DATA holds `corpora/NAME/NAME.tar.xz` and `hostile/`. WORK keeps what was unpacked. `--only` names
the corpora that are ingested, perhaps none; without it all are. Times are CPU seconds, so that
other programs on the machine do less to them; memory is that of the largest process of an ingest.
"""

import argparse
import random
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import machine, run, table

from contextpull import open_store
from contextpull.documents.discovery import SourceFile, discover
from contextpull.documents.formats import Reader, format_of, reader_of
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

MOST_BYTES = 10_000_000
"""Of one format; of more, files are drawn with a seed."""
LEAST_SECONDS = 0.5
"""A format with little to read is read again until so much time is spent."""
READ_AS = {"django_docs_rst": "*.txt=rst"}
"""What the files of a corpus are where their names do not say it."""


class Rate(NamedTuple):
    """What one format takes."""

    files: int
    bytes: int
    pages: int
    refused: int
    seconds: float


class Readable(NamedTuple):
    """A file and what reads it."""

    file: SourceFile
    reader: Reader


def main() -> None:
    arguments = parse()
    archives = sorted((arguments.data / "corpora").glob("*/*.tar.xz"))
    folders = {each.parent.name: unpacked(each, arguments.work) for each in archives}
    print(f"{machine()}.\n", flush=True)
    print(ingests(folders, list(folders) if arguments.only is None else arguments.only), flush=True)
    print(f"\n{formats({'hostile': arguments.data / 'hostile', **folders})}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    return parser.parse_args()


def unpacked(archive: Path, work: Path) -> Path:
    """The files of an archive, unpacked where they are not yet."""
    target = work / archive.parent.name
    if not target.exists():
        with tarfile.open(archive) as content:
            content.extractall(target, filter="data")
    return target


def ingests(folders: dict[str, Path], chosen: Sequence[str]) -> str:
    """A row a corpus."""
    header = ("corpus", "documents", "MB", "sections", "left out", "CPU s", "MB/s", "peak MB")
    return table(header, [ingest(name, folders[name]) for name in chosen])


def ingest(name: str, folder: Path) -> tuple[str, ...]:
    with TemporaryDirectory(prefix="contextpull-bench-") as store:
        command = [sys.executable, "-m", "contextpull", "ingest", folder, "--store", store]
        cost = run([*command, "--read-as", READ_AS.get(name, "")])
        documents = open_store(store).snapshot().documents.values()
        size = sum(each.size for each in documents) / 1e6
        left_out = len(discover(folder).skipped)
        return (
            name,
            f"{len(documents):,}",
            f"{size:.1f}",
            f"{sum(each.sections for each in documents):,}",
            f"{left_out:,}",
            f"{cost.cpu_s:.1f}",
            f"{size / cost.cpu_s:.1f}",
            f"{cost.peak_mb:.0f}",
        )


def formats(folders: dict[str, Path]) -> str:
    """A row a format, over all that these folders hold of it."""
    files = defaultdict(list)
    for name, folder in folders.items():
        read_as = READ_AS.get(name, "")
        for file in discover(folder).files:
            format_ = format_of(file.path, read_as)
            files[format_.name].append(Readable(file, reader_of(file.path, read_as)))
    header = ("format", "files", "kB", "refused", "CPU ms", "MB/s", "pages/s")
    return table(header, [_row(name, rate(drawn(files[name]))) for name in sorted(files)])


def _row(name: str, rate: Rate) -> tuple[str, ...]:
    return (
        name,
        f"{rate.files:,}",
        f"{rate.bytes / 1e3:,.1f}",
        f"{rate.refused}",
        f"{rate.seconds * 1e3:,.2f}",
        f"{rate.bytes / 1e6 / rate.seconds:.1f}",
        f"{rate.pages / rate.seconds:.0f}" if rate.pages else "",
    )


def drawn(files: Sequence[Readable]) -> list[Readable]:
    """Files of at most `MOST_BYTES`, the same ones each time."""
    some: list[Readable] = []
    left = MOST_BYTES
    for each in random.Random(1).sample(files, len(files)):
        if each.file.size <= left:
            left -= each.file.size
            some.append(each)
    return some


def rate(files: Sequence[Readable]) -> Rate:
    """Read files, after once to warm up, as often as it takes; the time of one pass."""
    contents = [(each.reader, Path(each.file.location).read_bytes()) for each in files]
    documents = [read(*each) for each in contents]
    start = time.process_time()
    passes = 0
    while (spent := time.process_time() - start) < LEAST_SECONDS or not passes:
        for each in contents:
            read(*each)
        passes += 1
    return Rate(
        len(files),
        sum(len(data) for _, data in contents),
        sum(pages(documents)),
        documents.count(None),
        spent / passes,
    )


def read(reader: Reader, data: bytes) -> ParsedDocument | None:
    """What a reader makes of a file; None when it refuses it."""
    try:
        return reader(data)
    except DocumentError:
        return None


def pages(documents: Sequence[ParsedDocument | None]) -> Iterator[int]:
    for document in documents:
        if document is not None:
            yield max((block.page for block in document.blocks), default=0)


if __name__ == "__main__":
    main()
