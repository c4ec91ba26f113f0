"""The registry: which reader takes which file.

A new format is a module with one function `bytes -> ParsedDocument` and one line here.
A reader's module is imported when the first file of its kind is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module

from contextpull.documents.source_code import SUFFIXES
from contextpull.errors import DocumentError, InvalidInput, MissingExtra
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
    in_process: bool = False
    """Whether a small file may be read without the guard of a process of its own."""


def _text(name: str, suffixes: tuple[str, ...], reader: str) -> Format:
    """A kind of text whose reader takes time and memory in proportion to the file."""
    return Format(name, suffixes, reader, in_process=True)


FORMATS = [
    _text(
        "Markdown",
        (".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd"),
        "contextpull.documents.markdown:read_markdown",
    ),
    _text("plain text", (".txt", ".text", ".log"), "contextpull.documents.plain:read_plain"),
    Format(
        "HTML",
        (".html", ".htm", ".xhtml"),
        "contextpull.documents.html:read_html",
        extra="formats",
    ),
    _text("reStructuredText", (".rst", ".rest"), "contextpull.documents.rst:read_rst"),
    _text(
        "AsciiDoc", (".adoc", ".asciidoc", ".asc"), "contextpull.documents.asciidoc:read_asciidoc"
    ),
    _text("MDX", (".mdx",), "contextpull.documents.mdx:read_mdx"),
    _text("Org", (".org",), "contextpull.documents.org:read_org"),
    _text("LaTeX", (".tex", ".ltx", ".latex"), "contextpull.documents.latex:read_latex"),
    _text("CSV", (".csv", ".tsv", ".tab"), "contextpull.documents.delimited:read_delimited"),
    _text("JSON", (".json", ".jsonc", ".json5"), "contextpull.documents.json_text:read_json"),
    _text("JSON Lines", (".jsonl", ".ndjson"), "contextpull.documents.json_text:read_json_lines"),
    _text("YAML", (".yaml", ".yml"), "contextpull.documents.yaml_text:read_yaml"),
    _text("TOML", (".toml",), "contextpull.documents.toml_text:read_toml"),
    _text("Jupyter notebooks", (".ipynb",), "contextpull.documents.notebook:read_notebook"),
    Format("EPUB", (".epub",), "contextpull.documents.epub:read_epub", extra="formats"),
    Format("mail", (".eml",), "contextpull.documents.mail:read_mail", extra="formats"),
    Format("RTF", (".rtf",), "contextpull.documents.rtf:read_rtf", extra="formats"),
    Format("ODT", (".odt",), "contextpull.documents.opendocument:read_odt", extra="formats"),
    Format("ODS", (".ods",), "contextpull.documents.opendocument:read_ods", extra="formats"),
    Format("PDF", (".pdf",), "contextpull.documents.pdf:read_pdf", extra="formats"),
    Format("DOCX", (".docx", ".docm"), "contextpull.documents.docx:read_docx", extra="formats"),
    Format("XLSX", (".xlsx", ".xlsm"), "contextpull.documents.xlsx:read_xlsx", extra="formats"),
    Format("PPTX", (".pptx", ".pptm"), "contextpull.documents.pptx:read_pptx", extra="formats"),
    _text("source code", SUFFIXES, "contextpull.documents.source_code:read_source_code"),
]


def format_named(name: str) -> Format | None:
    """The format with this name, or of files that end so: `reStructuredText`, `rst`, `.rst`."""
    wanted = name.lower()
    by_name = (format_ for format_ in FORMATS if format_.name.lower() == wanted)
    return next(by_name, None) or format_for(f".{wanted.removeprefix('.')}")


@cache
def format_for(suffix: str) -> Format | None:
    """The format of files that end so (case does not matter), or None."""
    wanted = suffix.lower()
    return next((format_ for format_ in FORMATS if wanted in format_.suffixes), None)


def format_of(path: str, read_as: str = "") -> Format | None:
    """The format of the file at this path: by `read_as` (see CutSettings), else by its name.

    Raises InvalidInput where `read_as` cannot be understood.
    """
    for pattern, format_ in reversed(_overrides(read_as)):
        if fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern):
            return format_
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    return format_for(f".{ending}") if stem else None


def check_read_as(read_as: str) -> None:
    """Raises InvalidInput where `read_as` (see CutSettings) cannot be understood."""
    _overrides(read_as)


@cache
def _overrides(read_as: str) -> tuple[tuple[str, Format], ...]:
    """The patterns of `read_as`, each with the format that it asks for."""
    found = []
    for rule in filter(None, (each.strip() for each in read_as.split(","))):
        pattern, _, name = (part.strip() for part in rule.rpartition("="))
        format_ = format_named(name)
        if not pattern or format_ is None:
            raise InvalidInput(
                f"{rule!r} does not say how to read which files."
                " Write PATTERN=FORMAT, with a format by its name or suffix: '*.txt=rst'."
            )
        found.append((pattern, format_))
    return tuple(found)


def reader_of(path: str, read_as: str = "") -> Reader:
    """The function that reads the file at this path, which `read_as` may choose (see CutSettings).

    Raises DocumentError when there is none, MissingExtra when a library that it needs is not
    installed, InvalidInput as `format_of` does.
    """
    format_ = format_of(path, read_as)
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
