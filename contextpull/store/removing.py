"""Taking a corpus out of a store."""

import sqlite3
from pathlib import Path

from contextpull.errors import StoreDamaged
from contextpull.store.corpora import CorpusFacts, corpus_facts, corpus_named
from contextpull.store.database import FILE, Database, remove_leftovers
from contextpull.store.derived import next_generation
from contextpull.store.ingest import writing
from contextpull.store.records import StoredCorpus


def remove_corpus(store: Path, name: str) -> CorpusFacts:
    """Take the corpus of this name out, in one generation; what went. Its folder stays.

    Raises InvalidInput when there is none, StoreNotFound, StoreBusy and StoreError as `ingest`
    does, StoreDamaged when the database cannot be read.
    """
    corpus_named(Database(store / FILE).corpora, name, store)
    with writing(store):
        remove_leftovers(store)
        previous = Database(store / FILE)
        corpus = corpus_named(previous.corpora, name, store)
        facts = corpus_facts(previous, corpus)
        try:
            _commit_without(store, previous, corpus)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise StoreDamaged(str(store), error) from error
    return facts


def _commit_without(store: Path, previous: Database, corpus: StoredCorpus) -> None:
    generation = previous.generation + 1
    with next_generation(store, previous, generation, bytes_to_add=0) as (writer, derived):
        for document in previous.documents_of(corpus):
            writer.remove(document)
            derived.remove(document)
        skipped = previous.skipped()
        writer.replace_skipped(each for each in skipped if not each.path.startswith(corpus.prefix))
        corpora = [each for each in previous.corpora if each != corpus]
        writer.commit(corpora, previous.settings, previous.embedder)
