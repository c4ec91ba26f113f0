"""Judged collections in the layout of BEIR, and the stores that are made of them.

    corpus.jsonl      {"_id", "title", "text"}; the title may be absent
    queries.jsonl     {"_id", "text"}
    qrels/SPLIT.tsv   query id, document id, score; separated by tabs, with a header or without

Judged is the document, so a document becomes one section, never cut and never read as Markdown.
A score of 1 or more says that the document is relevant, and how much; 0 or less that it is not.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from contextpull.adapters.lines import (
    Faults,
    Fields,
    decoded,
    load_items,
    numbered_lines,
    shown,
)
from contextpull.adapters.push import Searched
from contextpull.errors import EvaluationError, StoreConflict, StoreDamaged
from contextpull.sections.slugs import TOP, github_slug
from contextpull.store import open_store
from contextpull.store.building import build_store, whole_document
from contextpull.store.database import FILE, Database
from contextpull.store.parsing import ParsedFile
from contextpull.types import Question, Retriever, Section

_LAYOUT = 1
"""Raised whenever a document becomes another section; stores made before are refused."""
_COLUMNS = 3
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_WORD = re.compile(r"\w+")
_SAME_TEXT = 0.9
"""The share of a query's words that its own document holds, if they are one and the same."""

Judgements = dict[str, dict[str, int]]
"""Scores by query id and document id."""


class Document(NamedTuple):
    """A document of a judged collection."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, the queries of one split, and what was judged of them."""

    name: str
    """That of its folder."""
    split: str
    documents: tuple[Document, ...]
    queries: tuple[Question, ...]
    """Those with at least one relevant document, in the order of the file, without a shape."""
    judgements: Judgements
    """Of these queries alone; documents that the collection lacks are among them."""
    own: Mapping[str, str]
    """Queries that are documents themselves: the id of that document by the query's text."""
    notes: tuple[str, ...]
    """What a reader of figures should know, in sentences."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Where judgements are closed over documents of the same text: by the id of a copy the one
    that was judged in its place."""

    @property
    def fingerprint(self) -> str:
        """A hash of the documents, in their order, and of how they become sections."""
        state = blake2b(f"{_LAYOUT}".encode(), digest_size=16)
        for part in (part for document in self.documents for part in document):
            data = part.encode()
            state.update(b"%d:" % len(data) + data)
        return state.hexdigest()

    def first(self, queries: int) -> "Collection":
        """The collection with its first queries only, which a note says; itself if it has fewer."""
        if queries >= len(self.queries):
            return self
        note = f"Only the first {queries:,} of {len(self.queries):,} queries were asked."
        return replace(self, queries=self.queries[:queries], notes=(*self.notes, note))

    def ask(self, retriever: Retriever) -> Retriever:
        """The retriever as the queries have to be put to it; see `WithoutItself`."""
        return WithoutItself(retriever, self.own) if self.own else retriever


class WithoutItself:
    """Leaves the document that a query was taken from out of that query's ranking."""

    def __init__(self, retriever: Retriever, own: Mapping[str, str]) -> None:
        """`own` gives the id of the document by the text of the query."""
        self._retriever = retriever
        self._own = own

    def retrieve(self, query: str, k: int) -> list[str]:
        """The best `k` ids beside the query's own."""
        own = self._own.get(query)
        if own is None:
            return self._retriever.retrieve(query, k)
        return [each for each in self._retriever.retrieve(query, k + 1) if each != own][:k]

    def __getattr__(self, name: str) -> Any:
        """Whatever else the retriever has: its `concurrency`, its `stats`."""
        return getattr(self._retriever, name)


def load_collection(path: str | os.PathLike[str], split: str = "test") -> Collection:
    """The collection in a folder, with the judgements in `qrels/SPLIT.tsv`.

    Raises `EvaluationError` that lists every fault of a file with its line (the first 20, and the
    count). Judgements of unknown queries or documents, and queries that nothing relevant was
    judged for, are no faults: real collections have them. `Collection.notes` counts them.

    A query whose id and words are those of a document, as in ArguAna, is that document: it is in
    `own`. Where ids merely coincide, as numbers do, the document stays in the ranking.
    """
    folder = Path(path)
    qrels = _qrels_path(folder, split)
    documents = load_items(folder / "corpus.jsonl", "documents", _Fields, _document)
    queries = load_items(folder / "queries.jsonl", "queries", _Fields, _query)
    judged, repeated = _load_judgements(qrels)
    kept = [
        replace(query, gold=gold)
        for query in queries
        if (gold := tuple(each for each, score in judged.get(query.id, {}).items() if score > 0))
    ]
    if not kept:
        raise EvaluationError(
            f"No query of {folder / 'queries.jsonl'} has a relevant document in {qrels}. "
            "Check that both use the same ids."
        )
    own = _own_documents(documents, kept)
    return Collection(
        name=folder.resolve().name,
        split=split,
        documents=tuple(documents),
        queries=tuple(kept),
        judgements={query.id: judged[query.id] for query in kept},
        own=own,
        notes=tuple(_notes(documents, queries, kept, judged, repeated, len(own))),
    )


def load_queries(
    path: str | os.PathLike[str], split: str = "test"
) -> tuple[list[Question], Judgements]:
    """Every query of a folder and all judgements of one split, documents not looked at.

    `Question.gold` holds the relevant documents, `Question.extra` the fields that the layout does
    not know. Raises `EvaluationError` as `load_collection` does.
    """
    folder = Path(path)
    judged, _ = _load_judgements(_qrels_path(folder, split))
    queries = load_items(folder / "queries.jsonl", "queries", _Fields, _whole_query)
    return [
        replace(
            query,
            gold=tuple(each for each, score in judged.get(query.id, {}).items() if score > 0),
        )
        for query in queries
    ], judged


def open_collection(collection: Collection, folder: Path) -> Searched:
    """The documents under their ids, from the store in `folder`, which is made if it is not there.

    Raises StoreConflict when that store was made of anything else, or is damaged.
    """
    root = f"beir:{collection.fingerprint}"
    if not (folder / FILE).exists():
        size = sum(len(document.text) for document in collection.documents)
        snapshot = build_store(folder, root, _stored(collection), bytes_to_add=size)
    elif _root(folder) == root:
        snapshot = open_store(folder).snapshot()
    else:
        raise StoreConflict(
            f"The store {str(folder)!r} was made of other documents than those of "
            f"{collection.name}, or by another version, or is damaged. "
            "Name another place, or delete that folder: it will be made again."
        )
    ids = (document.id for document in collection.documents)
    return Searched(snapshot, dict(enumerate(ids, start=1)))


def _root(store: Path) -> str | None:
    """What a store says that it was made of; None where it is damaged."""
    try:
        return Database(store / FILE).root
    except StoreDamaged:
        return None


class _Fields(Fields):
    known = ("_id", "title", "text")


def _document(fields: Fields) -> Document:
    return Document(fields.filled("_id"), fields.text("title"), fields.text("text", required=True))


def _query(fields: Fields) -> Question:
    return Question(fields.filled("_id"), fields.filled("text"), shape="", gold=())


def _whole_query(fields: Fields) -> Question:
    more = {key: value for key, value in fields.record.items() if key not in ("_id", "text")}
    return replace(_query(fields), extra=more)


def _qrels_path(folder: Path, split: str) -> Path:
    qrels = folder / "qrels"
    splits = sorted(each.stem for each in qrels.glob("*.tsv")) if qrels.is_dir() else []
    if not splits:
        raise EvaluationError(
            f"{folder} is no judged collection. "
            "Give a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv in it."
        )
    if split not in splits:
        raise EvaluationError(
            f"{folder} has no split {split!r}. Choose one with --split: {', '.join(splits)}."
        )
    return qrels / f"{split}.tsv"


def _load_judgements(path: Path) -> tuple[Judgements, int]:
    """The judgements of a file, and how many of its lines repeat an earlier one."""
    faults = Faults(str(path), place=f"{path}:")
    judgements: Judgements = {}
    repeated = 0
    for number, query, document, score in _rows(path, faults):
        of_query = judgements.setdefault(query, {})
        if document not in of_query:
            of_query[document] = score
        elif of_query[document] == score:
            repeated += 1
        else:
            faults.add(
                number,
                f"the query {shown(query)} and the document {shown(document)} have the score "
                f"{score}, but {of_query[document]} further up; keep one of the lines",
            )
    faults.raise_if_any()
    return judgements, repeated


def _rows(path: Path, faults: Faults) -> Iterator[tuple[int, str, str, int]]:
    """Each judgement with the number of its line; what is none is noted among the faults."""
    for at, (number, line) in enumerate(numbered_lines(path)):
        try:
            cells = decoded(line).rstrip("\r\n").split("\t")
            if at or not _is_header(cells):
                yield number, *_row(cells)
        except ValueError as error:
            faults.add(number, str(error))


def _is_header(cells: list[str]) -> bool:
    """Whether a first line names its columns: a score would hold a digit."""
    return len(cells) == _COLUMNS and not any(char.isdigit() for char in cells[-1])


def _row(cells: list[str]) -> tuple[str, str, int]:
    if len(cells) != _COLUMNS:
        raise ValueError(
            f"{len(cells)} columns between tabs; expected 3: query id, document id, score"
        )
    query, document, score = cells
    if not query.strip() or not document.strip():
        raise ValueError("an id is blank; expected query id, document id and score")
    if not _WHOLE_NUMBER.fullmatch(score.strip()):
        raise ValueError(f"the score must be a whole number such as 1, not {shown(score)}")
    return query, document, int(score)


def _own_documents(documents: list[Document], queries: list[Question]) -> dict[str, str]:
    by_id = {document.id: document for document in documents}
    return {
        query.text: query.id
        for query in queries
        if query.id in by_id and query.id not in query.gold and _is_taken(query, by_id[query.id])
    }


def _is_taken(query: Question, document: Document) -> bool:
    """Whether nearly all words of a query stand in a document."""
    words = set(_WORD.findall(query.text.lower()))
    held = words & set(_WORD.findall(f"{document.title} {document.text}".lower()))
    return len(held) >= _SAME_TEXT * len(words) > 0


def _notes(
    documents: list[Document],
    queries: list[Question],
    kept: list[Question],
    judged: Judgements,
    repeated: int,
    own: int,
) -> Iterator[str]:
    known = {document.id for document in documents}
    strangers = sum(len(judged[each]) for each in judged.keys() - {query.id for query in queries})
    absent = sum(len(set(query.gold) - known) for query in kept)
    empty = sum(not (document.title + document.text).strip() for document in documents)
    counted = (
        (len(queries) - len(kept), "queries without a relevant document were left out."),
        (strangers, "judgements of unknown queries were left out."),
        (absent, "relevant documents are not in the collection; nothing can find them."),
        (repeated, "judgements stand there more than once, with the same score."),
        (own, "queries are documents themselves; these were left out of their own rankings."),
        (empty, "documents hold no text."),
    )
    yield from (f"{number:,} {what}" for number, what in counted if number)


def _stored(collection: Collection) -> Iterator[ParsedFile]:
    """Each document with its one section, which begins with the title and stands under it."""
    paths: set[str] = set()
    for document in collection.documents:
        title = " ".join(document.title.split())
        text = f"{document.title}\n\n{document.text}" if title else document.text
        section = Section(
            slug=(github_slug(title) or "section") if title else TOP,
            anchors=(),
            headings=(title,) if title else (),
            kind="prose",
            text=text,
            start=0,
            first_line=1,
        )
        yield whole_document(_path(document.id, paths), [section], title=title)


def _path(document_id: str, taken: set[str]) -> str:
    """An id as a path that no other document has and that steers no terminal."""
    shown_id = "".join(
        each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in document_id
    )
    path = next(
        each
        for number in count(1)
        if (each := shown_id if number == 1 else f"{shown_id} ({number})") not in taken
    )
    taken.add(path)
    return path
