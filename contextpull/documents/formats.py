"""The registry: which reader takes which file.

A new format is a module with one function `bytes -> ParsedDocument` and one line here.
A reader's module is imported when the first file of its kind is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

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
        (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"),
        "contextpull.documents.markdown:read_markdown",
    ),
    Format("plain text", (".txt", ".text", ".log"), "contextpull.documents.plain:read_plain"),
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
