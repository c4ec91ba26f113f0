"""Bars on stderr for what takes long; nothing where nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.progress import Progress

Unit = Literal["bytes", "count", "share"]
"""What stands behind a bar: megabytes, done of all, or a share in percent."""
Move = Callable[[int, int], None]
"""Moves a bar to (done, all)."""


@contextmanager
def bar_on_terminal(unit: Unit) -> Iterator["Progress | None"]:
    """Room for bars, each with its task's description before it; None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    behind = {"bytes": DownloadColumn, "count": MofNCompleteColumn, "share": TaskProgressColumn}
    columns = (TextColumn("{task.description}"), BarColumn(), behind[unit](), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar


@contextmanager
def progress_bar(title: str, unit: Unit) -> Iterator[Move | None]:
    """One bar that the yielded function moves; it appears when it is first moved."""
    with bar_on_terminal(unit) as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task(title, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
