"""Completion: the paths and ids that begin with, or hold, what was typed so far."""

import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import mcp_types as types

from contextpull.errors import InvalidInput
from contextpull.server.prompts import names_document
from contextpull.server.resources import TEMPLATES
from contextpull.store import Snapshot

MOST = 100
"""Values in one answer, by the protocol."""
_SHOWN = 60


class _Names(NamedTuple):
    names: list[str]
    folded: list[str]
    """The same in lower case."""


class Completer:
    """Completes for any number of threads; keeps the ids of each snapshot that is in use."""

    def __init__(self) -> None:
        self._ids: WeakKeyDictionary[Snapshot, _Names] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def complete(
        self,
        snapshot: Snapshot,
        reference: types.ResourceTemplateReference | types.PromptReference,
        argument: types.CompletionArgument,
    ) -> types.Completion:
        """Values for an argument of a template or a prompt.

        Raises InvalidInput when there is no such template, prompt or argument.
        """
        kind = _kind(reference, argument.name)
        if kind == "path":
            return _matching(_named(snapshot.documents), argument.value)
        if kind == "id":
            return _matching(self._ids_of(snapshot), argument.value)
        return types.Completion(values=[], total=0, has_more=False)

    def _ids_of(self, snapshot: Snapshot) -> _Names:
        with self._lock:
            if snapshot not in self._ids:
                self._ids[snapshot] = _named(_every_id(snapshot))
            return self._ids[snapshot]


def _kind(reference: types.ResourceTemplateReference | types.PromptReference, argument: str) -> str:
    """`path`, `id`, or nothing for what cannot be completed."""
    if isinstance(reference, types.PromptReference):
        return "path" if names_document(reference.name, argument) else ""
    template = TEMPLATES.get(reference.uri)
    if template is None:
        raise InvalidInput(
            f"There is no template {reference.uri[:_SHOWN]!r}. There are {', '.join(TEMPLATES)}."
        )
    if f"{{{argument}}}" in template.uri_template:
        return argument
    if argument == "offset":
        return ""
    raise InvalidInput(f"The template {reference.uri!r} has no variable {argument[:_SHOWN]!r}.")


def _named(names: Iterable[str]) -> _Names:
    listed = list(names)
    return _Names(listed, [name.lower() for name in listed])


def _every_id(snapshot: Snapshot) -> Iterable[str]:
    for document in snapshot.documents.values():
        numbers = list(document.section_numbers)
        addresses = snapshot.database.addresses(numbers)
        yield from (addresses[number].id for number in numbers)


def _matching(names: _Names, typed: str) -> types.Completion:
    """Those that begin with it, then those that hold it elsewhere, capitals aside."""
    wanted = typed.lower()
    found = [at for at, folded in enumerate(names.folded) if wanted in folded]
    first: Sequence[int] = [at for at in found if names.folded[at].startswith(wanted)]
    if len(first) < MOST:
        leading = set(first)
        first = [*first, *(at for at in found if at not in leading)]
    values = [names.names[at] for at in first[:MOST]]
    return types.Completion(values=values, total=len(found), has_more=len(found) > MOST)
