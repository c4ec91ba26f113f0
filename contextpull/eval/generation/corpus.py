"""The sections that questions are made from, and what has to be known about all of them."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from typing import NamedTuple

from contextpull.adapters.push import Searched
from contextpull.store.records import StoredSection

_APART = "\0"


class SourceSection(NamedTuple):
    """One section as questions are made from it."""

    id: str
    document: str
    headings: tuple[str, ...]
    text: str
    repeated_header: str = ""
    """The header of the table that this part continues, where the store knows it."""
    is_metadata: bool = False
    """Whether it is front matter alone, which says nothing that a reader would ask for."""

    @property
    def heading(self) -> str:
        """The innermost heading; empty before the first."""
        return self.headings[-1] if self.headings else ""


class Corpus:
    """The sections of a store or of a file, by document, in reading order, numbered from 0."""

    def __init__(self, sections: Sequence[SourceSection]) -> None:
        self.sections = sections

    @cached_property
    def sizes(self) -> Counter[str]:
        """How many sections each document has, by its path."""
        return Counter(section.document for section in self.sections)

    @cached_property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that change with every id and every text."""
        digest = sha256()
        for section in self.sections:
            for part in (section.id, section.text):
                data = part.encode()
                digest.update(b"%d:" % len(data))
                digest.update(data)
        return digest.hexdigest()

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The numbers of sections whose text stands in another one too, white space aside."""
        bodies = [" ".join(section.text.split()) for section in self.sections]
        times = Counter(bodies)
        return frozenset(number for number, body in enumerate(bodies) if times[body] > 1)

    def holding(self, needle: str, most: int) -> list[int]:
        """The numbers of the sections whose text holds this, case aside; the first `most` + 1."""
        low, starts = searchable(needle), self._starts
        found: list[int] = []
        at = self._blob.find(low)
        while at >= 0 and len(found) <= most:
            number = bisect_right(starts, at) - 1
            found.append(number)
            at = self._blob.find(low, starts[number + 1])
        return found

    def at(self, numbers: Collection[int]) -> tuple[SourceSection, ...]:
        """The sections with these numbers, in reading order."""
        return tuple(self.sections[number] for number in sorted(numbers))

    @cached_property
    def _texts(self) -> list[str]:
        return [searchable(section.text) + _APART for section in self.sections]

    @cached_property
    def _blob(self) -> str:
        return "".join(self._texts)

    @cached_property
    def _starts(self) -> list[int]:
        """Where each text begins in the blob, and where the last one ends."""
        return list(accumulate(map(len, self._texts), initial=0))


def corpus_of(searched: Searched) -> Corpus:
    """The sections of a snapshot, under the ids that they are searched by."""
    snapshot, ids = searched
    sections: list[SourceSection] = []
    for document in snapshot.documents.values():
        rows = snapshot.database.sections_of(document)
        matter = _front_matter(rows)
        sections += [
            SourceSection(
                ids[row.number],
                row.path,
                row.headings,
                row.text,
                row.repeated_header,
                row.number in matter,
            )
            for row in rows
        ]
    return Corpus(sections)


def _front_matter(rows: Sequence[StoredSection]) -> frozenset[int]:
    """The numbers of the first sections of a document that hold front matter and nothing else."""
    start = rows[0].text.lstrip()[:3] if rows else ""
    if start not in {"---", "+++"}:
        return frozenset()
    found = set()
    ending = re.compile(rf"^{re.escape(start)}[ \t]*$", re.M)
    at = rows[0].text.index(start) + len(start)
    for row in rows:
        if row.headings:
            break
        end = ending.search(row.text, at)
        if end is None or not row.text[end.end() :].strip():
            found.add(row.number)
        if end is not None:
            break
        at = 0
    return frozenset(found)


def searchable(text: str) -> str:
    r"""The text without regard to case, and without the escape of Markdown's `\_`."""
    return text.replace("\\_", "_").lower()


def shared_document(sections: Sequence[SourceSection]) -> str:
    """The document that all the sections come from; empty where there are several."""
    paths = {section.document for section in sections}
    return paths.pop() if len(paths) == 1 else ""
