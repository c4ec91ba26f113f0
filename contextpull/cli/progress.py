"""Bars on stderr for what takes long; nothing where nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.progress import Progress

    from contextpull.store.report import Progress as Reading

Unit = Literal["words", "count", "share"]
"""What stands behind a bar: what the task says itself, done of all, or a share in percent."""
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
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    behind = {
        "words": TextColumn("{task.fields[words]}"),
        "count": MofNCompleteColumn(),
        "share": TaskProgressColumn(),
    }
    columns = (TextColumn("{task.description}"), BarColumn(), behind[unit], TimeRemainingColumn())
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


@contextmanager
def reading_bar() -> Iterator["Callable[[Reading], None] | None"]:
    """A bar of files that are read, with their number and how many there are a second."""
    with bar_on_terminal("words") as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task("reading", total=None, start=False, visible=False, words="")

        def move(at: "Reading") -> None:
            bar.start_task(task)  # only the first time: walking the folder is not reading
            words = _pace(at, bar.tasks[0].elapsed or 0)
            bar.update(task, completed=at.bytes, total=at.all_bytes, visible=True, words=words)

        yield move


def _pace(at: "Reading", seconds: float) -> str:
    seconds = max(seconds, 0.1)
    files, megabytes = at.files / seconds, at.bytes / 1e6 / seconds
    return f"{at.files:,}/{at.all_files:,} files, {files:,.0f} files/s, {megabytes:.1f} MB/s"
