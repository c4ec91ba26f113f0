"""HTML as a clean text of its own: its main content, without navigation, scripts and layout.

Parsed as browsers parse it (lexbor); nothing is run, fetched or read beside the bytes themselves.
"""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from contextpull.documents.composing import Composer
from contextpull.documents.decoding import decode
from contextpull.documents.html_bounds import check_bounds
from contextpull.documents.html_walk import has_text, write_nodes
from contextpull.types import ParsedDocument

_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.I)
_HEAD_BYTES = 4_096
_UNICODE_NAMES = re.compile(r"utf[-_]?(?:8|16|32)|unicode|ucs", re.I)
_XHTML = re.compile(r"\s*(?:<\?xml\b|<html\b[^<>]*\bxmlns\s*=|<!DOCTYPE[^<>]*\bXHTML\b)", re.I)
_EMPTY_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]*)((?:\s[^<>]*)?)/>")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.S)
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905 - words
)
_PAGE_PARTS = (
    "nav, footer, aside, header, [role=navigation], [role=banner], [role=contentinfo], "
    "[role=search], [role=complementary]"
)


def read_html(data: bytes) -> ParsedDocument:
    """Read a page: the `main` element, or the only `article`, or the body without page furniture.

    Raises DocumentError for binary data and for pages that cost too much to parse.
    """
    text, warnings = _decoded(data)
    tree = _parsed(text)
    composer = Composer()
    content = _main_content(tree)
    if content is not None:
        write_nodes(content, composer)
    return composer.document(
        title=_title(tree),
        description=_meta(tree, "description"),
        keywords=_meta(tree, "keywords"),
        warnings=warnings,
    )


def read_html_fragment(html: str) -> ParsedDocument:
    """Read HTML that is content from end to end: a chapter, the body of a mail, a cell's output.

    Raises DocumentError as `read_html` does.
    """
    tree = _parsed(html)
    composer = Composer()
    if tree.body is not None:
        write_nodes(tree.body, composer)
    return composer.document(title=_title(tree))


def _parsed(text: str) -> LexborHTMLParser:
    if _XHTML.match(text[:_HEAD_BYTES]):
        text = _as_html(text)
    check_bounds(text)
    return LexborHTMLParser(text)


def _as_html(text: str) -> str:
    """XHTML in the syntax of HTML, where `<title/>` would begin an element that never ends."""

    def opened(match: re.Match[str]) -> str:
        name, attributes = match.groups()
        is_void = name.lower() in _VOID
        return match.group() if is_void else f"<{name}{attributes}></{name}>"

    escaped = _CDATA.sub(lambda match: match.group(1).replace("<", "&lt;"), text)
    return _EMPTY_ELEMENT.sub(opened, escaped)


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The page as text: UTF-8 where it is that, else what it declares, else what fits best."""
    declared = _DECLARED.search(data[:_HEAD_BYTES])
    name = declared.group(1).decode().lower() if declared else ""
    has_mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if name and not has_mark and b"\0" not in data and not _UNICODE_NAMES.match(name):
        is_7_bit = name.startswith(("iso-2022", "hz"))
        if is_7_bit or not _is_utf8(data):
            # Browsers read Latin-1 as the code page that contains it.
            name = "cp1252" if name in {"iso-8859-1", "latin1", "ascii", "us-ascii"} else name
            try:
                return data.decode(name), ()
            except (LookupError, UnicodeError):
                pass
    decoded = decode(data)
    return decoded.text, decoded.warnings


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _main_content(tree: LexborHTMLParser) -> LexborNode | None:
    """The element that holds what the page is about."""
    for selector in ("main, [role=main]", "article"):
        found = [node for node in tree.css(selector) if has_text(node)]
        if len(found) == 1:
            return found[0]
    body = tree.body
    if body is None:
        return tree.root
    furniture = [node for node in body.css(_PAGE_PARTS) if not _holds_content(node)]
    for node in furniture:
        node.attrs["hidden"] = ""
    if not has_text(body):
        for node in furniture:
            del node.attrs["hidden"]
    return body


def _holds_content(node: LexborNode) -> bool:
    """Whether it is no furniture of the page: a header or aside inside an article, or the title."""
    if node.tag == "header" and node.css_first("h1") is not None:
        return True
    parent = node.parent
    while parent is not None:
        if parent.tag in {"article", "section", "main", "blockquote", "figure"}:
            return node.tag != "nav"
        parent = parent.parent
    return False


def _title(tree: LexborHTMLParser) -> str:
    head = tree.head
    node = head.css_first("title") if head is not None else None
    return " ".join((node.text() if node is not None else "").split())


def _meta(tree: LexborHTMLParser, name: str) -> str:
    head = tree.head
    node = head.css_first(f"meta[name={name} i]") if head is not None else None
    return " ".join(((node.attributes.get("content") if node is not None else "") or "").split())
