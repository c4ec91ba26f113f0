"""Small zip files that hold a book or a document, built on the spot."""

import io
import zipfile
from collections.abc import Mapping, Sequence

_NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table")
)


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip file of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def opendocument(kind: str, body: str) -> bytes:
    """An ODT (`text`) or ODS (`spreadsheet`) of this body."""
    content = f"<office:document-content {_NAMESPACES}><office:body><office:{kind}>{body}"
    content += f"</office:{kind}></office:body></office:document-content>"
    return zipped({"content.xml": content.encode()})


def epub(
    chapters: Mapping[str, str],
    members: Mapping[str, bytes] | None = None,
    contents: Mapping[str, str] | None = None,
    also_in_spine: Sequence[str] = (),
) -> bytes:
    """A book of these chapters, by file name, with a table of contents if there is one."""
    names = [*chapters, *also_in_spine]
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names
    )
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    title = '<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">The book</dc:title>'
    points = "".join(
        f'<navPoint><navLabel><text>{label}</text></navLabel><content src="{name}#x"/></navPoint>'
        for name, label in (contents or {}).items()
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/p.opf"/></rootfiles></container>'
    package = f"<package><metadata>{title}</metadata><manifest>{items}</manifest>"
    files = {
        "META-INF/container.xml": container,
        "OEBPS/p.opf": f"{package}<spine>{spine}</spine></package>",
        "OEBPS/toc.ncx": f"<ncx><navMap>{points}</navMap></ncx>",
    }
    files |= {
        f"OEBPS/{name}": f"<html><body>{body}</body></html>" for name, body in chapters.items()
    }
    return zipped({name: text.encode() for name, text in files.items()} | dict(members or {}))
