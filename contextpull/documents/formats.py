"""The registry: which reader takes which file.

A new format is a module with one function `bytes -> ParsedDocument` and one line here.
A reader's module is imported when the first file of its kind is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from contextpull.documents.source_code import SUFFIXES
from contextpull.errors import DocumentError, MissingExtra
from contextpull.types import ParsedDocument

Reader = Callable[[bytes], ParsedDocument]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file and where its reader lives."""

    name: str
    suffixes: tuple[str, ...]
    reader: str
    """`module:function`."""
    extra: str = ""
    """The extra that installs what the reader needs, if the core does not."""


FORMATS = [
    Format(
        "Markdown",
        (".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd"),
        "contextpull.documents.markdown:read_markdown",
    ),
    Format("plain text", (".txt", ".text", ".log"), "contextpull.documents.plain:read_plain"),
    Format(
        "HTML",
        (".html", ".htm", ".xhtml"),
        "contextpull.documents.html:read_html",
        extra="formats",
    ),
    Format("reStructuredText", (".rst", ".rest"), "contextpull.documents.rst:read_rst"),
    Format(
        "AsciiDoc", (".adoc", ".asciidoc", ".asc"), "contextpull.documents.asciidoc:read_asciidoc"
    ),
    Format("MDX", (".mdx",), "contextpull.documents.mdx:read_mdx"),
    Format("Org", (".org",), "contextpull.documents.org:read_org"),
    Format("LaTeX", (".tex", ".ltx", ".latex"), "contextpull.documents.latex:read_latex"),
    Format("CSV", (".csv", ".tsv", ".tab"), "contextpull.documents.delimited:read_delimited"),
    Format("JSON", (".json", ".jsonc", ".json5"), "contextpull.documents.json_text:read_json"),
    Format("JSON Lines", (".jsonl", ".ndjson"), "contextpull.documents.json_text:read_json_lines"),
    Format("YAML", (".yaml", ".yml"), "contextpull.documents.yaml_text:read_yaml"),
    Format("TOML", (".toml",), "contextpull.documents.toml_text:read_toml"),
    Format("Jupyter notebooks", (".ipynb",), "contextpull.documents.notebook:read_notebook"),
    Format("EPUB", (".epub",), "contextpull.documents.epub:read_epub", extra="formats"),
    Format("mail", (".eml",), "contextpull.documents.mail:read_mail", extra="formats"),
    Format("RTF", (".rtf",), "contextpull.documents.rtf:read_rtf", extra="formats"),
    Format("ODT", (".odt",), "contextpull.documents.opendocument:read_odt", extra="formats"),
    Format("ODS", (".ods",), "contextpull.documents.opendocument:read_ods", extra="formats"),
    Format("PDF", (".pdf",), "contextpull.documents.pdf:read_pdf", extra="formats"),
    Format("DOCX", (".docx", ".docm"), "contextpull.documents.docx:read_docx", extra="formats"),
    Format("XLSX", (".xlsx", ".xlsm"), "contextpull.documents.xlsx:read_xlsx", extra="formats"),
    Format("PPTX", (".pptx", ".pptm"), "contextpull.documents.pptx:read_pptx", extra="formats"),
    Format("source code", SUFFIXES, "contextpull.documents.source_code:read_source_code"),
]


@cache
def format_for(suffix: str) -> Format | None:
    """The format of files that end so (case does not matter), or None."""
    wanted = suffix.lower()
    return next((format_ for format_ in FORMATS if wanted in format_.suffixes), None)


def format_of(path: str) -> Format | None:
    """The format of the file at this path, by its name."""
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    return format_for(f".{ending}") if stem else None


def reader_of(path: str) -> Reader:
    """The function that reads the file at this path.

    Raises DocumentError when there is none, MissingExtra when a library that it needs is not
    installed.
    """
    format_ = format_of(path)
    if format_ is None:
        raise DocumentError("no reader for this kind of file")
    return _imported(format_)


@cache
def _imported(format_: Format) -> Reader:
    module, _, name = format_.reader.partition(":")
    try:
        function: Reader = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if not format_.extra:
            raise
        raise MissingExtra(f"Reading {format_.name}", format_.extra) from error
    return function
