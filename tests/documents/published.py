"""Odd files that others published, and what their manifest says must come of each."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus
from tests.documents.reading import assert_in_place

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
HOSTILE = DATA / "hostile"


def expected() -> dict[str, str]:
    """How each file must end, by its name; skips the test where the files are absent."""
    manifest = HOSTILE / "manifest.jsonl"
    if not manifest.is_file():
        pytest.skip(f"no files under {HOSTILE}")
    entries = [json.loads(line) for line in manifest.read_text().splitlines() if line.strip()]
    return {entry["file"].removeprefix("permissive/"): entry["expect"] for entry in entries}


def content(name: str) -> bytes:
    """The bytes of a file; names leave the folder `permissive` out."""
    file = HOSTILE / name
    return (file if file.is_file() else HOSTILE / "permissive" / name).read_bytes()


def outcome(name: str) -> str:
    """What becomes of the file; when it is read, all blocks must be in place."""
    try:
        document = reader_of(name)(content(name))
    except DocumentError as error:
        return "encrypted" if str(error).startswith("encrypted") else "error"
    assert_in_place(document)
    has_text = bool(document.text.strip())
    assert bool(cut(document)) == has_text
    return "ok" if has_text else "empty"


def missed(phrases: Mapping[str, str], folder: Path) -> list[tuple[str, str]]:
    """Tool and file, where a tool does not find the file by what a person sees in it."""
    files = {name: content(name) for name in phrases}
    ingest(write_corpus(folder / "docs", files), folder / "store")
    tools = ToolSession(open_store(folder / "store"))
    return [
        (tool, name)
        for name, phrase in phrases.items()
        for tool, argument in (("search", "query"), ("grep", "pattern"))
        if f"{name}#" not in tools.call(tool, {argument: phrase, "paths": name}).text
    ]
