"""What a server says to whoever started it."""

import sys


def tell(sentence: str) -> None:
    """Write a sentence to standard error."""
    write_line(f"contextpull: {sentence}")


def write_line(line: str) -> None:
    """Write a line to standard error in one piece: threads that write at once keep theirs whole."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
