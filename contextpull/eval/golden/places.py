"""What an entry of `expected`, or any other name of a document, section or page, leads to.

    guide/cache.md          a document
    guide/cache.md#clear    a section, by its id or by that of a heading that was merged into it
    report.pdf#page=41      a page: all that lies on it
    report.pdf#page=41~2    the second part of a long page, where there is one; else the page

A name counts as it is written in the store: another case, another normal form, `./` before it and
escapes in it make it another name. A path that holds `#` goes before a section. Where no pages of a
document are known, a page of it leads to the document; where some are, only to one of those.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from contextpull.errors import SectionNotFound
from contextpull.eval.golden.schema import page_of
from contextpull.retrieval.reading import read
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection


class Documents(Protocol):
    """What names are looked up in."""

    def __contains__(self, path: object) -> bool:
        """Whether there is a document of this path."""
        ...

    def has_section(self, path: str, slug: str) -> bool:
        """Whether a slug or another anchor leads to a section of the document."""
        ...

    def pages(self, path: str) -> Collection[int]:
        """The pages of the document that are known, from 1; none in formats without pages."""
        ...


class Place(NamedTuple):
    """What a name leads to."""

    kind: Literal["document", "section", "page", "nowhere"]
    path: str = ""
    """Of the document; empty where there is none of that path."""
    slug: str = ""
    """That of the section whose id the name is, even where the name is that of a page."""
    page: int = 0
    """The page that is named, from 1; 0 where none is. A document has one where none is known."""

    @property
    def names_unknown_page(self) -> bool:
        """Whether it names a page where none is known, so that the whole document counts."""
        return self.kind == "document" and self.page > 0


def resolve(name: str, documents: Documents) -> Place:
    """What a name leads to; see above for each form."""
    if name in documents:
        return Place("document", name)
    path, _, slug = name.rpartition("#")
    if path not in documents:
        return Place("nowhere")
    own = slug if documents.has_section(path, slug) else ""
    page = page_of(name) or 0
    known = documents.pages(path) if page else ()
    if own and (page not in known or "~" in slug):
        return Place("section", path, own, page if page in known else 0)
    if page in known:
        return Place("page", path, own, page)
    return Place("nowhere" if known or not page else "document", path, page=page)


def pages_of(section: StoredSection) -> range | None:
    """The pages of its document that a section covers, from 1; None in formats without pages."""
    return range(section.page, max(section.page, section.last_page) + 1) if section.page else None


class Places:
    """Finds places in a store; called with the same name again, it remembers."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._resolved = lru_cache(maxsize=1024)(lambda name: resolve(name, self))
        self._pages = lru_cache(maxsize=1024)(self._pages_with_text)
        self._sections_of = lru_cache(maxsize=64)(self._all_sections)

    def __call__(self, name: str) -> Place:
        """What a name leads to."""
        return self._resolved(name)

    def __contains__(self, path: object) -> bool:
        """Whether the store holds a document of this path."""
        return path in self._snapshot.documents

    def has_section(self, path: str, slug: str) -> bool:
        """Whether a slug or another anchor leads to a section of the document."""
        whole = slug.encode("utf-8", "replace").decode()  # half a character is in no id
        return self.number(Place("section", path, whole)) is not None

    def pages(self, path: str) -> frozenset[int]:
        """The pages that the document's sections cover, from 1."""
        return self._pages(path)

    def number(self, place: Place) -> int | None:
        """The number of the section whose id was named; None where it was no section's."""
        if not place.slug:
            return None
        return self._snapshot.database.resolve(self._snapshot.documents[place.path], place.slug)

    def sections(self, place: Place) -> list[StoredSection]:
        """The sections that lie there, in reading order."""
        if place.kind == "section":
            number = self.number(place)
            return self._snapshot.database.sections([] if number is None else [number])
        if place.kind == "nowhere":
            return []
        sections = self._sections_of(place.path)
        if place.kind == "page":
            return [each for each in sections if place.page in (pages_of(each) or ())]
        return sections

    def text(self, path: str) -> str:
        """The whole text of a document."""
        return "".join(section.text for section in self._sections_of(path))

    def fault(self, name: str) -> str:
        """Why a name leads nowhere, with what comes closest; empty where it leads somewhere."""
        place = self(name)
        if place.kind != "nowhere":
            return ""
        if place.page:
            last = max(self.pages(place.path))
            return f"{place.path!r} has no page {place.page}; its pages with text end at {last}"
        head = f"the store holds no {name!r}"
        try:
            section = read(self._snapshot, [name])[0].section
        except SectionNotFound as error:
            meant = list(error.nearest)
        else:
            meant = [section.id if "#" in name else section.path]
        return f"{head}; did you mean {' or '.join(map(repr, meant))}?" if meant else head

    def _all_sections(self, path: str) -> list[StoredSection]:
        return self._snapshot.database.sections_of(self._snapshot.documents[path])

    def _pages_with_text(self, path: str) -> frozenset[int]:
        return frozenset(page for each in self._sections_of(path) for page in pages_of(each) or ())
