"""Small stores and the golden questions that are asked of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contextpull.eval.golden.questions import GoldenQuestion
from contextpull.models.embedding import open_embedder
from contextpull.store.opening import Snapshot
from tests.conftest import Files
from tests.embedders import embedded, snapshot_of, update

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


def asks(question: str, *expected: str, named: str = "", **more: Any) -> GoldenQuestion:
    """A golden question; its id is the question unless another is given."""
    return GoldenQuestion(id=named or question, question=question, expected=expected, **more)


def long_document(sections: int, sentence: str) -> str:
    """A document of so many sections that all say the same, each with a number of its own."""
    return "".join(f"# Part {number}\n\n{sentence} {number}.\n\n" for number in range(sections))


def lines(questions: Sequence[dict[str, object]]) -> str:
    """Questions as a golden file."""
    return "".join(json.dumps(each) + "\n" for each in questions)
