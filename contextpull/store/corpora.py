"""The corpora of a store: one without a name, or several whose names begin their paths."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from contextpull.documents.discovery import Discovery, discover
from contextpull.errors import CorpusEmptied, InvalidInput, StoreConflict, StoreDamaged, StoreError
from contextpull.store.database import FILE, Database
from contextpull.store.records import StoredCorpus

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NO_UTF8 = re.compile(rb"\\x([89a-f][0-9a-f])")
"""A byte of a folder's path as a store records it, where it is none of UTF-8 text."""


class Source(NamedTuple):
    """A corpus and the folder that it is read from."""

    name: str
    """Empty for the only corpus of a store."""
    folder: Path

    @property
    def record(self) -> StoredCorpus:
        """The corpus as a store records it, whatever bytes the folder's path holds."""
        root = os.fsencode(self.folder.resolve()).decode("utf-8", "backslashreplace")
        return StoredCorpus(self.name, root)


def folder_of(corpus: StoredCorpus) -> Path:
    """The folder that a store records as this corpus: `Source.record` the other way round."""
    written = Path(corpus.root)
    if written.is_dir():  # a name may hold what looks like such a byte
        return written
    return Path(
        os.fsdecode(_NO_UTF8.sub(lambda byte: bytes([int(byte[1], 16)]), corpus.root.encode()))
    )


class Walk(NamedTuple):
    """What lies in the folders of some corpora."""

    found: dict[StoredCorpus, Discovery]
    """Of each what was found, under the paths that the store knows it by."""
    missing: tuple[str, ...] = ()
    """A sentence on each whose folder is gone, cannot be read, or is empty all of a sudden."""

    @property
    def everything(self) -> Discovery:
        """What was found in all of them, by path."""
        each = self.found.values()
        return Discovery(
            sorted((file for found in each for file in found.files), key=lambda file: file.path),
            sorted((file for found in each for file in found.skipped), key=lambda file: file.path),
        )

    def covers(self, path: str) -> bool:
        """Whether a path of the store belongs to one of the corpora that were walked."""
        return path.startswith(tuple(corpus.prefix for corpus in self.found))


class CorpusFacts(NamedTuple):
    """A corpus as a store holds it."""

    name: str
    folder: str
    documents: int
    sections: int
    is_there: bool
    """Whether the folder is still there."""


def sources_of(store: Path, root: Path | None, name: str = "") -> list[Source]:
    """What an ingest is to read: the folder `root` under a name, or what the store remembers.

    Without `root` it is the corpus of that name, or without a name every one.
    Raises InvalidInput for a name that cannot be one, or that no corpus has, StoreNotFound and
    StoreError when the store is to tell and cannot.
    """
    if name and not _NAME.fullmatch(name):
        raise InvalidInput(
            f"A corpus cannot have the name {name!r}. Use at most 64 letters from a to z, digits,"
            " '-', '_' and '.', and begin with a letter, a digit or '_', as in --as hr."
        )
    if root is not None:
        return [Source(name, root)]
    corpora = _remembered(store)
    if name:
        corpora = (corpus_named(corpora, name, store),)
    if not corpora:
        raise InvalidInput(
            f"The store {str(store)!r} holds no corpus."
            " Add one: contextpull ingest FOLDER --as NAME"
        )
    return [Source(corpus.name, folder_of(corpus)) for corpus in corpora]


def _remembered(store: Path) -> tuple[StoredCorpus, ...]:
    try:
        corpora = Database(store / FILE).corpora
    except StoreDamaged as error:
        raise StoreError(
            f"The store at {str(store)!r} is damaged and tells no more which folders it was read"
            " from. Name them: contextpull ingest FOLDER, with --as NAME where it had a name."
        ) from error
    for corpus in corpora:
        if not Path(corpus.root).is_absolute():
            raise InvalidInput(
                f"The store {str(store)!r} was made of {corpus.root!r}, not read from a folder."
                " Name the folder of documents."
            )
    return corpora


def corpus_named(corpora: Sequence[StoredCorpus], name: str, store: Path) -> StoredCorpus:
    """The corpus with exactly this name. Raises InvalidInput when there is none."""
    for corpus in corpora:
        if name and corpus.name == name:
            return corpus
    names = ", ".join(repr(corpus.name) for corpus in corpora if corpus.name)
    known = f"Its corpora are {names}." if names else "Its corpus has no name."
    if not corpora:
        known = "It holds none."
    raise InvalidInput(f"The store {str(store)!r} has no corpus {name!r}. {known}")


def walk(sources: Iterable[Source], store: Path | None, read_as: str = "") -> Walk:
    """Walk the folders; the one in which the store lies, if there is one, leaves that out.

    `read_as` (see CutSettings) names files that are read whatever their suffix.
    A folder that is gone or cannot be read is told as missing. Raises InvalidInput when all are.
    """
    found: dict[StoredCorpus, Discovery] = {}
    failures: dict[StoredCorpus, InvalidInput] = {}
    for source in sources:
        corpus = source.record
        try:
            found[corpus] = discover(
                source.folder, leave_out=store, prefix=corpus.prefix, read_as=read_as
            )
        except InvalidInput as error:
            failures[corpus] = error
    if failures and not found:
        raise next(iter(failures.values()))
    return Walk(found, tuple(map(_missing, failures)))


def without_emptied(walked: Walk, database: Database, *, needs_all: bool = False) -> Walk:
    """The walk, without folders of which the store has documents and that hold nothing any more.

    Such a folder is a drive that is not mounted more often than a corpus that was thrown away.
    Other files in it, which no reader takes, tell that it is there.
    Raises CorpusEmptied when no other folder is left, or when the walk `needs_all` of them.
    """
    emptied = {
        corpus: held
        for corpus, found in walked.found.items()
        if not found.files
        and all(each.is_fault for each in found.skipped)
        and (held := sum(not each.problem for each in database.documents_of(corpus)))
    }
    found = {corpus: each for corpus, each in walked.found.items() if corpus not in emptied}
    sentences = [_emptied(corpus, held) for corpus, held in emptied.items()]
    if sentences and (needs_all or not found):
        raise CorpusEmptied(sentences[0])
    return Walk(found, (*walked.missing, *sentences))


def widened(walked: Walk, corpora: Sequence[StoredCorpus], store: Path, read_as: str) -> Walk:
    """The walk, with all other corpora of the store walked too.

    Raises InvalidInput, which names it, when the folder of one is gone or cannot be read.
    """
    others = [Source(each.name, folder_of(each)) for each in corpora if each not in walked.found]
    if not others:
        return walked
    for source in others:
        try:
            walked.found.update(walk([source], store, read_as).found)
        except InvalidInput as error:
            raise InvalidInput(
                f"Every document must be read anew, but the folder {str(source.folder)!r} of the"
                f" corpus {source.name!r} is gone or cannot be read. Bring it back, or take the"
                f" corpus out: contextpull corpora remove {source.name}"
            ) from error
    return Walk(walked.found)


def with_added(
    corpora: Sequence[StoredCorpus], added: Iterable[StoredCorpus]
) -> tuple[StoredCorpus, ...]:
    """The corpora of a store to which some are added that it may hold already, by name."""
    return tuple(sorted({*corpora, *added}))


def check_corpora(database: Database, store: Path, wanted: Iterable[StoredCorpus]) -> None:
    """Raise StoreConflict unless the store holds these corpora or can take them up."""
    for corpus in wanted:
        if corpus in database.corpora:
            continue
        for held in sorted(database.corpora, key=lambda held: held.root != corpus.root):
            if reason := _conflict(held, corpus):
                raise StoreConflict(f"The store {str(store)!r} {reason}")


def _conflict(held: StoredCorpus, wanted: StoredCorpus) -> str:
    """Why a store that holds the one corpus cannot take the other up; empty when it can."""
    another_store = "name another store with --store"
    if not held.name and not wanted.name:
        return (
            f"holds the corpus {held.root!r}, not {wanted.root!r}."
            " Name another store with --store, or delete that folder."
        )
    if not held.name:
        return (
            f"holds the corpus {held.root!r}, which has no name, and no other beside it. To have"
            f" both in one, {another_store} and ingest each of them with --as NAME."
        )
    if not wanted.name and held.root == wanted.root:
        return (
            f"holds the corpus {held.root!r} by a name: ingest it with --as {held.name},"
            f" or {another_store}."
        )
    if not wanted.name:
        return (
            f"holds the corpus {held.root!r} by the name {held.name!r}, and others by a name only:"
            f" ingest {wanted.root!r} with --as NAME, or {another_store}."
        )
    take_out = f"take it out first: contextpull corpora remove {held.name}"
    if held.name == wanted.name:
        return (
            f"reads the corpus {held.name!r} from {held.root!r}, not from {wanted.root!r}."
            f" Give this folder another name, or {take_out}"
        )
    if held.name.lower() == wanted.name.lower():
        return (
            f"has a corpus {held.name!r}, from which {wanted.name!r} differs in case alone."
            " Give this folder another name."
        )
    if held.root == wanted.root:
        return f"reads {held.root!r} as the corpus {held.name!r}. To rename it, {take_out}"
    return ""


def _missing(corpus: StoredCorpus) -> str:
    return (
        f"The folder {corpus.root!r} of the corpus {corpus.name!r} is gone or cannot be read;"
        " the store keeps what it read there."
    )


def _emptied(corpus: StoredCorpus, held: int) -> str:
    whose = f" of the corpus {corpus.name!r}" if corpus.name else ""
    counted = "1 document" if held == 1 else f"{held:,} documents"
    return (
        f"The folder {corpus.root!r}{whose} holds nothing to read any more; the store keeps what it"
        f" read there ({counted}). If it is a drive or a share, mount it again; if all is gone for"
        " good, ingest once with --allow-empty."
    )


def corpora_facts(database: Database) -> list[CorpusFacts]:
    """Each corpus of a store, by name, with what can be found of it."""
    return [corpus_facts(database, corpus) for corpus in database.corpora]


def corpus_facts(database: Database, corpus: StoredCorpus) -> CorpusFacts:
    """One corpus of a store, with what can be found of it."""
    sections = [each.sections for each in database.documents_of(corpus) if not each.problem]
    folder = folder_of(corpus)
    is_there = folder.is_absolute() and folder.is_dir()
    return CorpusFacts(corpus.name, corpus.root, len(sections), sum(sections), is_there)
