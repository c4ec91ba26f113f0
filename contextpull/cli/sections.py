"""Where a command of `contextpull eval` takes its sections from: a store or a file of sections."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from contextpull.adapters.push import Searched

_Command = TypeVar("_Command", bound=Callable[..., Any])


def sections_options(command: _Command) -> _Command:
    """`--sections` and `--store`, of which `check_sections` wants one."""
    sections = click.option(
        "--sections",
        "sections_path",
        type=click.Path(path_type=Path),
        help="A file of sections: JSON lines with id, text, source, as `export-chunks` writes.",
    )
    store = click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path),
        help="The store whose sections to take, instead of --sections.",
    )
    return sections(store(command))


def check_sections(sections: Path | None, store: Path | None) -> None:
    """Raise UsageError unless one of both is given."""
    if (sections is None) == (store is None):
        raise click.UsageError("Give the sections with either --sections or --store.")


@contextmanager
def open_sections(sections: Path | None, store: Path | None) -> Iterator["Searched"]:
    """The sections, in a store for as long as the block runs; one of both must be given."""
    from contextpull.adapters import push, ragbisect

    if store is not None:
        yield push.over_store(store)
    elif sections is not None:
        passages = ragbisect.load_passages(sections)
        with TemporaryDirectory(prefix="contextpull-") as folder:
            yield push.over_passages(passages, Path(folder))
