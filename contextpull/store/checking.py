"""What a store holds and what is behind, without changing it."""

from pathlib import Path
from typing import NamedTuple

from contextpull.errors import CorpusEmptied, InvalidInput, StoreError
from contextpull.store.corpora import (
    CorpusFacts,
    corpora_facts,
    sources_of,
    walk,
    without_emptied,
)
from contextpull.store.database import FILE, Database
from contextpull.store.dense import FOLDER, read_manifest
from contextpull.store.derived import derived_problems
from contextpull.store.parsing import is_unchanged


class StoreState(NamedTuple):
    """A store, looked at from outside."""

    path: str
    root: str
    """The folder of the corpus; empty where corpora have names."""
    corpora: tuple[CorpusFacts, ...]
    generation: int
    documents: int
    sections: int
    chars: int
    bytes_on_disk: int
    settings: dict[str, int]
    left_out: int
    """Files of the corpus that are not in the store."""
    problems: tuple[str, ...]
    """What is damaged or not of this generation."""
    new: int
    changed: int
    gone: int
    """Files that came, changed or went since the last ingest."""
    embedder: str
    """The model whose vectors the store keeps; empty for none."""
    vectors: int
    """Sections that have their vector."""

    @property
    def is_current(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.problems or self.new or self.changed or self.gone)


def store_state(store: Path) -> StoreState:
    """Look at a store and at its corpora as they are now.

    Raises StoreNotFound or StoreError when there is nothing to look at.
    """
    database = Database(store / FILE)
    documents, sections, chars = database.counts()
    known = {document.path: document for document in database.documents()}
    problems = [*database.check(), *derived_problems(store, database)]
    vectors = _vectors(store, database)
    if database.embedder and vectors < sections:
        problems.append(f"{sections - vectors:,} sections have no vector yet")
    new = changed = gone = 0
    try:
        walked = walk(sources_of(store, None), store, database.settings.get("read_as", ""))
        walked = without_emptied(walked, database)
        problems += walked.missing
        found = {file.path: file for file in walked.everything.files}
        new = len(found.keys() - known.keys())
        gone = sum(walked.covers(path) for path in known.keys() - found.keys())
        changed = sum(
            path in known and not is_unchanged(file, known[path]) for path, file in found.items()
        )
    except (InvalidInput, CorpusEmptied) as error:
        problems.append(str(error))
    return StoreState(
        path=str(store),
        root=database.root,
        corpora=tuple(corpora_facts(database)),
        generation=database.generation,
        documents=documents,
        sections=sections,
        chars=chars,
        bytes_on_disk=sum(file.stat().st_size for file in store.rglob("*") if file.is_file()),
        settings=database.settings,
        left_out=len(database.skipped()) + sum(bool(each.problem) for each in known.values()),
        problems=tuple(problems),
        new=new,
        changed=changed,
        gone=gone,
        embedder=database.embedder,
        vectors=vectors,
    )


def _vectors(store: Path, database: Database) -> int:
    """How many vectors belong to the sections as they are; none where they are behind."""
    try:
        manifest = read_manifest(store / FOLDER)
    except StoreError:
        return 0
    of_now = (manifest.numbering, manifest.generation) == (database.numbering, database.generation)
    return manifest.vectors if of_now and database.embedder else 0
