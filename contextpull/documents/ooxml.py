"""What Word, Excel and PowerPoint files share: a zip file of XML parts that name each other.

Elements and attributes are known by their local names, which are the same in the transitional
and in the strict namespaces of ECMA-376.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from contextpull.documents.archive import Archive
from contextpull.documents.composing import NEEDS_PASSWORD
from contextpull.errors import DocumentError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


@dataclass(frozen=True, slots=True)
class Relation:
    """A part that another part names."""

    kind: str
    """The last word of the relation's type: `footnotes`, `slide`, `chart`."""
    part: str


@dataclass(frozen=True, slots=True)
class Properties:
    """What the file says of itself."""

    title: str = ""
    description: str = ""
    keywords: str = ""


class Package:
    """The parts of one file; nothing that they name outside of it is ever looked at."""

    def __init__(self, data: bytes, kind: str) -> None:
        """Open it. Raises DocumentError for what is encrypted, old or no such file."""
        if data.startswith(_OLE):
            raise DocumentError(
                NEEDS_PASSWORD
                if _ENCRYPTED in data
                else f"an old binary Office file; save it as {kind} and ingest again"
            )
        self._archive = Archive(data, f"{kind} file")
        self._relations: dict[str, dict[str, Relation]] = {}
        mains = [each.part for each in self.relations("").values() if each.kind == "officeDocument"]
        if not mains:
            raise DocumentError(f"not {kind} file: no part in it is the document")
        self.main = mains[0]

    def __contains__(self, part: str) -> bool:
        return part in self._archive

    def read(self, part: str) -> bytes:
        """The bytes of a part. Raises DocumentError as Archive does."""
        return self._archive.read(part)

    def xml(self, part: str) -> Any:
        """The root element of a part. Raises DocumentError as Archive does."""
        return self._archive.xml(part)

    def relations(self, part: str) -> dict[str, Relation]:
        """The parts that a part names, by the id that it uses for them; links are left out."""
        if part not in self._relations:
            self._relations[part] = self._relations_of(part)
        return self._relations[part]

    def _relations_of(self, part: str) -> dict[str, Relation]:
        folder, name = posixpath.split(part)
        file = posixpath.join(folder, "_rels", f"{name}.rels")
        if file not in self._archive:
            return {}
        relations = {}
        for each in self._archive.xml(file):
            target = unquote(each.get("Target") or "")
            path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            if each.get("TargetMode") != "External" and path in self._archive:
                kind = (each.get("Type") or "").rpartition("/")[2]
                relations[each.get("Id") or ""] = Relation(kind, path)
        return relations

    def related(self, part: str, kind: str) -> list[str]:
        """The parts of one kind that a part names."""
        return [each.part for each in self.relations(part).values() if each.kind == kind]

    def properties(self) -> Properties:
        """Title, description and keywords; empty where the file gives none."""
        for part in self.related("", "core-properties"):
            values = {local(each): (each.text or "").strip() for each in self.xml(part)}
            keywords = [values.get(name, "") for name in ("subject", "keywords", "category")]
            return Properties(
                values.get("title", ""),
                values.get("description", ""),
                "\n".join(word for word in keywords if word),
            )
        return Properties()


def relation_id(element: Any) -> str | None:
    """`r:id`, which stands beside an `id` without a namespace."""
    return next((str(value) for key, value in element.items() if key.endswith("}id")), None)


def local(element: Any) -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Any, name: str, default: str = "") -> str:
    """The value of an attribute, whatever namespace its name is in."""
    if element is None:
        return default
    for key, value in element.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return default


def number(element: Any, name: str, default: int) -> int:
    """The value of an attribute that is a whole number; the default where it is none."""
    value = attribute(element, name)[:9]
    return int(value) if value.isascii() and value.isdigit() else default


def children(element: Any, *names: str) -> Iterator[Any]:
    """The children with one of these names; a choice between versions counts as its first."""
    for child in () if element is None else element:
        name = local(child)
        if name in names:
            yield child
        elif name == "AlternateContent":
            yield from children(next(iter(child), None), *names)


def child(element: Any, *path: str) -> Any:
    """The first child with this name, then its child with the next name; None without one."""
    for name in path:
        element = next(children(element, name), None)
    return element


def is_on(element: Any) -> bool:
    """Whether a switch such as `<w:vanish/>` is there and not turned off."""
    return element is not None and attribute(element, "val", "1") not in {"0", "false", "off"}
