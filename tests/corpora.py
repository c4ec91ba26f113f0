"""Corpora as the makers of questions see them."""

from pathlib import Path

from contextpull.adapters.push import over_store
from contextpull.eval.generation.corpus import Corpus, corpus_of
from contextpull.store.ingest import ingest
from tests.conftest import Files, write_corpus


def corpus_from(folder: Path, files: Files) -> Corpus:
    """The sections of these files, by way of a store."""
    ingest(write_corpus(folder / "docs", files), folder / "store")
    return corpus_of(over_store(folder / "store"))
