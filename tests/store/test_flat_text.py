"""The flat text is the same whether it is written anew or mostly copied from the one before."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpull import open_store
from contextpull.config import CutSettings
from contextpull.store import flat_text
from contextpull.store.database import FILE, Database, new_document
from contextpull.store.derived import rebuild_flat_text
from contextpull.store.flat_text import FlatText, write_flat_text
from contextpull.store.ingest import ingest
from contextpull.store.records import StoredDocument
from tests.conftest import write_corpus
from tests.properties import same_every_time

Sections = list[tuple[int, str]]
TEXTS = st.lists(
    st.sampled_from(["", "one\n", "two", "\n", "é 数据\n", "a\r\nb", "\r", "\r\nc\n", "x" * 50]),
    min_size=1,
    max_size=4,
)
CHANGES = st.dictionaries(st.sampled_from("abcdefg"), st.none() | TEXTS, max_size=5)
"""New sections by path; None takes the document out."""


class Corpus:
    """Documents that change from generation to generation; numbers are never given twice."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[StoredDocument, Sections]] = {}
        self.asked_for: list[str] = []
        self._documents = self._sections = 0

    def change(self, changes: dict[str, list[str] | None]) -> None:
        for path, texts in changes.items():
            self.stored.pop(path, None)
            if texts is not None:
                self._documents += 1
                sections = list(enumerate(texts, self._sections + 1))
                self._sections += len(texts)
                document = new_document(path, None, size=0, mtime_ns=0, digest=b"")
                self.stored[path] = document._replace(number=self._documents), sections

    def write(self, path: Path, previous: FlatText | None = None) -> FlatText:
        def texts_of(document: StoredDocument) -> Sections:
            self.asked_for.append(document.path)
            return self.stored[document.path][1]

        self.asked_for = []
        documents = [self.stored[each][0] for each in sorted(self.stored)]
        write_flat_text(path, 1, documents, texts_of, previous)
        return FlatText(path, verify=True)


@same_every_time(200)
@given(st.lists(CHANGES, min_size=1, max_size=6))
def test_copying_what_did_not_change_gives_the_same_bytes(
    tmp_path: Path, generations: list[dict[str, list[str] | None]]
) -> None:
    corpus = Corpus()
    previous = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flat_text.time, "time_ns", lambda: 1_800_000_000_000_000_000)
        for changes in generations:
            corpus.change(changes)
            copied = corpus.write(tmp_path / "copied", previous)
            changed = {path for path, texts in changes.items() if texts is not None}
            assert set(corpus.asked_for) == (changed if previous else set(corpus.stored))
            corpus.write(tmp_path / "fresh")
            assert (tmp_path / "copied").read_bytes() == (tmp_path / "fresh").read_bytes()
            previous = copied


PAGES = {f"{n}.md": f"# Page {n}\n\nText of page {n}.\n\n## More\n\nWords.\n" for n in range(20)}


def content(store: Path) -> tuple[bytes, object]:
    text = FlatText(store / flat_text.FILE)
    return text.bytes[text.text.start : text.text.end], text.tables


def fresh_content(store: Path) -> tuple[bytes, object]:
    rebuild_flat_text(store, Database(store / FILE))
    return content(store)


def spoil(store: Path) -> None:
    """Change a byte of the text and leave no trace of it in the time of the file."""
    file = store / flat_text.FILE
    status = file.stat()
    data = file.read_bytes()
    file.write_bytes(data.replace(b"Text of page 7", b"Next of page 7"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("is_spoilt", [False, True], ids=["sound", "damaged before"])
def test_an_ingest_of_changes_writes_what_a_rebuild_writes(tmp_path: Path, is_spoilt: bool) -> None:
    root, store = write_corpus(tmp_path / "docs", PAGES), tmp_path / "store"
    ingest(root, store)
    if is_spoilt:
        spoil(store)
    write_corpus(root, {"3.md": "# Three\n\nOther, longer words.\n", "0.md": "# New\n\nText.\n"})
    (root / "12.md").unlink()
    ingest(root, store)
    text, _ = written = content(store)
    assert b"longer words" in text
    assert b"page 12" not in text
    assert written == fresh_content(store)


def test_a_flat_text_of_an_older_generation_is_not_copied_from(tmp_path: Path) -> None:
    root, store = write_corpus(tmp_path / "docs", PAGES), tmp_path / "store"
    ingest(root, store)
    old = (store / flat_text.FILE).read_bytes()
    (root / "9.md").unlink()
    ingest(root, store)
    (store / flat_text.FILE).write_bytes(old)
    write_corpus(root, {"z.md": "# Z\n\nThe last page takes the number of the one that went.\n"})
    ingest(root, store)
    written = content(store)
    assert b"takes the number" in written[0]
    assert written == fresh_content(store)


def test_new_settings_write_the_text_of_every_document_anew(tmp_path: Path) -> None:
    root, store = write_corpus(tmp_path / "docs", PAGES), tmp_path / "store"
    ingest(root, store)
    ingest(root, store, CutSettings(heading_depth=1))
    written = content(store)
    assert len(open_store(store).snapshot().text.tables.section_starts) == len(PAGES)
    assert written == fresh_content(store)
