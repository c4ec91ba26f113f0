"""EPUB books: the chapters in reading order, as a clean text."""

import posixpath
from typing import Any
from urllib.parse import unquote, urldefrag

from contextpull.documents.archive import Archive
from contextpull.documents.composing import Composer
from contextpull.documents.decoding import decode
from contextpull.documents.html import read_html_fragment
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = (".ttf", ".otf", ".woff", ".woff2")
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read_epub(data: bytes) -> ParsedDocument:
    """Read a book along its spine; a chapter without headings gets its title of the contents.

    Raises DocumentError for what is no EPUB and for books under copy protection.
    """
    archive = Archive(data, "an EPUB")
    _refuse_protected(archive)
    package = _package_path(archive)
    root = archive.xml(package)
    items = {item.get("id"): item for item in root.iterfind("{*}manifest/{*}item")}
    folder = posixpath.dirname(package)
    titles = _contents(archive, folder, items)
    composer = Composer()
    warnings = []
    for reference in root.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGES or _is_contents(item):
            continue
        path = _path(folder, item.get("href", ""))
        if path in archive:
            _write_chapter(archive.read(path), titles.get(path, ""), composer)
        else:
            warnings.append(f"the chapter {path!r} is missing in the book")
    metadata = {name: _metadata(root, name) for name in ("title", "description", "creator")}
    return composer.document(
        metadata["title"],
        metadata["description"],
        " ".join(f"{metadata['creator']} {_metadata(root, 'subject')}".split()),
        warnings[:20],
    )


def _refuse_protected(archive: Archive) -> None:
    """Fonts may be obscured; when anything else is encrypted, the text cannot be read."""
    if _ENCRYPTION not in archive:
        return
    for reference in archive.xml(_ENCRYPTION).iterfind(".//{*}CipherReference"):
        if not reference.get("URI", "").lower().endswith(_FONTS):
            raise DocumentError("encrypted (copy protection); only an unprotected copy can be read")


def _package_path(archive: Archive) -> str:
    for rootfile in archive.xml(_CONTAINER).iterfind(".//{*}rootfile"):
        path = rootfile.get("full-path")
        if path:
            return str(path)
    raise DocumentError(f"not an EPUB: {_CONTAINER} names no package")


def _path(folder: str, reference: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(urldefrag(reference).url)))


def _is_contents(item: Any) -> bool:
    return "nav" in item.get("properties", "").split()


def _contents(archive: Archive, folder: str, items: dict[str, Any]) -> dict[str, str]:
    """The title of each file in the table of contents, its first where it has several."""
    titles: dict[str, str] = {}
    for item in items.values():
        is_ncx = item.get("media-type") == "application/x-dtbncx+xml"
        path = _path(folder, item.get("href", ""))
        if not (is_ncx or _is_contents(item)) or path not in archive:
            continue
        try:
            root = archive.xml(path)
        except DocumentError:  # a broken table of contents costs titles, not the book
            continue
        for entry in root.iterfind(".//{*}navPoint" if is_ncx else ".//{*}a"):
            target = entry.find("{*}content") if is_ncx else entry
            label = entry.find("{*}navLabel") if is_ncx else entry
            reference = target.get("src" if is_ncx else "href") if target is not None else None
            if reference and label is not None:
                name = _path(posixpath.dirname(path), reference)
                titles.setdefault(name, " ".join("".join(label.itertext()).split()))
    return titles


def _write_chapter(data: bytes, title: str, composer: Composer) -> None:
    chapter = read_html_fragment(decode(data).text)
    if title and chapter.text.strip() and not any(b.kind == "heading" for b in chapter.blocks):
        composer.heading(1, title)
    composer.include(chapter)


def _metadata(root: Any, name: str) -> str:
    found = root.findall(f"{{*}}metadata/{{http://purl.org/dc/elements/1.1/}}{name}")
    return " ".join(" ".join("".join(each.itertext()) for each in found).split())[:1_000]
