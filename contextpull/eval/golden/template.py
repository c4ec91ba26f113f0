"""Rows that wait for a person to write a question: what to ask about, and where it stands."""

from contextpull.eval.generation.corpus import Corpus, SourceSection
from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.eval.golden.reading import on_one_line
from contextpull.eval.golden.writing.passages import Choice, choose_passages

_HINT_CHARS = 240


def template_of(corpus: Corpus, count: int, seed: int) -> tuple[list[GoldenQuestion], Choice]:
    """So many rows, or as many as there are passages, in reading order; and how these were chosen.

    Each expects its section and has its beginning for a hint. See `choose_passages`: every document
    gets a share, and the same seed over the same sections chooses the same.
    """
    choice = choose_passages(corpus, count, seed)
    chosen = set(choice.chosen)
    ordered = [section for section in corpus.sections if section in chosen]
    rows = [_row(number, section) for number, section in enumerate(ordered, start=1)]
    return rows, choice


def _row(number: int, section: SourceSection) -> GoldenQuestion:
    hint = on_one_line(section.text, _HINT_CHARS)
    return GoldenQuestion(f"t{number}", "", (section.id,), hint=hint, draft=True)
