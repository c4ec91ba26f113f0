"""What a server says to whoever started it."""

import sys


def tell(sentence: str) -> None:
    """Write a sentence to standard error."""
    print(f"contextpull: {sentence}", file=sys.stderr, flush=True)
