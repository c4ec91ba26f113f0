"""Word, Excel and PowerPoint files as small as they can be: the parts a test is about, zipped."""

import io
import zipfile
from collections.abc import Callable, Mapping

from tests.documents.archives import zipped as zipped_bytes

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
STRICT = "http://purl.oclc.org/ooxml/officeDocument/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
ENCRYPTED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")

Parts = Mapping[str, str | bytes]


def zipped(parts: Parts) -> bytes:
    """A zip file of these parts."""
    return zipped_bytes(
        {name: each.encode() if isinstance(each, str) else each for name, each in parts.items()}
    )


def moved(data: bytes, folder: str, to: str, *, spelled: Callable[[str], str] = str) -> bytes:
    """The same file with the parts below `folder/` at `to`, and every part's name respelled.

    What names the main part begins with `/` where `to` does.
    """
    parts = _parts(data)
    root = parts["_rels/.rels"].replace(f'Target="{folder}/'.encode(), f'Target="{to}'.encode())
    parts["_rels/.rels"] = root
    return zipped(
        {
            spelled(name.replace(f"{folder}/", to.lstrip("/"), 1)): content
            for name, content in parts.items()
        }
    )


def replaced(data: bytes, part: str, before: str, after: str) -> bytes:
    """The same file with something else in one part."""
    parts = _parts(data)
    assert before.encode() in parts[part]
    return zipped({**parts, part: parts[part].replace(before.encode(), after.encode())})


def with_part(data: bytes, part: str, content: str) -> bytes:
    """The same file with one more part."""
    return zipped({**_parts(data), part: content})


def _parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


PLACES = ["", "/", "./", "other/", "/a/b%20c/"]
"""Where the parts of a file may lie: in the root of the zip, in a folder of any name."""


def relations(targets: Mapping[str, str], types: str = OFFICE) -> str:
    """Relations by id; each is written `kind target`."""
    lines = "".join(
        f'<Relationship Id="{key}" Type="{types}/{kind}" Target="{target}"/>'
        for key, (kind, target) in ((k, v.split(" ")) for k, v in targets.items())
    )
    return f'<Relationships xmlns="{PACKAGE}">{lines}</Relationships>'


def docx(body: str, parts: Parts | None = None, *, types: str = OFFICE) -> bytes:
    """A Word document with this body; other parts by kind, `footnotes` and the like."""
    parts = parts or {}
    root = f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>'
    named = {f"r{at}": f"{kind.rstrip('0123456789')} {kind}.xml" for at, kind in enumerate(parts)}
    return zipped(
        {
            "_rels/.rels": relations({"m": "officeDocument word/document.xml"}, types),
            "word/document.xml": root,
            "word/_rels/document.xml.rels": relations(named, types),
            **{f"word/{kind}.xml": content for kind, content in parts.items()},
        }
    )


def word_part(name: str, content: str) -> str:
    """The XML of another part of a Word document."""
    return f'<w:{name} xmlns:w="{WORD}">{content}</w:{name}>'


def paragraph(text: str, style: str = "", properties: str = "") -> str:
    """A paragraph of one run."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    run = f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{run}</w:p>"


def table(*rows: str) -> str:
    """A table of rows, each the XML of its cells."""
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def cell(text: str, properties: str = "") -> str:
    """A cell of one paragraph."""
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def xlsx(sheets: Parts, *, shared: str = "", styles: str = "") -> bytes:
    """A workbook; each sheet is the XML within `<worksheet>`."""
    names = list(sheets)
    tabs = "".join(
        f'<sheet name="{name}" sheetId="{at}" r:id="s{at}"/>' for at, name in enumerate(names, 1)
    )
    named = {f"s{at}": f"worksheet worksheets/sheet{at}.xml" for at in range(1, len(names) + 1)}
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations({"m": "officeDocument xl/workbook.xml"}),
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}">'
        f"<sheets>{tabs}</sheets></workbook>",
    }
    for at, name in enumerate(names, 1):
        content = sheets[name]
        assert isinstance(content, str)
        parts[f"xl/worksheets/sheet{at}.xml"] = f'<worksheet xmlns="{SHEET}">{content}</worksheet>'
    for kind, content in (("sharedStrings", shared), ("styles", styles)):
        if content:
            named[kind] = f"{kind} {kind}.xml"
            parts[f"xl/{kind}.xml"] = content
    return zipped({**parts, "xl/_rels/workbook.xml.rels": relations(named)})


def rows(*lines: tuple[object, ...], first: int = 1) -> str:
    """The cells of a sheet, from column A on; None leaves one out."""
    xml = ""
    for number, line in enumerate(lines, first):
        cells = "".join(
            _cell(f"{chr(65 + at)}{number}", value)
            for at, value in enumerate(line)
            if value is not None
        )
        xml += f'<row r="{number}">{cells}</row>'
    return f"<sheetData>{xml}</sheetData>"


def _cell(place: str, value: object) -> str:
    if isinstance(value, str) and value.startswith("<"):
        return f'<c r="{place}">{value}</c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def pptx(
    slides: list[str], parts: Parts | None = None, links: Mapping[int, str] | None = None
) -> bytes:
    """A presentation; each slide is the XML within its `<p:spTree>`, `links` its relations."""
    ids = "".join(f'<p:sldId id="{256 + at}" r:id="s{at}"/>' for at in range(len(slides)))
    named = {f"s{at}": f"slide slides/slide{at}.xml" for at in range(len(slides))}
    content: dict[str, str | bytes] = {
        "_rels/.rels": relations({"m": "officeDocument ppt/presentation.xml"}),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{SLIDE}" xmlns:r="{OFFICE}">'
        f"<p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(named),
        **(parts or {}),
    }
    for at, slide in enumerate(slides):
        content[f"ppt/slides/slide{at}.xml"] = slide_part("sld", slide)
    for at, link in (links or {}).items():
        content[f"ppt/slides/_rels/slide{at}.xml.rels"] = relations({"x": link})
    return zipped(content)


def slide_part(name: str, shapes: str) -> str:
    """A slide or its notes with these shapes."""
    return (
        f'<p:{name} xmlns:p="{SLIDE}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}">'
        f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{name}>"
    )


def shape(*texts: str, holder: str | None = None) -> str:
    """A shape with paragraphs; `holder` is the type of placeholder that it fills."""
    place = f'<p:ph type="{holder}"/>' if holder else ""
    body = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
    return f"<p:sp><p:nvSpPr><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:txBody>{body}</p:txBody></p:sp>"


def frame(content: str) -> str:
    """A frame around a table or a chart."""
    return (
        "<p:graphicFrame><a:graphic><a:graphicData>"
        f"{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )
