"""Resources: the index, and each document, outline and section under a URI of its own."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

import mcp_types as types

from contextpull.documents.formats import format_of
from contextpull.errors import InvalidInput, PathNotFound, SectionNotFound
from contextpull.retrieval.listing import DEFAULT_BUDGET, list_contents
from contextpull.retrieval.paths import nearest, normal_path
from contextpull.retrieval.reading import read
from contextpull.retrieval.rendering import MOST_CHARS
from contextpull.store import Snapshot
from contextpull.store.records import StoredDocument

INDEX_URI = "contextpull://index"
PAGE = 100
"""Resources listed at once."""

_SCHEME = "contextpull://"
_LONGEST_URI = 8_000
_LONGEST_LINE = 200
_PLAIN = "text/plain"
_EVERYTHING = 1 << 62


class Address(NamedTuple):
    """What a URI means."""

    kind: str
    """`index`, `outline`, `document` or `section`."""
    name: str
    """A path, or the id of a section; nothing for the index."""
    offset: int
    """The character or line that a page begins with."""

    @property
    def uri(self) -> str:
        """The URI, in which everything that is not a plain letter is percent-encoded."""
        name = f"/{quote(self.name, safe='')}" if self.name else ""
        offset = f"?offset={self.offset}" if self.offset else ""
        return f"{_SCHEME}{self.kind}{name}{offset}"


class _Page(NamedTuple):
    text: str
    mime_type: str
    next_offset: int | None
    notes: tuple[str, ...] = ()


TEMPLATES = {
    "contextpull://outline/{path}{?offset}": types.ResourceTemplate(
        name="outline",
        title="Outline of a document",
        uri_template="contextpull://outline/{path}{?offset}",
        description="The sections of a document, with their ids and sizes.",
        mime_type=_PLAIN,
    ),
    "contextpull://document/{path}{?offset}": types.ResourceTemplate(
        name="document",
        title="Document",
        uri_template="contextpull://document/{path}{?offset}",
        description="The text of a whole document, verbatim; a long one page by page.",
    ),
    "contextpull://section/{id}{?offset}": types.ResourceTemplate(
        name="section",
        title="Section",
        uri_template="contextpull://section/{id}{?offset}",
        description="The text of a section, verbatim. An id is path#heading-slug.",
    ),
}
"""By URI template, all that there are."""


def parse_uri(uri: str) -> Address:
    """What a URI means; `/`, `#` and other signs in a name may also stand as they are.

    Raises InvalidInput for a URI that no resource can have.
    """
    kind, slash, rest = uri[:_LONGEST_URI].removeprefix(_SCHEME).partition("/")
    if not slash:
        kind, mark, query = kind.partition("?")
        rest = mark + query
    name, _, query = rest.partition("?")
    fields = dict(parse_qsl(query))
    offset = fields.pop("offset", "0")
    is_known = kind in _PAGES if name else kind == "index"
    if not (uri.startswith(_SCHEME) and is_known and offset.isdecimal()) or fields:
        raise InvalidInput(
            f"There is no resource {uri[:_LONGEST_LINE]!r}. There are {INDEX_URI},"
            f" {', '.join(TEMPLATES)}, with path and id percent-encoded."
        )
    return Address(kind, unquote(name), int(offset[:18]))


def list_resources(snapshot: Snapshot, cursor: str | None) -> types.ListResourcesResult:
    """The index and the documents, by path, a page at a time.

    Raises InvalidInput for a cursor that no page named.
    """
    paths = list(snapshot.documents)
    start = bisect_right(paths, _path_of(cursor)) if cursor else 0
    shown = paths[start : start + PAGE]
    resources = [_document_resource(snapshot.documents[path]) for path in shown]
    if not cursor:
        resources.insert(0, _index_resource())
    more = start + len(shown) < len(paths)
    return types.ListResourcesResult(
        resources=resources, next_cursor=_cursor_of(shown[-1]) if more else None
    )


def read_resource(snapshot: Snapshot, uri: str) -> types.ReadResourceResult:
    """The text of a resource, verbatim, in the first of its contents; what else is to say behind.

    A long one comes in pages, each of which names the URI of the next.
    Raises InvalidInput, PathNotFound or SectionNotFound when there is no such resource.
    """
    address = parse_uri(uri)
    page = _page(snapshot, address, MOST_CHARS)
    notes = list(page.notes)
    if page.next_offset is not None:
        notes.append(f"[cut; it goes on at {address._replace(offset=page.next_offset).uri}]")
    contents: list[types.TextResourceContents | types.BlobResourceContents] = [
        types.TextResourceContents(uri=uri, mime_type=page.mime_type, text=page.text)
    ]
    contents += [types.TextResourceContents(uri=uri, mime_type=_PLAIN, text=note) for note in notes]
    return types.ReadResourceResult(contents=contents)


def state_of_list(snapshot: Snapshot) -> int:
    """A number that changes with what is listed."""
    return hash(tuple((each.path, each.title) for each in snapshot.documents.values()))


def state_of(snapshot: Snapshot, address: Address) -> int:
    """A number that changes with the text of a resource, all its pages.

    Raises as `read_resource` does.
    """
    return hash(_page(snapshot, address._replace(offset=0), _EVERYTHING))


def _page(snapshot: Snapshot, address: Address, most_chars: int) -> _Page:
    if address.kind == "index":
        return _listed(snapshot, "", address.offset, most_chars)
    return _PAGES[address.kind](snapshot, address.name, address.offset, most_chars)


def _outline(snapshot: Snapshot, path: str, offset: int, most_chars: int) -> _Page:
    return _listed(snapshot, _document(snapshot, path).path, offset, most_chars)


def _listed(snapshot: Snapshot, path: str, offset: int, most_chars: int) -> _Page:
    budget = min(most_chars, DEFAULT_BUDGET) if most_chars < _EVERYTHING else most_chars
    listing = list_contents(snapshot, path, offset=offset, budget=budget)
    return _Page(listing.text, _PLAIN, listing.next_offset)


def _whole(snapshot: Snapshot, path: str, offset: int, most_chars: int) -> _Page:
    return _read(snapshot, _document(snapshot, path).path, offset, most_chars)


def _section(snapshot: Snapshot, section_id: str, offset: int, most_chars: int) -> _Page:
    if "#" not in section_id:
        raise SectionNotFound(section_id, nearest(normal_path(section_id), snapshot.documents))
    return _read(snapshot, section_id, offset, most_chars)


_PAGES: dict[str, Callable[[Snapshot, str, int, int], _Page]] = {
    "outline": _outline,
    "document": _whole,
    "section": _section,
}
"""What makes a page, by the kind of resource that has a name."""


def _read(snapshot: Snapshot, wanted: str, offset: int, most_chars: int) -> _Page:
    """The text exactly as the file holds it, from the character `offset` on."""
    sections = [each.section for each in read(snapshot, [wanted])]
    text = "".join(section.text for section in sections)
    if offset and offset >= len(text):
        raise InvalidInput(f"Nothing is left: the text ends at character {len(text):,}.")
    end = min(offset + most_chars, len(text))
    if end < len(text):
        end = text.rfind("\n", offset + most_chars * 3 // 4, end) + 1 or end
    header = sections[0].repeated_header
    note = f"[the table goes on; its header, repeated:]\n{header}"
    return _Page(
        text[offset:end],
        _mime_type(sections[0].path),
        end if end < len(text) else None,
        (note,) if header and not offset else (),
    )


def _document(snapshot: Snapshot, path: str) -> StoredDocument:
    found = snapshot.documents.get(path) or snapshot.documents.get(normal_path(path))
    if found is None:
        raise PathNotFound(path[:_LONGEST_LINE], nearest(normal_path(path), snapshot.documents))
    return found


def _index_resource() -> types.Resource:
    return types.Resource(
        name="index",
        title="Table of contents",
        uri=INDEX_URI,
        description="Every document with its title and size.",
        mime_type=_PLAIN,
    )


def _document_resource(document: StoredDocument) -> types.Resource:
    changed = datetime.fromtimestamp(document.mtime_ns // 1_000_000_000, UTC)
    return types.Resource(
        name=document.path,
        title=_on_one_line(document.title) or document.path,
        uri=Address("document", document.path, 0).uri,
        description=_on_one_line(document.description) or None,
        mime_type=_mime_type(document.path),
        size=document.size if document.size >= 0 else None,
        annotations=types.Annotations(last_modified=changed.strftime("%Y-%m-%dT%H:%M:%SZ")),
    )


def _mime_type(path: str) -> str:
    """That of the text in the store, which of other formats than Markdown is plain."""
    found = format_of(path)
    return "text/markdown" if found and found.name == "Markdown" else _PLAIN


def _on_one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_LINE]


def _cursor_of(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode()).decode()


def _path_of(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(
            f"{cursor[:60]!r} is no cursor of a list of resources. List again without one."
        ) from error
