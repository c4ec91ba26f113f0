"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from contextpull.errors import EvaluationError


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A stream whose text becomes the file when the block ends well; else nothing changes.

    Raises `EvaluationError` for a path that cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing where it did
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except OSError as error:
        raise EvaluationError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        with suppress(OSError):  # after a replacement it is gone, in a wrong folder it never was
            temporary.unlink()
