"""Odd files that others published: each is read, empty or refused, as its manifest says."""

import json
import os
from pathlib import Path

import pytest

from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
HOSTILE = DATA / "hostile"
FOLDERS = ("permissive/md/", "permissive/mdx/", "permissive/txt/")


def manifest() -> list[dict[str, str]]:
    file = HOSTILE / "manifest.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    entries = [json.loads(line) for line in lines if line.strip()]
    return [entry for entry in entries if entry["file"].startswith(FOLDERS)]


def outcome(file: Path) -> str:
    """What becomes of the file; when it is read, its sections must join to its text."""
    try:
        document = reader_of(file.name)(file.read_bytes())
    except DocumentError:
        return "error"
    sections = cut(document)
    assert "".join(section.text for section in sections).encode() == document.text or not sections
    return "ok" if sections else "empty"


@pytest.mark.corpus
def test_every_published_file_ends_as_its_manifest_says() -> None:
    entries = manifest()
    if not entries:
        pytest.skip(f"no files under {HOSTILE}")
    outcomes = {entry["file"]: outcome(HOSTILE / entry["file"]) for entry in entries}
    assert outcomes == {entry["file"]: entry["expect"] for entry in entries}
