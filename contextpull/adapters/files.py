"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
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
    target = Path(os.path.realpath(path))  # a link keeps pointing where it did
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        file = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with open(file, "w", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except OSError as error:
        raise EvaluationError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        with suppress(OSError):  # after a replacement it is gone, in a wrong folder it never was
            temporary.unlink()
