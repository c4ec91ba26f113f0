"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from contextpull.errors import EvaluationError


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[TextIO]:
    """A stream whose text becomes the file when the block ends well; else nothing changes.

    `mode` says who may use the file, less what the process keeps from others.
    Raises `EvaluationError` for a path that cannot be written.
    """
    with _becoming(path, mode, Path.replace) as stream:
        yield stream


@contextmanager
def creating(path: Path) -> Iterator[TextIO]:
    """As `replacing`, for a file that is not there yet, nor comes while the block runs.

    Raises `EvaluationError` where it is there already, before the block and after it.
    """
    check_absent(path)
    with _becoming(path, 0o666, name_new) as stream:
        yield stream


def check_absent(path: Path) -> None:
    """Raise `EvaluationError` unless a file can be made there; call it before any work is done."""
    if path.exists() or path.is_symlink():
        raise EvaluationError(f"{path} is there already and is left as it is. Name another file.")
    if not path.parent.is_dir():
        raise EvaluationError(
            f"There is no folder {str(path.parent)!r} to write to. Make it first."
        )
    if not os.access(path.parent, os.W_OK):
        raise EvaluationError(f"The folder {str(path.parent)!r} cannot be written to.")


def name_new(temporary: Path, target: Path) -> None:
    """Give a file its name; `EvaluationError` or `OSError` where something else has it."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        check_absent(target)
        raise
    except OSError:  # a file system without links; the name is taken first, then filled
        target.open("x").close()
        temporary.replace(target)


@contextmanager
def _becoming(path: Path, mode: int, name: Callable[[Path, Path], object]) -> Iterator[TextIO]:
    target = Path(os.path.realpath(path))  # a link keeps pointing where it did
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        file = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with open(file, "w", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        name(temporary, target)
    except OSError as error:
        raise EvaluationError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        with suppress(OSError):  # after a replacement it is gone, in a wrong folder it never was
            temporary.unlink()
