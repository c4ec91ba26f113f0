"""Text that a piece carries over from before it: the one place where pieces come to overlap."""

from collections.abc import Sequence

from contextpull.eval.golden.chunking.corpus import Source
from contextpull.eval.golden.chunking.cutters import parts_nothing, trimmed
from contextpull.eval.golden.quotes import Span, is_unspaced


def overlapping(source: Source, spans: Sequence[Span], most: int, first: int = 0) -> list[Span]:
    """The spans, each with up to `most` characters of the text before it, from a word on.

    What is carried over lies under the headings that the span begins under, and not before `first`.
    """
    text, found = source.text, []
    for span in spans:
        floor = max(first, source.heading_start(span.start))
        earliest = range(max(floor, span.start - most), span.start)
        start = next((at for at in earliest if at == floor or _begins_word(text, at)), span.start)
        found += trimmed(text, [Span(start, span.end)])
    return found


def _begins_word(text: str, at: int) -> bool:
    return text[at - 1].isspace() or (is_unspaced(text[at]) and parts_nothing(text, at))
