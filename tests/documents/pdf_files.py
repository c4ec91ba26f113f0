"""PDF files written by hand: text at places, in the fonts that every reader knows."""

from collections.abc import Sequence
from typing import NamedTuple

FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}
FF = "\x01"
"""The code of the ligature of two f in these fonts."""
_ENCODING = "<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [1 /ff] >>"
Outline = Sequence[tuple[str, int]]
"""Titles and the pages, from 0, that they lead to."""


class Text(NamedTuple):
    """One line, its lower left corner in points from the page's."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "F1"
    matrix: str = "1 0 0 1"


def lines(*texts: str, x: float = 72, top: float = 700, size: float = 10) -> list[Text]:
    """Lines below each other, as close as print has them."""
    return [Text(x, top - at * size * 1.2, text, size) for at, text in enumerate(texts)]


def drawn(texts: Sequence[Text]) -> bytes:
    """The content of a page that shows these texts."""
    return b"\n".join(
        b"BT /%s %g Tf %s %g %g Tm (%s) Tj ET"
        % (each.font.encode(), each.size, each.matrix.encode(), each.x, each.y, _escaped(each.text))
        for each in texts
    )


def _escaped(text: str) -> bytes:
    data = text.encode("cp1252")
    return data.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def pdf(
    *pages: Sequence[Text] | bytes,
    outline: Outline = (),
    info: str = "",
    rotate: int = 0,
    image: bool = False,
) -> bytes:
    """A file of these pages, each the texts on it or its content as it is."""
    fonts = "".join(
        f"/{key} << /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding {_ENCODING} >> "
        for key, name in FONTS.items()
    )
    first = 10 + len(outline)
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        3: f"<< {info} >>".encode(),
        4: f"<< /First 10 0 R /Last {first - 1} 0 R /Count {len(outline)} >>".encode()
        if outline
        else b"<< >>",
        5: _stream(b"\xff" * 3, "/Type /XObject /Subtype /Image /Width 1 /Height 1"
                   " /ColorSpace /DeviceRGB /BitsPerComponent 8"),
    }  # fmt: skip
    for at, (title, page) in enumerate(outline):
        beside = f"/Next {11 + at} 0 R" if at + 1 < len(outline) else ""
        goal = f"[{first + 2 * page} 0 R /Fit]"
        objects[10 + at] = f"<< /Title ({title}) /Parent 4 0 R {beside} /Dest {goal} >>".encode()
    for at, page in enumerate(pages):
        content = page if isinstance(page, bytes) else drawn(page)
        content += b"\nq 400 0 0 400 72 72 cm /Im Do Q" if image else b""
        number = first + 2 * at
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate {rotate}"
            f" /Resources << /Font << {fonts}>> /XObject << /Im 5 0 R >> >>"
            f" /Contents {number + 1} 0 R >>"
        ).encode()
        objects[number + 1] = _stream(content)
    return _file(objects)


def nested_forms(levels: int) -> bytes:
    """A page that draws one word ten times in each of so many forms inside each other."""
    fonts = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    first = 5
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /XObject << /X 5 0 R >> >> >>",
        4: _stream(b"/X Do"),
    }
    for level in range(levels):
        inner = drawn([Text(72, 700, "ha")]) if level == levels - 1 else b"/X Do " * 10
        resources = f"/Resources << /XObject << /X {first + level + 1} 0 R >> {fonts} >>"
        form = f"/Type /XObject /Subtype /Form /BBox [0 0 612 792] {resources}"
        objects[first + level] = _stream(inner, form)
    return _file(objects)


def _stream(content: bytes, entries: str = "") -> bytes:
    return f"<< {entries} /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"


def _file(objects: dict[int, bytes]) -> bytes:
    data = b"%PDF-1.7\n"
    places = {}
    for number, body in objects.items():
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(data)
    size = max(objects) + 1
    data += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        data += b"%010d 00000 %s \n" % (places.get(number, 0), b"n" if number in places else b"f")
    return data + (
        b"trailer\n<< /Size %d /Root 1 0 R /Info 3 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, table)
    )
