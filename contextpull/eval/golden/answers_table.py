"""What became of answers to golden questions, as plain text for a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from contextpull.eval.judging.table import render_judging, shown_interval
from contextpull.eval.table import printable

_IDS_SHOWN = 10


def render_answers(report: Mapping[str, Any]) -> str:
    """The headline over all questions, then the measures, in all and by shape, and their notes."""
    return "\n".join([*_headline(report["headline"]), "", render_judging(report)])


def _headline(headline: Mapping[str, Any]) -> Iterator[str]:
    missing: list[str] = headline["not_answered"]
    yield f"{headline['answered']['count']} of {headline['questions']} questions were answered."
    if missing:
        shown = ", ".join(map(printable, missing[:_IDS_SHOWN]))
        more = f" and {len(missing) - _IDS_SHOWN} more" if len(missing) > _IDS_SHOWN else ""
        yield f"Not answered: {shown}{more}."
    right = headline["right"]
    if right and right["with_reference"]:
        yield (
            f"{right['right']} of the {right['with_reference']} with a reference were answered"
            f" right (correctness of {right['from']} or more): {shown_interval(right['share'])}"
        )
        yield (
            f"  {right['not_right']} not right, {right['no_verdict']} without a verdict,"
            f" {right['not_answered']} not answered; Wilson's interval."
        )
