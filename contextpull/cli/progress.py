"""Bars on stderr for what takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal


@contextmanager
def progress_bar(
    title: str, unit: Literal["bytes", "sections"]
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar that the yielded function moves to (done, all); None where nobody watches.

    It appears when it is first moved.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    counted = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn(title), BarColumn(), counted, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield show
