"""SVG elements whose text and attributes are escaped, and scales for what they draw."""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup, escape

from contextpull.eval.table import printable


def element(name: str, *children: str, **attributes: object) -> Markup:
    """One element; `class_` is `class`, `stroke_width` is `stroke-width`, None is left out.

    Children that are no Markup are text.
    """
    written = (
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _value(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup().join(map(escape, children))
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), Markup().join(written), inner)


def picture(
    width: float, height: float, *children: str, title: str, description: str, class_: str
) -> Markup:
    """A drawing that says in words what it shows."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        role="img",
        class_=class_,
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def text(x: float, y: float, content: str, class_: str, anchor: str = "start") -> Markup:
    """Text that begins, ends or has its middle at x."""
    return element("text", content, x=x, y=y, class_=class_, text_anchor=anchor)


def shortened(name: str, most: int) -> str:
    """A name of at most so many letters, with … where some are left out."""
    shown = printable(name)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


class Tick(NamedTuple):
    """A value of an axis, and how it is written."""

    value: float
    label: str


def ticks_up_to(most: float, write: Callable[[float], str], about: int = 4) -> list[Tick]:
    """Round values from 0 to the first that is not below `most`, which is more than 0."""
    step = round_step(most / about, (1, 2, 2.5, 5, 10))
    return [Tick(step * at, write(step * at)) for at in range(ceil(most / step - 1e-9) + 1)]


def round_step(rough: float, round_values: Sequence[float] = (1, 2, 5, 10)) -> float:
    """The least of the round values, times a power of ten, that is not below `rough`."""
    power = 10.0 ** floor(log10(rough))
    return next(power * each for each in round_values if power * each >= rough)


def decades(least: float, most: float) -> list[Tick]:
    """Powers of ten of seconds that enclose the values, which are more than 0."""
    first, last = floor(log10(least)), ceil(log10(most))
    powers = range(first, max(last, first + 1) + 1)
    return [Tick(10.0**each, _seconds(each)) for each in powers]


def _seconds(power: int) -> str:
    if power >= 0:
        return f"{10**power:,} s"
    return f"{10 ** (power + 3)} ms" if power >= -3 else f"{10 ** (power + 6):g} µs"


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
