"""The child process of `pdf.py`: PDF files come in, documents go out, one after the other."""

import pickle
import resource
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from contextpull.documents.pdf import TICK
from contextpull.documents.pdf_document import document_of
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument


def main() -> None:
    """Serve the parent until it closes its end."""
    bound = int(sys.argv[1]) * 1024 * 1024
    with suppress(ValueError, OSError):  # where the system knows no such bound, time still ends it
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    files, answers = Connection(0, writable=False), Connection(1, readable=False)
    with suppress(EOFError, BrokenPipeError):
        while True:
            data = files.recv_bytes()
            answers.send_bytes(pickle.dumps(_answer(data, answers)))


def _answer(data: bytes, answers: Connection) -> ParsedDocument | str:
    try:
        return document_of(data, lambda: answers.send_bytes(TICK))
    except BrokenPipeError:
        raise
    except DocumentError as error:
        return str(error)
    except Exception as error:  # one file is no reason to end
        return f"its reader failed: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
