"""Jupyter notebooks, format versions 2 to 4, as a clean text: prose, code, shortened outputs."""

import json
import re
from typing import Any

from contextpull.documents.composing import Composer
from contextpull.documents.decoding import decode
from contextpull.documents.markdown import read_markdown
from contextpull.errors import DocumentError
from contextpull.types import ParsedDocument

_MOST_OUTPUT_LINES = 30
_LONGEST_OUTPUT = 2_000
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
_DATA_URI = re.compile(r"\(data:[^()\s]{100,}\)")
_TEXTS = ("text/plain", "text/markdown", "text/latex")
_OLD_NAMES = {"text": "text/plain", "html": "text/html", "png": "image/png", "jpeg": "image/jpeg"}
_OLD_NAMES |= {"svg": "image/svg+xml", "latex": "text/latex", "json": "application/json"}

Cell = dict[str, Any]


def read_notebook(data: bytes) -> ParsedDocument:
    """Read a notebook; nothing in it is run.

    Outputs are cut after some lines, terminal colours stripped, pictures named, not kept.
    Raises DocumentError for what is no notebook.
    """
    decoded = decode(data)
    if not decoded.text.strip():
        return ParsedDocument(b"", ())
    notebook = _loaded(decoded.text)
    metadata = _mapping(notebook.get("metadata"))
    language = _language(metadata)
    composer = Composer()
    for cell in _cells(notebook):
        _write_cell(cell, language, composer)
    title = metadata.get("title")
    return composer.document(
        title=title if isinstance(title, str) else "", warnings=decoded.warnings
    )


def _loaded(text: str) -> Cell:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not a notebook: no valid JSON ({error})") from error
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise DocumentError("not a notebook: it has neither cells nor worksheets")
    return notebook


def _cells(notebook: Cell) -> list[Cell]:
    """The cells in order; before version 4 they lie in worksheets."""
    holders = [notebook, *_list(notebook.get("worksheets"))]
    return [
        cell
        for holder in holders
        if isinstance(holder, dict)
        for cell in _list(holder.get("cells"))
        if isinstance(cell, dict)
    ]


def _language(metadata: Cell) -> str:
    for place in ("language_info", "kernelspec"):
        entry = _mapping(metadata.get(place))
        name = entry.get("name") if place == "language_info" else entry.get("language")
        if isinstance(name, str) and re.fullmatch(r"[\w+#.-]{1,30}", name):
            return name
    return "python" if not metadata.get("kernelspec") else ""


def _write_cell(cell: Cell, language: str, composer: Composer) -> None:
    source = _text(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "code":
        own = cell.get("language")
        composer.code(source, own if isinstance(own, str) and own.isalnum() else language)
        for output in _list(cell.get("outputs")):
            if isinstance(output, dict):
                _write_output(output, composer)
    elif kind == "heading":
        level = cell.get("level")
        composer.heading(level if isinstance(level, int) else 1, source)
    elif kind in ("markdown", "html"):
        composer.include(read_markdown(_DATA_URI.sub("(embedded image)", source).encode()))
    else:
        composer.prose(source)


def _write_output(output: Cell, composer: Composer) -> None:
    """What the output says in text; else the kinds of data that it holds."""
    kind = output.get("output_type")
    if kind in ("stream", "error", "pyerr"):
        traceback = "\n".join(_text(line) for line in _list(output.get("traceback")))
        error = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        text = _text(output.get("text")) if kind == "stream" else traceback or error
        composer.code(_shortened(text), "output")
        return
    bundle = _mapping(output.get("data")) or {
        new: output[old] for old, new in _OLD_NAMES.items() if old in output
    }
    pictures = [name for name in bundle if isinstance(name, str) and name.startswith("image/")]
    text = next((_text(bundle[name]) for name in _TEXTS if name in bundle), "")
    composer.code(_shortened(text), "output")
    if pictures:
        composer.prose(f"[{', '.join(sorted(pictures))}]")


def _shortened(text: str) -> str:
    lines = _ANSI.sub("", text).replace("\r\n", "\n").split("\n")
    # What a terminal would show of a line that a progress bar wrote again and again.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
    kept = "\n".join(lines[:_MOST_OUTPUT_LINES])[:_LONGEST_OUTPUT]
    return kept if len(kept) >= len("\n".join(lines)) else f"{kept}\n… (output shortened)"


def _text(value: Any) -> str:
    """A string, or the lines that make one."""
    parts = value if isinstance(value, list) else [value]
    parts = [part for part in parts if isinstance(part, str)]
    is_split = any(part.endswith("\n") for part in parts)  # version 2 leaves line ends out
    text = ("" if is_split else "\n").join(parts)
    return text.encode(errors="replace").decode()  # JSON may hold halves of characters


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Cell:
    return value if isinstance(value, dict) else {}
