"""What an entry of `expected`, or any other name of a document, section or page, leads to."""

from functools import lru_cache
from typing import NamedTuple

from contextpull.errors import SectionNotFound
from contextpull.eval.golden.grains import pages_of
from contextpull.eval.golden.schema import page_of
from contextpull.retrieval.reading import read
from contextpull.store import Snapshot
from contextpull.store.records import StoredSection


class Place(NamedTuple):
    """What an entry leads to in a store."""

    sections: tuple[StoredSection, ...]
    """In reading order; none where there is a fault."""
    fault: str
    """Why it leads nowhere, with what comes closest; empty where it leads somewhere."""
    names_unknown_page: bool = False
    """Whether it names a page where the store knows none, so that the sections are all."""


class Places:
    """Finds places in a store; called with the same entry again, it remembers."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._place = lru_cache(maxsize=1024)(self._find)

    def __call__(self, entry: str) -> Place:
        """What `path`, `path#slug` or `path#page=41` leads to."""
        return self._place(entry)

    def _find(self, entry: str) -> Place:
        documents = self._snapshot.documents
        if entry in documents:
            return Place(self._of(entry), "")
        path, _, slug = entry.rpartition("#")
        if path not in documents:
            return Place((), self._absent(entry))
        number = self._snapshot.database.resolve(documents[path], slug)
        if number is not None:
            return Place(tuple(self._snapshot.database.sections([number])), "")
        page = page_of(entry)
        return self._paged(path, page) if page else Place((), self._absent(entry))

    def _paged(self, path: str, page: int) -> Place:
        sections = self._of(path)
        covered = {each: pages_of(each) for each in sections}
        last = max((pages[-1] for pages in covered.values() if pages), default=0)
        if not last:
            return Place(sections, "", names_unknown_page=True)
        on_page = tuple(each for each, pages in covered.items() if page in (pages or ()))
        if on_page:
            return Place(on_page, "")
        return Place((), f"{path!r} has no page {page}; its pages with text end at {last}")

    def _of(self, path: str) -> tuple[StoredSection, ...]:
        return tuple(self._snapshot.database.sections_of(self._snapshot.documents[path]))

    def _absent(self, entry: str) -> str:
        head = f"the store holds no {entry!r}"
        try:
            meant = read(self._snapshot, [entry])
        except SectionNotFound as error:
            if not error.nearest:
                return head
            return f"{head}; did you mean {' or '.join(map(repr, error.nearest))}?"
        section = meant[0].section
        return f"{head}; did you mean {(section.id if '#' in entry else section.path)!r}?"
