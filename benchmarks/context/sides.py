"""The two servers: how each is made ready, what it is asked for, and what its answers hold."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcp.client.stdio import StdioServerParameters
from measuring import run

_HIT = re.compile(r"^\d+\. (\S.*?)(?: \||$)", re.MULTILINE)
_LINE = re.compile(r"^\d+:", re.MULTILINE)
_ALIKE = 0.5
"""The share of lines from which on two sections are taken for the same."""


class Call(NamedTuple):
    """One use of a tool."""

    tool: str
    arguments: dict[str, Any]


class Side:
    """One of the two; each is called with the defaults of its tools."""

    ingested = "store"

    def __init__(
        self, name: str, command: Sequence[str | Path], work: Path, options: Sequence[str] = ()
    ) -> None:
        self.name = name
        self._command = [str(part) for part in command]
        self._work = work
        self._options = options
        self.is_variant = bool(options)

    def ingest(self, corpus: Path) -> None:
        """Read a corpus into the store, which servers with other options share."""
        run([*self._command, "ingest", corpus, "--store", self._store])

    def sections(self) -> dict[str, str]:
        """The text of every section by its id, in reading order."""
        command = [*self._command, "export-chunks", "--store", str(self._store)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {each["id"]: each["text"] for each in map(json.loads, lines.splitlines())}

    def server(self) -> StdioServerParameters:
        """How a host starts it."""
        return StdioServerParameters(
            command=self._command[0],
            args=[*self._command[1:], "serve", str(self._store), *self._options],
            env={"PATH": os.environ["PATH"], "HOME": str(self._work)},
            cwd=self._work,
        )

    def search(self, query: str) -> Call:
        """The ten best sections."""
        return Call("search", {"query": query})

    def grep(self, pattern: str) -> Call:
        """Twenty matches at the most."""
        return Call("grep", {"pattern": pattern})

    def read(self, ids: Sequence[str]) -> list[Call]:
        """One or several sections, in one turn of the model."""
        raise NotImplementedError

    def index(self, path: str) -> Call:
        """A document, or everything."""
        raise NotImplementedError

    def hits(self, text: str) -> list[str]:
        """The ids of an answer of search, in order."""
        raise NotImplementedError

    def lines(self, text: str) -> int:
        """How many lines an answer of grep shows."""
        raise NotImplementedError

    @property
    def _store(self) -> Path:
        return self._work / self.ingested


class Ours(Side):
    """The working tree."""

    def read(self, ids: Sequence[str]) -> list[Call]:
        """One call takes them all."""
        return [Call("read", {"ids": list(ids)})]

    def index(self, path: str) -> Call:
        """Of a document its sections."""
        return Call("index", {"path": path} if path else {})

    def hits(self, text: str) -> list[str]:
        """One a numbered line."""
        return _HIT.findall(text)

    def lines(self, text: str) -> int:
        """Each begins with its number."""
        return len(_LINE.findall(text))


class Peer(Side):
    """The public package contextpull 0.2.1."""

    ingested = "peer.sqlite"

    def read(self, ids: Sequence[str]) -> list[Call]:
        """A call for each, side by side."""
        return [Call("read", {"id": each}) for each in ids]

    def index(self, path: str) -> Call:
        """Of a document its line."""
        return Call("index", {"prefix": path} if path else {})

    def hits(self, text: str) -> list[str]:
        """In JSON."""
        return [hit["id"] for hit in json.loads(text)["hits"]]

    def lines(self, text: str) -> int:
        """The first of each section."""
        return len(json.loads(text)["matches"])


def counterparts(
    gold: Mapping[str, str], sections: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """For each gold section those of one store that hold it: by document and by shared lines.

    Two sections are the same when one holds half of the other's lines. The same store gives each
    section itself.
    """
    by_document: dict[str, list[str]] = {}
    for section_id in sections:
        by_document.setdefault(document_of(section_id), []).append(section_id)
    return {
        each: (each,)
        if each in sections
        else tuple(
            candidate
            for candidate in by_document.get(document_of(each), ())
            if _alike(text, sections[candidate])
        )
        for each, text in gold.items()
    }


def document_of(section_id: str) -> str:
    """The path in an id, which is the same on both sides."""
    return section_id.partition("#")[0]


def _alike(one: str, other: str) -> bool:
    lines, others = ({line.strip() for line in text.splitlines()} - {""} for text in (one, other))
    return len(lines & others) >= _ALIKE * min(len(lines), len(others))
