"""The words of a PDF page, with their place and font, as PDFium finds them."""

import ctypes
import math
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

from contextpull.documents.pdf_layout import Rule, Word

MOST_CHARS = 200_000
"""Characters of one page that are read."""
_MOST_OBJECTS = 5_000
_FARTHEST = 1e6
_AXES = 5
"""Text within so many degrees of the horizontal or the vertical is taken to be exactly so."""
_HYPHENS = frozenset({0x2, 0xAD, 0xFFFE})
_FIXED_PITCH = 1
_BOLD_WEIGHT = 600
_MONO_NAMES = ("mono", "courier", "consol", "menlo", "typewriter", "cmtt")
_BOLD_NAMES = ("bold", "black", "heavy", "cmbx", "-semi")


class _Style(NamedTuple):
    size: float
    is_bold: bool
    is_mono: bool
    degrees: int


class PageText(NamedTuple):
    """All words of a page by the direction that they run in, the most common direction first."""

    words: list[list[Word]]
    rules: list[Rule]
    """Horizontal lines, as seen in the first direction."""
    chars: int
    is_cut: bool
    has_image: bool


def page_text(page: Any) -> PageText:
    """Read a page that pypdfium2 opened."""
    text = pdfium.FPDFText_LoadPage(page)
    if not text:
        return PageText([], [], 0, is_cut=False, has_image=False)
    try:
        count = max(pdfium.FPDFText_CountChars(text), 0)
        by_direction: dict[int, list[Word]] = {}
        for degrees, word in _words(text, min(count, MOST_CHARS)):
            by_direction.setdefault(degrees, []).append(word)
    finally:
        pdfium.FPDFText_ClosePage(text)
    ordered = sorted(by_direction, key=lambda each: -sum(len(w.text) for w in by_direction[each]))
    rules, has_image = _drawn(page, ordered[0] if ordered else 0)
    words = [by_direction[each] for each in ordered]
    return PageText(words, rules, count, count > MOST_CHARS, has_image)


def _words(text: Any, count: int) -> Iterator[tuple[int, Word]]:
    """Words in the order of the file; a gap or a jump ends one, as a space does."""
    styles: dict[int, _Style] = {}
    letters: list[str] = []
    is_spaced = was_spaced = True
    box = [0.0, 0.0, 0.0, 0.0]
    style = _Style(0, is_bold=False, is_mono=False, degrees=0)
    rectangle = pdfium.FS_RECTF()
    place: tuple[float, ...] = ()
    for at in range(count):
        code = pdfium.FPDFText_GetUnicode(text, at)
        letter = _letter(code)
        if letter.isspace() or not letter:
            is_spaced = True
            continue
        pdfium.FPDFText_GetLooseCharBox(text, at, rectangle)
        own = _style(text, at, styles)
        before, place = place, _turned(rectangle, own.degrees)
        if not all(-_FARTHEST < edge < _FARTHEST for edge in place):
            continue  # nowhere, or not a number
        is_ligature = place == before  # its letters all have the one box
        is_within = bool(letters) and not is_spaced and not is_ligature
        if is_within and _is_drawn_again(letter, place, letters, box, own.size):
            continue
        is_new = is_spaced or own.degrees != style.degrees or _is_apart(place, box, own.size)
        if letters and is_new:
            yield style.degrees, _word(letters, box, style, was_spaced)
            letters = []
        if not letters:
            box, style, was_spaced, is_spaced = list(place), own, is_spaced, False
        letters.append(letter)
        box = [box[0], max(box[1], place[1]), min(box[2], place[2]), max(box[3], place[3])]
        if own.size > style.size:
            style = own
    if letters:
        yield style.degrees, _word(letters, box, style, was_spaced)


def _letter(code: int) -> str:
    if code in _HYPHENS:
        return "-"
    if code < 32 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return ""
    letter = chr(code)
    return unicodedata.normalize("NFKC", letter) if 0xFB00 <= code <= 0xFB06 else letter


def _word(letters: list[str], box: list[float], style: _Style, is_spaced: bool) -> Word:
    left, right, top, bottom = box
    return Word(
        *("".join(letters), left, right, top, bottom),
        *(style.size, style.is_bold, style.is_mono, is_spaced),
    )


def _style(text: Any, at: int, known: dict[int, _Style]) -> _Style:
    """The font of a character; one look for each run of text that the file draws at once."""
    run = pdfium.FPDFText_GetTextObject(text, at)
    key = ctypes.addressof(run.contents) if run else 0
    if key in known:
        return known[key]
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, at, matrix)
    scale = math.hypot(matrix.c, matrix.d) or 1.0
    font = pdfium.FPDFTextObj_GetFont(run) if run else None
    name, flags, weight = _font(font) if font else ("", 0, 0)
    style = _Style(
        min(abs(pdfium.FPDFText_GetFontSize(text, at) * scale), 1_000.0) or 1.0,
        is_bold=weight >= _BOLD_WEIGHT or any(part in name for part in _BOLD_NAMES),
        is_mono=bool(flags & _FIXED_PITCH) or any(part in name for part in _MONO_NAMES),
        degrees=_degrees(math.degrees(math.atan2(matrix.b, matrix.a))),
    )
    if key:
        known[key] = style
    return style


def _font(font: Any) -> tuple[str, int, int]:
    buffer = ctypes.create_string_buffer(256)
    pdfium.FPDFFont_GetBaseFontName(font, buffer, len(buffer))
    flags, weight = pdfium.FPDFFont_GetFlags(font), pdfium.FPDFFont_GetWeight(font)
    return buffer.value.decode("utf-8", "replace").lower(), max(flags, 0), weight


def _degrees(angle: float) -> int:
    nearest = round(angle / 90) * 90
    return (nearest if abs(angle - nearest) <= _AXES else round(angle)) % 360


def _turned(box: Any, degrees: int) -> tuple[float, float, float, float]:
    """Left, right, top and bottom as a reader of text in this direction sees them."""
    if not degrees:
        return box.left, box.right, -box.top, -box.bottom
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = [(x, y) for x in (box.left, box.right) for y in (box.top, box.bottom)]
    across = [x * cos + y * sin for x, y in corners]
    down = [x * sin - y * cos for x, y in corners]
    return min(across), max(across), min(down), max(down)


def _is_apart(place: tuple[float, float, float, float], box: list[float], size: float) -> bool:
    gap = place[0] - box[1]
    middle = (place[2] + place[3]) / 2
    return gap > 0.4 * size or gap < -1.5 * size or not box[2] <= middle <= box[3]


def _is_drawn_again(
    letter: str,
    place: tuple[float, float, float, float],
    letters: list[str],
    box: list[float],
    size: float,
) -> bool:
    """Whether a letter lies on the one before it: bold as some programs draw it."""
    if letter != letters[-1]:
        return False
    moved = max(0.25 * (place[1] - place[0]), 0.1 * size)
    return place[1] - box[1] < moved and abs(place[2] - box[2]) < 0.2 * size


def _drawn(page: Any, degrees: int) -> tuple[list[Rule], bool]:
    """The horizontal lines and edges on a page, and whether an image is on it."""
    rules: list[Rule] = []
    has_image = False
    edges = [ctypes.c_float() for _ in range(4)]
    for at in range(min(max(pdfium.FPDFPage_CountObjects(page), 0), _MOST_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, at)
        kind = pdfium.FPDFPageObj_GetType(drawn)
        has_image = has_image or kind in {pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM}
        if kind != pdfium.FPDF_PAGEOBJ_PATH or not pdfium.FPDFPageObj_GetBounds(drawn, *edges):
            continue
        left, bottom, right, top = (edge.value for edge in edges)
        box = pdfium.FS_RECTF(left, top, right, bottom)
        first, last, upper, lower = _turned(box, degrees)
        if last - first > 20:
            rules.append(Rule(first, last, upper))
            if lower - upper > 3:
                rules.append(Rule(first, last, lower))
    return rules, has_image
