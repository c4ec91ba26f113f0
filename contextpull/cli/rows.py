"""The rows that measuring commands share: their names, how they are opened, their progress."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched
    from contextpull.types import Retriever

ROWS = ("bm25",)

Progress = Callable[[int, int], None]


def _row_names(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if name not in ROWS:
            raise click.BadParameter(f"{name!r} is no row. Choose from: {', '.join(ROWS)}.")
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is named more than once.")
    return names


rows_option = click.option(
    "--rows",
    default="bm25",
    show_default=True,
    callback=_row_names,
    help="What to measure, separated by commas.",
)
seed_option = click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the bootstrap.",
)
rounds_option = click.option(
    "--rounds",
    default=10_000,
    show_default=True,
    type=click.IntRange(100, 1_000_000),
    help="Rounds of the bootstrap; fewer than 1,000 give shaky intervals.",
)


def open_rows(names: Sequence[str], searched: "Searched") -> Iterator[tuple[str, "Retriever"]]:
    """The rows of these names over the same sections, each opened when its turn comes."""
    # The engine behind it takes a moment to load, which `--help` should not wait for.
    from contextpull.adapters import push

    makers = {"bm25": push.Bm25}
    for name in names:
        yield name, makers[name](*searched)


@contextmanager
def progress(name: str) -> Iterator[Progress | None]:
    """A bar on stderr that the yielded function moves; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name)
        yield lambda asked, questions: bar.update(task, completed=asked, total=questions)
