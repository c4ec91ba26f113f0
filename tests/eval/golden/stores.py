"""Small stores and the golden questions that are asked of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.models.embedding import open_embedder
from contextpull.store.building import build_store, whole_document
from contextpull.store.opening import Snapshot
from contextpull.types import Section
from tests.conftest import Files, write_corpus
from tests.embedders import embedded, snapshot_of, update

KEYS = (
    *("STORE", "EMBEDDER", "RERANKER", "MODELS"),
    *("API_KEY", "MODEL_KEY", "ANSWERER_KEY", "JUDGE_KEY"),
)

HARBOUR: Files = {
    "lamp.md": "# Lamp\n\nThe keeper lights the lamp before it gets dark.\n\n"
    "# Oil\n\nThe lamp burns eleven litres of oil in a night.\n",
    "boats.md": "# Boats\n\nA boat keeps clear of the mouth of the harbour at night.\n",
    "bread.md": "# Bread\n\nYeast makes bread rise, and salt slows that down a little.\n",
}


def store_of(folder: Path, files: Files = HARBOUR, embedder: Path | None = None) -> Snapshot:
    """A store of these files, with vectors where an embedder is given."""
    if embedder is None:
        update(folder, files)
    else:
        embedded(folder, files, open_embedder(str(embedder)), cache=folder / "cache")
    return snapshot_of(folder / "store")


def paged_store(folder: Path, documents: dict[str, Sequence[tuple[str, range | None]]]) -> Snapshot:
    """A store of documents that are cut already: by path each section's text and its pages."""
    made = (
        whole_document(path, [_section(number, *each) for number, each in enumerate(sections)])
        for path, sections in documents.items()
    )
    return build_store(folder, "docs", made)


def _section(number: int, text: str, pages: range | None) -> Section:
    return Section(
        slug=f"part-{number}",
        anchors=(),
        headings=(f"Part {number}",),
        kind="prose",
        text=text,
        start=0,
        first_line=1,
        page=pages[0] if pages else 0,
        last_page=pages[-1] if pages else 0,
    )


def asks(question: str, *expected: str, named: str = "", **more: Any) -> GoldenQuestion:
    """A golden question; its id is the question unless another is given."""
    return GoldenQuestion(id=named or question, question=question, expected=expected, **more)


def long_document(sections: int, sentence: str) -> str:
    """A document of so many sections that all say the same, each with a number of its own."""
    return "".join(f"# Part {number}\n\n{sentence} {number}.\n\n" for number in range(sections))


def golden_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: Files, asked: Sequence[dict[str, object]]
) -> Path:
    """A folder with documents and a golden file, which is also the current one; no key is set."""
    for name in KEYS:
        monkeypatch.delenv(f"CONTEXTPULL_{name}", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    write_corpus(folder / "docs", files)
    (folder / "golden.jsonl").write_text(lines(asked))
    return folder


def json_of(result: Result) -> Any:
    """What a command that found everything printed with --json."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def lines(questions: Sequence[dict[str, object]]) -> str:
    """Questions as a golden file."""
    return "".join(json.dumps(each) + "\n" for each in questions)
