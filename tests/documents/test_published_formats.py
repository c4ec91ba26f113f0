"""Odd files that others published end as their manifest says, and what a person sees is found."""

import json
import os
from pathlib import Path

import pytest

from contextpull import open_store
from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.store.ingest import ingest
from contextpull.tools import ToolSession
from tests.conftest import write_corpus

DATA = Path(
    os.environ.get("CONTEXTPULL_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data"
)
HOSTILE = DATA / "hostile"
PHRASES = {
    "mdx/mdx__what-is-mdx.mdx": "Markdown for the component era",
    "mdx/mdx__extending-mdx.mdx": "This article explains how to extend MDX content",
    "mdx/mdx__gfm.mdx": "This guide explores how to support GFM features",
    "mdx/mdx__frontmatter.mdx": "This guide explores how to support YAML frontmatter",
    "mdx/mdx__v2.mdx": "Improvements to the MDX format",
    "csv/unstructured__stanley-cups-utf-16.csv": "Maple Leafs",
    "tsv/unstructured__stanley-cups.tsv": "Maple Leafs",
    "csv/unstructured__semicolon-delimited.csv": "tempor incididunt",
    "csv/unstructured__csv-with-escaped-commas.csv": '"A,A"',
    "csv/docling__csv-too-few-columns.csv": "a,'b',c,d",
    "csv/docling__csv-too-many-columns.csv": "a,b,c,d,e",
    "csv/docling__csv-inconsistent-header.csv": "1,2,3",
    "ipynb/nbformat__test4.ipynb": "Printed Using Python",
    "ipynb/nbformat__test2.ipynb": "You can re-execute the same cell over and over",
    "ipynb/nbformat__test3.ipynb": "Printed Using Python",
    "ipynb/nbformat__no_min_version.ipynb": "test",
    "ipynb/nbformat__many_tracebacks.ipynb": "name 'iAmNotDefined' is not defined",
    "ipynb/markitdown__test_notebook.ipynb": "Code Cell Below",
    "ods/docling__odf_table_with_title_01.ods": "Freshwater Ducks",
    "odt/unstructured__fake.odt": "Lorem ipsum dolor sit amet",
    "rtf/unstructured__fake-doc.rtf": "My first paragraph",
    "eml/unstructured__fake-email-malformed-encoding.eml": "Violets are blue",
    "eml/unstructured__email-no-utf8-2014-03-17.111517.eml": "Google Account password changed",
    "eml/unstructured__fake-email-utf-16.eml": "Violets are blue",
    "eml/unstructured__mime-word-encoded-subject.eml": "Simple email with ☸☿ Unicode subject",
    "eml/unstructured__test-invalid-date.eml": "test-email with an invalid date format",
    "eml/unstructured__mime-different-plain-html.eml": "This is the `text/html` part",
    "eml/docling__eml_with_attachment.eml": "This email contains an attachment",
    "eml/tika__testRFC822_multipart_attachments.eml": "Test TxtB.txt",
}
SUFFIXES = tuple({Path(name).suffix for name in PHRASES})

pytestmark = pytest.mark.corpus


def manifest() -> dict[str, str]:
    """What is expected of each published file, by its path."""
    file = HOSTILE / "manifest.jsonl"
    if not file.is_file():
        pytest.skip(f"no files under {HOSTILE}")
    entries = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    return {
        entry["file"].removeprefix("permissive/"): entry["expect"]
        for entry in entries
        if entry["file"].endswith(SUFFIXES)
    }


def outcome(file: Path) -> str:
    try:
        document = reader_of(file.name)(file.read_bytes())
    except DocumentError as error:
        return "encrypted" if str(error).startswith("encrypted") else "error"
    sections = cut(document)
    assert "".join(section.text for section in sections).encode() == document.text or not sections
    return "ok" if sections else "empty"


def test_every_published_file_ends_as_its_manifest_says() -> None:
    expected = manifest()
    assert {name: outcome(HOSTILE / "permissive" / name) for name in expected} == expected


def test_what_a_person_sees_in_a_file_is_found_by_search_and_grep(tmp_path: Path) -> None:
    expected = manifest()
    assert {name for name, outcome in expected.items() if outcome == "ok"} == set(PHRASES)
    files = {name: (HOSTILE / "permissive" / name).read_bytes() for name in PHRASES}
    ingest(write_corpus(tmp_path / "docs", files), tmp_path / "store")
    tools = ToolSession(open_store(tmp_path / "store"))
    missed = [
        (tool, name)
        for name, phrase in PHRASES.items()
        for tool, argument in (("search", "query"), ("grep", "pattern"))
        if f"{name}#" not in tools.call(tool, {argument: phrase, "paths": name}).text
    ]
    assert missed == []
