"""What of a section is searched, field by field."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from contextpull.sections.identifiers import defined_names, identifiers


class SearchFields(NamedTuple):
    """The searched texts of one section."""

    body: str
    """The text itself; empty for front matter, which is searched through `context`."""
    headings: str
    """Its own heading, and those of fragments that were merged into it."""
    context: str
    """What stands around it: outer headings; for a document's first section also the document's
    title, description, keywords and path."""
    identifiers: str
    """Names to be matched whole, separated by spaces."""
    definitions: str
    """Names that this section defines: in its headings, row keys, list entries and terms."""


class Searchable(Protocol):
    """What of a section decides how it is found."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def headings(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def other_headings(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102


def search_fields(sections: Sequence[Searchable], about: str) -> list[SearchFields]:
    """Tell what is searched of each section of one document.

    `about` is what the document says of itself.
    The first section that is not front matter speaks for the document: it is found by `about` too.
    """
    speaker = next((at for at, each in enumerate(sections) if each.kind != "front matter"), 0)
    return [
        _fields(section, about if at == speaker else "")
        if at == speaker or section.kind != "front matter"
        else SearchFields("", "", "", "", "")
        for at, section in enumerate(sections)
    ]


def _fields(section: Searchable, about: str) -> SearchFields:
    text = section.text.encode()
    own = "\n".join([*section.headings[-1:], *section.other_headings])
    defined = [*_named_by(own.split("\n")), *defined_names(text)]
    return SearchFields(
        body=section.text,
        headings=own,
        context="\n".join([*section.headings[:-1], about]),
        identifiers=_joined(identifiers(text)),
        definitions=_joined(defined),
    )


def _named_by(titles: Iterable[str]) -> Iterable[bytes]:
    """What headings define: the name that one begins with, or the one word that it is."""
    for title in titles:
        opening = title.lstrip("`*\"' ").encode()
        name = next(iter(identifiers(opening)), b"")
        if name and opening.startswith(name):
            yield name
        elif opening and b" " not in opening:
            yield opening


def _joined(names: Iterable[bytes]) -> str:
    return b" ".join(names).decode()
