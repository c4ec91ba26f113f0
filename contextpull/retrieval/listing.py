"""Index: the table of contents, as much detail as a budget of characters allows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from contextpull.errors import InvalidInput
from contextpull.retrieval.paths import matching_documents, normal_path
from contextpull.store import Snapshot
from contextpull.store.records import StoredDocument

DEFAULT_BUDGET = 12_000
"""Characters, about 3,000 tokens."""

_TITLE_CHARS = 60
_SUMMARY_CHARS = 100
_EXAMPLES = 3
_ROOM_FOR_MORE = 120


class Listing(NamedTuple):
    """A table of contents, or one page of it."""

    heading: str
    lines: list[str]
    next_offset: int | None
    """Where the next page begins; None when nothing is left."""
    remaining: int
    """Entries behind this page."""

    @property
    def text(self) -> str:
        """The listing as it is shown, without the hint how to go on."""
        return "\n".join([self.heading, *self.lines])


def list_contents(
    snapshot: Snapshot, path: str = "", *, offset: int = 0, budget: int = DEFAULT_BUDGET
) -> Listing:
    """The table of contents of everything, of a folder or glob, or the outline of a document.

    Of documents the most telling form that fits the budget is chosen: with summaries, with titles,
    names by folder, folders alone. What does not fit even then is paged by `offset`.
    Raises PathNotFound, or InvalidInput for an offset behind the last entry.
    """
    wanted = normal_path(path)
    document = snapshot.documents.get(path) or snapshot.documents.get(wanted)
    if document is not None:
        return _outline(snapshot, document, offset, budget)
    if not wanted:
        documents = list(snapshot.documents.values())
        return _documents(documents, "Everything", "", offset, budget)
    documents = matching_documents(snapshot, [path])
    if len(documents) == 1 and documents[0].path.lower() == wanted.lower():
        return _outline(snapshot, documents[0], offset, budget)
    folder = documents[0].path[: len(wanted)] + "/"
    if wanted.lower() + "/" == folder.lower() and all(
        document.path.startswith(folder) for document in documents
    ):
        return _documents(documents, folder, folder, offset, budget)
    return _documents(documents, wanted, "", offset, budget)


def _outline(snapshot: Snapshot, document: StoredDocument, offset: int, budget: int) -> Listing:
    sections = snapshot.database.sections_of(document)
    _check_offset(offset, len(sections))
    lines = []
    for section in sections:
        title = section.headings[-1] if section.headings else "(before the first heading)"
        indent = "  " * max(0, len(section.headings) - 1)
        size = f"{len(section.text):,}"
        lines.append(f"{indent}#{section.slug} | {_on_one_line(title, _TITLE_CHARS)} | {size}")
    heading = (
        f"{document.path}: {_on_one_line(document.title, _SUMMARY_CHARS)}. "
        f"{_count(len(sections), 'section')}, "
        f"{document.chars:,} characters. Ids are {document.path}#slug; sizes are characters."
    )
    return _page(heading, lines, offset, budget)


def _documents(
    documents: Sequence[StoredDocument], name: str, folder: str, offset: int, budget: int
) -> Listing:
    sections = sum(document.sections for document in documents)
    counts = f"{_count(len(documents), 'document')}, {_count(sections, 'section')}"
    heading = f"{name}: {counts}."
    forms = _with_summaries, _with_titles, _names_by_folder
    fitting = (_if_they_fit(form(documents), budget - len(heading)) for form in forms)
    lines = next((lines for lines in fitting if lines is not None), None)
    if lines is None:
        lines = _folders(documents, folder)
    _check_offset(offset, len(lines))
    return _page(heading, lines, offset, budget)


def _if_they_fit(lines: Iterable[str], room: int) -> list[str] | None:
    """The lines, of which no more are made than fit."""
    made = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return None
        made.append(line)
    return made


def _with_summaries(documents: Iterable[StoredDocument]) -> Iterator[str]:
    for document, line in zip(documents, _with_titles(documents), strict=True):
        summary = _on_one_line(document.description, _SUMMARY_CHARS)
        yield f"{line}. {summary}" if summary else line


def _with_titles(documents: Iterable[StoredDocument]) -> Iterator[str]:
    for document in documents:
        title = _on_one_line(document.title, _TITLE_CHARS)
        yield f"{document.path} ({document.sections}): {title}"


def _names_by_folder(documents: Iterable[StoredDocument]) -> Iterator[str]:
    names: dict[str, list[str]] = defaultdict(list)
    for document in documents:
        parent, _, name = document.path.rpartition("/")
        names[parent].append(name)
    for parent in sorted(names):
        yield f"{parent or '.'}/: {', '.join(names[parent])}"


def _folders(documents: Sequence[StoredDocument], folder: str) -> list[str]:
    """The entries directly below the folder: subfolders with counts and titles, then files.

    A folder that holds nothing but one other is passed over.
    """
    inside: dict[str, list[StoredDocument]] = defaultdict(list)
    files = []
    for document in documents:
        head, mark, _ = document.path[len(folder) :].partition("/")
        if mark:
            inside[head].append(document)
        else:
            files.append(document)
    if len(inside) == 1 and not files:
        return _folders(documents, f"{folder}{next(iter(inside))}/")
    lines = []
    for name in sorted(inside):
        members = inside[name]
        sections = sum(member.sections for member in members)
        titles = ", ".join(_on_one_line(member.title, 30) for member in members[:_EXAMPLES])
        more = ", …" if len(members) > _EXAMPLES else ""
        counts = f"{_count(len(members), 'document')}, {_count(sections, 'section')}"
        lines.append(f"{folder}{name}/ ({counts}): {titles}{more}")
    return [*lines, *_with_titles(files)]


def _page(heading: str, lines: Sequence[str], offset: int, budget: int) -> Listing:
    """As many lines from `offset` on as fit, but at least one."""
    room = budget - len(heading) - 1
    longest = max(room - _ROOM_FOR_MORE, _ROOM_FOR_MORE)
    whole = sum(len(line) + 1 for line in lines[offset:]) <= room
    room -= 0 if whole else _ROOM_FOR_MORE
    shown: list[str] = []
    for line in lines[offset:]:
        if shown and len(line) + 1 > room:
            break
        shown.append(_shortened(line, longest) if not shown else line)
        room -= len(line) + 1
    after = offset + len(shown)
    remaining = len(lines) - after
    return Listing(heading, shown, after if remaining else None, remaining)


def _check_offset(offset: int, entries: int) -> None:
    if offset and offset >= entries:
        raise InvalidInput(f"There is no entry {offset}: the listing has {entries}, from 0 on.")


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _on_one_line(text: str, limit: int) -> str:
    return _shortened(" ".join(text.split()), limit)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
